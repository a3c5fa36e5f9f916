// @ts-check
// Headings between the photographs: months or days if they are in the order of date, otherwise where good matches end.

import { dateText } from "./labels.js";

/** @typedef {import("../app/types.js").Result} Result */

const SHORT_DAYS = 31; // photographs of at most this many days have a heading for each day

/**
 * Return the heading above each result; null where there is none.
 * @param {Result[]} results
 * @param {string | undefined} order
 * @param {number | null} goodMatches
 */
export function headingsOf(results, order, goodMatches = null) {
  return order === "date" ? dateHeadings(results) : matchHeadings(results, goodMatches);
}

function dateHeadings(/** @type {Result[]} */ results) {
  const days = results.map(({ photo }) => photo.taken?.slice(0, 10) ?? null);
  const dates = days.filter((day) => day !== null).map((day) => Date.parse(day));
  const length = Math.max(...dates) - Math.min(...dates) < SHORT_DAYS * 86_400_000 ? 10 : 7;
  const texts = days.map((day) => (day === null ? "No date" : dateText(day.slice(0, length))));
  return texts.map((text, i) => (text === texts[i - 1] ? null : text));
}

function matchHeadings(/** @type {Result[]} */ results, /** @type {number | null} */ goodMatches) {
  const afterGood = results.findLastIndex(({ good }) => good) + 1;
  const text = goodMatches === 0 ? "Nothing fits well. These are the closest" : "Weaker matches";
  return results.map(({ good }, i) => (i === afterGood && good === false ? text : null));
}
