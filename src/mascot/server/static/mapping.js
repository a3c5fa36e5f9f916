// Drawing the map: land, borders, names of countries and cities, the library's dots, the target and the box.

import { toX, toY, worldPath } from "./projection.js";

const COARSE = 0.5; // degrees: less than a pixel while much of the world is seen
const FINE_FROM = 3; // times the whole world

/** The world file, ready to be drawn. */
export function worldOf({ scale, land, borders, countries, cities }) {
  const spot = ([name, lat, lon, size]) => ({ name, x: toX(lon), y: toY(lat), size });
  return {
    land: { fine: worldPath(land, { scale, closed: true }), coarse: worldPath(land, { scale, closed: true, least: COARSE }) },
    borders: { fine: worldPath(borders, { scale, closed: false }), coarse: worldPath(borders, { scale, closed: false, least: COARSE }) },
    countries: countries.map(spot),
    cities: cities.map(spot),
  };
}

/** Draw one frame of the map as it is seen. */
export function paint(canvas, seen) {
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const ink = (name) => style.getPropertyValue(`--map-${name}`).trim();
  const dense = canvas.width / seen.width;
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.fillStyle = ink("sea");
  pen.fillRect(0, 0, seen.width, seen.height);
  if (seen.world) ground(pen, seen, dense, ink);
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  // Where the world is repeated at the edges, so are its dots.
  const { scale } = seen.view;
  const turns = scale < seen.width ? [-1, 0, 1] : [0];
  const repeated = { ...seen, screen: (spot) => [seen.screen(spot)[0] + spot.turn * scale, seen.screen(spot)[1]] };
  for (const turn of turns) for (const spot of seen.everywhere) disc(pen, repeated, { ...spot, turn }, 1.7, ink("library"));
  for (const spot of seen.ghosts) disc(pen, seen, spot, 3, null, ink("ghost"));
  if (seen.box) outline(pen, seen.box, ink("hot"));
  labels(pen, seen, ink, style.fontFamily);
  if (seen.target) cross(pen, seen.target, ink("hot"), ink("halo"));
  if (seen.middle) cross(pen, seen.middle, ink("ghost"), ink("halo"));
}

function ground(pen, { view: { x, y, scale }, width, height, world }, dense, ink) {
  const half = width / 2 / scale;
  const fine = scale < FINE_FROM * width ? "coarse" : "fine";
  pen.fillStyle = ink("land");
  pen.strokeStyle = ink("border");
  pen.lineWidth = 0.8 / scale;
  const layers = [() => pen.fill(world.land[fine], "evenodd"), () => pen.stroke(world.borders[fine])];
  for (const draw of layers) {
    // One more on each side: some outlines reach over the edge of the square.
    for (let turn = Math.floor(x - half) - 1; turn <= Math.floor(x + half) + 1; turn++) {
      const [left, top] = [(turn - x) * scale + width / 2, height / 2 - y * scale];
      pen.setTransform(dense * scale, 0, 0, dense * scale, dense * left, dense * top);
      draw();
    }
  }
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

function outline(pen, { left, top, width, height }, colour) {
  pen.save();
  pen.fillStyle = colour;
  pen.globalAlpha = 0.1;
  pen.fillRect(left, top, width, height);
  pen.globalAlpha = 1;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.setLineDash([6, 4]);
  pen.strokeRect(left, top, width, height);
  pen.restore();
}

function cross(pen, [x, y], colour, halo) {
  for (const [stroke, wide] of [[halo, 5], [colour, 2]]) {
    pen.strokeStyle = stroke;
    pen.lineWidth = wide;
    pen.beginPath();
    pen.arc(x, y, 13, 0, 2 * Math.PI);
    for (const [dx, dy] of [[0, 1], [0, -1], [1, 0], [-1, 0]]) {
      pen.moveTo(x + dx * 9, y + dy * 9);
      pen.lineTo(x + dx * 18, y + dy * 18);
    }
    pen.stroke();
  }
}

/** Names where they fit: places of the photographs first, then countries, then cities by size. */
function labels(pen, seen, ink, family) {
  const { screen, width, height, world, view: { scale }, spots, reserved } = seen;
  const taken = [...reserved, ...spots.map(({ left, top, size }) => ({ left, right: left + size, top, low: top + size }))];
  if (seen.target) taken.push({ left: seen.target[0] - 18, right: seen.target[0] + 18, top: seen.target[1] - 18, low: seen.target[1] + 18 });
  const large = width > 560;
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 3;
  const put = (text, x, y, { font, colour, align = "center", spacing = "0px" }) => {
    pen.font = font;
    pen.letterSpacing = spacing;
    const wide = pen.measureText(text).width;
    const left = align === "center" ? x - wide / 2 : x;
    const box = { left: left - 3, right: left + wide + 3, top: y - 8, low: y + 8 };
    const outside = box.left < 0 || box.right > width || box.top < 0 || box.low > height;
    if (outside || taken.some((other) => meet(box, other))) return false;
    taken.push(box);
    pen.strokeStyle = ink("halo");
    pen.strokeText(text, left, y);
    pen.fillStyle = ink(colour);
    pen.fillText(text, left, y);
    return true;
  };
  const named = new Set();
  for (const { city, left, top, size } of spots) {
    if (!city || named.has(city)) continue;
    if (put(city, left + size / 2, top + size + 10, { font: `600 ${large ? 12 : 11}px ${family}`, colour: "name" })) named.add(city);
  }
  if (world) {
    for (const country of world.countries) {
      const room = (country.size * scale) / 360;
      if (room < 30) break; // the largest come first
      const [x, y] = screen(country);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const font = `500 ${large ? 11.5 : 10}px ${family}`;
      pen.font = font;
      if (pen.measureText(country.name).width >= room * 1.6) continue;
      const around = [0, 15, -15, 30, -30].filter((off) => Math.abs(off) < room / 3);
      around.some((off) => put(country.name, x, y + off, { font, colour: "country", spacing: "0.6px" }));
    }
    let left = Math.round((width * height) / 12_000);
    const least = 14_000 / Math.max(scale / 620, 0.4) ** 2; // thousands of people
    for (const city of world.cities) {
      if (city.size < least || left <= 0) break;
      if (named.has(city.name)) continue;
      const [x, y] = screen(city);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      if (!put(city.name, x + 6, y, { font: `450 ${large ? 11 : 10}px ${family}`, colour: "city", align: "left" })) continue;
      disc(pen, seen, city, 2, ink("city"));
      left -= 1;
    }
  }
  pen.letterSpacing = "0px";
}

const meet = (one, other) => one.left < other.right && one.right > other.left && one.top < other.low && one.low > other.top;
