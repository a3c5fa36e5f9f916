// @ts-check
// Filters as people read them: "Country Portugal", "Rating ★★★ or more".

import { capitalized, countryName, dateText, daysText, stars } from "./labels.js";

/** The name of each filter, and how its value reads. Values are those of a request, or their text. */
const FILTER_TEXTS = {
  country: { name: "Country", read: countryName },
  city: { name: "City", read: String },
  camera: { name: "Camera", read: String },
  rating: { name: "Rating", read: (/** @type {any} */ value) => (Number(value) === 5 ? stars(5) : `${stars(Number(value))} or more`) },
  since: { name: "From", read: dateText },
  until: { name: "To", read: dateText },
  folder: { name: "Folder", read: (/** @type {string} */ value) => `“${value}”` },
  box: { name: "Inside", read: () => "the box on the map" },
  place: { name: "Place", read: String },
  date: { name: "Date", read: dateText },
  season: { name: "Season", read: capitalized },
  weekday: { name: "Weekday", read: capitalized },
  part_of_day: { name: "Part of day", read: capitalized },
  light: { name: "Light", read: capitalized },
  name: { name: "File name", read: String },
};

export const filterName = (/** @type {string} */ filter) => FILTER_TEXTS[filter].name;
export const filterValue = (/** @type {string} */ filter, /** @type {any} */ value) => FILTER_TEXTS[filter].read(value);

/** The days of a request, from `since` to `until`. */
export const daysFilterText = (/** @type {any} */ { since = "", until = "" }) => capitalized(daysText(since, until));

export function filterText(/** @type {string} */ filter, /** @type {any} */ value) {
  return `${filterName(filter)} ${filterValue(filter, value)}`;
}
