// Names, dates and counts as people read them.

export const LABELS = {
  place: "Place", hour: "Hour", date: "Date", season: "Season", camera: "Camera", look: "Look", city: "City",
  country: "Country", weekday: "Weekday", part_of_day: "Part of day", moment: "Moment", lens: "Lens",
  folder: "Folder", keywords: "Keywords", title: "Title", rating: "Rating", altitude: "Altitude", width: "Width",
  height: "Height", size: "File size", relevance: "Relevance",
};
export const label = (name) => LABELS[name] ?? name;

const regions = new Intl.DisplayNames(["en"], { type: "region" });
export function country(code) {
  try {
    return code ? regions.of(code) : null;
  } catch {
    return code;
  }
}

const ordinals = new Intl.PluralRules("en", { type: "ordinal" });
const ENDS = { one: "st", two: "nd", few: "rd", other: "th" };
export const ordinal = (n) => `${n}${ENDS[ordinals.select(n)]}`;

export const plural = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

/** The photograph's own clock, whatever the reader's is. */
export const time = (taken) => (taken ? new Date(`${taken.slice(0, 19)}Z`) : null);
export const day = (taken) => (taken ? DAY.format(time(taken)) : null);
export const clockTime = (taken) => (taken ? taken.slice(11, 16) : null);
export const hourOf = (taken) => (taken ? Number(taken.slice(11, 13)) : null);

/** A date as people give it: a day, a month or a year. */
export function date(near) {
  if (/^\d{4}-\d{2}-\d{2}$/.test(near)) return day(`${near}T00:00:00`);
  if (/^\d{4}-\d{2}$/.test(near)) return MONTH.format(time(`${near}-01T00:00:00`));
  return near;
}

export function point(lat, lon, digits = 1) {
  const east = ((((lon + 180) % 360) + 360) % 360) - 180;
  const told = (degrees, ends) => `${Math.abs(degrees).toFixed(digits)}° ${ends[degrees < 0 ? 1 : 0]}`;
  return `${told(lat, "NS")} ${told(east, "EW")}`;
}

export const name = (photo) => photo.title || photo.caption || photo.path.split("/").pop();
export const where = (photo) => [photo.city, country(photo.country)].filter(Boolean).join(", ");

/** One line that tells a photograph to who cannot see it. */
export function told(photo) {
  return [name(photo), where(photo), day(photo.taken)].filter(Boolean).join(", ");
}

/** What a place is counted as: its city, or a cell of a tenth of a degree. */
export function placeOf(photo) {
  if (photo.city) return `${photo.city}, ${photo.country}`;
  return photo.lat === null ? null : `${photo.lat.toFixed(1)},${photo.lon.toFixed(1)}`;
}

const COUNTED = {
  places: placeOf,
  countries: (photo) => photo.country,
  hours: (photo) => hourOf(photo.taken),
  moments: (photo) => photo.moment,
};

/** How many places, countries, hours and moments there are. */
export function counts(photos) {
  const counted = Object.entries(COUNTED).map(([name, of]) => {
    const values = photos.map(of).filter((value) => value !== null && value !== undefined);
    return [name, new Set(values).size];
  });
  return Object.fromEntries(counted);
}
