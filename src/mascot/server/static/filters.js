// Which photographs may be found at all: those of some days, those of some folders.

import { h } from "./dom.js";
import { aDay } from "./state.js";
import { date } from "./words.js";

const LABELS = { from: "From", to: "To", folder: "Folder" };

/** A filter in a few words. */
export const filterText = (name, value) => `${LABELS[name]} ${name === "folder" ? `“${value}”` : date(value)}`;

export class Filters {
  #inputs = {};

  /** `changed({from | to | folder})` hears of every change. */
  constructor(host, changed) {
    this.folders = h("datalist", { id: "filter-folders" });
    for (const [name, label] of Object.entries(LABELS)) {
      const kind = name === "folder"
        ? { type: "text", list: "filter-folders", maxlength: 200, spellcheck: "false", autocomplete: "off", placeholder: "a part of its name" }
        : { type: "date", min: "1000-01-01", max: "9999-12-31" };
      const input = h("input", { id: `filter-${name}`, ...kind });
      input.addEventListener("change", () => {
        const value = name === "folder" ? input.value.trim() : aDay(input.value);
        changed({ [name]: value });
      });
      this.#inputs[name] = input;
      host.append(h("label", { for: input.id }, label, input));
    }
    host.append(this.folders);
  }

  library(known) {
    this.folders.replaceChildren(...Object.keys(known.labels.folder ?? {}).map((value) => h("option", { value })));
    for (const name of ["from", "to"]) this.#inputs[name].disabled = known.photos > 0 && known.without_time === known.photos;
  }

  show(state) {
    // What is being typed stays as it is.
    for (const [name, input] of Object.entries(this.#inputs)) if (document.activeElement !== input) input.value = state[name];
  }
}
