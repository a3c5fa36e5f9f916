// Names, dates and counts as people read them.

const LABELS = {
  place: "Place", hour: "Hour", date: "Date", season: "Season", camera: "Camera", look: "Look", city: "City",
  country: "Country", weekday: "Weekday", part_of_day: "Part of day", moment: "Moment", lens: "Lens",
  folder: "Folder", keywords: "Keywords", title: "Title", rating: "Rating", altitude: "Altitude", width: "Width",
  height: "Height", size: "File size", day: "Day", month: "Month", year: "Year",
};
const PLURALS = {
  city: "cities", country: "countries", part_of_day: "parts of the day", lens: "lenses", keywords: "keywords", size: "file sizes",
};
export const label = (name) => LABELS[name] ?? capital(name.replaceAll("_", " "));

/** The attribute in the plural, inside a sentence: "places". */
export const plurals = (name) => PLURALS[name] ?? `${label(name).toLowerCase()}s`;

export const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : text);

const regions = new Intl.DisplayNames(["en"], { type: "region" });
export function country(code) {
  try {
    return code ? regions.of(code) : null;
  } catch {
    return code;
  }
}

export const plural = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
export const stars = (n) => "★".repeat(n);

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
const WEEKDAY = new Intl.DateTimeFormat("en-GB", { weekday: "long", timeZone: "UTC" });

/** The photograph's own clock, whatever the reader's is. */
export const time = (taken) => (taken ? new Date(`${taken.slice(0, 19)}Z`) : null);
export const day = (taken) => (taken ? DAY.format(time(taken)) : null);
export const weekday = (taken) => (taken ? WEEKDAY.format(time(taken)) : null);
export const clockTime = (taken) => (taken ? taken.slice(11, 16) : null);
export const hourOf = (taken) => (taken ? Number(taken.slice(11, 13)) : null);

/** A date as people give it: a day, a month or a year. */
export function date(near) {
  if (/^\d{4}-\d{2}-\d{2}$/.test(near)) return day(`${near}T00:00:00`);
  if (/^\d{4}-\d{2}$/.test(near)) return MONTH.format(time(`${near}-01T00:00:00`));
  return near;
}

/** A moment, stored as `2019-07-14 18:05 Lisbon`, as people read it. */
export function moment(stored) {
  const [, when, at, rest] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) ?(.*)$/s.exec(stored ?? "") ?? [];
  return when ? [date(when), at, rest].filter(Boolean).join(", ") : stored;
}

export function point(lat, lon, digits = 1) {
  const east = ((((lon + 180) % 360) + 360) % 360) - 180;
  const side = (degrees, ends) => `${Math.abs(degrees).toFixed(digits)}° ${ends[degrees < 0 ? 1 : 0]}`;
  return `${side(lat, "NS")} ${side(east, "EW")}`;
}

/** Kilometres between two places on the globe. */
export function kilometres(one, other) {
  const rad = Math.PI / 180;
  const half = (a, b) => Math.sin(((a - b) * rad) / 2) ** 2;
  const h = half(one.lat, other.lat) + Math.cos(one.lat * rad) * Math.cos(other.lat * rad) * half(one.lon, other.lon);
  return 12742 * Math.asin(Math.sqrt(Math.min(h, 1)));
}

export function distance(km) {
  if (km < 1) return `${Math.round(km * 1000)} m`;
  return `${km < 10 ? km.toFixed(1) : Math.round(km).toLocaleString("en")} km`;
}

/** A span of time in its largest unit: "3 years", "5 hours". */
export function span(ms) {
  const units = [["year", 31_557_600_000], ["month", 2_629_800_000], ["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]];
  const [unit, length] = units.find(([, each]) => ms >= each) ?? units.at(-1);
  return plural(Math.max(Math.round(ms / length), 1), unit);
}

export const name = (photo) => photo.title || photo.caption || photo.path.split("/").pop();
export const where = (photo) => [photo.city, country(photo.country)].filter(Boolean).join(", ");

/** One line that tells a photograph to who cannot see it. */
export const described = (photo) => [name(photo), where(photo), day(photo.taken)].filter(Boolean).join(", ");

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
  return Object.fromEntries(Object.entries(COUNTED).map(([counted, of]) => {
    const values = photos.map(of).filter((value) => value !== null && value !== undefined);
    return [counted, new Set(values).size];
  }));
}
