// @ts-check
// Filters as people read them: "Country Portugal", "Rating ★★★ or more".

import { capitalized, countryName, dateText, degrees, stars } from "./labels.js";

/** The name of each filter, and how its value reads. Values are those of a request, or their text. */
const FILTER_TEXTS = {
  country: { name: "Country", read: countryName },
  city: { name: "City", read: String },
  camera: { name: "Camera", read: String },
  rating: { name: "Rating", read: (/** @type {any} */ value) => (Number(value) === 5 ? stars(5) : `${stars(Number(value))} or more`) },
  since: { name: "From", read: dateText },
  until: { name: "To", read: dateText },
  folder: { name: "Folder", read: (/** @type {string} */ value) => `“${value}”` },
  box: { name: "Inside", read: boxText },
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

export function filterText(/** @type {string} */ filter, /** @type {any} */ value) {
  return `${filterName(filter)} ${filterValue(filter, value)}`;
}

function boxText(/** @type {number[]} */ [south, west, north, east]) {
  return `${degrees(south, "NS")} to ${degrees(north, "NS")}, ${degrees(west, "EW")} to ${degrees(east, "EW")}`;
}
