// Which photographs may be found at all: those of a country, a camera, some days, a folder, those with so many stars.

import { h } from "./dom.js";
import { aDay } from "./state.js";
import { country, date, stars } from "./words.js";

const STARS = [1, 2, 3, 4, 5];

function boxText(box) {
  const [south, west, north, east] = box.split(",").map(Number);
  const side = (degrees, ends) => `${Math.round(Math.abs(degrees))}° ${ends[degrees < 0 ? 1 : 0]}`;
  return `${side(south, "NS")} to ${side(north, "NS")}, ${side(west, "EW")} to ${side(east, "EW")}`;
}

/** Each filter: its name, how a value reads, and the field it is given in. */
const KINDS = {
  country: { label: "Country", read: country, field: "choice", any: "Any country" },
  camera: { label: "Camera", read: (value) => value, field: "choice", any: "Any camera" },
  rating: { label: "Rating", read: (value) => (value === "5" ? stars(5) : `${stars(Number(value))} or more`), field: "choice", any: "Any rating" },
  from: { label: "From", read: date, field: "date" },
  to: { label: "To", read: date, field: "date" },
  folder: { label: "Folder", read: (value) => `“${value}”`, field: "text" },
  box: { label: "Inside", read: boxText, field: null }, // drawn on the map
};

/** A filter in a few words. */
export const filterText = (name, value) => `${KINDS[name].label} ${KINDS[name].read(value)}`;

export class Filters {
  #inputs = {};
  #values = {};

  /** `changed({from | to | folder | ...})` hears of every change; typed fields stand in a panel that is opened. */
  constructor(host, changed) {
    this.folders = h("datalist", { id: "filter-folders" });
    const panel = h("div", { class: "filter-panel" });
    for (const [name, { label, field, any }] of Object.entries(KINDS)) {
      if (field === null) continue;
      const input = {
        date: () => h("input", { type: "date", min: "1000-01-01", max: "9999-12-31" }),
        text: () => h("input", { type: "text", list: "filter-folders", maxlength: 200, spellcheck: "false", autocomplete: "off", placeholder: "A part of its name" }),
        choice: () => h("select", { class: "pill", "aria-label": label }, h("option", { value: "" }, any)),
      }[field]();
      input.id = `filter-${name}`;
      input.addEventListener("change", () => changed({ [name]: field === "date" ? aDay(input.value) : input.value.trim() }));
      this.#inputs[name] = input;
      if (field === "choice") host.append(input);
      else panel.append(h("label", { for: input.id, class: field }, label, input));
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

  library(library) {
    this.folders.replaceChildren(...Object.keys(library.labels.folder ?? {}).map((value) => h("option", { value })));
    for (const name of ["from", "to"]) this.#inputs[name].disabled = library.photos > 0 && library.without_time === library.photos;
    const { camera = {}, country: countries = {}, rating = {} } = library.choices;
    this.#offer("camera", Object.entries(camera));
    this.#offer("country", Object.entries(countries));
    const least = (n) => STARS.filter((value) => value >= n).reduce((sum, value) => sum + (rating[value] ?? 0), 0);
    this.#offer("rating", STARS.map((n) => [String(n), least(n)]).filter(([, number]) => number > 0));
  }

  #offer(name, choices) {
    const select = this.#inputs[name];
    const options = choices.map(([value, number]) => h("option", { value }, `${KINDS[name].read(value)} (${number.toLocaleString("en")})`));
    select.replaceChildren(select.options[0], ...options);
    select.hidden = choices.length === 0;
    this.#put(name, this.#values[name] ?? "");
  }

  show(state) {
    for (const [name, input] of Object.entries(this.#inputs)) {
      // What is being typed stays as it is, unless the state goes elsewhere.
      if (document.activeElement !== input || state[name] !== this.#values[name]) this.#put(name, state[name]);
    }
    this.more.classList.toggle("set", Boolean(state.from || state.to || state.folder));
  }

  #put(name, value) {
    const input = this.#inputs[name];
    this.#values[name] = value;
    const isNew = KINDS[name].field === "choice" && ![...input.options].some((option) => option.value === value);
    if (isNew) { // a link may name a rare one
      input.append(h("option", { value }, KINDS[name].read(value)));
      input.hidden = false;
    }
    if (input.value !== value) input.value = value;
    input.classList.toggle("set", value !== "");
  }
}
