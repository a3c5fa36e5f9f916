// @ts-check
// The state as the body of a search, and back. The server decides everything that a request leaves open.

import { firstDayOf, lastDayOf } from "./address.js";
import { FILTERS, MAX_RESULTS, STEERING, freshAddress } from "./state.js";
import { attributeOf } from "./wishes.js";

/** @typedef {import("./types.js").AddressState} AddressState */
/** @typedef {import("./types.js").SearchRequest} SearchRequest */

/** How a filter is sent, if not as text. */
const SENT = { rating: Number, box: (/** @type {string} */ text) => text.split(",").map(Number) };

/**
 * Return the request that a state means. It holds only fields that are set.
 * @param {AddressState} state
 * @returns {SearchRequest}
 */
export function requestOf(state) {
  const { text, like, wishes, pin, reject, complete } = state;
  /** @type {Record<string, any>} */
  const request = { k: complete === null ? state.k : Math.min(pin.length + complete, MAX_RESULTS) };
  if (like !== null) request.like = like;
  else if (text) request.sentence = text;
  for (const name of FILTERS) if (state[name]) request[name] = SENT[name]?.(state[name]) ?? state[name];
  if (wishes.length) request.wishes = wishes;
  if (state.best) request.best = true;
  if (complete !== null) request.pin = pin;
  if (reject.length) request.reject = reject;
  for (const name of [...STEERING, "protect"]) if (state[name] !== null) request[name] = state[name];
  return request;
}

/**
 * Return a request as it is saved: with the fields that the server read from its sentence.
 * @param {SearchRequest} request
 * @param {SearchRequest} resolved the request as the server used it
 * @returns {SearchRequest}
 */
export function savedRequest({ sentence, ...request }, resolved) {
  /** @type {Record<string, any>} */
  const saved = request;
  for (const name of sentence === undefined ? [] : ["text", "wishes", ...FILTERS]) {
    if ((resolved[name] ?? null) !== null) saved[name] = resolved[name];
  }
  return saved;
}

/**
 * Return the fields of the state that a saved request sets. Its photographs are those of the tray, and not part of this.
 * @param {SearchRequest} request
 * @returns {Partial<AddressState>}
 */
export function stateOf(request) {
  const fresh = freshAddress();
  /** @type {Record<string, any>} */
  const state = {};
  state.text = request.text ?? "";
  for (const name of ["like", "wishes", "best", "k", ...STEERING, "protect"]) state[name] = request[name] ?? fresh[name];
  for (const name of FILTERS) state[name] = String(request[name] ?? "");
  [state.since, state.until] = [firstDayOf(state.since), lastDayOf(state.until)];
  state.wishes = state.wishes.filter(attributeOf).map(textualNear); // Python can save attributes without a name
  if (!Number.isInteger(state.like)) state.like = null; // the command line saves a path
  return state;
}

/** A value may be saved as a number, or as latitude and longitude; the address holds text. */
function textualNear(/** @type {any} */ wish) {
  return wish.near === undefined || wish.near === null ? wish : { ...wish, near: String(wish.near) };
}

/**
 * Whether two requests are the same.
 * @param {SearchRequest | null} one
 * @param {SearchRequest | null} other
 */
export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/**
 * Whether two requests have the same candidates, and differ only in how these are steered.
 * @param {SearchRequest} one
 * @param {SearchRequest} other
 */
export function hasSameCandidates(one, other) {
  const retrieval = (/** @type {SearchRequest} */ { wishes, strength, keep, protect, order, ...rest }) => rest;
  return isSame(retrieval(one), retrieval(other));
}

/** The filters of a request that are set. */
export const filtersOf = (/** @type {SearchRequest} */ request) => FILTERS.filter((name) => request[name] !== undefined);

/**
 * Whether a request asks for nothing in particular: all photographs, newest first.
 * @param {SearchRequest} request
 */
export function isStart(request) {
  const { k, reject, protect, ...rest } = request;
  return Object.keys(rest).length === 0;
}
