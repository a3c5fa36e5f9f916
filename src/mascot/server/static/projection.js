// Mercator: the world is a square from 0 to 1, east and south.

const FURTHEST = 85;

export const toX = (lon) => lon / 360 + 0.5;
export function toY(lat) {
  const radians = (Math.min(Math.max(lat, -FURTHEST), FURTHEST) * Math.PI) / 180;
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + radians / 2)) / (2 * Math.PI);
}
export const toLon = (x) => ((((x - 0.5) * 360 + 180) % 360) + 360) % 360 - 180;
export const toLat = (y) => (Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) * 360) / Math.PI - 90;

/** How far east `to` is from `from`, the short way round: -0.5 to 0.5. */
export const east = (from, to) => to - from - Math.round(to - from);

export const MIDDLE = 0.53; // of a whole world: the edge is then in the Pacific

/** The view that shows all points: {x, y, scale}, within the limits of scale. */
export function fit(points, { width, height, padding }, least, most) {
  const xs = points.map((p) => ((p.x % 1) + 1) % 1).sort((a, b) => a - b);
  // The widest empty stretch of the globe is left out: Tokyo and Honolulu are neighbours over the Pacific.
  let gap = xs[0] + 1 - xs.at(-1);
  let west = xs[0];
  for (let i = 1; i < xs.length; i++) {
    if (xs[i] - xs[i - 1] > gap) {
      gap = xs[i] - xs[i - 1];
      west = xs[i];
    }
  }
  const wide = 1 - gap;
  const ys = points.map((p) => p.y);
  const [top, low] = [Math.min(...ys), Math.max(...ys)];
  const filled = Math.min((width - 2 * padding) / Math.max(wide, 1e-6), (height - 2 * padding) / Math.max(low - top, 1e-6));
  const scale = Math.min(Math.max(filled, least), most);
  // Where the whole world is seen anyway, it lies as people know it.
  return { x: filled <= least ? MIDDLE : west + wide / 2, y: (top + low) / 2, scale };
}

/** Lines of the world file as one path over the square world, without steps shorter than `least` degrees. */
export function worldPath(lines, { scale, closed, least = 0 }) {
  const path = new Path2D();
  for (const line of lines) {
    let [lon, lat, fromLon, fromLat] = [0, 0, Infinity, Infinity];
    let corners = 0;
    for (let i = 0; i < line.length; i += 2) {
      lon += line[i] / scale;
      lat += line[i + 1] / scale;
      const isEnd = !closed && i + 2 === line.length;
      if (!isEnd && Math.abs(lon - fromLon) < least && Math.abs(lat - fromLat) < least) continue;
      [fromLon, fromLat] = [lon, lat];
      if (corners++ === 0) path.moveTo(toX(lon), toY(lat));
      else path.lineTo(toX(lon), toY(lat));
    }
    if (closed) path.closePath();
  }
  return path;
}
