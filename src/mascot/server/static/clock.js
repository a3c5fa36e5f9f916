// The hours of the day around a clock face: what relevance alone shows, what is shown, and the hour to be near.

import { dial } from "./dial.js";
import { s, tween } from "./dom.js";
import { link, onLink } from "./link.js";
import { hourOf, plural } from "./words.js";

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

  /** `pick("18:30")` hears the hour to be near, `pick(null)` that it was taken back. */
  constructor(root, pick) {
    this.root = root;
    this.hand = s("g", { class: "hand", visibility: "hidden" }, s("line", { y1: -24, y2: -78 }), s("circle", { cy: -80, r: 5 }));
    this.middle = s("text", { class: "middle", y: 1 });
    this.under = s("text", { class: "under", y: 15 });
    this.bars = Array.from({ length: 24 }, () => s("path", { class: "bar" }));
    this.ghosts = Array.from({ length: 24 }, () => s("path", { class: "ghost" }));
    const ring = SKY.map((sky, hour) => s("path", { class: `sky ${sky}`, d: wedge(hour, 31, 35, 0) }));
    const names = [0, 3, 6, 9, 12, 15, 18, 21].map((hour) => {
      const [x, y] = spot(hour, 95);
      return s("text", { class: hour % 6 ? "hour small" : "hour", x, y: y + 0.5 }, String(hour));
    });
    const rim = s("circle", { class: "rim", r: OUTER + 1 });
    this.face = s("svg", { viewBox: "-104 -104 208 208" }, rim, ...this.ghosts, ...this.bars, ...ring, ...names, this.middle, this.under, this.hand);
    for (const [name, value] of [["label", "Hour to be near"], ["valuemin", 0], ["valuemax", 23.5]]) this.face.setAttribute(`aria-${name}`, value);
    root.append(this.face);
    dial(this.face, {
      at: (event) => this.#at(event),
      step: (hour, steps) => (hour + steps / 2 + 24) % 24,
      start: () => this.#target ?? this.#peak(),
      pick: (hour) => pick(written(hour)),
      clear: () => pick(null),
      hover: (hour) => link(hour === null ? [] : this.#ids[Math.floor(hour)] ?? [], this),
    });
    onLink((ids) => {
      const pointed = new Set(ids);
      this.bars.forEach((bar, hour) => bar.classList.toggle("linked", (this.#ids[hour] ?? []).some((id) => pointed.has(id))));
    });
    this.#tell();
  }

  /** Before any search: the hours of the whole library, faintly. */
  library(hours) {
    this.#before = hours;
    this.#turn();
  }

  show(results, plain) {
    this.#ids = Array.from({ length: 24 }, () => []);
    for (const { photo } of results) if (photo.taken) this.#ids[hourOf(photo.taken)].push(photo.id);
    this.#after = this.#ids.map((ids) => ids.length);
    this.#before = new Array(24).fill(0);
    for (const photo of plain) if (photo.taken) this.#before[hourOf(photo.taken)] += 1;
    this.root.dataset.hours = this.#after.filter(Boolean).length;
    this.#turn();
    this.#tell();
  }

  #turn() {
    const most = Math.max(...this.#after, ...this.#before, 1);
    const [from, to] = [[...this.#heights], [...this.#after, ...this.#before].map((n) => n / most)];
    this.#stop();
    this.#stop = tween(260, (t) => {
      this.#heights = to.map((value, i) => from[i] + (value - from[i]) * t);
      this.#heights.forEach((value, i) => {
        if (from[i] === to[i]) return;
        const reach = INNER + (OUTER - INNER) * Math.sqrt(Math.max(value, 0));
        (i < 24 ? this.bars : this.ghosts)[i % 24].setAttribute("d", value < 0.004 ? "" : wedge(i % 24, INNER, reach, 0.012));
      });
    });
  }

  /** The hour to be near, 0 to 24, or null. */
  target(hour) {
    this.#target = hour === null ? null : hour % 24;
    this.hand.setAttribute("visibility", this.#target === null ? "hidden" : "visible");
    if (this.#target !== null) this.hand.setAttribute("transform", `rotate(${this.#target * 15})`);
    this.#tell();
  }

  #tell() {
    const hour = this.#target ?? this.#peak();
    const number = this.#after[Math.floor(hour)];
    const any = this.#after.some(Boolean);
    this.middle.textContent = this.#target === null ? (any ? `${hour}h` : "") : written(this.#target);
    this.under.textContent = this.#target === null ? (any ? "most" : "") : "near";
    this.face.setAttribute("aria-valuenow", hour);
    const now = this.#target === null ? `none; most are from ${hour} o'clock` : written(hour);
    this.face.setAttribute("aria-valuetext", `${now}, ${plural(number, "photograph")} in that hour`);
  }

  #peak() {
    return this.#after.indexOf(Math.max(...this.#after));
  }

  #at(event) {
    const box = this.face.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
    const far = Math.hypot(x, y) / (box.width / 208);
    if (far < 20 || far > 106) return null;
    const hour = ((Math.atan2(x, -y) / (2 * Math.PI)) * 24 + 24) % 24;
    return (Math.round(hour * 2) / 2) % 24;
  }
}

export function written(hour) {
  const minutes = Math.round(hour * 60) % 1440;
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

function spot(hour, radius) {
  const angle = (hour / 12) * Math.PI;
  return [Math.sin(angle) * radius, -Math.cos(angle) * radius];
}

/** The sector of one hour between two radii; `gap` radians are left free on each side. */
function wedge(hour, inner, outer, gap) {
  const trim = (gap * 12) / Math.PI;
  const [[ax, ay], [bx, by]] = [spot(hour + trim, outer), spot(hour + 1 - trim, outer)];
  const [[cx, cy], [dx, dy]] = [spot(hour + 1 - trim, inner), spot(hour + trim, inner)];
  return `M${ax} ${ay}A${outer} ${outer} 0 0 1 ${bx} ${by}L${cx} ${cy}A${inner} ${inner} 0 0 0 ${dx} ${dy}Z`;
}
