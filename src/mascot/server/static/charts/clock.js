// The hours of the results around a clock face, those by relevance alone, and the hour to be near.

import { makeDial } from "./dial.js";
import { counted, hourOf } from "../text/labels.js";
import { s, tween } from "../view/dom.js";
import { highlight, onHighlight } from "../view/highlight.js";

const [INNER, OUTER] = [40, 84];
const SKY = ["night", "night", "night", "night", "night", "dawn", "dawn", "dawn", "day", "day", "day", "day", "day", "day", "day",
  "day", "day", "day", "dusk", "dusk", "dusk", "night", "night", "night"];

export class Clock {
  #before = new Array(24).fill(0);
  #after = new Array(24).fill(0);
  #heights = new Array(48).fill(0);
  #ids = [];
  #target = null;
  #stop = () => {};

  /** Calls `pick("18:30")` for an hour to be near, and `pick(null)` to remove it. */
  constructor(root, pick) {
    this.root = root;
    this.hand = s("g", { class: "hand", visibility: "hidden" }, s("line", { y1: -24, y2: -78 }), s("circle", { cy: -80, r: 5 }));
    this.above = s("text", { class: "above", y: -8 });
    this.middle = s("text", { class: "middle", y: 12 });
    this.bars = Array.from({ length: 24 }, () => s("path", { class: "bar" }));
    this.ghosts = Array.from({ length: 24 }, () => s("path", { class: "ghost" }));
    const ring = SKY.map((sky, hour) => s("path", { class: `sky ${sky}`, d: wedge(hour, 31, 35, 0) }));
    const numbers = [3, 6, 9, 15, 18, 21].map((hour) => {
      const [x, y] = pointOf(hour, 95);
      return s("text", { class: hour % 6 ? "hour small" : "hour", x, y: y + 0.5 }, String(hour % 12));
    });
    const moon = s("path", { class: "moon", d: "M3-102a7.5 7.5 0 1 0 4.5 10.5a6.5 6.5 0 0 1-4.5-10.5z" });
    const sun = s("g", { class: "sun", transform: "translate(0 95)" }, s("circle", { r: 4.2 }),
      ...Array.from({ length: 8 }, (_, i) => s("line", { y1: 6, y2: 8.2, transform: `rotate(${i * 45})` })));
    const rim = s("circle", { class: "rim", r: OUTER + 1 });
    this.face = s("svg", { viewBox: "-104 -104 208 208" }, rim, ...this.ghosts, ...this.bars, ...ring, ...numbers, moon, sun,
      this.above, this.middle, this.hand);
    const aria = { label: "Hour to be near", valuemin: 0, valuemax: 23.5 };
    for (const [name, value] of Object.entries(aria)) this.face.setAttribute(`aria-${name}`, value);
    root.append(this.face);
    makeDial(this.face, {
      valueAt: (event) => this.#hourAt(event),
      step: (hour, steps) => (hour + steps / 2 + 24) % 24,
      start: () => this.#target ?? this.#peak(),
      pick: (hour) => pick(timeOfDay(hour)),
      clear: () => pick(null),
      hover: (hour) => highlight(hour === null ? [] : this.#ids[Math.floor(hour)] ?? [], this),
    });
    onHighlight((ids) => {
      const highlighted = new Set(ids);
      this.bars.forEach((bar, hour) => bar.classList.toggle("linked", (this.#ids[hour] ?? []).some((id) => highlighted.has(id))));
    });
    this.#describe();
  }

  /** Show the hours of the whole library until there are results. */
  setLibrary(hours) {
    this.#before = hours;
    this.#drawBars();
  }

  show(results, plain) {
    this.#ids = Array.from({ length: 24 }, () => []);
    for (const { photo } of results) if (photo.taken) this.#ids[hourOf(photo.taken)].push(photo.id);
    this.#after = this.#ids.map((ids) => ids.length);
    this.#before = new Array(24).fill(0);
    for (const photo of plain) if (photo.taken) this.#before[hourOf(photo.taken)] += 1;
    this.root.dataset.hours = this.#after.filter(Boolean).length;
    this.#drawBars();
    this.#describe();
  }

  #drawBars() {
    const most = Math.max(...this.#after, ...this.#before, 1);
    const [from, to] = [[...this.#heights], [...this.#after, ...this.#before].map((n) => n / most)];
    this.#stop();
    this.#stop = tween(260, (t) => {
      this.#heights = to.map((value, i) => from[i] + (value - from[i]) * t);
      this.#heights.forEach((value, i) => {
        if (from[i] === to[i]) return;
        const radius = INNER + (OUTER - INNER) * Math.sqrt(Math.max(value, 0));
        (i < 24 ? this.bars : this.ghosts)[i % 24].setAttribute("d", value < 0.004 ? "" : wedge(i % 24, INNER, radius, 0.012));
      });
    });
  }

  /** Show the hour to be near, 0 to 24, or null. */
  setTarget(hour) {
    this.#target = hour === null ? null : hour % 24;
    this.hand.setAttribute("visibility", this.#target === null ? "hidden" : "visible");
    if (this.#target !== null) this.hand.setAttribute("transform", `rotate(${this.#target * 15})`);
    this.#describe();
  }

  #describe() {
    const hour = this.#target ?? this.#peak();
    const number = this.#after[Math.floor(hour)];
    const isKnown = this.#after.some(Boolean);
    this.middle.textContent = this.#target === null ? (isKnown ? hourText(hour) : "") : timeOfDay(this.#target);
    this.above.textContent = this.#target === null ? (isKnown ? "mostly" : "") : "near";
    this.face.setAttribute("aria-valuenow", hour);
    const now = this.#target === null ? `none; mostly ${hourText(hour)}` : timeOfDay(hour);
    this.face.setAttribute("aria-valuetext", `${now}, ${counted(number, "photograph")} in that hour`);
  }

  #peak() {
    return this.#after.indexOf(Math.max(...this.#after));
  }

  #hourAt(event) {
    const box = this.face.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
    const radius = Math.hypot(x, y) / (box.width / 208);
    if (radius < 20 || radius > 106) return null;
    const hour = ((Math.atan2(x, -y) / (2 * Math.PI)) * 24 + 24) % 24;
    return (Math.round(hour * 2) / 2) % 24;
  }
}

/** An hour as text: 18.5 is 18:30. */
function timeOfDay(hour) {
  const minutes = Math.round(hour * 60) % 1440;
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

/** A whole hour as people say it: "8 pm". */
const hourText = (hour) => `${hour % 12 || 12} ${hour < 12 ? "am" : "pm"}`;

function pointOf(hour, radius) {
  const angle = (hour / 12) * Math.PI;
  return [Math.sin(angle) * radius, -Math.cos(angle) * radius];
}

/** Return the path of one hour between two radii, with a gap in radians on each side. */
function wedge(hour, inner, outer, gap) {
  const trim = (gap * 12) / Math.PI;
  const [[ax, ay], [bx, by]] = [pointOf(hour + trim, outer), pointOf(hour + 1 - trim, outer)];
  const [[cx, cy], [dx, dy]] = [pointOf(hour + 1 - trim, inner), pointOf(hour + trim, inner)];
  return `M${ax} ${ay}A${outer} ${outer} 0 0 1 ${bx} ${by}L${cx} ${cy}A${inner} ${inner} 0 0 0 ${dx} ${dy}Z`;
}
