// @ts-check
// Names, dates and counts as people read them.

import { firstDayOf, lastDayOf } from "../app/address.js";

/** @typedef {import("../app/types.js").Photo} Photo */

const LABELS = {
  place: "Place", hour: "Hour", date: "Date", season: "Season", camera: "Camera", look: "Look", city: "City",
  country: "Country", weekday: "Weekday", part_of_day: "Part of day", moment: "Moment", lens: "Lens",
  folder: "Folder", keywords: "Keywords", title: "Title", rating: "Rating", altitude: "Altitude", width: "Width",
  height: "Height", size: "File size", day: "Day", month: "Month", year: "Year",
};
const PLURALS = {
  city: "cities", country: "countries", part_of_day: "parts of the day", lens: "lenses", keywords: "keywords", size: "file sizes",
};

/** The name of an attribute. */
export const label = (/** @type {string} */ name) => LABELS[name] ?? capitalized(name.replaceAll("_", " "));

/** The plural of an attribute, inside a sentence: "places". */
export const pluralLabel = (/** @type {string} */ name) => PLURALS[name] ?? `${label(name).toLowerCase()}s`;

export const capitalized = (/** @type {string} */ text) => (text ? text[0].toUpperCase() + text.slice(1) : text);

/** A number and its noun: "1 place", "1,200 places". */
export function counted(/** @type {number} */ n, /** @type {string} */ singular, plural = `${singular}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? singular : plural}`;
}

export const stars = (/** @type {number} */ n) => "★".repeat(n);
export const percent = (/** @type {number} */ share) => `${Math.round(share * 100)}%`;

const REGIONS = new Intl.DisplayNames(["en"], { type: "region" });

/** The name of a country; a code that is not known stays as it is. */
export function countryName(/** @type {string | null} */ code) {
  try {
    return code ? REGIONS.of(code) ?? code : null;
  } catch {
    return code;
  }
}

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

/** The time on the photograph's own clock, whatever time zone the reader is in. */
const timeOf = (/** @type {string} */ taken) => new Date(`${taken.slice(0, 19)}Z`);

export const dayText = (/** @type {string | null} */ taken) => (taken ? DAY.format(timeOf(taken)) : null);
export const timeText = (/** @type {string | null} */ taken) => (taken ? taken.slice(11, 16) : null);
export const hourOf = (/** @type {string | null} */ taken) => (taken ? Number(taken.slice(11, 13)) : null);
export const yearOf = (/** @type {string} */ taken) => timeOf(taken).getUTCFullYear();

/** A day, a month or a year as people read it; other text stays as it is. */
export function dateText(/** @type {string} */ date) {
  if (/^\d{4}-\d{2}-\d{2}$/.test(date)) return DAY.format(timeOf(`${date}T00:00:00`));
  if (/^\d{4}-\d{2}$/.test(date)) return MONTH.format(timeOf(`${date}-01T00:00:00`));
  return date;
}

/** The days from `since` to `until`: "2019", "July 2019", "14 – 20 July 2019", "from 1 July 2019". */
export function daysText(/** @type {string} */ since, /** @type {string} */ until) {
  const [first, last] = [firstDayOf(since), lastDayOf(until)];
  if (!first || !last) return first ? `from ${dateText(first)}` : `until ${dateText(last)}`;
  const whole = [4, 7].map((length) => first.slice(0, length)).find((part) => firstDayOf(part) === first && lastDayOf(part) === last);
  return whole ? dateText(whole) : DAY.formatRange(timeOf(`${first}T00:00:00`), timeOf(`${last}T00:00:00`));
}

/** A moment, stored as `2019-07-14 18:05 Lisbon`, as people read it. */
export function momentText(/** @type {string | null} */ stored) {
  const [, date, time, place] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) ?(.*)$/s.exec(stored ?? "") ?? [];
  return date ? [dateText(date), time, place].filter(Boolean).join(", ") : stored;
}

/** Latitude and longitude: "38.7° N 9.1° W". */
export function pointText(/** @type {number} */ lat, /** @type {number} */ lon, digits = 1) {
  const east = ((((lon + 180) % 360) + 360) % 360) - 180;
  return `${degrees(lat, "NS", digits)} ${degrees(east, "EW", digits)}`;
}

/** Degrees with their hemisphere: "38.7° N". */
export function degrees(/** @type {number} */ value, /** @type {string} */ ends, digits = 0) {
  return `${Math.abs(value).toFixed(digits)}° ${ends[value < 0 ? 1 : 0]}`;
}

export const photoName = (/** @type {Photo} */ photo) => photo.title || photo.caption || photo.path.split("/").pop();
export const placeName = (/** @type {Photo} */ photo) => [photo.city, countryName(photo.country)].filter(Boolean).join(", ");

/** Alt text for a photograph. */
export function altText(/** @type {Photo} */ photo) {
  return [photoName(photo), placeName(photo), dayText(photo.taken)].filter(Boolean).join(", ");
}

/** The place that a photograph is counted under: its city, or a cell of a tenth of a degree. */
export function placeKey(/** @type {Photo} */ photo) {
  if (photo.city) return `${photo.city}, ${photo.country}`;
  return photo.lat === null || photo.lon === null ? null : `${photo.lat.toFixed(1)},${photo.lon.toFixed(1)}`;
}

/** @type {Record<string, (photo: Photo) => string | number | null>} */
const COUNTED = {
  places: placeKey,
  countries: (/** @type {Photo} */ photo) => photo.country,
  hours: (/** @type {Photo} */ photo) => hourOf(photo.taken),
  moments: (/** @type {Photo} */ photo) => photo.moment,
};

/** The numbers of different places, countries, hours and moments. */
export function countValues(/** @type {Photo[]} */ photos) {
  return Object.fromEntries(Object.entries(COUNTED).map(([name, valueOf]) => {
    const values = photos.map(valueOf).filter((value) => value !== null && value !== undefined);
    return [name, new Set(values).size];
  }));
}
