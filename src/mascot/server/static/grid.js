// A list of photographs: tiles that keep their identity, move to their new places, and are walked with arrow keys.

import { thumb } from "./api.js";
import { calm, h } from "./dom.js";
import { link, onLink } from "./link.js";
import { clockTime, day, described, name, plural, where } from "./words.js";

const MOVE_MS = 320;
const EAGER = 8; // the first tiles are on the screen anyway

export class Grid {
  #tiles = new Map(); // id -> {item, button, ...}
  #order = [];

  /** `open(id, grid)` is called with the photograph that was chosen, `pick(id)` and `reject(id)` with what goes to the tray. */
  constructor(list, { open, pick, reject }) {
    Object.assign(this, { list, open, pick, reject });
    list.addEventListener("keydown", (event) => this.#walk(event));
    list.addEventListener("focusin", (event) => this.#point(event));
    list.addEventListener("pointerover", (event) => this.#point(event));
    list.addEventListener("pointerleave", () => link([], this));
    list.addEventListener("focusout", () => link([], this));
    onLink((ids, from) => {
      const pointed = new Set(ids);
      for (const [id, tile] of this.#tiles) tile.item.classList.toggle("linked", from !== this && pointed.has(id));
    });
  }

  get ids() {
    return this.#order;
  }

  /** `entries` are {photo, rank, mark, picked, similar}; mark is "came", "went" or null. */
  show(entries, move = true) {
    const before = move && !calm() ? this.#places() : new Map();
    const focused = document.activeElement;
    const wanted = new Set(entries.map((entry) => entry.photo.id));
    for (const [id, tile] of this.#tiles) {
      if (!wanted.has(id)) {
        tile.item.remove();
        this.#tiles.delete(id);
      }
    }
    entries.forEach((entry, i) => {
      const tile = this.#tile(entry, i);
      dress(tile, entry);
      if (this.list.children[i] !== tile.item) this.list.insertBefore(tile.item, this.list.children[i] ?? null);
    });
    this.#order = entries.map((entry) => entry.photo.id);
    this.#keepOneStop();
    // A focused element loses the focus when it is moved.
    if (focused !== document.activeElement && this.list.contains(focused)) focused.focus({ preventScroll: true });
    if (move && !calm()) this.#animate(before);
  }

  /** Give the keyboard to one photograph. */
  focus(id) {
    const tile = this.#tiles.get(id);
    if (!tile) return;
    this.#stopAt(tile.button);
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
    picture.src = thumb(photo.id);
    picture.addEventListener("error", () => tile.item.classList.add("broken"), { once: true });
    const badge = h("span", { class: "badge", "aria-hidden": "true" });
    const about = [where(photo), day(photo.taken)].filter(Boolean).join(" · ");
    const caption = h("span", { class: "caption", "aria-hidden": "true" }, h("b", {}, name(photo)), h("span", {}, about));
    const button = h("button", { type: "button", class: "tile", tabindex: "-1", "data-id": photo.id }, picture, badge, caption);
    const toggle = (kind, text, act) => h("button", { type: "button", class: `mini ${kind}`, tabindex: "-1", onclick: act }, text);
    const pick = toggle("pick", "✓", () => this.pick(photo.id));
    const reject = toggle("reject", "×", () => this.reject(photo.id));
    reject.setAttribute("aria-label", `Reject ${name(photo)}`);
    const item = h("li", {}, button, h("div", { class: "minis" }, pick, reject));
    item.style.setProperty("--ratio", Math.min(Math.max(photo.width / photo.height, 0.56), 2.4).toFixed(4));
    button.addEventListener("click", () => this.open(photo.id, this));
    tile = { item, button, badge, pick, photo };
    this.#tiles.set(photo.id, tile);
    return tile;
  }

  #point(event) {
    const button = event.target.closest("button.tile");
    if (button) link([Number(button.dataset.id)], this);
  }

  #keepOneStop() {
    const buttons = [...this.list.querySelectorAll("button.tile")];
    if (buttons.length && !buttons.some((button) => button.tabIndex === 0)) buttons[0].tabIndex = 0;
  }

  #stopAt(button) {
    for (const other of this.list.querySelectorAll('button.tile[tabindex="0"]')) other.tabIndex = -1;
    button.tabIndex = 0;
  }

  #walk(event) {
    const at = event.target.closest("button.tile");
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = [...this.list.querySelectorAll("button.tile")];
    const i = buttons.indexOf(at);
    const act = { p: this.pick, x: this.reject }[event.key];
    if (act) {
      event.preventDefault();
      if (event.key === "x" && buttons.length > 1) {
        const next = buttons[i + 1] ?? buttons[i - 1];
        this.#stopAt(next);
        next.focus();
      }
      act(Number(at.dataset.id));
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
    this.#stopAt(next);
    next.focus();
  }

  #places() {
    const places = new Map();
    for (const [id, tile] of this.#tiles) places.set(id, tile.item.getBoundingClientRect());
    return places;
  }

  #animate(before) {
    const ease = "cubic-bezier(.2, .8, .2, 1)";
    for (const [id, tile] of this.#tiles) for (const running of tile.item.getAnimations()) running.cancel();
    const after = this.#places();
    for (const [id, tile] of this.#tiles) {
      const [from, to] = [before.get(id), after.get(id)];
      if (!from) {
        tile.item.animate([{ opacity: 0, transform: "scale(.94)" }, { opacity: 1, transform: "none" }], { duration: MOVE_MS, easing: ease });
        continue;
      }
      const [dx, dy] = [from.left - to.left, from.top - to.top];
      if (Math.abs(dx) + Math.abs(dy) < 1) continue;
      tile.item.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], { duration: MOVE_MS, easing: ease });
    }
  }
}

function dress(tile, { photo, rank, mark, picked = false, similar = [] }) {
  const worn = JSON.stringify([rank, mark, picked, similar.length]);
  if (tile.worn === worn) return;
  tile.worn = worn;
  for (const kind of ["came", "went"]) tile.item.classList.toggle(kind, mark === kind);
  tile.item.classList.toggle("picked", picked);
  tile.badge.textContent = similar.length ? `${similar.length} similar` : "";
  tile.pick.setAttribute("aria-pressed", String(picked));
  tile.pick.setAttribute("aria-label", `Pick ${name(photo)}`);
  const at = clockTime(photo.taken);
  const more = [
    { came: "Came in", went: "Left out" }[mark] ?? `Number ${rank}`, picked ? "picked" : null,
    similar.length ? plural(similar.length, "similar photograph") : null,
  ].filter(Boolean).join(", ");
  tile.button.setAttribute("aria-label", `${described(photo)}${at ? ` at ${at}` : ""}. ${more}.`);
}

/** The tile of the next row that is nearest across. */
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
