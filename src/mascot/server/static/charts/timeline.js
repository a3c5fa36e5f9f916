// The months from the first photograph to the last. Bars above the line are the results and, in grey, those by relevance
// alone; bars below it are the whole library. A click sets a date to be near, a drag a range to filter by.

import { addSliderKeys } from "./dial.js";
import { counted, dateText } from "../text/labels.js";
import { s, tween } from "../view/dom.js";
import { highlight, onHighlight } from "../view/highlight.js";

const [HEIGHT, AXIS] = [92, 54];
const [ABOVE, BELOW] = [42, 17]; // pixels of the highest bars
const LABEL_DISTANCE = 52; // pixels from one year to the next
const MIN_BAR = 3.5; // pixels; several months share a bar if each would be thinner
const STEPS = [1, 2, 3, 6, 12, 24, 60, 120, 240]; // months of a bar
const STILL = 5; // pixels that the pointer may move during a click
const GRIP = 9; // pixels around the end of a range in which a drag moves that end

export class Timeline {
  #start = null; // the first month; months are counted from year 0
  #count = 0; // months
  #step = 1; // months of a bar
  #width = 360; // pixels of the panel; letters and bars keep their size
  #months = {};
  #results = [];
  #plain = [];
  #heights = []; // 0 to 1 for each bar: of the library, by relevance alone, of the results
  #ids = [];
  #target = null;
  #range = null; // {since, until}
  #stop = () => {};

  /** Calls `pick("2019-07")` or `pick(null)` for the date to be near, `brush(since, until, drag)` for the days to filter by. */
  constructor(root, { pick, brush }) {
    Object.assign(this, { root, pick, brush });
    this.years = s("g", { class: "years" });
    this.bars = s("g", {});
    const end = () => s("line", { y1: 4, y2: AXIS + BELOW + 2 });
    this.band = s("g", { class: "band", visibility: "hidden" }, s("rect", { y: 4, height: AXIS + BELOW - 2, rx: 4 }), end(), end());
    this.hand = s("g", { class: "hand", visibility: "hidden" }, s("line", { y1: 8, y2: AXIS + BELOW }), s("circle", { cy: 6, r: 5 }));
    this.note = s("text", { class: "note", x: "50%", y: AXIS - 14 });
    this.face = s("svg", { height: HEIGHT, "aria-label": "Date to be near" }, this.band,
      s("line", { class: "axis", x1: 0, x2: "100%", y1: AXIS, y2: AXIS }), this.years, this.bars, this.note, this.hand);
    root.append(this.face);
    new ResizeObserver(() => this.#resize()).observe(root);
    addSliderKeys(this.face, {
      step: (month, steps) => this.#within(month + steps),
      start: () => this.#targetMonth ?? this.#peak(),
      pick: (month) => this.#start !== null && pick(monthText(month)),
      clear: () => pick(null),
    });
    this.#listen();
    onHighlight((ids) => {
      const highlighted = new Set(ids);
      const isLinked = (i) => (this.#ids[i] ?? []).some((id) => highlighted.has(id));
      this.bars.querySelectorAll(".bar").forEach((bar, i) => bar.classList.toggle("linked", isLinked(i)));
    });
    this.#describe();
  }

  /** Set the range of months, and the number of photographs of each. */
  setLibrary({ first, last, months }) {
    if (!first) {
      this.note.textContent = "No photograph says when it was taken";
      return;
    }
    this.#start = monthOf(first);
    this.#count = monthOf(last) - this.#start + 1;
    this.#months = months;
    this.face.setAttribute("aria-valuemin", this.#start);
    this.face.setAttribute("aria-valuemax", this.#start + this.#count - 1);
    this.#build();
  }

  show(results, plain) {
    [this.#results, this.#plain] = [results.map(({ photo }) => photo), plain];
    if (this.#start === null) return;
    const isDated = this.#results.some((photo) => photo.taken);
    this.note.textContent = results.length && !isDated ? "None of these says when it was taken" : "";
    this.#update(true);
    this.#describe();
  }

  /** Show a day to be near, or null. It is drawn at the edge if it is outside the library. */
  setTarget(day) {
    this.#target = day;
    const isVisible = day !== null && this.#start !== null;
    this.hand.setAttribute("visibility", isVisible ? "visible" : "hidden");
    if (isVisible) this.hand.setAttribute("transform", `translate(${Math.min(Math.max(this.#x(day), 3), this.#width - 3)})`);
    this.#describe();
  }

  /** Show the range of days that photographs are filtered by; empty text is an open end. */
  setRange(since, until) {
    this.#range = since || until ? { since, until } : null;
    const [left, right] = this.#ends;
    this.band.setAttribute("visibility", left === undefined ? "hidden" : "visible");
    if (left === undefined) return;
    const [rect, leftLine, rightLine] = this.band.children;
    rect.setAttribute("x", left);
    rect.setAttribute("width", Math.max(right - left, 1));
    for (const [line, x] of [[leftLine, left], [rightLine, right]]) {
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
  }

  #resize() {
    const { width } = this.root.getBoundingClientRect();
    if (!width || Math.abs(width - this.#width) < 0.5) return;
    this.#width = width;
    if (this.#start !== null) this.#build();
  }

  #build() {
    this.#step = STEPS.find((step) => this.#width / Math.ceil(this.#count / step) >= MIN_BAR) ?? STEPS.at(-1);
    const bars = Math.ceil(this.#count / this.#step);
    this.#heights = new Array(3 * bars).fill(0);
    const row = (kind) => Array.from({ length: bars }, () => s("rect", { class: kind, rx: 1.5 }));
    this.bars.replaceChildren(...row("library"), ...row("ghost"), ...row("bar"));
    this.root.dataset.months = Object.keys(this.#months).length;
    this.years.replaceChildren(...this.#yearMarks());
    this.#update(false);
    this.setTarget(this.#target);
    this.setRange(this.#range?.since ?? "", this.#range?.until ?? "");
  }

  #update(isAnimated) {
    const bars = Math.ceil(this.#count / this.#step);
    const barOf = (date) => Math.floor((monthOf(date) - this.#start) / this.#step);
    const [library, before] = [new Array(bars).fill(0), new Array(bars).fill(0)];
    for (const [month, number] of Object.entries(this.#months)) library[barOf(month)] += number;
    this.#ids = Array.from({ length: bars }, () => []);
    for (const { id, taken } of this.#results) if (taken) this.#ids[barOf(taken)]?.push(id);
    for (const { taken } of this.#plain) if (taken && barOf(taken) in before) before[barOf(taken)] += 1;
    const after = this.#ids.map((ids) => ids.length);
    this.root.dataset.bars = after.filter(Boolean).length;
    const [highest, highestBelow] = [Math.max(...after, ...before, 1), Math.max(...library, 1)];
    const to = [...library.map((n) => n / highestBelow), ...[...before, ...after].map((n) => n / highest)];
    const from = [...this.#heights];
    const draw = (t) => {
      this.#heights = to.map((value, i) => from[i] + (value - from[i]) * t);
      this.#heights.forEach((value, i) => this.#drawBar(i, value, bars));
    };
    this.#stop();
    if (isAnimated) this.#stop = tween(260, draw);
    else draw(1);
  }

  #drawBar(i, value, bars) {
    const width = (this.#width * this.#step) / this.#count;
    const isBelow = i < bars;
    const height = value < 0.004 ? 0 : Math.max((isBelow ? BELOW : ABOVE) * Math.sqrt(value), 1.5);
    const bar = this.bars.children[i];
    bar.setAttribute("x", (i % bars) * width + Math.min(width * 0.12, 1));
    bar.setAttribute("width", Math.max(Math.min(width, this.#width - (i % bars) * width) - Math.min(width * 0.24, 2), 0.5));
    bar.setAttribute("y", isBelow ? AXIS + 1.5 : AXIS - 1 - height);
    bar.setAttribute("height", height);
  }

  #yearMarks() {
    const width = this.#width / this.#count;
    const [first, last] = [Math.floor(this.#start / 12), Math.floor((this.#start + this.#count - 1) / 12)];
    const interval = Math.max(1, Math.ceil(LABEL_DISTANCE / (12 * width)));
    const marks = [];
    for (let year = first; year <= last; year += 1) {
      const x = (year * 12 - this.#start) * width;
      if (x >= 0) marks.push(s("line", { x1: x, x2: x, y1: AXIS - 3, y2: AXIS + 3 }));
      const middle = Math.min(Math.max(x, 0) + Math.min(12 * width * 0.5, LABEL_DISTANCE / 2), this.#width - 14);
      const fits = middle > 14;
      if ((last - year) % interval === 0 && fits) marks.push(s("text", { x: middle, y: HEIGHT - 4 }, String(year)));
    }
    return marks;
  }

  /** The x of a day, a month or a year in pixels, some days later. */
  #x(date, daysLater = 0) {
    const [year, month = "07", day = date.length > 4 ? "15" : "01"] = date.slice(0, 10).split("-");
    const months = Number(year) * 12 + Number(month) - 1 + (Number(day) - 1 + daysLater) / daysIn(Number(year), Number(month));
    return ((months - this.#start) * this.#width) / this.#count;
  }

  #monthAt(x) {
    return this.#within(this.#start + Math.floor((x * this.#count) / this.#width));
  }

  #within(month) {
    return Math.min(Math.max(month, this.#start), this.#start + this.#count - 1);
  }

  get #targetMonth() {
    return this.#target === null ? null : this.#within(monthOf(this.#target.length > 4 ? this.#target : `${this.#target}-07`));
  }

  #peak() {
    const highest = this.#ids.reduce((best, ids, i) => (ids.length > (this.#ids[best]?.length ?? 0) ? i : best), 0);
    return this.#within((this.#start ?? 0) + highest * this.#step);
  }

  #describe() {
    const month = this.#targetMonth ?? this.#peak();
    if (this.#start === null) {
      this.face.setAttribute("aria-valuenow", 0);
      this.face.setAttribute("aria-valuetext", "no dates");
      return;
    }
    this.face.setAttribute("aria-valuenow", month);
    const number = this.#ids[Math.floor((month - this.#start) / this.#step)]?.length ?? 0;
    const now = this.#target === null ? `none; most are from about ${dateText(monthText(month))}` : dateText(this.#target.slice(0, 7));
    this.face.setAttribute("aria-valuetext", `${now}, ${counted(number, "photograph")} about then`);
  }

  #listen() {
    const { face } = this;
    const xOf = (event) => event.clientX - face.getBoundingClientRect().left;
    let startX = null;
    let fixedX = 0; // the end of the range that does not move
    let isRange = false;
    let drags = 0;
    face.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.#start === null) return;
      drags += 1;
      startX = xOf(event);
      [fixedX, isRange] = [startX, false];
      const ends = this.#ends;
      const grip = ends.findIndex((x) => Math.abs(x - startX) <= GRIP);
      if (grip >= 0) [fixedX, isRange] = [ends[1 - grip], true];
      face.setPointerCapture(event.pointerId);
      face.focus({ preventScroll: true });
    });
    face.addEventListener("pointermove", (event) => {
      const x = xOf(event);
      if (startX === null) {
        this.#hover(x);
        return;
      }
      isRange ||= Math.abs(x - startX) > STILL;
      if (isRange) this.#brush(Math.min(fixedX, x), Math.max(fixedX, x), drags);
    });
    const end = (event) => {
      if (startX !== null && !isRange && event.type === "pointerup") this.pick(monthText(this.#monthAt(startX)));
      startX = null;
    };
    face.addEventListener("pointerup", end);
    face.addEventListener("pointercancel", end);
    face.addEventListener("pointerleave", () => highlight([], this));
  }

  #hover(x) {
    const bar = this.#start === null ? -1 : Math.floor((this.#monthAt(x) - this.#start) / this.#step);
    highlight(this.#ids[bar] ?? [], this);
    this.face.classList.toggle("grip", this.#ends.some((end) => Math.abs(end - x) <= GRIP));
  }

  /** Filter by the months between two x. */
  #brush(left, right, drag) {
    const first = this.#monthAt(left + 0.01);
    const last = this.#monthAt(Math.max(right - 0.01, 0));
    this.brush(`${monthText(first)}-01`, `${monthText(last)}-${daysIn(Math.floor(last / 12), (last % 12) + 1)}`, drag);
  }

  /** The ends of the range in pixels; empty if there is no range. */
  get #ends() {
    if (!this.#range || this.#start === null) return [];
    const { since, until } = this.#range;
    return [since ? this.#x(since) : 0, until ? this.#x(until, 1) : this.#width];
  }
}

const monthOf = (text) => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7)) - 1;
const monthText = (month) => `${String(Math.floor(month / 12)).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}`;
const daysIn = (year, month) => new Date(Date.UTC(year, month, 0)).getUTCDate();
