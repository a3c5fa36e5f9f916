// @ts-check
// The points on map, clock and timeline that results are to be near.

import { nearOf } from "../app/wishes.js";

/** @typedef {import("../app/types.js").Target} Target */
/** @typedef {import("../app/types.js").Wish} Wish */

/**
 * Return the target of a wish as the server locates it, or as a click has written it; null if there is none.
 * @param {Wish[]} wishes
 * @param {Target[]} targets those of the answer
 * @param {string} name
 * @returns {Partial<Target> | null}
 */
export function targetOf(wishes, targets, name) {
  const near = nearOf(wishes, name);
  if (near === null) return null;
  return targets.find((target) => target.name === name && target.near === near) ?? parsedTarget(name, near);
}

/** @param {string} name @param {string} near */
function parsedTarget(name, near) {
  if (name === "date") return /^\d{4}(-\d{2}){0,2}$/.test(near) ? { date: near } : null; // words are left to the server
  const numbers = near.split(name === "place" ? "," : ":").map(Number);
  if (numbers.length !== 2 || numbers.some(Number.isNaN)) return null;
  return name === "place" ? { lat: numbers[0], lon: numbers[1] } : { hour: numbers[0] + numbers[1] / 60 };
}
