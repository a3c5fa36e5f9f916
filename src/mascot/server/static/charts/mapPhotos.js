// The photographs on the map. Those that would cover each other are in a stack, with the best one on top.

import { BADGE, BUTTONS } from "./mapView.js";
import { toX, toY } from "./projection.js";
import { thumbUrl } from "../app/api.js";
import { h, prefersReducedMotion } from "../view/dom.js";

const LEAVE_MS = 450;
const MOVE_MS = 700;
const OVERLAP = 0.86; // of the size: photographs closer than this share a stack

export class MapPhotos {
  #photos = new Map(); // id -> {photo, rank, x, y, element, position}
  #timer = 0;
  stacks = []; // [{x, y, left, top, size, members, city}], as drawn

  constructor(layer, view) {
    Object.assign(this, { layer, view });
  }

  /** Pixels of a photograph. */
  get size() {
    return this.view.width > 560 ? 54 : 34;
  }

  get all() {
    return [...this.#photos.values()];
  }

  get(id) {
    return this.#photos.get(id);
  }

  /** Show other results. New photographs start where those that leave were, and move to their own places. */
  show(results) {
    const leaving = this.#removeExcept(new Set(results.map(({ photo }) => photo.id)));
    let next = 0;
    for (const { photo, rank } of results) {
      const entry = this.#photos.get(photo.id) ?? { element: createElement(photo) };
      if (!this.#photos.has(photo.id)) {
        const from = leaving.length ? leaving[next++ % leaving.length] : null;
        if (from?.position) entry.element.style.transform = from.element.style.transform;
        this.layer.append(entry.element);
      }
      Object.assign(entry, { photo, rank, x: toX(photo.lon), y: toY(photo.lat) });
      this.#photos.set(photo.id, entry);
    }
    if (!prefersReducedMotion()) this.#animate();
  }

  #removeExcept(ids) {
    const leaving = this.all.filter(({ photo }) => !ids.has(photo.id));
    for (const { photo, element } of leaving) {
      this.#photos.delete(photo.id);
      element.classList.add("leaving");
      setTimeout(() => element.remove(), prefersReducedMotion() ? 0 : LEAVE_MS);
    }
    return leaving;
  }

  #animate() {
    void this.layer.offsetWidth; // draws the photographs where they start
    this.layer.classList.add("moving");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.layer.classList.remove("moving"), MOVE_MS);
  }

  /** Arrange the photographs in stacks. Returns the number of photographs inside the map. */
  arrange(highlighted) {
    const { size, view: { width, height } } = this;
    this.layer.style.setProperty("--size", `${size}px`);
    this.stacks = this.#createStacks();
    let visible = 0;
    for (const { x, y, members } of this.stacks) {
      const isNear = x > -size && y > -size && x < width + size && y < height + size;
      if (x >= 0 && y >= 0 && x <= width && y <= height) visible += members.length;
      members.forEach((entry, i) => {
        const { element } = entry;
        entry.position = [x, y];
        element.style.transform = `translate(${x}px, ${y}px)`;
        element.style.visibility = isNear ? "" : "hidden";
        element.classList.toggle("under", i > 0);
        element.classList.toggle("stacked", i === 0 && members.length > 1);
        element.classList.toggle("hot", i === 0 && members.some(({ photo }) => highlighted.includes(photo.id)));
        if (i === 0) element.lastChild.textContent = members.length > 1 ? members.length : "";
      });
    }
    return visible;
  }

  #createStacks() {
    const { size } = this;
    const stacks = [];
    for (const entry of this.all.sort((a, b) => a.rank - b.rank)) {
      const [x, y] = this.#insideEdges(this.view.toScreen(entry));
      const stack = stacks.find((other) => Math.abs(other.x - x) < size * OVERLAP && Math.abs(other.y - y) < size * OVERLAP);
      if (stack) stack.members.push(entry);
      else stacks.push({ x, y, left: x - size / 2, top: y - size / 2, size, members: [entry], city: entry.photo.city });
    }
    return stacks;
  }

  /** Move a photograph that the edge of the map or its buttons would cover in part until all of it is visible. */
  #insideEdges([x, y]) {
    const { width, height } = this.view;
    const margin = this.size / 2 + BADGE;
    const half = this.size / 2;
    const inside = (at, end, limit = end) => (at < -half || at > end + half ? at : Math.min(Math.max(at, margin), limit - margin));
    const isAtButtons = x > width - BUTTONS.width - margin && x <= width;
    return [inside(x, width), inside(y, height, isAtButtons ? height - BUTTONS.height : height)];
  }

  /** Return the stack at a point of the screen. */
  stackAt({ x, y }) {
    return this.stacks.find(({ left, top, size }) => x >= left && x <= left + size && y >= top && y <= top + size);
  }
}

function createElement(photo) {
  const picture = h("img", { src: thumbUrl(photo.id), alt: "", draggable: "false", decoding: "async" });
  return h("div", { class: "spot", "data-id": photo.id }, picture, h("span", {}));
}
