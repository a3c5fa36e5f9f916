// @ts-check
// The Mercator projection. The world is a square from 0 to 1, to the east and to the south.

/** @typedef {{x: number, y: number}} Point */

const MAX_LATITUDE = 85;

export const toX = (/** @type {number} */ lon) => lon / 360 + 0.5;

export function toY(/** @type {number} */ lat) {
  const radians = (Math.min(Math.max(lat, -MAX_LATITUDE), MAX_LATITUDE) * Math.PI) / 180;
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + radians / 2)) / (2 * Math.PI);
}

export const toLon = (/** @type {number} */ x) => ((((x - 0.5) * 360 + 180) % 360) + 360) % 360 - 180;
export const toLat = (/** @type {number} */ y) => (Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) * 360) / Math.PI - 90;

/** The distance eastwards between two x, the short way round: -0.5 to 0.5. */
export const eastward = (/** @type {number} */ from, /** @type {number} */ to) => to - from - Math.round(to - from);

export const MIDDLE_X = 0.53; // of a view of the whole world; its edge is then in the Pacific
const HALF_WORLD = 0.5;

/** The mean x of points around the world: where most of them are. */
function meanX(/** @type {number[]} */ xs) {
  const sum = (/** @type {(angle: number) => number} */ part) => xs.reduce((total, x) => total + part(x * 2 * Math.PI), 0);
  const [east, north] = [sum(Math.sin), sum(Math.cos)];
  return Math.hypot(east, north) < 1e-6 * xs.length ? MIDDLE_X : (Math.atan2(east, north) / (2 * Math.PI) + 1) % 1;
}

/**
 * Return the view {x, y, scale} that shows all points, with a scale between `min` and `max`.
 * @param {Point[]} points
 * @param {{width: number, height: number, padding: number}} size in pixels
 * @param {number} min
 * @param {number} max
 */
export function fitView(points, { width, height, padding }, min, max) {
  const xs = points.map((point) => ((point.x % 1) + 1) % 1).sort((a, b) => a - b);
  // The view leaves out the widest gap between the points: Tokyo and Honolulu are neighbours across the Pacific.
  let gap = xs[0] + 1 - xs[xs.length - 1];
  let west = xs[0];
  for (let i = 1; i < xs.length; i++) {
    if (xs[i] - xs[i - 1] > gap) {
      gap = xs[i] - xs[i - 1];
      west = xs[i];
    }
  }
  const extent = 1 - gap;
  const ys = points.map((point) => point.y);
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const fitting = Math.min((width - 2 * padding) / Math.max(extent, 1e-6), (height - 2 * padding) / Math.max(bottom - top, 1e-6));
  // Points all around the world need a view of all of it, with most of them in the middle.
  const isWorld = fitting <= min || extent > HALF_WORLD;
  const scale = isWorld ? min : Math.min(fitting, max);
  return { x: isWorld ? meanX(xs) : west + extent / 2, y: (top + bottom) / 2, scale };
}

/**
 * Return lines of the world file as one path over the square world, without steps shorter than `minStep` degrees.
 * @param {number[][]} lines
 * @param {{scale: number, closed: boolean, minStep?: number}} options
 */
export function worldPath(lines, { scale, closed, minStep = 0 }) {
  const path = new Path2D();
  for (const line of lines) {
    let [lon, lat, lastLon, lastLat] = [0, 0, Infinity, Infinity];
    let corners = 0;
    for (let i = 0; i < line.length; i += 2) {
      lon += line[i] / scale;
      lat += line[i + 1] / scale;
      const isEnd = !closed && i + 2 === line.length;
      if (!isEnd && Math.abs(lon - lastLon) < minStep && Math.abs(lat - lastLat) < minStep) continue;
      [lastLon, lastLat] = [lon, lat];
      if (corners++ === 0) path.moveTo(toX(lon), toY(lat));
      else path.lineTo(toX(lon), toY(lat));
    }
    if (closed) path.closePath();
  }
  return path;
}
