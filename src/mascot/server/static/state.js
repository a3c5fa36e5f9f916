// What the page shows, as the address bar carries it. A link is the whole state.

import { FILTERS, aBox, filtering, where } from "./where.js";

const CANDIDATES = 5000;
const SIZES = [12, 24, 48, 96, 192];
// How much wishes count against relevance, 0 to 1: a dial at its end, and a target. Closeness to one value outweighs
// relevance sooner than variety does.
const [FULL, NEAR] = [0.7, 0.4];
export const MOST_PICKED = 100;
export const FIND = [5, 10, 15, 25]; // photographs that complete a set
const NEUTRAL = { lean: 0, near: null };

export function fresh() {
  return {
    text: "", like: null, wishes: {}, protect: 1, k: 24, ...Object.fromEntries(FILTERS.map((name) => [name, ""])),
    compare: false, large: false, photo: null, pin: [], reject: [], complete: null,
  };
}

export const sizes = SIZES;
export const wishOf = (state, name) => state.wishes[name] ?? NEUTRAL;

/** Whether nothing was asked for yet: everything is shown, newest first. */
export const isStart = (state) => (
  !state.text && state.like === null && !steering(state) && filtering(state).length === 0 && state.complete === null);

/** The state that an address tells; whatever it tells wrongly stays as it is by default. */
export function fromAddress(search) {
  const query = new URLSearchParams(search);
  const state = fresh();
  state.text = (query.get("q") ?? "").trim().slice(0, 1000);
  state.like = whole(query.get("like"), 1, Number.MAX_SAFE_INTEGER, null);
  if (state.like !== null) state.text = "";
  for (const word of query.getAll("spread")) add(state, word, 1);
  for (const word of query.getAll("focus")) add(state, word, -1);
  state.protect = whole(query.get("protect"), 0, 20, state.protect);
  state.k = SIZES.includes(Number(query.get("k"))) ? Number(query.get("k")) : state.k;
  for (const name of ["from", "to"]) state[name] = aDay(query.get(name));
  for (const name of ["folder", "camera", "country"]) state[name] = (query.get(name) ?? "").trim().slice(0, 200);
  state.rating = String(whole(query.get("rating"), 1, 5, ""));
  state.box = aBox(query.get("box"));
  state.compare = query.get("compare") === "1";
  state.large = query.get("map") === "large";
  state.photo = whole(query.get("photo"), 1, Number.MAX_SAFE_INTEGER, null);
  for (const name of ["pin", "reject"]) {
    const ids = (query.get(name) ?? "").split(",").map((id) => whole(id, 1, Number.MAX_SAFE_INTEGER, null));
    state[name] = [...new Set(ids)].filter((id) => id !== null).slice(0, MOST_PICKED);
  }
  const complete = whole(query.get("complete"), 1, 100, null);
  state.complete = state.pin.length ? complete : null;
  return state;
}

/** The address of a state: only what differs from the default is written. */
export function toAddress(state) {
  const base = fresh();
  const query = new URLSearchParams();
  if (state.text) query.set("q", state.text);
  if (state.like !== null) query.set("like", state.like);
  for (const [name, { lean, near }] of Object.entries(state.wishes)) {
    const weight = Math.abs(lean) === 1 ? "" : `*${round(Math.abs(lean))}`;
    if (lean !== 0) query.append(lean > 0 ? "spread" : "focus", `${name}${weight}`);
    if (near) query.append("focus", `${name}=${near}`);
  }
  for (const name of [...FILTERS, "protect", "k"]) if (state[name] !== base[name]) query.set(name, state[name]);
  for (const name of ["pin", "reject"]) if (state[name].length) query.set(name, state[name].join(","));
  if (state.complete !== null) query.set("complete", state.complete);
  if (state.compare) query.set("compare", "1");
  if (state.large) query.set("map", "large");
  if (state.photo !== null) query.set("photo", state.photo);
  const text = query.toString().replaceAll("%3A", ":").replaceAll("%3D", "=").replaceAll("%2C", ",");
  return text ? `/?${text}` : "/";
}

/** The dials that are turned and the targets that are set, one entry each: {name, lean} or {name, near}. */
export function wishes(state) {
  return Object.entries(state.wishes).flatMap(([name, { lean, near }]) => [
    ...(lean !== 0 ? [{ name, lean, near: null }] : []), ...(near ? [{ name, lean: 0, near }] : []),
  ]);
}

export const steering = (state) => wishes(state).length > 0;

/** The next larger number of photographs, or undefined. */
export const larger = (state) => (state.complete === null ? SIZES.find((size) => size > state.k) : undefined);

/** What the server is asked. */
export function question(state) {
  const asked = wishes(state).map(({ name, lean, near }) => ({
    name, direction: lean > 0 ? "spread" : "focus", weight: near ? 1 : round(Math.abs(lean)), ...(near ? { near } : {}),
  }));
  const body = { wishes: asked, k: state.complete === null ? state.k : state.pin.length + state.complete };
  if (state.like !== null) body.like = state.like;
  else body.text = state.text;
  // Without words every photograph is as good as the others: the server takes as many as it can, and none is protected.
  const words = state.like !== null || state.text;
  if (words) Object.assign(body, { candidates: Math.max(CANDIDATES, 2 * body.k), protect: state.protect });
  if (where(state)) body.where = where(state);
  if (state.reject.length) body.reject = state.reject;
  if (state.complete !== null) body.pin = state.pin;
  // The dial that is turned furthest says how much the wishes count; the others share it in proportion.
  const strength = asked.some((wish) => wish.near) ? NEAR : FULL * Math.max(...asked.map((wish) => wish.weight));
  if (asked.length) Object.assign(body, { order: "selection", strength: round(strength) });
  return body;
}

/** A day of the calendar, as it is written; nothing for anything else. */
export function aDay(text) {
  return /^\d{4}-\d{2}-\d{2}$/.test(text ?? "") && !Number.isNaN(Date.parse(text)) ? text : "";
}

function add(state, word, sign) {
  const [, name, near, weight] = /^([a-z_]{1,40})(?:=(.*?))?(?:\*([\d.]+))?$/s.exec(word) ?? [];
  if (!name) return;
  const wish = { ...wishOf(state, name) };
  if (near && sign < 0) wish.near = near.slice(0, 200);
  else wish.lean = sign * round(Math.min(Math.max(Number(weight ?? 1) || 1, 0.1), 1), 1);
  state.wishes[name] = wish;
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
