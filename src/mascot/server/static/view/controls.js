// A dial for each attribute, from *Keep together* through *As found* to *Mix it up*, and the value to be near.

import { byId, h } from "./dom.js";
import { dialNames, leanOf, nearOf } from "../app/wishes.js";
import { countryName, label } from "../text/labels.js";
import { leanText, nearText } from "../text/wishText.js";

const STEPS = 10; // from the middle of a dial to its end
const ALWAYS = ["place", "hour", "date", "season", "camera", "look"];
const WITHOUT_TARGET = new Set(["look"]);
const PLACEHOLDERS = {
  place: "A city, or click the map", hour: "18:30, or click the clock", date: "2019-07, or click the line",
  season: "Summer, or July", camera: "A camera", country: "Portugal", city: "Lisbon", weekday: "Saturday", part_of_day: "Evening",
};
const FIXED_VALUES = {
  season: ["spring", "summer", "autumn", "winter"],
  weekday: ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
  part_of_day: ["dawn", "morning", "noon", "afternoon", "evening", "night"],
};

class Control {
  #near = null;
  #submitted = null; // the value that the server checks
  #key = "";

  /** Calls `turn(name, lean)`, `setNear(name, near)`, which returns a message if it is refused, and `remove()`. */
  constructor(host, name, { turn, setNear, values, remove }) {
    Object.assign(this, { name, turn, setNear });
    const id = `lean-${name}`;
    const word = label(name).toLowerCase();
    this.reading = h("output", { class: "reading", for: id });
    this.undo = h("button", { type: "button", class: "undo", "aria-label": `Show ${word} as found again`, hidden: true,
      onclick: () => { this.turn(name, 0); this.slider.focus(); } }, "×");
    this.slider = h("input", { type: "range", id, min: -STEPS, max: STEPS, step: 1, value: 0 });
    this.slider.addEventListener("input", () => this.turn(name, this.slider.value / STEPS, name));
    this.slider.addEventListener("dblclick", () => this.turn(name, 0));
    const removal = remove
      ? h("button", { type: "button", class: "undo", "aria-label": `Remove the dial for ${word}`, onclick: remove }, "−") : null;
    this.nearRow = WITHOUT_TARGET.has(name) ? null : this.#createNearRow(values, word);
    this.element = h("div", { class: "control", "data-name": name },
      h("label", { for: id }, label(name)), this.slider, this.opener, removal, this.reading, this.undo, this.nearRow);
    host.append(this.element);
    this.show(0, null, null);
  }

  #createNearRow(values, word) {
    this.values = h("datalist", { id: `values-${this.name}` });
    this.setValues(values);
    this.input = h("input", {
      type: "text", list: this.values.id, maxlength: 200, spellcheck: "false", autocomplete: "off", hidden: true,
      placeholder: PLACEHOLDERS[this.name] ?? "A value", "aria-label": `Near which ${word}`,
    });
    this.input.addEventListener("change", () => this.#submit());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault(); // without it a list of values that is open may take the key for itself
        this.#submit();
      } else if (event.key === "Escape") {
        event.stopPropagation();
        this.#setInputOpen(false);
        this.opener.focus();
      }
    });
    this.input.addEventListener("blur", () => !this.input.value && this.#setInputOpen(false));
    this.problem = h("span", { class: "problem", role: "alert" });
    this.opener = h("button", { type: "button", class: "near-open", "aria-label": `Near which ${word}?`,
      onclick: () => this.#setInputOpen(true) }, "Near…");
    this.chip = h("span", { class: "chip near-chip", hidden: true });
    this.nearest = h("span", { class: "nearest" });
    return h("div", { class: "near" }, this.chip, this.nearest, this.input, this.problem, this.values);
  }

  /** Set the target if the server knows the value; otherwise say why not. */
  async #submit() {
    const near = this.input.value.trim();
    if (!near || near === this.#submitted) return;
    this.#submitted = near;
    const message = await this.setNear(this.name, near);
    this.#submitted = null;
    this.problem.textContent = message ?? "";
    this.input.setAttribute("aria-invalid", String(Boolean(message)));
    if (!message && document.activeElement === this.input) this.slider.focus({ preventScroll: true });
  }

  /** Open the field for the value to be near. */
  editNear() {
    this.#setInputOpen(true);
    this.input.value = this.#near ?? "";
    this.input.select();
  }

  setValues(values) {
    this.values?.replaceChildren(...values.map((value) => h("option", { value })));
  }

  #setInputOpen(isOpen) {
    this.input.hidden = !isOpen;
    this.opener.hidden = isOpen || Boolean(this.#near);
    if (isOpen) this.input.focus();
    else [this.input.value, this.problem.textContent] = ["", ""];
  }

  /** `nearest` says how far the nearest photograph is from the target. */
  show(lean, near, nearest) {
    const target = near ? nearText(this.name, near) : null; // depends on the places that are known by name
    const key = JSON.stringify([lean, target, nearest, this.slider.value]);
    if (key === this.#key) return;
    this.#key = key;
    this.#near = near;
    this.slider.value = Math.round(lean * STEPS);
    this.slider.style.setProperty("--from", `${Math.min(50, 50 + lean * 50)}%`);
    this.slider.style.setProperty("--to", `${Math.max(50, 50 + lean * 50)}%`);
    this.slider.setAttribute("aria-valuetext", leanText(lean));
    this.element.dataset.lean = lean > 0 ? "mix" : lean < 0 ? "together" : "found";
    this.reading.textContent = lean === 0 ? "" : leanText(lean);
    this.undo.hidden = lean === 0;
    if (this.nearRow) this.#showTarget(target, nearest);
  }

  #showTarget(target, nearest) {
    this.chip.hidden = target === null;
    this.#setInputOpen(false);
    this.nearest.textContent = (target !== null && nearest) || "";
    if (target === null) return;
    const remove = h("button", { type: "button", class: "remove", "aria-label": `Remove the target ${target}`,
      onclick: () => { this.setNear(this.name, null); this.opener.focus(); } }, "×");
    this.chip.replaceChildren(`Near ${target}`, remove);
  }

  disable(isDisabled) {
    this.slider.disabled = isDisabled;
    if (this.opener) this.opener.disabled = isDisabled;
    this.element.classList.toggle("disabled", isDisabled);
  }
}

export class Controls {
  #controls = new Map();
  #library = { attributes: ALWAYS, labels: {} };

  /** Calls `turn(name, lean, gesture)`, `setNear(name, near)` and `remove(name)`. */
  constructor({ turn, setNear, remove }) {
    Object.assign(this, { turn, setNear, remove });
    this.menu = byId("add");
    this.menu.addEventListener("change", () => {
      const name = this.menu.value;
      if (!name) return;
      this.#add(name);
      this.#updateMenu();
      this.#controls.get(name).slider.focus();
    });
    for (const name of ALWAYS) this.#add(name);
    this.#updateMenu();
  }

  /** Focus the dial of an attribute (`dial`), or open the field for its target (`near`). */
  edit(kind, name) {
    const control = this.#controls.get(name);
    if (kind === "near" && control?.nearRow) control.editNear();
    else control?.slider.focus();
  }

  /** Offer the attributes and values of the library. */
  setLibrary(library) {
    this.#library = library;
    for (const [name, control] of this.#controls) control.setValues(this.valuesOf(name));
    this.#controls.get("place").disable(library.without_place === library.photos);
    for (const name of ["hour", "date", "season"]) this.#controls.get(name).disable(library.without_time === library.photos);
    this.#updateMenu();
  }

  /** Show the wishes; `targets` are those of the answer. */
  show(wishes, targets = []) {
    const missing = dialNames(wishes).filter((name) => !this.#controls.has(name));
    for (const name of missing) this.#add(name);
    if (missing.length) this.#updateMenu();
    for (const [name, control] of this.#controls) {
      const near = nearOf(wishes, name);
      const target = targets.find((other) => other.name === name && other.near === near);
      control.show(leanOf(wishes, name), near, target?.nearest ?? null);
    }
  }

  #add(name) {
    const slot = document.querySelector(`[data-control="${name}"]`) ?? byId("others");
    const remove = ALWAYS.includes(name) ? null : () => {
      this.#controls.get(name).element.remove();
      this.#controls.delete(name);
      this.#updateMenu();
      this.remove(name);
      this.menu.focus();
    };
    const control = new Control(slot, name, { turn: this.turn, setNear: this.setNear, values: this.valuesOf(name), remove });
    this.#controls.set(name, control);
  }

  /** The values of an attribute that are offered. */
  valuesOf(name) {
    if (FIXED_VALUES[name]) return FIXED_VALUES[name];
    const values = Object.keys(this.#library.labels[name === "place" ? "city" : name] ?? {});
    return name === "country" ? values.map(countryName) : values;
  }

  #updateMenu() {
    const others = this.#library.attributes.filter((name) => !this.#controls.has(name));
    const options = others.map((name) => h("option", { value: name }, label(name)));
    this.menu.replaceChildren(h("option", { value: "" }, "Add a dial…"), ...options);
    this.menu.hidden = others.length === 0;
  }
}
