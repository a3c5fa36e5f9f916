// Drawing the map: land, borders, names of countries and cities, dots of the library, the target and the box.

import { toX, toY, worldPath } from "./projection.js";

const COARSE = 0.5; // degrees; less than a pixel while much of the world is visible
const FINE_FROM = 3; // zoom relative to the whole world
const LARGE = 560; // pixels from which a map is large

/** Return the world file as paths and points. */
export function prepareWorld({ scale, land, borders, countries, cities }) {
  const place = ([name, lat, lon, size]) => ({ name, x: toX(lon), y: toY(lat), size });
  const paths = (lines, closed) => (
    { fine: worldPath(lines, { scale, closed }), coarse: worldPath(lines, { scale, closed, minStep: COARSE }) });
  return { land: paths(land, true), borders: paths(borders, false), countries: countries.map(place), cities: cities.map(place) };
}

/** Draw one frame of the map. */
export function paintMap(canvas, scene) {
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const colour = (name) => style.getPropertyValue(`--map-${name}`).trim();
  const ratio = canvas.width / scene.width;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = colour("sea");
  pen.fillRect(0, 0, scene.width, scene.height);
  if (scene.world) paintLand(pen, scene, ratio, colour);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  paintDots(pen, scene, colour);
  if (scene.box) paintBox(pen, scene.box, colour("hot"));
  new Labels(pen, scene, colour, style.fontFamily).paint();
  if (scene.target) paintCross(pen, scene.target, colour("hot"), colour("halo"));
  if (scene.middle) paintCross(pen, scene.middle, colour("ghost"), colour("halo"));
}

function paintLand(pen, { center: { x, y, scale }, width, height, world }, ratio, colour) {
  const half = width / 2 / scale;
  const detail = scale < FINE_FROM * width ? "coarse" : "fine";
  pen.fillStyle = colour("land");
  pen.strokeStyle = colour("border");
  pen.lineWidth = 0.8 / scale;
  const layers = [() => pen.fill(world.land[detail], "evenodd"), () => pen.stroke(world.borders[detail])];
  for (const paint of layers) {
    // One more world on each side, because some outlines cross the edge of the square.
    for (let turn = Math.floor(x - half) - 1; turn <= Math.floor(x + half) + 1; turn++) {
      const [left, top] = [(turn - x) * scale + width / 2, height / 2 - y * scale];
      pen.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * left, ratio * top);
      paint();
    }
  }
}

/** Draw the dots of the library and the rings of results by relevance alone. */
function paintDots(pen, scene, colour) {
  const { scale } = scene.center;
  // The dots are repeated where the world is.
  const turns = scale < scene.width ? [-1, 0, 1] : [0];
  for (const turn of turns) {
    for (const point of scene.library) {
      const [x, y] = scene.toScreen(point);
      paintDisc(pen, scene, [x + turn * scale, y], 1.7, colour("library"));
    }
  }
  for (const point of scene.plain) paintDisc(pen, scene, scene.toScreen(point), 3, null, colour("ghost"));
}

function paintDisc(pen, { width, height }, [x, y], radius, fill, rim = null) {
  if (x < -20 || y < -20 || x > width + 20 || y > height + 20) return;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
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

function paintBox(pen, { left, top, width, height }, colour) {
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

function paintCross(pen, [x, y], colour, halo) {
  for (const [stroke, lineWidth] of [[halo, 5], [colour, 2]]) {
    pen.strokeStyle = stroke;
    pen.lineWidth = lineWidth;
    pen.beginPath();
    pen.arc(x, y, 13, 0, 2 * Math.PI);
    for (const [dx, dy] of [[0, 1], [0, -1], [1, 0], [-1, 0]]) {
      pen.moveTo(x + dx * 9, y + dy * 9);
      pen.lineTo(x + dx * 18, y + dy * 18);
    }
    pen.stroke();
  }
}

/** Names that do not cover each other: places of the photographs first, then countries, then cities by size. */
class Labels {
  #occupied; // rectangles {left, right, top, bottom}
  #named = new Set(); // cities

  constructor(pen, scene, colour, family) {
    Object.assign(this, { pen, scene, colour, family });
    const photos = scene.stacks.map(({ left, top, size }) => ({ left, right: left + size, top, bottom: top + size }));
    this.#occupied = [...scene.reserved, ...photos];
    if (scene.target) {
      const [x, y] = scene.target;
      this.#occupied.push({ left: x - 18, right: x + 18, top: y - 18, bottom: y + 18 });
    }
  }

  paint() {
    const { pen, scene } = this;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 3;
    this.#paintPlaces();
    const isOverview = scene.width <= LARGE && scene.center.scale < 2 * scene.width; // only a few names would fit
    if (scene.world && !isOverview) {
      this.#paintCountries();
      this.#paintCities();
    }
    pen.letterSpacing = "0px";
  }

  #font(weight, large, small) {
    return `${weight} ${this.scene.width > LARGE ? large : small}px ${this.family}`;
  }

  #paintPlaces() {
    const font = this.#font(600, 12, 11);
    for (const { city, left, top, size } of this.scene.stacks) {
      if (!city || this.#named.has(city)) continue;
      if (this.#put(city, left + size / 2, top + size + 10, { font, colour: "name" })) this.#named.add(city);
    }
  }

  #paintCountries() {
    const { pen, scene: { world, center } } = this;
    const font = this.#font(500, 11.5, 10);
    for (const country of world.countries) {
      const room = (country.size * center.scale) / 360;
      if (room < 30) break; // the largest come first
      const point = this.#visiblePoint(country);
      pen.font = font;
      if (!point || pen.measureText(country.name).width >= room * 1.6) continue;
      const offsets = [0, 15, -15, 30, -30].filter((offset) => Math.abs(offset) < room / 3);
      offsets.some((offset) => this.#put(country.name, point[0], point[1] + offset, { font, colour: "country", spacing: "0.6px" }));
    }
  }

  #paintCities() {
    const { pen, scene } = this;
    const { width, height, world, center } = scene;
    const font = this.#font(450, 11, 10);
    const minSize = 14_000 / Math.max(center.scale / 620, 0.4) ** 2; // thousands of people
    let left = Math.round((width * height) / 12_000);
    for (const city of world.cities) {
      if (city.size < minSize || left <= 0) break;
      const point = this.#named.has(city.name) ? null : this.#visiblePoint(city);
      if (!point || !this.#put(city.name, point[0] + 6, point[1], { font, colour: "city", align: "left" })) continue;
      paintDisc(pen, scene, point, 2, this.colour("city"));
      left -= 1;
    }
  }

  #visiblePoint(place) {
    const { width, height, toScreen } = this.scene;
    const [x, y] = toScreen(place);
    return x < 0 || y < 0 || x > width || y > height ? null : [x, y];
  }

  /** Draw a name if there is room for it. Returns whether it was drawn. */
  #put(text, x, y, { font, colour, align = "center", spacing = "0px" }) {
    const { pen, scene } = this;
    pen.font = font;
    pen.letterSpacing = spacing;
    const { width } = pen.measureText(text);
    const left = align === "center" ? x - width / 2 : x;
    const box = { left: left - 3, right: left + width + 3, top: y - 8, bottom: y + 8 };
    const isOutside = box.left < 0 || box.right > scene.width || box.top < 0 || box.bottom > scene.height;
    if (isOutside || this.#occupied.some((other) => overlaps(box, other))) return false;
    this.#occupied.push(box);
    pen.strokeStyle = this.colour("halo");
    pen.strokeText(text, left, y);
    pen.fillStyle = this.colour(colour);
    pen.fillText(text, left, y);
    return true;
  }
}

const overlaps = (a, b) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
