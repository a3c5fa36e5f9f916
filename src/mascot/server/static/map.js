// The map is a stage: photographs stand at their places, near ones in a stack, and go to new places as a dial turns.

import { thumb } from "./api.js";
import { calm, h, tween } from "./dom.js";
import { link, onLink } from "./link.js";
import { paint, worldOf } from "./mapping.js";
import { MIDDLE, east, fit, toLat, toLon, toX, toY } from "./projection.js";
import { name, placeOf, plural, point, where } from "./words.js";

const CLOSEST_FIT = 36; // times the whole world
const CLOSEST = 600;
const STILL = 4; // pixels that a click may stray
const GONE_MS = 450;
const BUTTONS = { wide: 160, high: 44 }; // pixels of the corner they lie in

export class WorldMap {
  #view = null;
  #stop = () => {};
  #drawing = 0;
  #world = null;
  #everywhere = [];
  #spots = new Map(); // id -> {photo, x, y, rank, element}
  #stacks = []; // [{left, top, size, members}], as drawn
  #ghosts = []; // what relevance alone shows
  #results = [];
  #linked = [];
  #target = null;
  #box = ""; // the filter
  #drawn = null; // the box under the pointer
  #fitted = false; // to the library: afterwards only the reader moves it

  /** `pick({lat, lon})` hears a place to be near, `open(id)` a photograph, `select("south,west,north,east")` a box. */
  constructor(root, { pick, open, select }) {
    Object.assign(this, { root, pick, open, select });
    this.canvas = root.querySelector("canvas");
    this.layer = root.querySelector(".map-spots");
    this.tip = root.querySelector(".map-tip");
    this.note = root.querySelector(".card-note");
    this.boxing = root.querySelector("[data-map=box]");
    new ResizeObserver(() => this.#resize()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    onLink((ids) => {
      this.#linked = ids;
      this.#showTip();
      this.redraw();
    });
    this.#listen();
    fetch("/static/world.json").then((answer) => answer.json()).then((world) => {
      this.#world = worldOf(world);
      this.redraw();
    }).catch(() => { /* without outlines the photographs still say where */ });
  }

  library(points) {
    this.#everywhere = apart(points.map(([lat, lon]) => ({ x: toX(lon), y: toY(lat) })));
    this.#home();
  }

  /** Results and what relevance alone would show. The view stays as it is. */
  show(results, plain) {
    const placed = results.filter(({ photo }) => photo.lat !== null);
    this.#results = results;
    const ids = new Set(placed.map(({ photo }) => photo.id));
    this.#ghosts = apart(plain.filter((photo) => photo.lat !== null && !ids.has(photo.id))
      .map((photo) => ({ x: toX(photo.lon), y: toY(photo.lat) })));
    const places = new Set(placed.map(({ photo }) => placeOf(photo)));
    this.root.dataset.places = places.size;
    this.note.hidden = placed.length > 0 || results.length === 0;
    this.note.textContent = "None of these photographs says where it was taken.";
    const names = [...new Set(placed.map(({ photo }) => photo.city).filter(Boolean))];
    const content = results.length ? `${plural(places.size, "place")}${names.length ? `: ${names.slice(0, 12).join(", ")}` : ""}.` : "";
    this.canvas.setAttribute("aria-label",
      `Map. ${content} Arrow keys move it, plus and minus zoom, Enter asks for photographs near its middle, B for those within it.`);
    this.#exchange(placed);
    this.redraw();
  }

  target(near) {
    this.#target = near === null ? null : { x: toX(near.lon), y: toY(near.lat) };
    this.redraw();
  }

  /** The box that photographs are filtered by; empty text for none. */
  box(box) {
    this.#box = box;
    this.redraw();
  }

  /** Show all results. */
  fit() {
    const points = this.#spots.size ? [...this.#spots.values()] : this.#everywhere;
    if (this.width) this.#glide(points.length ? this.#around(points) : this.#whole);
  }

  redraw() {
    if (!this.#drawing) this.#drawing = requestAnimationFrame(() => this.#draw());
  }

  /** Once: the view of the whole library. */
  #home() {
    if (this.#fitted || !this.width || !this.#everywhere.length) return this.redraw();
    this.#fitted = true;
    this.#view = this.#clamped(this.#around(this.#everywhere));
    return this.redraw();
  }

  #around(points) {
    return this.#clamped(fit(points, { width: this.width, height: this.height, padding: this.#size / 2 + 6 }, this.#least, this.width * CLOSEST_FIT));
  }

  /** The world fills the height of the view; where it does not fill the width it is repeated, and has no edge. */
  get #least() {
    return Math.max(this.height, this.width * 0.72);
  }

  get #whole() {
    return { x: MIDDLE, y: 0.42, scale: this.#least };
  }

  /** Pixels of a photograph. */
  get #size() {
    return this.width > 560 ? 54 : 34;
  }

  #resize() {
    const box = this.root.getBoundingClientRect();
    if (!box.width) return;
    const before = this.width;
    [this.width, this.height] = [box.width, box.height];
    const dense = Math.min(devicePixelRatio || 1, 2);
    [this.canvas.width, this.canvas.height] = [Math.round(box.width * dense), Math.round(box.height * dense)];
    // The same part of the world in a view of another size.
    if (this.#view) this.#view = this.#clamped({ ...this.#view, scale: (this.#view.scale * this.width) / before });
    else this.#view = this.#clamped(this.#whole);
    this.#home();
  }

  #glide(to) {
    this.#stop();
    const from = { ...this.#view };
    to = this.#clamped(to);
    const dx = east(from.x, to.x);
    this.#stop = tween(500, (t) => {
      this.#view = { x: from.x + dx * t, y: from.y + (to.y - from.y) * t, scale: from.scale * (to.scale / from.scale) ** t };
      this.redraw();
    });
  }

  #clamped({ x, y, scale }) {
    scale = Math.min(Math.max(scale, this.#least), this.width * CLOSEST);
    const half = this.height / 2 / scale;
    return { x, y: Math.min(Math.max(y, half), 1 - half), scale };
  }

  #zoom(times, at = { x: this.width / 2, y: this.height / 2 }, smooth = true) {
    const held = this.#under(at);
    const scale = Math.min(Math.max(this.#view.scale * times, this.#least), this.width * CLOSEST);
    this.#to({ x: held.x - (at.x - this.width / 2) / scale, y: held.y - (at.y - this.height / 2) / scale, scale }, smooth);
  }

  #pan(dx, dy, smooth = false) {
    const { x, y, scale } = this.#view;
    this.#to({ x: x - dx / scale, y: y - dy / scale, scale }, smooth);
  }

  #to(view, smooth) {
    if (smooth) return this.#glide(view);
    this.#stop();
    this.#view = this.#clamped(view);
    return this.redraw();
  }

  #under({ x, y }) {
    const view = this.#view;
    return { x: view.x + (x - this.width / 2) / view.scale, y: view.y + (y - this.height / 2) / view.scale };
  }

  #screen(spot) {
    const view = this.#view;
    return [east(view.x, spot.x) * view.scale + this.width / 2, (spot.y - view.y) * view.scale + this.height / 2];
  }

  /** New photographs start where those that leave were, and go to their own places. */
  #exchange(placed) {
    const wanted = new Map(placed.map((result) => [result.photo.id, result]));
    const leaving = [];
    for (const [id, spot] of this.#spots) {
      if (wanted.has(id)) continue;
      leaving.push(spot);
      this.#spots.delete(id);
      spot.element.classList.add("leaving");
      setTimeout(() => spot.element.remove(), calm() ? 0 : GONE_MS);
    }
    let next = 0;
    for (const [id, { photo, rank }] of wanted) {
      const spot = this.#spots.get(id) ?? { element: this.#element(photo) };
      if (!this.#spots.has(id)) {
        const from = leaving.length ? leaving[next++ % leaving.length] : null;
        if (from?.at) spot.element.style.transform = from.element.style.transform;
        this.layer.append(spot.element);
      }
      Object.assign(spot, { photo, rank, x: toX(photo.lon), y: toY(photo.lat) });
      this.#spots.set(id, spot);
    }
    if (!calm()) {
      void this.layer.offsetWidth; // they are drawn where they start
      this.layer.classList.add("moving");
      clearTimeout(this.moving);
      this.moving = setTimeout(() => this.layer.classList.remove("moving"), 700);
    }
  }

  #element(photo) {
    const picture = h("img", { src: thumb(photo.id), alt: "", draggable: "false", decoding: "async" });
    return h("div", { class: "spot", "data-id": photo.id }, picture, h("span", {}));
  }

  /** Photographs that would cover each other stand in one stack, the best on top. */
  #stack() {
    const size = this.#size;
    const stacks = [];
    for (const spot of [...this.#spots.values()].sort((one, other) => one.rank - other.rank)) {
      const [x, y] = this.#shifted(this.#screen(spot), size);
      const near = stacks.find((stack) => Math.abs(stack.x - x) < size * 0.86 && Math.abs(stack.y - y) < size * 0.86);
      if (near) near.members.push(spot);
      else stacks.push({ x, y, left: x - size / 2, top: y - size / 2, size, members: [spot], city: spot.photo.city });
    }
    return stacks;
  }

  /** A photograph at the edge of the map is moved until all of it is seen. */
  #shifted([x, y], size) {
    const inside = (at, most) => (at < 0 || at > most ? at : Math.min(Math.max(at, size / 2 + 4), most - size / 2 - 4));
    return [inside(x, this.width), inside(y, this.height)];
  }

  #place() {
    const size = this.#size;
    const linked = new Set(this.#linked);
    this.layer.style.setProperty("--size", `${size}px`);
    this.#stacks = this.#stack();
    let seen = 0;
    for (const stack of this.#stacks) {
      const { x, y, members } = stack;
      const inside = x > -size && y > -size && x < this.width + size && y < this.height + size;
      if (x >= 0 && y >= 0 && x <= this.width && y <= this.height) seen += members.length;
      members.forEach((spot, i) => {
        const { element } = spot;
        spot.at = [x, y];
        element.style.transform = `translate(${x}px, ${y}px)`;
        element.style.visibility = inside ? "" : "hidden";
        element.classList.toggle("under", i > 0);
        element.classList.toggle("stacked", i === 0 && members.length > 1);
        element.classList.toggle("hot", i === 0 && members.some(({ photo }) => linked.has(photo.id)));
        if (i === 0) element.lastChild.textContent = members.length > 1 ? members.length : "";
      });
    }
    this.root.dataset.seen = seen;
  }

  #stackAt(at) {
    return this.#stacks.find((stack) => at.x >= stack.left && at.x <= stack.left + stack.size && at.y >= stack.top && at.y <= stack.top + stack.size);
  }

  #choose(at) {
    const stack = this.#stackAt(at);
    if (stack?.members.length === 1) this.open(stack.members[0].photo.id);
    else if (stack) this.#into(stack);
    else this.#near(at);
  }

  /** Zoom until the stack falls apart; one that never does is a place to be near. */
  #into({ members }) {
    const view = this.#around(members);
    if (view.scale > this.#view.scale * 1.2) this.#glide(view);
    else this.open(members[0].photo.id);
  }

  #near(at) {
    const spot = this.#under(at);
    this.pick({ lat: toLat(spot.y), lon: toLon(spot.x) });
  }

  /** Filter by the part of the world between two points of the screen. */
  #selectBetween(one, other) {
    const [[left, right], [top, low]] = ["x", "y"].map((side) => [one[side], other[side]].sort((a, b) => a - b));
    const [from, to] = [this.#under({ x: left, y: top }), this.#under({ x: right, y: low })];
    const [west, east_] = (right - left) / this.#view.scale >= 1 ? [-180, 180] : [toLon(from.x), toLon(to.x)];
    this.select([toLat(to.y), west, toLat(from.y), east_].map((side) => side.toFixed(2)).join(","));
  }

  #listen() {
    const down = new Map();
    let start = null;
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
      if (down.size > 1) start = null;
      else [start, travelled] = [{ ...spot(event), boxing: event.shiftKey || this.isBoxing }, 0];
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = spot(event);
      const from = down.get(event.pointerId);
      if (!from) {
        const stack = this.#stackAt(at);
        canvas.classList.toggle("over", Boolean(stack));
        link(stack ? stack.members.map(({ photo }) => photo.id) : [], this);
        return;
      }
      travelled += Math.hypot(at.x - from.x, at.y - from.y);
      if (start?.boxing) {
        this.#drawn = travelled > STILL ? [start, at] : null;
        this.redraw();
      } else if (down.size === 2) {
        const [other] = [...down].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const between = (place) => Math.hypot(place.x - other.x, place.y - other.y);
        this.#zoom(between(at) / Math.max(between(from), 1), other, false);
      } else if (travelled > STILL) {
        this.#pan(at.x - from.x, at.y - from.y);
      }
      down.set(event.pointerId, at);
    });
    const up = (event) => {
      if (!down.delete(event.pointerId) || down.size > 0) return;
      const box = this.#drawn;
      this.#drawn = null;
      if (event.type !== "pointerup") return this.redraw();
      if (box) {
        this.isBoxing = false;
        this.#selectBetween(...box);
      } else if (travelled <= STILL) this.#choose(spot(event));
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
    const acts = { in: () => this.#zoom(2), out: () => this.#zoom(0.5), fit: () => this.fit(), box: () => { this.isBoxing = !this.isBoxing; } };
    for (const button of this.root.querySelectorAll("[data-map]")) {
      if (acts[button.dataset.map]) button.addEventListener("click", acts[button.dataset.map]);
    }
  }

  /** Whether the next drag draws a box. */
  get isBoxing() {
    return this.boxing.getAttribute("aria-pressed") === "true";
  }

  set isBoxing(on) {
    this.boxing.setAttribute("aria-pressed", String(on));
    this.canvas.classList.toggle("boxing", on);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowLeft: () => this.#pan(60, 0, true), ArrowRight: () => this.#pan(-60, 0, true),
      ArrowUp: () => this.#pan(0, 45, true), ArrowDown: () => this.#pan(0, -45, true),
      "+": () => this.#zoom(2), "=": () => this.#zoom(2), "-": () => this.#zoom(0.5), 0: () => this.fit(),
      Enter: () => this.#near({ x: this.width / 2, y: this.height / 2 }),
      b: () => this.#selectBetween({ x: 0, y: 0 }, { x: this.width, y: this.height }),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #showTip() {
    const spot = this.#pointed();
    this.tip.hidden = !spot;
    if (!spot) return;
    const about = where(spot.photo) || point(spot.photo.lat, spot.photo.lon);
    this.tip.replaceChildren(h("b", {}, about), h("span", {}, name(spot.photo)));
  }

  #pointed() {
    return this.#linked.length ? this.#spots.get(this.#linked[0]) : undefined;
  }

  #placeTip() {
    const at = this.#pointed()?.at;
    this.tip.hidden = !at;
    if (!at) return;
    const below = at[1] < this.height / 2;
    this.tip.style.left = `${Math.min(Math.max(at[0], 100), this.width - 100)}px`;
    this.tip.style.top = `${Math.min(Math.max(at[1], 0), this.height) + (below ? 1 : -1) * (this.#size / 2 + 6)}px`;
    this.tip.classList.toggle("below", below);
  }

  #draw() {
    this.#drawing = 0;
    if (!this.width || !this.#view) return;
    this.#place();
    const focused = document.activeElement === this.canvas && this.canvas.matches(":focus-visible");
    const { width, height } = this;
    const inside = (spot) => {
      const [x, y] = this.#screen(spot);
      return [Math.min(Math.max(x, 18), width - 18), Math.min(Math.max(y, 18), height - 18)];
    };
    paint(this.canvas, {
      view: this.#view, width, height, world: this.#world, screen: (spot) => this.#screen(spot),
      everywhere: this.#everywhere, ghosts: this.#ghosts, spots: this.#stacks, box: this.#boxOnScreen(),
      reserved: [{ left: width - BUTTONS.wide, right: width, top: height - BUTTONS.high, low: height }],
      target: this.#target && inside(this.#target), middle: focused ? [width / 2, height / 2] : null,
    });
    const { x, y, scale } = this.#view;
    Object.assign(this.root.dataset, {
      view: `${x.toFixed(5)},${y.toFixed(5)},${Math.round(scale)}`, stacks: this.#stacks.length,
      target: this.#target ? `${toLat(this.#target.y).toFixed(1)},${toLon(this.#target.x).toFixed(1)}` : "",
    });
    this.#placeTip();
  }

  #boxOnScreen() {
    if (this.#drawn) {
      const [one, other] = this.#drawn;
      return { left: Math.min(one.x, other.x), top: Math.min(one.y, other.y), width: Math.abs(one.x - other.x), height: Math.abs(one.y - other.y) };
    }
    if (!this.#box) return null;
    const [south, west, north, east_] = this.#box.split(",").map(Number);
    const wide = ((((east_ - west) % 360) + 360) % 360 || 360) / 360;
    const [middle, top] = this.#screen({ x: toX(west) + wide / 2, y: toY(north) });
    const [, low] = this.#screen({ x: 0, y: toY(south) });
    return { left: middle - (wide * this.#view.scale) / 2, top, width: wide * this.#view.scale, height: low - top };
  }
}

/** One of those that lie on each other: faint dots would add up to a dark one. */
function apart(spots) {
  const cell = ({ x, y }) => `${Math.round(x * 2000)} ${Math.round(y * 2000)}`;
  return [...new Map(spots.map((spot) => [cell(spot), spot])).values()];
}
