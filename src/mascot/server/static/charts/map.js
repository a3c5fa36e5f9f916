// The map: photographs at their places, the place to be near, and the box to filter by.

import { paintMap, prepareWorld } from "./mapCanvas.js";
import { listenToKeys, listenToPointer } from "./mapGestures.js";
import { MapPhotos } from "./mapPhotos.js";
import { BUTTONS, MapView } from "./mapView.js";
import { toLat, toLon, toX, toY } from "./projection.js";
import { counted, photoName, placeKey, placeName, pointText } from "../text/labels.js";
import { h } from "../view/dom.js";
import { highlight, onHighlight } from "../view/highlight.js";

const ZOOMED_IN = 1.2; // a click on a stack zooms in if the stack then fills this much more of the map
const KEYS = "Arrow keys move it, plus and minus zoom, Enter asks for photographs near its middle, B for those within it.";

export class WorldMap {
  #frame = 0;
  #world = null;
  #library = []; // points of all photographs
  #plain = []; // points of the results by relevance alone
  #highlighted = [];
  #target = null;
  #box = ""; // the filter
  #drawnBox = null; // two corners on the screen
  #isFitted = false; // whether the library was shown; afterwards only the reader moves the map
  #isBoxMode = false; // whether the next drag draws a box

  /** Calls `pick({lat, lon})` for a place to be near, `open(id)` and `select("south,west,north,east")`. */
  constructor(root, { pick, open, select }) {
    Object.assign(this, { root, pick, open, select });
    this.canvas = root.querySelector("canvas");
    this.tip = root.querySelector(".map-tip");
    this.note = root.querySelector(".card-note");
    this.boxButton = root.querySelector("[data-map=box]");
    this.view = new MapView(() => this.redraw());
    this.photos = new MapPhotos(root.querySelector(".map-spots"), this.view);
    new ResizeObserver(() => this.#resize()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    onHighlight((ids) => {
      this.#highlighted = ids;
      this.#renderTip();
      this.redraw();
    });
    this.#listen();
    this.#loadWorld();
  }

  async #loadWorld() {
    try {
      this.#world = prepareWorld(await (await fetch("/static/charts/world.json")).json());
      this.redraw();
    } catch {
      // The map is usable without outlines.
    }
  }

  /** Set the places [latitude, longitude] of all photographs. */
  setLibrary(points) {
    this.#library = distinct(points.map(([lat, lon]) => ({ x: toX(lon), y: toY(lat) })));
    this.#fitLibrary();
  }

  /** Show results, and those by relevance alone. The map does not move. */
  show(results, plain) {
    const placed = results.filter(({ photo }) => photo.lat !== null);
    const ids = new Set(placed.map(({ photo }) => photo.id));
    const others = plain.filter((photo) => photo.lat !== null && !ids.has(photo.id));
    this.#plain = distinct(others.map((photo) => ({ x: toX(photo.lon), y: toY(photo.lat) })));
    const places = new Set(placed.map(({ photo }) => placeKey(photo)));
    this.root.dataset.places = places.size;
    this.note.hidden = placed.length > 0 || results.length === 0;
    this.note.textContent = "None of these photographs says where it was taken.";
    const cities = [...new Set(placed.map(({ photo }) => photo.city).filter(Boolean))].slice(0, 12).join(", ");
    const content = results.length ? `${counted(places.size, "place")}${cities ? `: ${cities}` : ""}.` : "";
    this.canvas.setAttribute("aria-label", `Map. ${content} ${KEYS}`);
    this.photos.show(placed);
    this.redraw();
  }

  /** Show the place to be near, {lat, lon} or null. */
  setTarget(target) {
    this.#target = target === null ? null : { x: toX(target.lon), y: toY(target.lat) };
    this.redraw();
  }

  /** Show the box that photographs are filtered by; empty text is no box. */
  setBox(box) {
    this.#box = box;
    this.redraw();
  }

  redraw() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  /** Move to all results. */
  #fit() {
    const points = this.photos.all.length ? this.photos.all : this.#library;
    if (this.view.width) this.view.moveTo(this.view.around(points, this.photos.size), true);
  }

  /** Show the whole library, once. */
  #fitLibrary() {
    if (!this.#isFitted && this.view.width && this.#library.length) {
      this.#isFitted = true;
      this.view.moveTo(this.view.around(this.#library, this.photos.size), false);
    }
    this.redraw();
  }

  #resize() {
    const { width, height } = this.root.getBoundingClientRect();
    if (!width) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    this.view.resize(width, height);
    this.#fitLibrary();
  }

  #listen() {
    const { canvas, view } = this;
    const setNear = (point) => this.#setNear(point);
    const selectBox = (corner, opposite) => {
      this.#setBoxMode(false);
      this.select(view.boxBetween(corner, opposite));
    };
    listenToPointer(canvas, view, {
      click: (point) => this.#click(point),
      hover: (point) => this.#hover(point),
      drawBox: (corner, opposite) => {
        this.#drawnBox = corner === null ? null : [corner, opposite];
        this.redraw();
      },
      selectBox,
      isBoxMode: () => this.#isBoxMode,
    });
    listenToKeys(canvas, view, { fit: () => this.#fit(), setNear, selectBox });
    canvas.addEventListener("focus", () => this.redraw());
    canvas.addEventListener("blur", () => this.redraw());
    const buttons = { in: () => view.zoom(2), out: () => view.zoom(0.5), fit: () => this.#fit(), box: () => this.#setBoxMode(!this.#isBoxMode) };
    for (const [name, action] of Object.entries(buttons)) this.root.querySelector(`[data-map=${name}]`).addEventListener("click", action);
  }

  #setBoxMode(isBoxMode) {
    this.#isBoxMode = isBoxMode;
    this.boxButton.setAttribute("aria-pressed", String(isBoxMode));
    this.canvas.classList.toggle("boxing", isBoxMode);
  }

  #hover(point) {
    const stack = point === null ? undefined : this.photos.stackAt(point);
    this.canvas.classList.toggle("over", Boolean(stack));
    highlight(stack ? stack.members.map(({ photo }) => photo.id) : [], this);
  }

  #click(point) {
    const stack = this.photos.stackAt(point);
    if (!stack) this.#setNear(point);
    else if (stack.members.length === 1) this.open(stack.members[0].photo.id);
    else this.#openStack(stack);
  }

  /** Zoom in until the stack is spread out; if that does not help, open the photograph on top. */
  #openStack({ members }) {
    const center = this.view.around(members, this.photos.size);
    if (center.scale > this.view.center.scale * ZOOMED_IN) this.view.moveTo(center, true);
    else this.open(members[0].photo.id);
  }

  #setNear(point) {
    const { x, y } = this.view.toWorld(point);
    this.pick({ lat: toLat(y), lon: toLon(x) });
  }

  get #tipPhoto() {
    return this.#highlighted.length ? this.photos.get(this.#highlighted[0]) : undefined;
  }

  #renderTip() {
    const entry = this.#tipPhoto;
    this.tip.hidden = !entry;
    if (!entry) return;
    const place = placeName(entry.photo) || pointText(entry.photo.lat, entry.photo.lon);
    this.tip.replaceChildren(h("b", {}, place), h("span", {}, photoName(entry.photo)));
  }

  #placeTip() {
    const position = this.#tipPhoto?.position;
    this.tip.hidden = !position;
    if (!position) return;
    const [x, y] = position;
    const { width, height } = this.view;
    const isBelow = y < height / 2;
    this.tip.style.left = `${Math.min(Math.max(x, 100), width - 100)}px`;
    this.tip.style.top = `${Math.min(Math.max(y, 0), height) + (isBelow ? 1 : -1) * (this.photos.size / 2 + 6)}px`;
    this.tip.classList.toggle("below", isBelow);
  }

  #draw() {
    this.#frame = 0;
    const { canvas, view, photos } = this;
    const { width, height, center } = view;
    if (!width || !center) return;
    this.root.dataset.seen = photos.arrange(this.#highlighted);
    const hasFocus = document.activeElement === canvas && canvas.matches(":focus-visible");
    paintMap(canvas, {
      center, width, height, world: this.#world, toScreen: (point) => view.toScreen(point),
      library: this.#library, plain: this.#plain, stacks: photos.stacks, box: this.#boxRectangle(),
      reserved: [{ left: width - BUTTONS.width, right: width, top: height - BUTTONS.height, bottom: height }],
      target: this.#targetOnScreen(), middle: hasFocus ? [width / 2, height / 2] : null,
    });
    Object.assign(this.root.dataset, {
      view: `${center.x.toFixed(5)},${center.y.toFixed(5)},${Math.round(center.scale)}`, stacks: photos.stacks.length,
      target: this.#target ? `${toLat(this.#target.y).toFixed(1)},${toLon(this.#target.x).toFixed(1)}` : "",
    });
    this.#placeTip();
  }

  /** The target, moved to the edge if it is outside the map. */
  #targetOnScreen() {
    if (this.#target === null) return null;
    const { width, height } = this.view;
    const [x, y] = this.view.toScreen(this.#target);
    return [Math.min(Math.max(x, 18), width - 18), Math.min(Math.max(y, 18), height - 18)];
  }

  #boxRectangle() {
    if (this.#drawnBox === null) return this.#box ? this.view.rectangleOf(this.#box) : null;
    const [a, b] = this.#drawnBox;
    return { left: Math.min(a.x, b.x), top: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) };
  }
}

/** Return one of the points that lie on each other: faint dots would add up to a dark one. */
function distinct(points) {
  const cell = ({ x, y }) => `${Math.round(x * 2000)} ${Math.round(y * 2000)}`;
  return [...new Map(points.map((point) => [cell(point), point])).values()];
}
