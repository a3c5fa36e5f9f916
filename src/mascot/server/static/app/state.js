// @ts-check
// The state of the page, and what follows from it.

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").AddressState} AddressState */
/** @typedef {import("./types.js").SearchRequest} SearchRequest */
/** @typedef {import("./types.js").SearchAnswer} SearchAnswer */

export const SIZES = [10, 20, 24, 30, 36, 48, 96, 192]; // numbers of photographs that the page offers
export const SET_SIZES = [5, 10, 15, 25]; // numbers of photographs that complete a set
const MOST_SHOWN = SIZES[SIZES.length - 1];
export const MAX_RESULTS = 200;
export const MAX_PICKS = 200;
/** Texts that a sentence can say, and that have no control. */
const SAID = ["place", "date", "season", "weekday", "part_of_day", "light", "name"];
export const FILTERS = ["country", "city", "camera", "rating", "since", "until", "folder", "box", ...SAID];
export const STEERING = ["strength", "keep", "order"]; // options of a request

/**
 * Return the state of the start page.
 * @returns {AddressState}
 */
export function freshAddress() {
  return {
    ...Object.fromEntries(FILTERS.map((name) => [name, ""])), text: "", like: null,
    wishes: [], best: false, k: 24, pin: [], reject: [], complete: null, strength: null, keep: null, protect: null, order: null,
    compare: false, large: false, photo: null,
  };
}

/**
 * Return the state of a page that has just been opened at an address.
 * @param {AddressState} address
 * @returns {State}
 */
export function initialState(address) {
  return {
    ...address, library: null, periods: [], answer: null, answered: null, requested: null, status: "loading", error: null, isSlow: false,
    message: "", rejected: null, lastPick: null, neighbours: null, viewerPicks: null, trayOpen: address.pin.length > 0 && !isNarrow(),
    panelOpen: false, card: "card-place",
  };
}

/** Whether the page is as narrow as a phone: the tray then opens only on request, because it would cover the photographs. */
export const isNarrow = () => globalThis.matchMedia?.("(max-width: 900px)").matches ?? false;

/** Whether a request has wishes, so that the result differs from relevance alone. */
export const isSteered = (/** @type {{wishes?: object[]}} */ { wishes }) => Boolean(wishes?.length);

/** Whether the lists show what the wishes have changed. */
export const isComparing = (/** @type {State} */ { compare, answered }) => compare && answered !== null && isSteered(answered);

/**
 * Twice the number of photographs, if the page shows so many.
 * @param {AddressState} state
 */
export const nextSize = ({ complete, k }) => (complete === null && k < MOST_SHOWN ? Math.min(2 * k, MOST_SHOWN) : null);

/**
 * Return the results in groups, compared with those by relevance alone.
 * @param {SearchAnswer} answer
 */
export function comparison({ results, plain }) {
  const before = new Set(plain.map((photo) => photo.id));
  const after = new Set(results.map((result) => result.photo.id));
  return {
    added: results.filter((result) => !before.has(result.photo.id)),
    removed: plain.map((photo, i) => ({ photo, rank: i + 1 })).filter(({ photo }) => !after.has(photo.id)),
    kept: results.filter((result) => before.has(result.photo.id)),
  };
}

/**
 * Return the ids that downloads, albums and saved choices hold: the whole set once it is completed, otherwise the picks.
 * @param {State} state
 */
export function chosenIds({ pin, complete, answer, answered }) {
  const isCompleted = complete !== null && answer !== null && Boolean(answered?.pin);
  return isCompleted ? answer.results.map(({ photo }) => photo.id) : pin;
}

/**
 * Return the ids of the photographs that Previous and Next go through from one of them.
 * @param {State} state
 * @param {number} id
 */
export function neighboursOf(state, id) {
  const { answer, neighbours, reject } = state;
  if (answer === null) return [];
  const groups = isComparing(state) ? Object.values(comparison(answer)) : [answer.results];
  const lists = groups.map((group) => group.map(({ photo }) => photo.id));
  const list = neighbours ?? lists.find((ids) => ids.includes(id)) ?? lists[0];
  return list.filter((other) => other === id || !reject.includes(other));
}
