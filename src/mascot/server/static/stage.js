// The large picture: swiped to the next one, zoomed to its actual pixels, and moved by dragging while it is zoomed.

const SWIPE = 50; // pixels across that mean another photograph
const STILL = 6; // pixels that a tap may stray
const TWICE_MS = 350; // between two taps that are one double tap
const CLOSEST = 8; // times the size that fits
const LEAST = 2; // times, for pictures that fit with all their pixels
const STEP = 1.5;
const PAN = 80; // pixels a key moves

export class Stage {
  #scale = 1;
  #x = 0;
  #y = 0;
  #tapped = null; // {time, x, y}

  /** `turn(1)` and `turn(-1)` are swipes, `close()` a click beside the picture; `zoom` is the button that toggles. */
  constructor(element, picture, { zoom, turn, close }) {
    Object.assign(this, { element, picture, button: zoom, turn, close });
    zoom.addEventListener("click", () => this.#toggle());
    addEventListener("resize", () => this.fit());
    this.#listen();
    this.fit();
  }

  /** The whole picture. */
  fit() {
    this.#to(1);
  }

  /** Act on a key; whether it meant the picture. */
  key(key) {
    const pan = (dx, dy) => this.#scale > 1 && (() => this.#to(this.#scale, this.#x + dx, this.#y + dy));
    const act = {
      z: () => this.#toggle(), "+": () => this.#zoom(STEP), "=": () => this.#zoom(STEP), "-": () => this.#zoom(1 / STEP),
      ArrowLeft: pan(PAN, 0), ArrowRight: pan(-PAN, 0), ArrowUp: pan(0, PAN), ArrowDown: pan(0, -PAN),
    }[key];
    if (act) act();
    return Boolean(act);
  }

  /** One pixel of the photograph on one of the screen, as a multiple of the size that fits. */
  get #actual() {
    return Math.max(this.picture.naturalWidth / (devicePixelRatio || 1) / Math.max(this.picture.offsetWidth, 1), LEAST);
  }

  #toggle(at) {
    if (this.#scale > 1) this.fit();
    else this.#zoom(this.#actual, at);
  }

  /** Zoom by so much; what is under `at`, from the picture's middle, stays there. */
  #zoom(times, at = { x: 0, y: 0 }) {
    const scale = Math.min(Math.max(this.#scale * times, 1), Math.max(CLOSEST, this.#actual));
    const by = scale / this.#scale;
    this.#to(scale, at.x - (at.x - this.#x) * by, at.y - (at.y - this.#y) * by);
  }

  #to(scale, x = 0, y = 0) {
    const { element, picture } = this;
    const clamped = (value, size, room) => {
      const most = Math.max((size * scale - room) / 2, 0);
      return Math.min(Math.max(value, -most), most);
    };
    this.#scale = scale < 1.001 ? 1 : scale;
    this.#x = clamped(x, picture.offsetWidth, element.clientWidth);
    this.#y = clamped(y, picture.offsetHeight, element.clientHeight);
    const zoomed = this.#scale > 1;
    picture.style.transform = zoomed ? `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})` : "";
    element.classList.toggle("zoomed", zoomed);
    this.button.setAttribute("aria-pressed", String(zoomed));
  }

  #listen() {
    const { element, picture } = this;
    let from = null;
    let dragged = false;
    element.addEventListener("pointerdown", (event) => {
      if (!event.isPrimary || event.button !== 0 || event.target.closest("button")) return;
      from = { left: event.clientX, top: event.clientY, x: this.#x, y: this.#y };
      dragged = false;
      event.target.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      if (!from || !event.isPrimary) return;
      const [dx, dy] = [event.clientX - from.left, event.clientY - from.top];
      dragged ||= Math.hypot(dx, dy) > STILL;
      if (!dragged) return;
      if (this.#scale > 1) this.#to(this.#scale, from.x + dx, from.y + dy);
      else picture.style.translate = `${dx}px`;
    });
    const end = (event) => {
      if (!from || !event.isPrimary) return;
      const [dx, dy] = [event.clientX - from.left, event.clientY - from.top];
      from = null;
      picture.style.translate = "";
      if (event.type === "pointercancel") return;
      if (!dragged) this.#tap(event);
      else if (this.#scale === 1 && Math.abs(dx) > Math.max(SWIPE, 2 * Math.abs(dy))) this.turn(dx < 0 ? 1 : -1);
    };
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
    element.addEventListener("click", (event) => {
      if (event.target === element && !dragged) this.close();
    });
  }

  #tap(event) {
    if (event.target !== this.picture) return;
    const { timeStamp: time, clientX: x, clientY: y } = event;
    const before = this.#tapped;
    const twice = before && time - before.time < TWICE_MS && Math.hypot(x - before.x, y - before.y) < 5 * STILL;
    this.#tapped = twice ? null : { time, x, y };
    if (!twice) return;
    const box = this.element.getBoundingClientRect();
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = this.picture;
    this.#toggle({ x: x - box.left - offsetLeft - offsetWidth / 2, y: y - box.top - offsetTop - offsetHeight / 2 });
  }
}
