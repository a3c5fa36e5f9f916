// A list of photographs. Tiles keep their identity, move to their new positions, and take the focus by arrow keys.

import { h, prefersReducedMotion } from "./dom.js";
import { highlight, onHighlight } from "./highlight.js";
import { thumbUrl } from "../app/api.js";
import { altText, counted, dayText, photoName, placeName, timeText } from "../text/labels.js";

const MOVE_MS = 320;
const EAGER = 8; // tiles that are visible at once, and loaded first

export class Grid {
  #tiles = new Map(); // id -> {item, button, ...}

  /** Calls `open(id)`, `pick(id, isRange)` and `reject(id)`. */
  constructor(list, { open, pick, reject }) {
    Object.assign(this, { list, open, pick, reject });
    list.addEventListener("keydown", (event) => this.#onKey(event));
    list.addEventListener("focusin", (event) => this.#onPoint(event));
    list.addEventListener("pointerover", (event) => this.#onPoint(event));
    list.addEventListener("pointerleave", () => highlight([], this));
    list.addEventListener("focusout", () => highlight([], this));
    onHighlight((ids, source) => {
      const highlighted = new Set(ids);
      for (const [id, tile] of this.#tiles) tile.item.classList.toggle("linked", source !== this && highlighted.has(id));
    });
  }

  /** Show entries {photo, rank, mark, isPicked, similar, heading}; mark is "added", "removed" or null. `move` animates the change. */
  show(entries, move = true) {
    const isAnimated = move && !prefersReducedMotion();
    const before = isAnimated ? this.#positions() : new Map();
    const focused = document.activeElement;
    const wanted = new Set(entries.map((entry) => entry.photo.id));
    for (const [id, tile] of this.#tiles) {
      if (!wanted.has(id)) {
        tile.item.remove();
        this.#tiles.delete(id);
      }
    }
    for (const heading of this.list.querySelectorAll(".heading")) heading.remove();
    const items = entries.flatMap((entry, i) => {
      const tile = this.#tile(entry, i);
      renderTile(tile, entry);
      return entry.heading ? [h("li", { class: "heading" }, h("h3", {}, entry.heading)), tile.item] : [tile.item];
    });
    items.forEach((item, i) => {
      if (this.list.children[i] !== item) this.list.insertBefore(item, this.list.children[i] ?? null);
    });
    this.#keepOneTabStop();
    // A focused element loses the focus when it is moved.
    if (focused !== document.activeElement && this.list.contains(focused)) focused.focus({ preventScroll: true });
    if (isAnimated) this.#animate(before);
  }

  /** Focus a photograph, if it is in this list. */
  focus(id) {
    const tile = this.#tiles.get(id);
    if (!tile) return;
    this.#setTabStop(tile.button);
    tile.button.focus();
  }

  #tile(entry, i) {
    const { photo } = entry;
    let tile = this.#tiles.get(photo.id);
    if (tile) return tile;
    const picture = h("img", {
      alt: "", width: photo.width, height: photo.height, decoding: "async", draggable: "false",
      loading: i < EAGER ? "eager" : "lazy",
    });
    picture.src = thumbUrl(photo.id);
    picture.addEventListener("error", () => tile.item.classList.add("broken"), { once: true });
    const badge = h("span", { class: "badge", "aria-hidden": "true" });
    const about = [placeName(photo), dayText(photo.taken)].filter(Boolean).join(" · ");
    const caption = h("span", { class: "caption", "aria-hidden": "true" }, h("b", {}, photoName(photo)), h("span", {}, about));
    const button = h("button", { type: "button", class: "tile", tabindex: "-1", "data-id": photo.id }, picture, badge, caption);
    const toggle = (kind, text, act) => h("button", { type: "button", class: `mini ${kind}`, tabindex: "-1", onclick: act }, text);
    const pick = toggle("pick", "✓", (event) => this.pick(photo.id, event.shiftKey));
    const reject = toggle("reject", "×", () => this.reject(photo.id));
    reject.setAttribute("aria-label", `Reject ${photoName(photo)}`);
    const item = h("li", {}, button, h("div", { class: "minis" }, pick, reject));
    item.style.setProperty("--ratio", Math.min(Math.max(photo.width / photo.height, 0.56), 2.4).toFixed(4));
    button.addEventListener("click", (event) => {
      if (event.shiftKey || event.ctrlKey || event.metaKey) this.pick(photo.id, event.shiftKey);
      else this.open(photo.id);
    });
    tile = { item, button, badge, pick, photo };
    this.#tiles.set(photo.id, tile);
    return tile;
  }

  #onPoint(event) {
    const button = event.target.closest("button.tile");
    if (button) highlight([Number(button.dataset.id)], this);
  }

  #keepOneTabStop() {
    const buttons = [...this.list.querySelectorAll("button.tile")];
    if (buttons.length && !buttons.some((button) => button.tabIndex === 0)) buttons[0].tabIndex = 0;
  }

  #setTabStop(button) {
    for (const other of this.list.querySelectorAll('button.tile[tabindex="0"]')) other.tabIndex = -1;
    button.tabIndex = 0;
  }

  #onKey(event) {
    const at = event.target.closest("button.tile");
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = [...this.list.querySelectorAll("button.tile")];
    const i = buttons.indexOf(at);
    const act = { p: this.pick, x: this.reject }[event.key.toLowerCase()];
    if (act) {
      event.preventDefault();
      if (event.key === "x" && buttons.length > 1) {
        const next = buttons[i + 1] ?? buttons[i - 1];
        this.#setTabStop(next);
        next.focus();
      }
      act(Number(at.dataset.id), event.shiftKey);
      return;
    }
    const to = {
      ArrowRight: () => buttons[i + 1], ArrowLeft: () => buttons[i - 1],
      ArrowDown: () => nextRow(buttons, i, 1), ArrowUp: () => nextRow(buttons, i, -1),
      Home: () => buttons[0], End: () => buttons.at(-1),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    const next = to();
    if (!next) return;
    this.#setTabStop(next);
    next.focus();
  }

  #positions() {
    const positions = new Map();
    for (const [id, tile] of this.#tiles) positions.set(id, tile.item.getBoundingClientRect());
    return positions;
  }

  #animate(before) {
    const timing = { duration: MOVE_MS, easing: "cubic-bezier(.2, .8, .2, 1)" };
    for (const tile of this.#tiles.values()) for (const animation of tile.item.getAnimations()) animation.cancel();
    const after = this.#positions();
    for (const [id, tile] of this.#tiles) {
      const [from, to] = [before.get(id), after.get(id)];
      if (!from) {
        tile.item.animate([{ opacity: 0, transform: "scale(.94)" }, { opacity: 1, transform: "none" }], timing);
        continue;
      }
      const [dx, dy] = [from.left - to.left, from.top - to.top];
      if (Math.abs(dx) + Math.abs(dy) < 1) continue;
      tile.item.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], timing);
    }
  }
}

function renderTile(tile, { photo, rank, mark, isPicked = false, similar = [] }) {
  const key = JSON.stringify([rank, mark, isPicked, similar.length]);
  if (tile.key === key) return;
  tile.key = key;
  for (const kind of ["added", "removed"]) tile.item.classList.toggle(kind, mark === kind);
  tile.item.classList.toggle("picked", isPicked);
  tile.badge.textContent = similar.length ? `${similar.length} similar` : "";
  tile.pick.setAttribute("aria-pressed", String(isPicked));
  tile.pick.setAttribute("aria-label", `Pick ${photoName(photo)}`);
  const time = timeText(photo.taken);
  const notes = [
    { added: "Added", removed: "Removed" }[mark] ?? `Number ${rank}`, isPicked ? "picked" : null,
    similar.length ? counted(similar.length, "similar photograph") : null,
  ].filter(Boolean).join(", ");
  tile.button.setAttribute("aria-label", `${altText(photo)}${time ? ` at ${time}` : ""}. ${notes}.`);
}

/** Return the nearest tile of the row below or above. */
function nextRow(buttons, i, step) {
  const box = (button) => button.getBoundingClientRect();
  const from = box(buttons[i]);
  const middle = from.left + from.width / 2;
  let best = null;
  let row = null;
  for (let j = i + step; j >= 0 && j < buttons.length; j += step) {
    const to = box(buttons[j]);
    if (Math.abs(to.top - from.top) < from.height / 2) continue;
    row ??= to.top;
    if (Math.abs(to.top - row) > 4) break;
    const off = Math.abs(to.left + to.width / 2 - middle);
    if (best === null || off < best.off) best = { off, button: buttons[j] };
  }
  return best?.button;
}
