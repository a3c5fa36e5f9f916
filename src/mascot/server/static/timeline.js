// The years from the first photograph to the last: above the line what is shown, below what relevance alone shows.

import { dial } from "./dial.js";
import { s, tween } from "./dom.js";
import { link, onLink } from "./link.js";
import { date, plural, time } from "./words.js";

const [HIGH, AXIS] = [84, 50];
const APART = 52; // pixels from one year's name to the next
const DAY_MS = 86_400_000;
const BINS = 48;

export class Timeline {
  #first = null;
  #last = null;
  #shown = new Array(2 * BINS).fill(0);
  #ids = [];
  #target = null;
  #stop = () => {};
  #wide = 360; // pixels: letters and bars keep their size however wide the panel is

  /** `pick("2019-07")` hears the date that was chosen, `pick(null)` that it was taken back. */
  constructor(root, pick) {
    this.root = root;
    this.years = s("g", { class: "years" });
    this.bars = Array.from({ length: BINS }, () => s("rect", { class: "bar", rx: 2 }));
    this.ghosts = Array.from({ length: BINS }, () => s("rect", { class: "ghost", rx: 2 }));
    this.hand = s("g", { class: "hand", visibility: "hidden" }, s("line", { y1: 8, y2: AXIS + 18 }), s("circle", { cy: 6, r: 5 }));
    this.note = s("text", { class: "note", x: "50%", y: AXIS - 12 });
    this.face = s("svg", { height: HIGH, "aria-label": "Date to focus on" },
      s("line", { class: "axis", x1: 0, x2: "100%", y1: AXIS, y2: AXIS }), this.years, ...this.ghosts, ...this.bars, this.note, this.hand);
    root.append(this.face);
    new ResizeObserver(() => this.#resize()).observe(root);
    dial(this.face, {
      at: (event) => this.#at(event),
      step: (t, steps) => this.#kept(t + (steps * this.#unit) / (this.#last - this.#first)),
      start: () => this.#target ?? this.#peak(),
      pick: (t) => this.#first !== null && pick(this.#written(t)),
      clear: () => pick(null),
      hover: (t) => link(t === null ? [] : this.#ids[bin(t)] ?? [], this),
    });
    onLink((ids) => {
      const pointed = new Set(ids);
      this.bars.forEach((bar, i) => bar.classList.toggle("linked", (this.#ids[i] ?? []).some((id) => pointed.has(id))));
    });
    this.#tell();
  }

  #resize() {
    const { width } = this.root.getBoundingClientRect();
    if (!width || width === this.#wide) return;
    this.#wide = width;
    if (this.#first === null) return;
    this.years.replaceChildren(...this.#marks());
    this.#shown.forEach((value, i) => this.#bar(i, value));
    this.target(this.near ?? null);
  }

  /** Before any search: the whole library. */
  library({ first, last, years }) {
    if (!first) {
      this.note.textContent = "No photograph says when it was taken";
      return;
    }
    this.#first = time(`${first.slice(0, 10)}T00:00:00`).getTime();
    this.#last = Math.max(time(`${last.slice(0, 10)}T00:00:00`).getTime() + DAY_MS, this.#first + 30 * DAY_MS);
    this.years.replaceChildren(...this.#marks());
    this.face.setAttribute("aria-valuemin", 0);
    this.face.setAttribute("aria-valuemax", 100);
    this.target(this.near ?? null);
    this.#stop();
    this.#ids = [];
    this.#years(years);
  }

  /** How many photographs there are of each year, below the line. */
  #years(years) {
    const year = (i) => new Date(this.#first + ((i + 0.5) / BINS) * (this.#last - this.#first)).getUTCFullYear();
    const bins = Array.from({ length: BINS }, (_, i) => year(i));
    const each = bins.map((of) => (years[of] ?? 0) / bins.filter((other) => other === of).length);
    const most = Math.max(...each, 1e-9);
    this.#shown = [...new Array(BINS).fill(0), ...each.map((n) => n / most)];
    this.#shown.forEach((value, i) => this.#bar(i, value));
  }

  show(results, plain) {
    if (this.#first === null) return;
    this.#ids = Array.from({ length: BINS }, () => []);
    for (const { photo } of results) if (photo.taken) this.#ids[bin(this.#place(photo))].push(photo.id);
    const before = new Array(BINS).fill(0);
    for (const photo of plain) if (photo.taken) before[bin(this.#place(photo))] += 1;
    const after = this.#ids.map((ids) => ids.length);
    this.root.dataset.bars = after.filter(Boolean).length;
    this.note.textContent = results.length && !after.some(Boolean) ? "None of these says when it was taken" : "";
    const most = Math.max(...after, ...before, 1);
    const [from, to] = [[...this.#shown], [...after, ...before].map((n) => n / most)];
    this.#stop();
    this.#stop = tween(260, (t) => {
      this.#shown = to.map((value, i) => from[i] + (value - from[i]) * t);
      this.#shown.forEach((value, i) => from[i] !== to[i] && this.#bar(i, value));
    });
    this.#tell();
  }

  target(near) {
    this.near = near;
    const at = near === null ? NaN : Date.parse(`${middle(near)}T00:00:00Z`);
    this.#target = Number.isNaN(at) || this.#first === null ? null : this.#kept((at - this.#first) / (this.#last - this.#first));
    this.hand.setAttribute("visibility", this.#target === null ? "hidden" : "visible");
    if (this.#target !== null) this.hand.setAttribute("transform", `translate(${this.#target * this.#wide})`);
    this.#tell();
  }

  get #unit() {
    return this.#last - this.#first > 730 * DAY_MS ? 30.44 * DAY_MS : DAY_MS;
  }

  #written(t) {
    const at = new Date(this.#first + t * (this.#last - this.#first)).toISOString();
    return at.slice(0, this.#unit > DAY_MS ? 7 : 10);
  }

  #place(photo) {
    return this.#kept((time(photo.taken).getTime() - this.#first) / (this.#last - this.#first));
  }

  #kept(t) {
    return Math.min(Math.max(t, 0), 1);
  }

  #peak() {
    const most = this.#ids.reduce((best, ids, i) => (ids.length > (this.#ids[best]?.length ?? 0) ? i : best), 0);
    return (most + 0.5) / BINS;
  }

  #bar(i, value) {
    const [above, wide] = [i < BINS, this.#wide / BINS];
    const high = (above ? 38 : 13) * Math.sqrt(Math.max(value, 0));
    const bar = (above ? this.bars : this.ghosts)[i % BINS];
    bar.setAttribute("x", (i % BINS) * wide + 1);
    bar.setAttribute("width", wide - 2);
    bar.setAttribute("y", above ? AXIS - 1 - high : AXIS + 1);
    bar.setAttribute("height", value < 0.004 ? 0 : high);
  }

  #marks() {
    const [from, to] = [new Date(this.#first).getUTCFullYear(), new Date(this.#last).getUTCFullYear()];
    const wide = this.#wide;
    const every = Math.max(1, Math.ceil(((to - from + 1) * APART) / wide));
    const marks = [];
    for (let year = from; year <= to + 1; year += 1) {
      const x = ((Date.UTC(year, 0, 1) - this.#first) / (this.#last - this.#first)) * wide;
      if (x >= 0 && x <= wide) marks.push(s("line", { x1: x, x2: x, y1: AXIS - 3, y2: AXIS + 3 }));
      const middle = ((Date.UTC(year, 6, 1) - this.#first) / (this.#last - this.#first)) * wide;
      if ((year - from) % every === 0 && middle > 14 && middle < wide - 14) marks.push(s("text", { x: middle, y: HIGH - 3 }, String(year)));
    }
    return marks;
  }

  #tell() {
    const at = this.#target ?? this.#peak();
    this.face.setAttribute("aria-valuenow", Math.round(at * 100));
    if (this.#first === null) {
      this.face.setAttribute("aria-valuetext", "no dates");
      return;
    }
    const number = this.#ids[bin(at)]?.length ?? 0;
    const now = this.#target === null ? `none; most are from about ${date(this.#written(at))}` : date(this.near);
    this.face.setAttribute("aria-valuetext", `${now}, ${plural(number, "photograph")} about then`);
  }

  #at(event) {
    if (this.#first === null) return null;
    const box = this.face.getBoundingClientRect();
    return this.#kept((event.clientX - box.left) / box.width);
  }
}

const bin = (t) => Math.min(Math.floor(t * BINS), BINS - 1);

/** The day that stands for a date, a month or a year, as the server takes it. */
function middle(near) {
  if (/^\d{4}$/.test(near)) return `${near}-07-01`;
  return /^\d{4}-\d{2}$/.test(near) ? `${near}-15` : near.slice(0, 10);
}
