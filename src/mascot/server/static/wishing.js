// Wishes in the words of a person: "Mix up places", "Keep hours together", "Near Lisbon".

import { named } from "./places.js";
import { capital, country, date, plurals, point } from "./words.js";

const WORDS = new Set(["season", "weekday", "part_of_day"]); // values that are words, not names

/** A target as people read it. */
export function nearText(name, near) {
  const spot = name === "place" ? /^(-?[\d.]+),(-?[\d.]+)$/.exec(near) : null;
  if (spot) return named(near) ?? point(Number(spot[1]), Number(spot[2]));
  if (name === "date") return date(near);
  if (name === "country" && /^[A-Z]{2}$/.test(near)) return country(near);
  return WORDS.has(name) ? capital(near.replaceAll("_", " ")) : near;
}

/** How far a dial is turned: "As found", "Mix it up 70%". */
export function leanText(lean) {
  if (lean === 0) return "As found";
  return `${lean > 0 ? "Mix it up" : "Keep together"} ${Math.round(Math.abs(lean) * 100)}%`;
}

/** One wish in a few words. */
export function wishText({ name, lean, near }) {
  if (near) return `Near ${nearText(name, near)}`;
  const much = Math.abs(lean) === 1 ? "" : ` ${Math.round(Math.abs(lean) * 100)}%`;
  return lean > 0 ? `Mix up ${plurals(name)}${much}` : `Keep ${plurals(name)} together${much}`;
}
