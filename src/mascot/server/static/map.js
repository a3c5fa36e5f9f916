// The world, the photographs on it, and a click that says where to focus.

import { thumb } from "./api.js";
import { h, tween } from "./dom.js";
import { link, onLink } from "./link.js";
import { BUTTONS, landPaths, paint, underButtons } from "./mapping.js";
import { MIDDLE, east, fit, toLat, toLon, toX, toY } from "./projection.js";
import { name, placeOf, plural, point, where } from "./words.js";

const CLOSEST_FIT = 36; // times the whole world
const CLOSEST = 600;
const PADDING = 34; // pixels
const REST_MS = 250;
const REACH = 12; // pixels from a dot that still mean it

export class WorldMap {
  #view = null;
  #stop = () => {};
  #drawing = 0;
  #resting = 0;
  #land = null;
  #everywhere = [];
  #dots = []; // results with a place, best last
  #ghosts = []; // what relevance alone shows
  #linked = [];
  #target = null;
  #moved = false; // by hand: then it is not taken elsewhere by a slider

  /** `pick({lat, lon})` is called with the place that was clicked: the photograph's own, or that of the map. */
  constructor(root, pick) {
    this.root = root;
    this.pick = pick;
    this.canvas = root.querySelector("canvas");
    this.tip = root.querySelector(".map-tip");
    this.note = root.querySelector(".card-note");
    new ResizeObserver(() => this.#resize()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    onLink((ids) => {
      this.#linked = ids;
      this.#showTip();
      this.redraw();
    });
    this.#listen();
    fetch("/static/land.json").then((answer) => answer.json()).then((land) => {
      this.#land = landPaths(land);
      this.redraw();
    }).catch(() => { /* without outlines the dots still say where */ });
  }

  library(points) {
    this.#everywhere = apart(points.map(([lat, lon]) => ({ x: toX(lon), y: toY(lat) })));
    this.redraw();
  }

  /** Results and what relevance alone would show; the view follows unless it was moved by hand. */
  show(results, plain, fresh) {
    const k = Math.max(results.length, 2);
    const placed = results.filter(({ photo }) => photo.lat !== null);
    this.#dots = placed.map(({ photo, rank }) => ({
      photo, x: toX(photo.lon), y: toY(photo.lat), size: 3.5 + 5.5 * (1 - (rank - 1) / (k - 1)) ** 1.5,
    })).reverse();
    const shown = new Set(placed.map(({ photo }) => photo.id));
    this.#ghosts = apart(plain.filter((photo) => photo.lat !== null && !shown.has(photo.id))
      .map((photo) => ({ x: toX(photo.lon), y: toY(photo.lat) })));
    const places = new Set(placed.map(({ photo }) => placeOf(photo)));
    this.root.dataset.places = places.size;
    this.note.hidden = placed.length > 0 || results.length === 0;
    this.note.textContent = "None of these photographs says where it was taken.";
    const names = [...new Set(placed.map(({ photo }) => photo.city).filter(Boolean))];
    const told = results.length ? `${plural(places.size, "place")}${names.length ? `: ${names.slice(0, 12).join(", ")}` : ""}.` : "";
    this.canvas.setAttribute("aria-label", `Map. ${told} Arrow keys move it, plus and minus zoom, Enter focuses on its middle.`);
    clearTimeout(this.#resting);
    if (fresh) this.fit();
    // Not with every step of a slider: the map would never be still.
    else if (!this.#moved) this.#resting = setTimeout(() => this.#moved || this.fit(), REST_MS);
    this.redraw();
  }

  target(near) {
    this.#target = near === null ? null : { x: toX(near.lon), y: toY(near.lat) };
    this.redraw();
  }

  fit() {
    this.#moved = false;
    const points = this.#dots.length ? this.#dots : this.#everywhere;
    if (!this.width) return;
    this.#glide(points.length ? this.#around(points) : this.#world);
  }

  redraw() {
    if (!this.#drawing) this.#drawing = requestAnimationFrame(() => this.#draw());
  }

  /** The view of all points, none of them under the buttons. */
  #around(points) {
    const room = { width: this.width, height: this.height, padding: PADDING };
    const within = (below) => this.#kept(fit(points, { ...room, below }, this.#least, this.width * CLOSEST_FIT));
    const view = within(0);
    const hidden = points.some((spot) => underButtons(this.#screen(spot, view), this.width, this.height));
    return hidden ? within(BUTTONS.high - PADDING / 2) : view;
  }

  /** The whole height of the world is seen. */
  get #least() {
    return this.height;
  }

  get #world() {
    return { x: MIDDLE, y: 0.42, scale: Math.max(this.width, this.height * 1.45) };
  }

  #resize() {
    const box = this.root.getBoundingClientRect();
    if (!box.width) return;
    const first = !this.width;
    [this.width, this.height] = [box.width, box.height];
    const dense = Math.min(devicePixelRatio || 1, 2);
    [this.canvas.width, this.canvas.height] = [Math.round(box.width * dense), Math.round(box.height * dense)];
    if (first) this.#view = this.#world;
    if (!this.#moved) this.fit();
    this.#view.scale = Math.max(this.#view.scale, this.#least);
    this.redraw();
  }

  #glide(to) {
    this.#stop();
    const from = { ...this.#view };
    to = this.#kept(to);
    const dx = east(from.x, to.x);
    if (Math.abs(dx) + Math.abs(to.y - from.y) + Math.abs(Math.log(to.scale / from.scale)) < 1e-4) return;
    this.#stop = tween(650, (t) => {
      this.#view = { x: from.x + dx * t, y: from.y + (to.y - from.y) * t, scale: from.scale * (to.scale / from.scale) ** t };
      this.redraw();
    });
  }

  #kept({ x, y, scale }) {
    scale = Math.min(Math.max(scale, this.#least), this.width * CLOSEST);
    const half = this.height / 2 / scale;
    return { x, y: Math.min(Math.max(y, half), 1 - half), scale };
  }

  #zoom(times, at = { x: this.width / 2, y: this.height / 2 }, smooth = true) {
    this.#moved = true;
    const held = this.#under(at);
    const scale = Math.min(Math.max(this.#view.scale * times, this.#least), this.width * CLOSEST);
    const to = { x: held.x - (at.x - this.width / 2) / scale, y: held.y - (at.y - this.height / 2) / scale, scale };
    this.#to(to, smooth);
  }

  #pan(dx, dy, smooth = false) {
    this.#moved = true;
    const { x, y, scale } = this.#view;
    this.#to({ x: x - dx / scale, y: y - dy / scale, scale }, smooth);
  }

  #to(view, smooth) {
    if (smooth) return this.#glide(view);
    this.#stop();
    this.#view = this.#kept(view);
    return this.redraw();
  }

  #under({ x, y }) {
    const view = this.#view;
    return { x: view.x + (x - this.width / 2) / view.scale, y: view.y + (y - this.height / 2) / view.scale };
  }

  #screen(spot, view = this.#view) {
    return [east(view.x, spot.x) * view.scale + this.width / 2, (spot.y - view.y) * view.scale + this.height / 2];
  }

  #nearest(at) {
    let best = null;
    for (const dot of this.#dots) {
      const [x, y] = this.#screen(dot);
      const off = Math.hypot(x - at.x, y - at.y);
      if (off <= Math.max(REACH, dot.size) && (best === null || off <= best.off)) best = { off, dot };
    }
    return best?.dot ?? null;
  }

  #choose(at) {
    const dot = this.#nearest(at);
    const spot = this.#under(at);
    this.pick(dot ? dot.photo : { lat: toLat(spot.y), lon: toLon(spot.x) });
  }

  #listen() {
    const down = new Map();
    let travelled = 0;
    const spot = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, spot(event));
      if (down.size === 1) travelled = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = spot(event);
      const from = down.get(event.pointerId);
      if (!from) {
        const dot = this.#nearest(at);
        link(dot ? [dot.photo.id] : [], this);
        return;
      }
      travelled += Math.hypot(at.x - from.x, at.y - from.y);
      if (down.size === 2) {
        const [other] = [...down].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const apart = (place) => Math.hypot(place.x - other.x, place.y - other.y);
        this.#zoom(apart(at) / Math.max(apart(from), 1), other, false);
      } else if (travelled > 4) {
        this.#pan(at.x - from.x, at.y - from.y);
      }
      down.set(event.pointerId, at);
    });
    const up = (event) => {
      if (down.delete(event.pointerId) && down.size === 0 && travelled <= 4 && event.type === "pointerup") this.#choose(spot(event));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => link([], this));
    canvas.addEventListener("wheel", (event) => {
      // The wheel scrolls the page until the map is used; a pinch always means the map.
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      this.#zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), spot(event), false);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("focus", () => this.redraw());
    canvas.addEventListener("blur", () => this.redraw());
    for (const button of this.root.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => ({ in: () => this.#zoom(2), out: () => this.#zoom(0.5), fit: () => this.fit() })[button.dataset.zoom]());
    }
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowLeft: () => this.#pan(60, 0, true), ArrowRight: () => this.#pan(-60, 0, true),
      ArrowUp: () => this.#pan(0, 45, true), ArrowDown: () => this.#pan(0, -45, true),
      "+": () => this.#zoom(2), "=": () => this.#zoom(2), "-": () => this.#zoom(0.5), 0: () => this.fit(),
      Enter: () => this.#choose({ x: this.width / 2, y: this.height / 2 }),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #showTip() {
    const dot = this.#pointed();
    this.tip.hidden = !dot;
    if (!dot) return;
    const about = where(dot.photo) || point(dot.photo.lat, dot.photo.lon);
    const picture = h("img", { src: thumb(dot.photo.id), alt: "", width: 56, height: 42 });
    this.tip.replaceChildren(picture, h("span", {}, h("b", {}, about), name(dot.photo)));
  }

  #pointed() {
    return this.#linked.length === 1 ? this.#dots.find(({ photo }) => photo.id === this.#linked[0]) : undefined;
  }

  #placeTip() {
    const dot = this.#pointed();
    this.tip.hidden = !dot;
    if (!dot) return;
    const [x, y] = this.#screen(dot);
    const below = y < this.height / 2;
    this.tip.style.left = `${Math.min(Math.max(x, 100), this.width - 100)}px`;
    this.tip.style.top = `${Math.min(Math.max(y, 0), this.height) + (below ? 14 : -14)}px`;
    this.tip.classList.toggle("below", below);
  }

  #draw() {
    this.#drawing = 0;
    if (!this.width || !this.#view) return;
    const linked = new Set(this.#linked);
    const focused = document.activeElement === this.canvas && this.canvas.matches(":focus-visible");
    paint(this.canvas, {
      view: this.#view, width: this.width, height: this.height, land: this.#land, screen: (spot) => this.#screen(spot),
      everywhere: this.#everywhere, ghosts: this.#ghosts, dots: this.#dots,
      hot: this.#dots.filter((dot) => linked.has(dot.photo.id)),
      target: this.#target, middle: focused ? this.#under({ x: this.width / 2, y: this.height / 2 }) : null,
    });
    this.root.dataset.seen = this.#dots.map((dot) => this.#screen(dot))
      .filter(([x, y]) => x >= 0 && y >= 0 && x <= this.width && y <= this.height && !underButtons([x, y], this.width, this.height)).length;
    this.#placeTip();
  }
}

/** One of those that lie on each other: faint dots would add up to a dark one. */
function apart(spots) {
  const cell = ({ x, y }) => `${Math.round(x * 2000)} ${Math.round(y * 2000)}`;
  return [...new Map(spots.map((spot) => [cell(spot), spot])).values()];
}
