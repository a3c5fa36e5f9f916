// The months from the first photograph to the last. Above the line what is shown (and, faintly, what was before), below it
// the whole library. A click is a date to be near; a drag is a range to filter by.

import { keyed } from "./dial.js";
import { s, tween } from "./dom.js";
import { link, onLink } from "./link.js";
import { date, plural } from "./words.js";

const [HIGH, AXIS] = [92, 54];
const [ABOVE, BELOW] = [42, 17]; // pixels of the highest bars
const APART = 52; // pixels from one year's name to the next
const LEAST_BAR = 3.5; // pixels: several months share a bar where each would be thinner
const STEPS = [1, 2, 3, 6, 12, 24, 60, 120, 240]; // months of a bar
const STILL = 5; // pixels that a click may stray
const GRIP = 9; // pixels around the end of a range that move it

export class Timeline {
  #start = null; // number of the first month; months are counted from year 0
  #count = 0; // of months
  #step = 1; // months of a bar
  #wide = 360; // pixels: letters and bars keep their size however wide the panel is
  #months = {};
  #results = [];
  #plain = [];
  #heights = []; // of each bar, 0 to 1: of the library, as found, shown
  #ids = [];
  #target = null;
  #range = null; // {from, to}: days
  #stop = () => {};

  /** `pick("2019-07")` hears the date to be near (null: none), `brush(from, to, drag)` the days to filter by, by which drag. */
  constructor(root, { pick, brush }) {
    Object.assign(this, { root, pick, brush });
    this.years = s("g", { class: "years" });
    this.bars = s("g", {});
    this.band = s("g", { class: "band", visibility: "hidden" }, s("rect", { y: 4, height: AXIS + BELOW - 2, rx: 4 }), s("line", { y1: 4, y2: AXIS + BELOW + 2 }), s("line", { y1: 4, y2: AXIS + BELOW + 2 }));
    this.hand = s("g", { class: "hand", visibility: "hidden" }, s("line", { y1: 8, y2: AXIS + BELOW }), s("circle", { cy: 6, r: 5 }));
    this.note = s("text", { class: "note", x: "50%", y: AXIS - 14 });
    this.face = s("svg", { height: HIGH, "aria-label": "Date to be near" }, this.band,
      s("line", { class: "axis", x1: 0, x2: "100%", y1: AXIS, y2: AXIS }), this.years, this.bars, this.note, this.hand);
    root.append(this.face);
    new ResizeObserver(() => this.#resize()).observe(root);
    keyed(this.face, {
      step: (month, steps) => this.#within(month + steps),
      start: () => this.#targetMonth ?? this.#peak(),
      pick: (month) => this.#start !== null && pick(written(month)),
      clear: () => pick(null),
    });
    this.#drag();
    onLink((ids) => {
      const pointed = new Set(ids);
      [...this.bars.querySelectorAll(".bar")].forEach((bar, i) => bar.classList.toggle("linked", (this.#ids[i] ?? []).some((id) => pointed.has(id))));
    });
    this.#describe();
  }

  /** Photographs of each month of the library, as counted. */
  library({ first, last, months }) {
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
    const dated = this.#results.some((photo) => photo.taken);
    this.note.textContent = results.length && !dated ? "None of these says when it was taken" : "";
    this.#update(true);
    this.#describe();
  }

  /** A day to be near, or null; drawn at the edge where it lies beyond the library. */
  target(day) {
    this.#target = day;
    this.hand.setAttribute("visibility", day === null || this.#start === null ? "hidden" : "visible");
    if (day !== null && this.#start !== null) this.hand.setAttribute("transform", `translate(${Math.min(Math.max(this.#x(day), 3), this.#wide - 3)})`);
    this.#describe();
  }

  /** The range of days that photographs are filtered by; empty text for none. */
  range(from, to) {
    this.#range = from || to ? { from, to } : null;
    this.band.setAttribute("visibility", this.#range && this.#start !== null ? "visible" : "hidden");
    if (!this.#range || this.#start === null) return;
    const [left, right] = [from ? this.#x(from) : 0, to ? this.#x(to, 1) : this.#wide];
    const [rect, one, other] = this.band.children;
    rect.setAttribute("x", left);
    rect.setAttribute("width", Math.max(right - left, 1));
    for (const [line, x] of [[one, left], [other, right]]) {
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
  }

  #resize() {
    const { width } = this.root.getBoundingClientRect();
    if (!width || Math.abs(width - this.#wide) < 0.5) return;
    this.#wide = width;
    if (this.#start !== null) this.#build();
  }

  #build() {
    this.#step = STEPS.find((step) => this.#wide / Math.ceil(this.#count / step) >= LEAST_BAR) ?? STEPS.at(-1);
    const bars = Math.ceil(this.#count / this.#step);
    this.#heights = new Array(3 * bars).fill(0);
    const row = (kind) => Array.from({ length: bars }, () => s("rect", { class: kind, rx: 1.5 }));
    this.bars.replaceChildren(...row("library"), ...row("ghost"), ...row("bar"));
    this.root.dataset.months = Object.keys(this.#months).length;
    this.years.replaceChildren(...this.#marks());
    this.#update(false);
    this.target(this.#target);
    this.range(this.#range?.from ?? "", this.#range?.to ?? "");
  }

  #update(moving) {
    const bars = Math.ceil(this.#count / this.#step);
    const at = (photo) => Math.floor((monthOf(photo.taken) - this.#start) / this.#step);
    const [library, before] = [new Array(bars).fill(0), new Array(bars).fill(0)];
    for (const [month, number] of Object.entries(this.#months)) library[Math.floor((monthOf(month) - this.#start) / this.#step)] += number;
    this.#ids = Array.from({ length: bars }, () => []);
    for (const photo of this.#results) if (photo.taken) this.#ids[at(photo)]?.push(photo.id);
    for (const photo of this.#plain) if (photo.taken && at(photo) in before) before[at(photo)] += 1;
    const after = this.#ids.map((ids) => ids.length);
    this.root.dataset.bars = after.filter(Boolean).length;
    const [most, all] = [Math.max(...after, ...before, 1), Math.max(...library, 1)];
    const to = [...library.map((n) => n / all), ...before.map((n) => n / most), ...after.map((n) => n / most)];
    const from = [...this.#heights];
    const draw = (t) => {
      this.#heights = to.map((value, i) => from[i] + (value - from[i]) * t);
      this.#heights.forEach((value, i) => this.#bar(i, value, bars));
    };
    this.#stop();
    if (moving) this.#stop = tween(260, draw);
    else draw(1);
  }

  #bar(i, value, bars) {
    const wide = (this.#wide * this.#step) / this.#count;
    const below = i < bars;
    const high = value < 0.004 ? 0 : Math.max((below ? BELOW : ABOVE) * Math.sqrt(value), 1.5);
    const bar = this.bars.children[i];
    bar.setAttribute("x", (i % bars) * wide + Math.min(wide * 0.12, 1));
    bar.setAttribute("width", Math.max(Math.min(wide, this.#wide - (i % bars) * wide) - Math.min(wide * 0.24, 2), 0.5));
    bar.setAttribute("y", below ? AXIS + 1.5 : AXIS - 1 - high);
    bar.setAttribute("height", high);
  }

  #marks() {
    const wide = this.#wide / this.#count;
    const [from, to] = [Math.floor(this.#start / 12), Math.floor((this.#start + this.#count - 1) / 12)];
    const each = Math.max(1, Math.ceil(APART / (12 * wide)));
    const marks = [];
    for (let year = from; year <= to; year += 1) {
      const x = (year * 12 - this.#start) * wide;
      if (x >= 0) marks.push(s("line", { x1: x, x2: x, y1: AXIS - 3, y2: AXIS + 3 }));
      const middle = Math.min(Math.max(x, 0) + Math.min(12 * wide * 0.5, APART / 2), this.#wide);
      if ((year - from) % each === 0 && middle > 14 && middle < this.#wide - 14) marks.push(s("text", { x: middle, y: HIGH - 4 }, String(year)));
    }
    return marks;
  }

  /** Where a day, a month or a year lies, in pixels; `more` days further. */
  #x(day, more = 0) {
    const [year, month = "07", of = day.length > 4 ? "15" : "01"] = day.slice(0, 10).split("-");
    const months = Number(year) * 12 + Number(month) - 1 + (Number(of) - 1 + more) / daysIn(Number(year), Number(month));
    return ((months - this.#start) * this.#wide) / this.#count;
  }

  #monthAt(x) {
    return this.#within(this.#start + Math.floor((x * this.#count) / this.#wide));
  }

  #within(month) {
    return Math.min(Math.max(month, this.#start), this.#start + this.#count - 1);
  }

  get #targetMonth() {
    return this.#target === null ? null : this.#within(monthOf(this.#target.length > 4 ? this.#target : `${this.#target}-07`));
  }

  #peak() {
    const most = this.#ids.reduce((best, ids, i) => (ids.length > (this.#ids[best]?.length ?? 0) ? i : best), 0);
    return this.#within((this.#start ?? 0) + most * this.#step);
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
    const now = this.#target === null ? `none; most are from about ${date(written(month))}` : date(this.#target.slice(0, 7));
    this.face.setAttribute("aria-valuetext", `${now}, ${plural(number, "photograph")} about then`);
  }

  #drag() {
    const { face } = this;
    const at = (event) => event.clientX - face.getBoundingClientRect().left;
    let from = null;
    let fixed = 0; // the end of the range that stays
    let moved = false;
    let drags = 0;
    face.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.#start === null) return;
      drags += 1;
      from = at(event);
      [fixed, moved] = [from, false];
      const ends = this.#ends;
      const grip = ends.findIndex((x) => Math.abs(x - from) <= GRIP);
      if (grip >= 0) [fixed, moved] = [ends[1 - grip], true];
      face.setPointerCapture(event.pointerId);
      face.focus({ preventScroll: true });
    });
    face.addEventListener("pointermove", (event) => {
      const x = at(event);
      if (from === null) {
        link(this.#start === null ? [] : this.#ids[Math.floor((this.#monthAt(x) - this.#start) / this.#step)] ?? [], this);
        face.classList.toggle("grip", this.#ends.some((end) => Math.abs(end - x) <= GRIP));
        return;
      }
      moved ||= Math.abs(x - from) > STILL;
      if (!moved) return;
      const [one, other] = [fixed, x].sort((a, b) => a - b);
      const last = this.#monthAt(Math.max(other - 0.01, 0));
      this.brush(`${written(this.#monthAt(one + 0.01))}-01`, `${written(last)}-${daysIn(Math.floor(last / 12), (last % 12) + 1)}`, drags);
    });
    const end = (event) => {
      if (from !== null && !moved && event.type === "pointerup") this.pick(written(this.#monthAt(from)));
      from = null;
    };
    face.addEventListener("pointerup", end);
    face.addEventListener("pointercancel", end);
    face.addEventListener("pointerleave", () => link([], this));
  }

  /** The ends of the range in pixels. */
  get #ends() {
    if (!this.#range || this.#start === null) return [];
    const { from, to } = this.#range;
    return [from ? this.#x(from) : 0, to ? this.#x(to, 1) : this.#wide];
  }
}

const monthOf = (text) => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7)) - 1;
const written = (month) => `${String(Math.floor(month / 12)).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}`;
const daysIn = (year, month) => new Date(Date.UTC(year, month, 0)).getUTCDate();
