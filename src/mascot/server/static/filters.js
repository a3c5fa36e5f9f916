// Which photographs may be found at all: those of some days, folders, cameras and countries, those with so many stars.

import { h } from "./dom.js";
import { aDay } from "./state.js";
import { country, date } from "./words.js";

const STARS = [1, 2, 3, 4, 5];
const stars = (n) => "★".repeat(n);

/** Each filter: its name, how a value reads, and the field it is given in. */
const KINDS = {
  from: { label: "From", read: date, field: "date" },
  to: { label: "To", read: date, field: "date" },
  folder: { label: "Folder", read: (value) => `“${value}”`, field: "text" },
  country: { label: "Country", read: country, field: "choice", any: "any country" },
  camera: { label: "Camera", read: (value) => value, field: "choice", any: "any camera" },
  rating: { label: "Rating", read: (value) => (value === "5" ? stars(5) : `${stars(Number(value))} or more`), field: "choice", any: "any rating" },
};

/** A filter in a few words. */
export const filterText = (name, value) => `${KINDS[name].label} ${KINDS[name].read(value)}`;

export class Filters {
  #inputs = {};
  #shown = {};

  /** `changed({from | to | folder | ...})` hears of every change. */
  constructor(host, changed) {
    this.folders = h("datalist", { id: "filter-folders" });
    for (const [name, { label, field, any }] of Object.entries(KINDS)) {
      const input = {
        date: () => h("input", { type: "date", min: "1000-01-01", max: "9999-12-31" }),
        text: () => h("input", { type: "text", list: "filter-folders", maxlength: 200, spellcheck: "false", autocomplete: "off", placeholder: "a part of its name" }),
        choice: () => h("select", {}, h("option", { value: "" }, any)),
      }[field]();
      input.id = `filter-${name}`;
      input.addEventListener("change", () => changed({ [name]: field === "date" ? aDay(input.value) : input.value.trim() }));
      this.#inputs[name] = input;
      host.append(h("label", { for: input.id, class: field, hidden: field === "choice" }, label, input));
    }
    host.append(this.folders);
  }

  library(known) {
    this.folders.replaceChildren(...Object.keys(known.labels.folder ?? {}).map((value) => h("option", { value })));
    for (const name of ["from", "to"]) this.#inputs[name].disabled = known.photos > 0 && known.without_time === known.photos;
    const { camera = {}, country: countries = {}, rating = {} } = known.choices;
    this.#offer("camera", Object.entries(camera));
    this.#offer("country", Object.entries(countries));
    const least = (n) => STARS.filter((given) => given >= n).reduce((sum, given) => sum + (rating[given] ?? 0), 0);
    this.#offer("rating", STARS.map((n) => [String(n), least(n)]).filter(([, number]) => number > 0));
  }

  #offer(name, choices) {
    const select = this.#inputs[name];
    const options = choices.map(([value, number]) => h("option", { value }, `${KINDS[name].read(value)} (${number.toLocaleString("en")})`));
    select.replaceChildren(select.options[0], ...options);
    select.closest("label").hidden = choices.length === 0;
    this.#put(name, this.#shown[name] ?? "");
  }

  show(state) {
    for (const [name, input] of Object.entries(this.#inputs)) {
      // What is being typed stays as it is, unless the state goes elsewhere.
      if (document.activeElement !== input || state[name] !== this.#shown[name]) this.#put(name, state[name]);
    }
  }

  #put(name, value) {
    const input = this.#inputs[name];
    this.#shown[name] = value;
    const isNew = KINDS[name].field === "choice" && ![...input.options].some((option) => option.value === value);
    if (isNew) { // a link may name a rare one
      input.append(h("option", { value }, KINDS[name].read(value)));
      input.closest("label").hidden = false;
    }
    if (input.value !== value) input.value = value;
  }
}
