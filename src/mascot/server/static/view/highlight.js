// @ts-check
// The photographs under the pointer. The grid, the map, the clock and the timeline highlight the same ones.

/** @type {Set<(ids: number[], source: object) => void>} */
const listeners = new Set();
/** @type {number[]} */
let current = [];

/** Call `listener(ids, source)` whenever other photographs are highlighted. */
export const onHighlight = (/** @type {(ids: number[], source: object) => void} */ listener) => listeners.add(listener);

/** Highlight photographs; `source` is the view under the pointer. */
export function highlight(/** @type {number[]} */ ids, /** @type {object} */ source) {
  if (ids.length === current.length && ids.every((id, i) => id === current[i])) return;
  current = ids;
  for (const listener of listeners) listener(ids, source);
}
