// A line at the bottom of the page: the outcome of the last action, and a button that undoes a rejection.

import { h } from "./dom.js";

const VISIBLE_MS = 8000;

export class Toast {
  #timer = 0;

  /** Calls `undo()` for the button and `closed()` once the line has been visible long enough. */
  constructor(root, { undo, closed }) {
    Object.assign(this, { root, closed });
    this.text = h("span", {});
    this.undo = h("button", { type: "button", class: "quiet", "aria-keyshortcuts": "u", onclick: undo }, "Undo");
    root.append(this.text, this.undo);
    for (const name of ["pointerenter", "focusin"]) root.addEventListener(name, () => clearTimeout(this.#timer));
    for (const name of ["pointerleave", "focusout"]) root.addEventListener(name, () => this.#closeLater());
  }

  show({ message, rejected }) {
    this.text.textContent = message;
    this.undo.hidden = rejected === null;
    this.root.classList.toggle("visible", message !== "");
    this.#closeLater();
  }

  #closeLater() {
    clearTimeout(this.#timer);
    if (this.text.textContent) this.#timer = setTimeout(this.closed, VISIBLE_MS);
  }
}
