// @ts-check
// Wishes and options of a request as people read them: "Mix up places", "Near Lisbon", "At most 2 per day".

import { capitalized, countryName, dateText, label, percent, pluralLabel, pointText } from "./labels.js";
import { knownPlace } from "./places.js";
import { attributeOf, isRule } from "../app/wishes.js";

/** @typedef {import("../app/types.js").Wish} Wish */

const WORDS = new Set(["season", "weekday", "part_of_day"]); // attributes whose values are common words, not names
const ORDERS = { relevance: "best match first", selection: "in order of selection", date: "by date" };

/** The value of a target as people read it. */
export function nearText(/** @type {string} */ name, /** @type {string} */ near) {
  const point = name === "place" ? /^(-?[\d.]+),(-?[\d.]+)$/.exec(near) : null;
  if (point) return knownPlace(near) ?? pointText(Number(point[1]), Number(point[2]));
  if (name === "date") return dateText(near);
  if (name === "country") return /^[A-Z]{2}$/.test(near) ? countryName(near) : near;
  return WORDS.has(name) ? capitalized(near.replaceAll("_", " ")) : near;
}

/** The position of a dial: "As found", "Mix it up 70%". */
export function leanText(/** @type {number} */ lean) {
  if (lean === 0) return "As found";
  return `${lean > 0 ? "Mix it up" : "Keep together"} ${percent(Math.abs(lean))}`;
}

/** A wish in a few words. */
export function wishText(/** @type {Wish} */ wish) {
  if (isRule(wish)) return ruleText(wish, attributeOf(wish));
  const weight = (wish.weight ?? 1) === 1 ? "" : ` ${percent(wish.weight ?? 1)}`;
  if (wish.spread !== undefined) return `Mix up ${pluralLabel(wish.spread)}${weight}`;
  const name = wish.focus ?? "";
  if (wish.near === undefined) return `Keep ${pluralLabel(name)} together${weight}`;
  return `Near ${nearText(name, wish.near)}${weight}`;
}

function ruleText(/** @type {Wish} */ wish, /** @type {string} */ name) {
  const { n, others, window, first, counts, shares = {}, bound = "exactly" } = wish;
  const where = window ? ` in every ${window}` : first ? ` among the first ${first}` : "";
  if (typeof n === "number") return `At most ${n} per ${label(name).replaceAll("+", " and ").toLowerCase()}${where}`;
  const part = (/** @type {number} */ number) => (n || counts ? String(number) : percent(number));
  const parts = Object.entries(n ?? counts ?? shares).map(([value, number]) => `${part(number)} ${nearText(name, value)}`);
  if (others !== undefined) parts.push(`${others} of each other`);
  const most = n ? "at most " : counts ? "at least " : bound === "exactly" ? "" : `${bound} `;
  return `${label(name)}: ${most}${parts.join(", ")}${where}`;
}

/** An option of a request that has no control. */
export function optionText(/** @type {string} */ name, /** @type {any} */ value) {
  if (name === "strength") return `Strength ${percent(value)}`;
  if (name === "keep") return `Keep ${percent(value)} of the best match`;
  return `Shown ${ORDERS[value] ?? value}`;
}
