// @ts-check
// The address of the page holds the request and the view. Wishes are written as on the command line, and rules that the
// page cannot edit as `rule=` and JSON, in the form of the request.

import { FILTERS, MAX_PICKS, MAX_RESULTS, freshAddress } from "./state.js";
import { attributeOf, isEditable, isRule } from "./wishes.js";

/** @typedef {import("./types.js").AddressState} AddressState */
/** @typedef {import("./types.js").Wish} Wish */

const MAX_ID = Number.MAX_SAFE_INTEGER;
const MAX_VALUE = 200; // characters
const MAX_RULE = 2000; // characters of a rule as JSON
const MAX_SHOWN = 40; // characters of an ignored value
const ORDERS = ["relevance", "selection", "date"];
const DISTANCES = new Set(["place", "hour", "date", "weekday", "season", "rating", "altitude", "width", "height", "size"]);

/** How each filter is read from the address; the result is empty if the value is not valid. */
const READERS = { since: firstDayOf, until: lastDayOf, rating: ratingOf, box: boxOf };

/**
 * Return the state that an address holds. Values that are not valid are ignored.
 * @param {string} search
 */
export function fromAddress(search) {
  const query = new URLSearchParams(search);
  const state = freshAddress();
  state.text = (query.get("text") ?? "").trim().slice(0, 1000);
  state.like = wholeOf(query.get("like"), 1, MAX_ID);
  if (state.like !== null) state.text = "";
  for (const name of FILTERS) state[name] = (READERS[name] ?? textOf)(query.get(name) ?? "");
  state.wishes = wishesOf(query);
  state.best = query.get("best") === "1";
  state.k = wholeOf(query.get("k"), 1, MAX_RESULTS) ?? state.k;
  state.pin = idsOf(query.get("pin"));
  state.reject = idsOf(query.get("reject"));
  state.complete = state.pin.length ? wholeOf(query.get("complete"), 1, 100) : null;
  state.strength = numberOf(query.get("strength"), 0, 1);
  state.keep = numberOf(query.get("keep"), 0.001, 1);
  state.protect = wholeOf(query.get("protect"), 0, MAX_RESULTS);
  state.order = ORDERS.find((order) => order === query.get("order")) ?? null;
  state.compare = query.get("compare") === "1";
  state.large = query.get("map") === "large";
  state.photo = wholeOf(query.get("photo"), 1, MAX_ID);
  return state;
}

/**
 * Return the address of a state. Only values that differ from the default are written.
 * @param {AddressState} state
 */
export function toAddress(state) {
  const fresh = freshAddress();
  const query = new URLSearchParams();
  for (const name of ["text", "like"]) if (state[name] !== fresh[name]) query.set(name, state[name]);
  const fill = state.wishes.some((wish) => wish.fill && isEditable(wish)); // holds for all limits that are not JSON
  for (const wish of state.wishes) query.append(...wishParameter(wish, fill));
  if (fill) query.set("fill", "1");
  if (state.best) query.set("best", "1");
  for (const name of [...FILTERS, "k", "strength", "keep", "protect", "order"]) {
    if (state[name] !== fresh[name]) query.set(name, state[name]);
  }
  for (const name of ["pin", "reject"]) if (state[name].length) query.set(name, state[name].join(","));
  if (state.complete !== null) query.set("complete", String(state.complete));
  if (state.compare) query.set("compare", "1");
  if (state.large) query.set("map", "large");
  if (state.photo !== null) query.set("photo", String(state.photo));
  const text = query.toString().replaceAll("%3A", ":").replaceAll("%3D", "=").replaceAll("%2C", ",").replaceAll("%7E", "~");
  return text ? `/?${text}` : "/";
}

/**
 * Return the parameters of an address that the page ignores, as text: "since=banana".
 * @param {string} search
 */
export function ignoredParameters(search) {
  const fresh = freshAddress();
  const isRead = (/** @type {[string, string]} */ parameter) => {
    const alone = new URLSearchParams([parameter, ...(parameter[0] === "complete" ? [["pin", "1"]] : [])]).toString();
    const state = fromAddress(alone);
    return state.wishes.length > 0 || new URLSearchParams(toAddress(state).slice(1)).has(parameter[0]);
  };
  return [...new URLSearchParams(search)]
    .filter(([name, value]) => value !== "" && value !== String(fresh[name]) && name !== "fill" && !isRead([name, value]))
    .map(([name, value]) => `${name}=${value.slice(0, MAX_SHOWN)}`);
}

/**
 * Return the parameter of a wish: its name and its text.
 * @param {Wish} wish
 * @param {boolean} fill whether limits complete the list
 * @returns {[string, string]}
 */
export function wishParameter(wish, fill = false) {
  if (isRule(wish) && (!isEditable(wish) || (wish.limit && Boolean(wish.fill) !== fill))) return ["rule", JSON.stringify(wish)];
  if (wish.limit !== undefined) return ["limit", `${wish.limit}=${wish.n}`];
  if (wish.share !== undefined) {
    const parts = Object.entries(wish.shares ?? {}).map(([value, share]) => `${value}:${rounded(share * 100)}%`);
    return ["share", `${wish.share}=${parts.join(",")}`];
  }
  const within = wish.within ? `~${wish.within}` : "";
  const near = wish.near === undefined ? "" : `=${wish.near}${within}`;
  const weight = (wish.weight ?? 1) === 1 ? "" : `*${wish.weight}`;
  return wish.spread !== undefined ? ["spread", `${wish.spread}${weight}`] : ["focus", `${wish.focus}${near}${weight}`];
}

/** @param {URLSearchParams} query */
function wishesOf(query) {
  /** @type {Wish[]} */
  const wishes = [];
  const fill = query.get("fill") === "1";
  for (const [name, text] of query) {
    const wish = { spread: spreadOf, focus: focusOf, limit: limitOf, share: shareOf, rule: ruleOf }[name]?.(text);
    if (wish) wishes.push(fill && name === "limit" ? { ...wish, fill } : wish);
  }
  return wishes;
}

/** @param {string} text @returns {Wish | null} */
function ruleOf(text) {
  try {
    const wish = text.length > MAX_RULE ? null : JSON.parse(text);
    return isRule(wish ?? {}) && attributeOf(wish) ? wish : null;
  } catch {
    return null;
  }
}

/** @param {string} text @returns {Wish | null} */
function spreadOf(text) {
  const [, name, weight] = /^([a-z_]{1,40})(?:\*([\d.]+))?$/.exec(text) ?? [];
  return name ? { spread: name, weight: weightOf(weight) } : null;
}

/** @param {string} text @returns {Wish | null} */
function focusOf(text) {
  const [, name, value, weight] = /^([a-z_]{1,40})(?:=(.*?))?(?:\*([\d.]+))?$/s.exec(text) ?? [];
  if (!name) return null;
  if (!value) return { focus: name, weight: weightOf(weight) };
  const [, near, within] = (DISTANCES.has(name) && /^(.+)~([\d.]+)$/s.exec(value)) || [];
  const distance = numberOf(within ?? null, 1e-6, 1e6);
  if (distance === null) return { focus: name, near: value.slice(0, MAX_VALUE), weight: weightOf(weight) };
  return { focus: name, near: near.slice(0, MAX_VALUE), within: distance, weight: weightOf(weight) };
}

/** @param {string} text @returns {Wish | null} */
function limitOf(text) {
  const [, name, count] = /^([a-z_]{1,40})=(\d{1,3})$/.exec(text) ?? [];
  const n = wholeOf(count ?? null, 1, MAX_RESULTS);
  return n === null ? null : { limit: name, n };
}

/** @param {string} text @returns {Wish | null} */
function shareOf(text) {
  const [, name, parts] = /^([a-z_]{1,40})=(.+)$/s.exec(text) ?? [];
  /** @type {Record<string, number>} */
  const shares = {};
  for (const part of parts?.split(",") ?? []) {
    const [, value, number, percent] = /^(.+):([\d.]+)(%?)$/s.exec(part.trim()) ?? [];
    const share = numberOf(number ?? null, 0, percent ? 100 : 1);
    if (share === null) return null;
    shares[value.trim()] = percent ? rounded(share / 100) : share;
  }
  return name ? { share: name, shares } : null;
}

/** The first day of a year, a month or a day; empty for anything else. */
export function firstDayOf(/** @type {string} */ text) {
  const missing = { 4: "-01-01", 7: "-01" }[text.length] ?? "";
  return dayOf(`${text}${missing}`);
}

/** The last day of a year, a month or a day; empty for anything else. */
export function lastDayOf(/** @type {string} */ text) {
  const month = text.length === 4 ? `${text}-12` : text;
  const day = firstDayOf(month);
  if (day === "" || month.length > 7) return day;
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
}

function ratingOf(/** @type {string} */ text) {
  return String(wholeOf(text, 1, 5) ?? "");
}

/** A day of the calendar, as `2019-07-31`; empty for anything else. */
export function dayOf(/** @type {string} */ text) {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : "";
}

/** South, west, north and east in degrees, with commas between them; empty for anything else. */
export function boxOf(/** @type {string} */ text) {
  const sides = text.split(",").map(Number);
  const [south, west, north, east] = sides;
  const isValid = sides.length === 4 && sides.every(Number.isFinite) && south < north
    && Math.max(-south, north, south, -north) <= 90 && Math.max(Math.abs(west), Math.abs(east)) <= 180;
  return isValid ? sides.map((side) => rounded(side, 2)).join(",") : "";
}

const textOf = (/** @type {string} */ text) => text.trim().slice(0, MAX_VALUE);

/** @param {string | null} text */
function idsOf(text) {
  const ids = (text ?? "").split(",").map((id) => wholeOf(id, 1, MAX_ID));
  return [...new Set(ids)].filter((id) => id !== null).slice(0, MAX_PICKS);
}

/** @param {string | undefined} text */
const weightOf = (text) => Math.min(Math.max(rounded(Number(text ?? 1) || 1), 0.001), 1000);

/** @param {string | null} text @param {number} low @param {number} high */
function numberOf(text, low, high) {
  const value = Number(text);
  return text === null || text === "" || !(value >= low && value <= high) ? null : value;
}

/** @param {string | null} text @param {number} low @param {number} high */
function wholeOf(text, low, high) {
  const value = numberOf(text, low, high);
  return Number.isInteger(value) ? value : null;
}

/** @param {number} value @param {number} digits */
const rounded = (value, digits = 4) => Number(value.toFixed(digits));
