// A dial for each attribute, from *Keep together* through *As found* to *Mix it up*; and beside it what to be near.

import { byId, h } from "./dom.js";
import { country, label } from "./words.js";
import { leanText, nearText } from "./wishing.js";

const STEPS = 10; // from the middle to an end
const ALWAYS = ["place", "hour", "date", "season", "camera", "look"];
const NO_VALUE = new Set(["look"]); // nothing can be named to be near
const HINTS = {
  place: "A city, or click the map", hour: "18:30, or click the clock", date: "2019-07, or click the line",
  season: "Summer, or July", camera: "A camera", country: "Portugal", city: "Lisbon", weekday: "Saturday", part_of_day: "Evening",
};
const CLICK = { place: "click the map", hour: "click the clock", date: "click a month" };
const FIXED = {
  season: ["spring", "summer", "autumn", "winter"],
  weekday: ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
  part_of_day: ["dawn", "morning", "noon", "afternoon", "evening", "night"],
};

class Control {
  constructor(host, name, { changed, values, remove }) {
    this.name = name;
    this.changed = changed;
    const id = `lean-${name}`;
    const word = label(name).toLowerCase();
    this.reading = h("output", { class: "reading", for: id });
    this.undo = h("button", { type: "button", class: "undo", "aria-label": `Show ${word} as found again`, hidden: true,
      onclick: () => { this.#set({ lean: 0 }); this.slider.focus(); } }, "×");
    this.slider = h("input", { type: "range", id, min: -STEPS, max: STEPS, step: 1, value: 0 });
    this.slider.addEventListener("input", (event) => this.#set({ lean: this.slider.value / STEPS }, event.timeStamp));
    this.slider.addEventListener("dblclick", () => this.#set({ lean: 0 }));
    const out = remove ? h("button", { type: "button", class: "undo", "aria-label": `Remove the dial for ${word}`, onclick: remove }, "−") : null;
    const ends = h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, "Keep together"), h("span", {}, "Mix it up"));
    this.near = NO_VALUE.has(name) ? null : this.#nearRow(values, word);
    this.element = h("div", { class: "control", "data-name": name },
      h("div", { class: "control-head" }, h("label", { for: id }, label(name)), this.reading, this.undo, out), this.slider, ends, this.near);
    host.append(this.element);
    this.show({ lean: 0, near: null }, null);
  }

  #nearRow(values, word) {
    const list = h("datalist", { id: `values-${this.name}` }, ...values.map((value) => h("option", { value })));
    this.typed = h("input", { type: "text", list: list.id, maxlength: 200, spellcheck: "false", autocomplete: "off", hidden: true,
      placeholder: HINTS[this.name] ?? "A value", "aria-label": `Near which ${word}` });
    const typed = () => {
      if (this.typed.value.trim()) this.#set({ near: this.typed.value.trim() });
    };
    this.typed.addEventListener("change", typed);
    this.typed.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        this.typed.value = "";
      }
      if (event.key === "Escape" || event.key === "Enter") this.opener.focus();
    });
    this.typed.addEventListener("blur", () => this.#type(false));
    this.opener = h("button", { type: "button", class: "near-open", onclick: () => this.#type(true), "aria-label": `Near which ${word}?` }, "Near…");
    this.hint = h("span", { class: "hint" }, CLICK[this.name] ? `or ${CLICK[this.name]}` : "");
    this.chip = h("span", { class: "chip near-chip", hidden: true });
    this.away = h("span", { class: "away" });
    return h("div", { class: "near" }, this.chip, this.away, this.opener, this.hint, this.typed, list);
  }

  #type(open) {
    this.typed.hidden = !open;
    this.opener.hidden = open || Boolean(this.wish.near);
    this.hint.hidden = this.opener.hidden;
    if (open) this.typed.focus();
    else this.typed.value = "";
  }

  #set(change, since) {
    const wish = { ...this.wish, ...change };
    this.show(wish, null);
    this.changed(this.name, wish, since);
  }

  /** `away` says how far the nearest photograph is from the target. */
  show(wish, away) {
    const { lean, near } = wish;
    const target = near ? nearText(this.name, near) : null; // names of places are learnt from what is found
    const worn = JSON.stringify([lean, target, away, this.slider.value]);
    if (worn === this.worn) return;
    this.worn = worn;
    this.wish = wish;
    this.slider.value = Math.round(lean * STEPS);
    this.slider.style.setProperty("--from", `${Math.min(50, 50 + lean * 50)}%`);
    this.slider.style.setProperty("--to", `${Math.max(50, 50 + lean * 50)}%`);
    this.slider.setAttribute("aria-valuetext", leanText(lean));
    this.element.dataset.lean = lean > 0 ? "mix" : lean < 0 ? "together" : "found";
    this.reading.textContent = leanText(lean);
    this.undo.hidden = lean === 0;
    if (!this.near) return;
    this.chip.hidden = !near;
    this.#type(false);
    this.away.textContent = (near && away) ?? "";
    if (!near) return;
    const remove = h("button", { type: "button", "aria-label": `Remove the target ${target}`,
      onclick: () => { this.#set({ near: null }); this.opener.focus(); } }, "×");
    this.chip.replaceChildren(`Near ${target}`, remove);
  }

  disable(disabled) {
    this.slider.disabled = disabled;
    if (this.opener) this.opener.disabled = disabled;
    this.element.classList.toggle("disabled", disabled);
  }
}

export class Controls {
  #controls = new Map();
  #library = { attributes: ALWAYS, labels: {} };

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

  library(library) {
    this.#library = library;
    for (const [name, control] of this.#controls) {
      control.near?.querySelector("datalist").replaceChildren(...this.#values(name).map((value) => h("option", { value })));
    }
    this.#controls.get("place").disable(library.without_place === library.photos);
    for (const name of ["hour", "date", "season"]) this.#controls.get(name).disable(library.without_time === library.photos);
    this.#menu();
  }

  /** `aways` says for each target how far the nearest photograph is. */
  show(wishes, aways = {}) {
    const added = Object.keys(wishes).filter((name) => !this.#controls.has(name));
    for (const name of added) this.#make(name);
    if (added.length) this.#menu();
    for (const [name, control] of this.#controls) control.show(wishes[name] ?? { lean: 0, near: null }, aways[name] ?? null);
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
    if (FIXED[name]) return FIXED[name];
    const values = Object.keys(this.#library.labels[name === "place" ? "city" : name] ?? {});
    return name === "country" ? values.map(country) : values;
  }

  #menu() {
    const rest = this.#library.attributes.filter((name) => !this.#controls.has(name));
    this.add.replaceChildren(h("option", { value: "" }, "Add a dial…"), ...rest.map((name) => h("option", { value: name }, label(name))));
    this.add.hidden = rest.length === 0;
  }
}
