// What the page shows, as the address bar carries it. A link is the whole state.

import { FILTERS, filtering, where } from "./where.js";

export const CANDIDATES = 5000;
export const KEEP = { least: 0.5, most: 1, first: 0.95 }; // shares of relevance: the range, and where it begins
const SIZES = [12, 24, 48, 96, 192];

export function fresh() {
  return {
    text: "", like: null, wishes: {}, strength: 0.5, protect: 3, keep: null, order: "relevance", k: 24,
    ...Object.fromEntries(FILTERS.map((name) => [name, ""])), compare: false, photo: null,
  };
}

export const sizes = SIZES;
/** Whether anything is asked for: a wish or a filter without words is about all photographs. */
export const searching = (state) => (
  state.text !== "" || state.like !== null || leaning(state).length > 0 || filtering(state).length > 0);

/** The state that an address tells; whatever it tells wrongly stays as it is by default. */
export function fromAddress(search) {
  const given = new URLSearchParams(search);
  const state = fresh();
  state.text = (given.get("q") ?? "").trim().slice(0, 1000);
  state.like = whole(given.get("like"), 1, Number.MAX_SAFE_INTEGER, null);
  if (state.like !== null) state.text = "";
  for (const word of given.getAll("spread")) add(state, word, 1);
  for (const word of given.getAll("focus")) add(state, word, -1);
  state.strength = real(given.get("strength"), 0, 1, state.strength);
  state.keep = real(given.get("keep"), KEEP.least, KEEP.most, null);
  state.protect = whole(given.get("protect"), 0, 20, state.protect);
  state.k = SIZES.includes(Number(given.get("k"))) ? Number(given.get("k")) : state.k;
  state.order = given.get("order") === "selection" ? "selection" : "relevance";
  for (const name of ["from", "to"]) state[name] = aDay(given.get(name));
  for (const name of ["folder", "camera", "country"]) state[name] = (given.get(name) ?? "").trim().slice(0, 200);
  state.rating = String(whole(given.get("rating"), 1, 5, ""));
  state.compare = given.get("compare") === "1";
  state.photo = whole(given.get("photo"), 1, Number.MAX_SAFE_INTEGER, null);
  return state;
}

/** The address of a state: only what differs from the default is said. */
export function toAddress(state) {
  const base = fresh();
  const told = new URLSearchParams();
  if (state.text) told.set("q", state.text);
  if (state.like !== null) told.set("like", state.like);
  for (const [name, wish] of leaning(state)) {
    const near = wish.lean < 0 && wish.near ? `=${wish.near}` : "";
    const weight = Math.abs(wish.lean) === 1 ? "" : `*${round(Math.abs(wish.lean))}`;
    told.append(wish.lean > 0 ? "spread" : "focus", `${name}${near}${weight}`);
  }
  for (const name of [...FILTERS, "strength", "protect", "order", "k"]) {
    if (state[name] !== base[name]) told.set(name, state[name]);
  }
  if (state.keep !== null) told.set("keep", state.keep);
  if (state.compare) told.set("compare", "1");
  if (state.photo !== null) told.set("photo", state.photo);
  const query = told.toString().replaceAll("%3A", ":").replaceAll("%3D", "=").replaceAll("%2C", ",");
  return query ? `/?${query}` : "/";
}

/** The wishes that are not neutral. */
export const leaning = (state) => Object.entries(state.wishes).filter(([, wish]) => wish.lean !== 0);

/** The next larger number of photographs, or undefined. */
export const larger = (state) => SIZES.find((size) => size > state.k);

/** What the server is asked. */
export function question(state) {
  const wishes = leaning(state).map(([name, wish]) => ({
    name,
    direction: wish.lean > 0 ? "spread" : "focus",
    weight: round(Math.abs(wish.lean)),
    ...(wish.lean < 0 && wish.near ? { near: wish.near } : {}),
  }));
  const asked = { wishes, k: state.k, order: state.order };
  if (state.like !== null) asked.like = state.like;
  else asked.text = state.text;
  // Without words every photograph is as good as the others: the server takes as many as it can, and none is protected.
  if (state.like !== null || state.text) Object.assign(asked, { candidates: Math.max(CANDIDATES, 2 * state.k), protect: state.protect });
  const only = where(state);
  if (only) asked.where = only;
  // The weights only share the strength out; so that a single slider is felt all along its way, the one that is
  // furthest from the middle also says how much of the strength is used.
  const furthest = Math.max(0, ...wishes.map((wish) => wish.weight));
  if (state.keep !== null) asked.keep = state.keep;
  else asked.strength = round(state.strength * furthest, 4);
  return asked;
}

/** A day of the calendar, as it is written; nothing for anything else. */
export function aDay(text) {
  return /^\d{4}-\d{2}-\d{2}$/.test(text ?? "") && !Number.isNaN(Date.parse(text)) ? text : "";
}

function add(state, word, sign) {
  const [, name, near, weight] = /^([a-z_]{1,40})(?:=(.*?))?(?:\*([\d.]+))?$/s.exec(word) ?? [];
  if (!name) return;
  const lean = round(Math.min(Math.max(Number(weight ?? 1) || 1, 0.1), 1), 1);
  state.wishes[name] = { lean: sign * lean, near: sign < 0 && near ? near.slice(0, 200) : null };
}

function real(text, low, high, otherwise) {
  const value = Number(text);
  return text === null || text === "" || !(value >= low && value <= high) ? otherwise : value;
}

function whole(text, low, high, otherwise) {
  const value = real(text, low, high, otherwise);
  return Number.isInteger(value) ? value : otherwise;
}

const round = (value, digits = 2) => Number(value.toFixed(digits));
