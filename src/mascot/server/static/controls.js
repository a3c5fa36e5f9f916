// A slider for each attribute: focus on the left, spread on the right, neutral between; and what to focus on.

import { byId, h } from "./dom.js";
import { named } from "./places.js";
import { country, date, label, point } from "./words.js";

const STEPS = 10; // from the middle to an end
export const ALWAYS = ["place", "hour", "date", "season", "camera", "look"];
const NO_VALUE = new Set(["look"]); // nothing can be named to be near
const HINTS = {
  place: "a city, or click the map", hour: "18:30, or click the clock", date: "2019-07, or click the line",
  season: "summer, or july", camera: "a camera", country: "Portugal", city: "Lisbon", weekday: "saturday", part_of_day: "evening",
};
const CLICK = { place: "click the map", hour: "click the clock", date: "click the line" };
const FIXED = {
  season: ["spring", "summer", "autumn", "winter"],
  weekday: ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
  part_of_day: ["dawn", "morning", "noon", "afternoon", "evening", "night"],
};

/** A target as people read it. */
export function nearText(name, near) {
  const spot = name === "place" ? /^(-?[\d.]+),(-?[\d.]+)$/.exec(near) : null;
  if (spot) return named(near) ?? point(Number(spot[1]), Number(spot[2]));
  if (name === "date") return date(near);
  return name === "country" ? country(near) : near;
}

/** A wish in a few words. */
export function wishText(name, { lean, near }) {
  if (lean === 0) return "neutral";
  return lean > 0 ? "spread" : near ? `focus near ${nearText(name, near)}` : "focus";
}

class Control {
  constructor(host, name, { changed, values, remove }) {
    this.name = name;
    this.changed = changed;
    const id = `lean-${name}`;
    this.says = h("span", { class: "says" });
    this.hint = h("span", { class: "hint" }, CLICK[name] ? `${CLICK[name]} to focus` : "");
    this.undo = h("button", { type: "button", class: "undo", "aria-label": `Set ${label(name).toLowerCase()} back to neutral`, hidden: true,
      onclick: () => { this.#set({ lean: 0, near: null }); this.slider.focus(); } }, "×");
    this.slider = h("input", { type: "range", id, min: -STEPS, max: STEPS, step: 1, value: 0 });
    this.slider.addEventListener("input", (event) => this.#set({ lean: this.slider.value / STEPS, near: this.wish.near }, event.timeStamp));
    this.slider.addEventListener("dblclick", () => this.#set({ lean: 0, near: null }));
    this.near = NO_VALUE.has(name) ? null : this.#nearRow(values);
    const out = remove ? h("button", { type: "button", class: "undo", "aria-label": `Remove the slider for ${label(name).toLowerCase()}`, onclick: remove }, "−") : null;
    const head = h("div", { class: "control-head" }, h("label", { for: id }, label(name)), this.hint, this.says, this.undo, out);
    const ends = (text) => h("span", { "aria-hidden": "true" }, text);
    this.element = h("div", { class: "control", "data-name": name }, head,
      h("div", { class: "lean" }, ends("Focus"), this.slider, ends("Spread")), this.near);
    host.append(this.element);
    this.wish = { lean: NaN, near: null };
    this.show({ lean: 0, near: null });
  }

  #nearRow(values) {
    const list = h("datalist", { id: `values-${this.name}` }, ...values.map((value) => h("option", { value })));
    this.typed = h("input", { type: "text", list: list.id, maxlength: 200, spellcheck: "false", autocomplete: "off",
      placeholder: HINTS[this.name] ?? "a value", "aria-label": `Focus ${label(this.name).toLowerCase()} near` });
    this.typed.addEventListener("change", () => {
      if (this.typed.value.trim()) this.#set({ lean: this.wish.lean, near: this.typed.value.trim() });
    });
    this.chip = h("span", { class: "chip", hidden: true });
    return h("div", { class: "near", hidden: true }, h("span", { "aria-hidden": "true" }, "near"), this.chip, this.typed, list);
  }

  #set(wish, since) {
    this.show(wish);
    this.changed(this.name, wish, since);
  }

  show(wish) {
    const { lean, near } = wish;
    const text = wishText(this.name, wish); // names of places are learnt from what is found
    if (lean === this.wish.lean && near === this.wish.near && text === this.text && lean === this.slider.value / STEPS) return;
    [this.wish, this.text] = [wish, text];
    this.slider.value = Math.round(lean * STEPS);
    this.slider.style.setProperty("--at", `${50 + lean * 50}%`);
    this.slider.style.setProperty("--from", `${Math.min(50, 50 + lean * 50)}%`);
    this.slider.style.setProperty("--to", `${Math.max(50, 50 + lean * 50)}%`);
    this.slider.setAttribute("aria-valuetext", lean === 0 ? "neutral" : `${text}, weight ${Math.abs(lean).toFixed(1)}`);
    this.element.setAttribute("data-lean", lean > 0 ? "spread" : lean < 0 ? "focus" : "neutral");
    this.says.textContent = lean === 0 ? "" : `${lean > 0 ? "Spread" : "Focus"} ${Math.round(Math.abs(lean) * 100)}%`;
    this.undo.hidden = lean === 0;
    this.hint.hidden = lean !== 0 || !CLICK[this.name];
    if (!this.near) return;
    this.near.hidden = lean >= 0;
    this.chip.hidden = !near;
    this.typed.hidden = Boolean(near);
    if (!near) return;
    this.typed.value = "";
    const told = nearText(this.name, near);
    const remove = h("button", { type: "button", "aria-label": `Remove the target ${told}`,
      onclick: () => { this.#set({ lean: this.wish.lean, near: null }); this.typed.focus(); } }, "×");
    this.chip.replaceChildren(told, remove);
  }
}

export class Controls {
  #controls = new Map();
  #known = { attributes: ALWAYS, labels: {} };

  /** `changed(name, {lean, near}, since)` hears of every move. */
  constructor(changed) {
    this.changed = changed;
    this.add = byId("add");
    this.add.addEventListener("change", () => {
      const name = this.add.value;
      if (!name) return;
      this.#make(name);
      this.#menu();
      this.#controls.get(name).slider.focus();
    });
    for (const name of ALWAYS) this.#make(name);
    this.#menu();
  }

  library(known) {
    this.#known = known;
    for (const [name, control] of this.#controls) {
      control.near?.querySelector("datalist").replaceChildren(...this.#values(name).map((value) => h("option", { value })));
    }
    this.#controls.get("place").slider.disabled = known.without_place === known.photos;
    for (const name of ["hour", "date", "season"]) this.#controls.get(name).slider.disabled = known.without_time === known.photos;
    this.#menu();
  }

  show(wishes) {
    const added = Object.keys(wishes).filter((name) => !this.#controls.has(name));
    for (const name of added) this.#make(name);
    if (added.length) this.#menu();
    for (const [name, control] of this.#controls) control.show(wishes[name] ?? { lean: 0, near: null });
  }

  #make(name) {
    const slot = document.querySelector(`[data-control="${name}"]`) ?? byId("others");
    const remove = ALWAYS.includes(name) ? null : () => {
      this.#controls.get(name).element.remove();
      this.#controls.delete(name);
      this.#menu();
      this.changed(name, { lean: 0, near: null });
      this.add.focus();
    };
    this.#controls.set(name, new Control(slot, name, { changed: this.changed, values: this.#values(name), remove }));
  }

  #values(name) {
    const labels = this.#known.labels;
    if (FIXED[name]) return FIXED[name];
    const found = Object.keys(labels[name === "place" ? "city" : name] ?? {});
    return name === "country" ? found.map(country) : found;
  }

  #menu() {
    const rest = this.#known.attributes.filter((name) => !this.#controls.has(name));
    this.add.replaceChildren(h("option", { value: "" }, "Add an attribute…"), ...rest.map((name) => h("option", { value: name }, label(name))));
    this.add.hidden = rest.length === 0;
  }
}
