// The browser's history: one entry for each finished gesture, so that one step back undoes one thing.

const PAUSE_MS = 1000; // what is moved again so soon is still the same gesture
const LATER_MS = 5000;

export class Trail {
  #gesture = null; // what is being moved
  #until = 0; // the time at which that is over
  #owed = false; // an entry that the browser did not take
  #later = 0;

  constructor() {
    for (const end of ["change", "pointerup", "pointercancel", "keyup"]) addEventListener(end, () => this.#settle());
    addEventListener("popstate", () => {
      clearTimeout(this.#later);
      [this.#gesture, this.#owed] = [null, false];
    });
  }

  /** What this entry was made for: "photo", "sheet" or null. To go back from it closes that. */
  get opened() {
    return history.state?.opened ?? null;
  }

  /** Whether the steering panel is open in this entry. */
  get sheet() {
    return Boolean(history.state?.sheet);
  }

  /** Another address for the same entry. */
  stay(address, marks = {}) {
    this.#write(false, { ...history.state, ...marks }, address);
  }

  /** An entry of its own. */
  step(address, marks = {}) {
    this.#gesture = null;
    this.#write(true, { sheet: this.sheet, opened: null, ...marks }, address);
  }

  /** Something is moving: an entry when it begins, and none until it has come to rest. */
  move(address, gesture) {
    if (gesture === this.#gesture && performance.now() < this.#until) this.stay(address);
    else this.step(address);
    [this.#gesture, this.#until] = [gesture, Infinity];
  }

  #settle() {
    this.#until = Math.min(this.#until, performance.now() + PAUSE_MS);
  }

  #write(push, marks, address) {
    clearTimeout(this.#later);
    this.#owed ||= push;
    try {
      history[this.#owed ? "pushState" : "replaceState"](marks, "", address);
      this.#owed = false;
    } catch {
      // Some browsers refuse an address that changes too often: what a moving slider ends on is written later.
      this.#later = setTimeout(() => this.#write(false, marks, address), LATER_MS);
    }
  }
}
