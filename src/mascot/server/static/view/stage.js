// The picture in the large view. A swipe shows the next one, a double click its actual pixels, a drag moves it while it is zoomed.

const SWIPE = 50; // horizontal pixels of a swipe
const STILL = 6; // pixels that the pointer may move during a tap
const DOUBLE_TAP_MS = 350;
const MAX_ZOOM = 8; // relative to the size that fits
const MIN_ACTUAL = 2; // zoom for pictures that fit with all their pixels
const ZOOM_STEP = 1.5;
const PAN = 80; // pixels that a key moves the picture

export class Stage {
  #scale = 1;
  #x = 0;
  #y = 0;
  #lastTap = null; // {time, x, y}

  /** Calls `turn(1)` and `turn(-1)` for swipes, `close()` for a click beside the picture. `zoom` is the button. */
  constructor(element, picture, { zoom, turn, close }) {
    Object.assign(this, { element, picture, button: zoom, turn, close });
    zoom.addEventListener("click", () => this.#toggle());
    addEventListener("resize", () => this.fit());
    this.#listen();
    this.fit();
  }

  /** Show the whole picture. */
  fit() {
    this.#moveTo(1);
  }

  /** Handle a key. Returns whether it is a key of the picture. */
  key(key) {
    const pan = (dx, dy) => this.#scale > 1 && (() => this.#moveTo(this.#scale, this.#x + dx, this.#y + dy));
    const act = {
      z: () => this.#toggle(), "+": () => this.#zoom(ZOOM_STEP), "=": () => this.#zoom(ZOOM_STEP), "-": () => this.#zoom(1 / ZOOM_STEP),
      ArrowLeft: pan(PAN, 0), ArrowRight: pan(-PAN, 0), ArrowUp: pan(0, PAN), ArrowDown: pan(0, -PAN),
    }[key];
    if (act) act();
    return Boolean(act);
  }

  /** The zoom at which a pixel of the photograph is a pixel of the screen. */
  get #actual() {
    return Math.max(this.picture.naturalWidth / (devicePixelRatio || 1) / Math.max(this.picture.offsetWidth, 1), MIN_ACTUAL);
  }

  #toggle(at) {
    if (this.#scale > 1) this.fit();
    else this.#zoom(this.#actual, at);
  }

  /** Zoom by a factor around a point, which is relative to the middle of the picture. */
  #zoom(factor, at = { x: 0, y: 0 }) {
    const scale = Math.min(Math.max(this.#scale * factor, 1), Math.max(MAX_ZOOM, this.#actual));
    const by = scale / this.#scale;
    this.#moveTo(scale, at.x - (at.x - this.#x) * by, at.y - (at.y - this.#y) * by);
  }

  #moveTo(scale, x = 0, y = 0) {
    const { element, picture } = this;
    const clamped = (value, size, room) => {
      const most = Math.max((size * scale - room) / 2, 0);
      return Math.min(Math.max(value, -most), most);
    };
    this.#scale = scale < 1.001 ? 1 : scale;
    this.#x = clamped(x, picture.offsetWidth, element.clientWidth);
    this.#y = clamped(y, picture.offsetHeight, element.clientHeight);
    const isZoomed = this.#scale > 1;
    picture.style.transform = isZoomed ? `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})` : "";
    element.classList.toggle("zoomed", isZoomed);
    this.button.setAttribute("aria-pressed", String(isZoomed));
  }

  #listen() {
    const { element, picture } = this;
    let from = null;
    let isDragged = false;
    element.addEventListener("pointerdown", (event) => {
      if (!event.isPrimary || event.button !== 0 || event.target.closest("button")) return;
      from = { left: event.clientX, top: event.clientY, x: this.#x, y: this.#y };
      isDragged = false;
      event.target.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      if (!from || !event.isPrimary) return;
      const [dx, dy] = [event.clientX - from.left, event.clientY - from.top];
      isDragged ||= Math.hypot(dx, dy) > STILL;
      if (!isDragged) return;
      if (this.#scale > 1) this.#moveTo(this.#scale, from.x + dx, from.y + dy);
      else picture.style.translate = `${dx}px`;
    });
    const end = (event) => {
      if (!from || !event.isPrimary) return;
      const [dx, dy] = [event.clientX - from.left, event.clientY - from.top];
      from = null;
      picture.style.translate = "";
      if (event.type === "pointercancel") return;
      if (!isDragged) this.#tap(event);
      else if (this.#scale === 1 && Math.abs(dx) > Math.max(SWIPE, 2 * Math.abs(dy))) this.turn(dx < 0 ? 1 : -1);
    };
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
    element.addEventListener("click", (event) => {
      if (event.target === element && !isDragged) this.close();
    });
  }

  #tap(event) {
    if (event.target !== this.picture) return;
    const { timeStamp: time, clientX: x, clientY: y } = event;
    const before = this.#lastTap;
    const isDouble = before && time - before.time < DOUBLE_TAP_MS && Math.hypot(x - before.x, y - before.y) < 5 * STILL;
    this.#lastTap = isDouble ? null : { time, x, y };
    if (!isDouble) return;
    const box = this.element.getBoundingClientRect();
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = this.picture;
    this.#toggle({ x: x - box.left - offsetLeft - offsetWidth / 2, y: y - box.top - offsetTop - offsetHeight / 2 });
  }
}
