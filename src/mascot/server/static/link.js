// Which photographs are pointed at: by the grid, the map, the clock or the timeline. Everyone shows the same.

const watchers = new Set();
let current = [];

/** Call `show(ids, from)` whenever others are pointed at. */
export const onLink = (show) => watchers.add(show);

export function link(ids, from) {
  if (ids.length === current.length && ids.every((id, i) => id === current[i])) return;
  current = ids;
  for (const show of watchers) show(ids, from);
}
