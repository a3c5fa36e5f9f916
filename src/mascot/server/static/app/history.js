// The browser's history. Each finished gesture has one entry, so that one step back undoes one gesture.

const PAUSE_MS = 1000; // a control that moves again within this time continues the same gesture
const RETRY_MS = 5000;

export class PageHistory {
  #gesture = null; // the name of the gesture that has the current entry
  #gestureEnd = 0; // the time at which it is over
  #isPushPending = false; // whether the browser refused an entry
  #retry = 0;

  constructor() {
    for (const end of ["change", "pointerup", "pointercancel", "keyup"]) addEventListener(end, () => this.#endGesture());
    addEventListener("popstate", () => {
      clearTimeout(this.#retry);
      [this.#gesture, this.#isPushPending] = [null, false];
    });
  }

  /** What the current entry was made for: "photo", "panel" or null. Going back closes that. */
  get opened() {
    return history.state?.opened ?? null;
  }

  /** Whether the steering panel is open in the current entry. */
  get panelOpen() {
    return Boolean(history.state?.panelOpen);
  }

  /** Change the address of the current entry. */
  replace(address, marks = {}) {
    this.#write(false, { ...history.state, ...marks }, address);
  }

  /** Add an entry. */
  push(address, marks = {}) {
    this.#gesture = null;
    this.#write(true, { panelOpen: this.panelOpen, opened: null, ...marks }, address);
  }

  /** Add an entry when a gesture begins, and change its address until the gesture ends. */
  pushGesture(address, gesture) {
    if (gesture === this.#gesture && performance.now() < this.#gestureEnd) this.replace(address);
    else this.push(address);
    [this.#gesture, this.#gestureEnd] = [gesture, Infinity];
  }

  back() {
    history.back();
  }

  #endGesture() {
    this.#gestureEnd = Math.min(this.#gestureEnd, performance.now() + PAUSE_MS);
  }

  #write(push, marks, address) {
    clearTimeout(this.#retry);
    this.#isPushPending ||= push;
    try {
      history[this.#isPushPending ? "pushState" : "replaceState"](marks, "", address);
      this.#isPushPending = false;
    } catch {
      // Some browsers refuse an address that changes too often. The last address of a moving slider is written later.
      this.#retry = setTimeout(() => this.#write(false, marks, address), RETRY_MS);
    }
  }
}
