// Drawing the map: land, dots, names of cities, the target.

import { landPath } from "./projection.js";

const LABELS = 9;
export const BUTTONS = { wide: 100, high: 44 }; // pixels of the corner they lie in
const COARSE = 0.5; // degrees: less than a pixel while much of the world is seen
const FINE_FROM = 3; // times the whole world

export const landPaths = (land) => ({ fine: landPath(land), coarse: landPath(land, COARSE) });

/** Draw one frame of the map as it is seen. */
export function paint(canvas, seen) {
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const ink = (name) => style.getPropertyValue(`--map-${name}`).trim();
  const dense = canvas.width / seen.width;
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.fillStyle = ink("sea");
  pen.fillRect(0, 0, seen.width, seen.height);
  if (seen.land) land(pen, seen, dense, ink("land"));
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  for (const spot of seen.everywhere) disc(pen, seen, spot, 1.6, ink("library"));
  for (const spot of seen.ghosts) disc(pen, seen, spot, 3, null, ink("ghost"));
  for (const dot of seen.dots) disc(pen, seen, dot, dot.size, ink("dot"), ink("rim"));
  for (const dot of seen.hot) disc(pen, seen, dot, dot.size + 3, ink("hot"), ink("rim"));
  if (seen.target) cross(pen, seen.screen(seen.target), ink("hot"));
  if (seen.middle) cross(pen, seen.screen(seen.middle), ink("ghost"));
  pen.font = `600 11px ${style.fontFamily}`;
  names(pen, seen, ink);
}

function land(pen, { view: { x, y, scale }, width, height, land: paths }, dense, colour) {
  const half = Math.min(width / 2 / scale, 0.5);
  pen.save();
  pen.fillStyle = colour;
  // The world once: a dot is drawn in one place, and a second one there would look empty.
  pen.beginPath();
  pen.rect(width / 2 - half * scale, 0, 2 * half * scale, height);
  pen.clip();
  // One more on each side: some outlines reach over the edge of the square.
  for (let turn = Math.floor(x - half) - 1; turn <= Math.floor(x + half) + 1; turn++) {
    const [left, top] = [(turn - x) * scale + width / 2, height / 2 - y * scale];
    pen.setTransform(dense * scale, 0, 0, dense * scale, dense * left, dense * top);
    pen.fill(scale < FINE_FROM * width ? paths.coarse : paths.fine, "evenodd");
  }
  pen.restore();
}

function disc(pen, { screen, width, height }, spot, size, fill, rim = null) {
  const [x, y] = screen(spot);
  if (x < -20 || y < -20 || x > width + 20 || y > height + 20) return;
  pen.beginPath();
  pen.arc(x, y, size, 0, 2 * Math.PI);
  if (fill) {
    pen.fillStyle = fill;
    pen.fill();
  }
  if (rim) {
    pen.strokeStyle = rim;
    pen.lineWidth = 1.25;
    pen.stroke();
  }
}

function cross(pen, [x, y], colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(x, y, 13, 0, 2 * Math.PI);
  for (const [dx, dy] of [[0, 1], [0, -1], [1, 0], [-1, 0]]) {
    pen.moveTo(x + dx * 9, y + dy * 9);
    pen.lineTo(x + dx * 18, y + dy * 18);
  }
  pen.stroke();
}

/** Names of cities, the best first, where they cover neither each other nor a dot. */
function names(pen, { dots, screen, width, height }, ink) {
  const taken = [];
  const seen = new Set();
  const discs = dots.map((dot) => ({ dot, at: screen(dot) }));
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 3;
  for (const { dot, at: [x, y] } of [...discs].reverse()) {
    const text = dot.photo.city;
    if (!text || seen.has(text) || taken.length >= LABELS) continue;
    seen.add(text);
    const wide = pen.measureText(text).width;
    const left = x + dot.size + 5 + wide > width - 4 ? x - dot.size - 5 - wide : x + dot.size + 5;
    const box = { left: left - 3, right: left + wide + 3, top: y - 8, low: y + 8 };
    const crowded = taken.some((other) => meet(box, other))
      || discs.some(({ dot: other, at }) => other.photo.city !== text && covers(box, at, other.size));
    const buttons = underButtons([box.right, y], width, height);
    if (crowded || buttons || box.left < 0 || y < 8 || y > height - 8) continue;
    taken.push(box);
    pen.strokeStyle = ink("halo");
    pen.strokeText(text, left, y);
    pen.fillStyle = ink("name");
    pen.fillText(text, left, y);
  }
}

/** Whether a point of the screen lies under the buttons of the map. */
export const underButtons = ([x, y], width, height) => x > width - BUTTONS.wide && y > height - BUTTONS.high;

const meet = (one, other) => one.left < other.right && one.right > other.left && one.top < other.low && one.low > other.top;

/** Whether a disc would be hidden by a box. */
function covers(box, [x, y], size) {
  const [dx, dy] = [x - Math.min(Math.max(x, box.left), box.right), y - Math.min(Math.max(y, box.top), box.low)];
  return Math.hypot(dx, dy) < size * 0.6;
}
