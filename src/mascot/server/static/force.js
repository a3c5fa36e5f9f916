// How strongly the wishes count against relevance, and what is safe from them.

import { h } from "./dom.js";
import { KEEP, sizes } from "./state.js";

export class Force {
  #state = null;
  #protected = null; // what the field shows

  /** `changed({strength | keep | protect | order | k}, since)` hears of every move. */
  constructor(host, changed) {
    this.changed = changed;
    this.readout = h("span", { class: "says" });
    this.slider = h("input", { type: "range", id: "force-slider", class: "plain" });
    this.slider.addEventListener("input", (event) => {
      const value = this.slider.value / 100;
      this.#tell(this.#state.keep === null ? { strength: value } : { keep: value }, event.timeStamp);
    });
    this.modes = ["strength", "keep"].map((mode) => h("input", { type: "radio", name: "mode", value: mode, id: `mode-${mode}` }));
    for (const radio of this.modes) radio.addEventListener("change", () => this.#tell({ keep: radio.value === "keep" ? KEEP.first : null }));
    const choice = (radio, text) => h("label", { for: radio.id }, radio, h("span", {}, text));
    this.protect = h("input", { type: "number", id: "protect", min: 0, max: 20, step: 1, inputmode: "numeric" });
    this.protect.addEventListener("input", (event) => {
      const value = Number(this.protect.value);
      if (this.protect.value !== "" && Number.isInteger(value) && value >= 0 && value <= 20) this.#tell({ protect: value }, event.timeStamp);
    });
    this.order = choose("order", { relevance: "by relevance", selection: "as chosen" }, (order) => this.#tell({ order }));
    this.size = choose("size", Object.fromEntries(sizes.map((k) => [k, String(k)])), (k) => this.#tell({ k: Number(k) }));
    this.word = h("label", { for: "force-slider" });
    host.append(
      h("fieldset", { class: "modes" }, h("legend", { class: "unseen" }, "What is given"), choice(this.modes[0], "Strength"), choice(this.modes[1], "Keep relevance")),
      h("div", { class: "control-head" }, this.word, this.readout),
      this.slider,
      h("div", { class: "options" },
        h("label", { for: "protect" }, "Protect the first"), this.protect,
        h("label", { for: "order" }, "Order"), this.order,
        h("label", { for: "size" }, "Photographs"), this.size),
    );
  }

  #tell(change, since) {
    this.show({ ...this.#state, ...change });
    this.changed(change, since);
  }

  show(state) {
    this.#state = state;
    const keeping = state.keep !== null;
    this.modes[keeping ? 1 : 0].checked = true;
    [this.slider.min, this.slider.max, this.slider.step] = keeping ? [KEEP.least * 100, KEEP.most * 100, 1] : [0, 100, 5];
    const value = Math.round((keeping ? state.keep : state.strength) * 100);
    this.slider.value = value;
    const share = (value - this.slider.min) / (this.slider.max - this.slider.min);
    this.slider.style.setProperty("--to", `${share * 100}%`);
    this.word.textContent = keeping ? "Relevance to keep" : "Strength of the wishes";
    this.readout.textContent = keeping ? `${value}%` : state.strength.toFixed(2);
    this.slider.setAttribute("aria-valuetext", keeping ? `${value} percent` : `${state.strength.toFixed(2)} of 1`);
    // What is being typed stays as it is, unless the state goes elsewhere.
    const typing = document.activeElement === this.protect && state.protect === this.#protected;
    if (!typing && this.protect.value !== String(state.protect)) this.protect.value = state.protect;
    this.#protected = state.protect;
    this.order.value = state.order;
    this.size.value = state.k;
  }
}

function choose(id, options, picked) {
  const select = h("select", { id }, ...Object.entries(options).map(([value, text]) => h("option", { value }, text)));
  select.addEventListener("change", () => picked(select.value));
  return select;
}
