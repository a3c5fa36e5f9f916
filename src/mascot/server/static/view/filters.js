// The controls of the filters: country, camera, rating, dates and folder. A box is drawn on the map.

import { h } from "./dom.js";
import { dayOf } from "../app/address.js";
import { filterName, filterValue } from "../text/filterText.js";

const STARS = [1, 2, 3, 4, 5];
const FIELDS = { country: "choice", camera: "choice", rating: "choice", since: "date", until: "date", folder: "text" };
const ANY = { country: "Country", camera: "Camera", rating: "Stars" };
const INPUTS = {
  date: () => h("input", { type: "date", min: "1000-01-01", max: "9999-12-31" }),
  text: () => h("input", {
    type: "text", list: "filter-folders", maxlength: 200, spellcheck: "false", autocomplete: "off", placeholder: "A part of its name",
  }),
  choice: (name) => h("select", { class: "pill", "aria-label": filterName(name) }, h("option", { value: "" }, ANY[name])),
};

export class Filters {
  #inputs = {};
  #values = {};

  /** Calls `changed({since | until | folder | ...})`. Dates and folder are in a panel of their own. */
  constructor(host, changed) {
    this.folders = h("datalist", { id: "filter-folders" });
    const panel = h("div", { class: "filter-panel" });
    for (const [name, field] of Object.entries(FIELDS)) {
      const input = INPUTS[field](name);
      input.id = `filter-${name}`;
      input.addEventListener("change", () => changed({ [name]: field === "date" ? dayOf(input.value) : input.value.trim() }));
      this.#inputs[name] = input;
      if (field === "choice") host.append(input);
      else panel.append(h("label", { for: input.id, class: field }, filterName(name), input));
    }
    this.more = h("details", { class: "filter-more" }, h("summary", { class: "pill" }, "Dates and folder"), panel);
    document.addEventListener("pointerdown", (event) => {
      if (!this.more.contains(event.target)) this.more.open = false;
    });
    this.more.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.more.open) return;
      event.stopPropagation();
      this.more.open = false;
      this.more.querySelector("summary").focus();
    });
    host.append(this.more, this.folders);
  }

  /** Focus the control of a filter. Returns whether it has one. */
  focus(name) {
    const input = this.#inputs[name];
    if (input === undefined) return false;
    if (FIELDS[name] !== "choice") this.more.open = true;
    input.focus();
    return true;
  }

  /** Offer the values of the library. */
  setLibrary(library) {
    this.folders.replaceChildren(...Object.keys(library.labels.folder ?? {}).map((value) => h("option", { value })));
    for (const name of ["since", "until"]) this.#inputs[name].disabled = library.photos > 0 && library.without_time === library.photos;
    const { camera = {}, country = {}, rating = {} } = library.choices;
    this.#offer("camera", Object.entries(camera));
    this.#offer("country", Object.entries(country));
    const atLeast = (n) => STARS.filter((value) => value >= n).reduce((sum, value) => sum + (rating[value] ?? 0), 0);
    this.#offer("rating", STARS.map((n) => [String(n), atLeast(n)]).filter(([, number]) => number > 0));
  }

  #offer(name, choices) {
    const select = this.#inputs[name];
    const option = ([value, number]) => h("option", { value }, `${filterValue(name, value)} (${number.toLocaleString("en")})`);
    select.replaceChildren(select.options[0], ...choices.map(option));
    select.hidden = choices.length === 0;
    this.#setValue(name, this.#values[name] ?? "");
  }

  show(state) {
    for (const [name, input] of Object.entries(this.#inputs)) {
      // A field in use keeps its text unless the state has another value.
      if (document.activeElement !== input || state[name] !== this.#values[name]) this.#setValue(name, state[name]);
    }
    this.more.classList.toggle("set", Boolean(state.since || state.until || state.folder));
  }

  #setValue(name, value) {
    const input = this.#inputs[name];
    this.#values[name] = value;
    const isMissing = FIELDS[name] === "choice" && ![...input.options].some((option) => option.value === value);
    if (isMissing) { // only the most frequent values are offered, and a link may name any
      input.append(h("option", { value }, filterValue(name, value)));
      input.hidden = false;
    }
    if (input.value !== value) input.value = value;
    input.classList.toggle("set", value !== "");
  }
}
