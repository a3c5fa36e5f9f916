// How many photographs are shown, and how many of the best matches always are.

import { h } from "./dom.js";
import { sizes } from "./state.js";

export class Options {
  #protect = null; // what the field shows

  /** `changed({k | protect}, since)` hears of every change. */
  constructor(host, changed) {
    this.size = h("select", { id: "size" }, ...sizes.map((k) => h("option", { value: k }, String(k))));
    this.size.addEventListener("change", () => changed({ k: Number(this.size.value) }));
    this.protect = h("input", { type: "number", id: "protect", min: 0, max: 20, step: 1, inputmode: "numeric" });
    this.protect.addEventListener("input", (event) => {
      const value = Number(this.protect.value);
      if (this.protect.value !== "" && Number.isInteger(value) && value >= 0 && value <= 20) changed({ protect: value }, event.timeStamp);
    });
    host.append(h("label", { for: "size" }, "Photographs"), this.size, h("label", { for: "protect" }, "Best matches that always stay"), this.protect);
  }

  show(state) {
    this.size.value = state.k;
    // What is being typed stays as it is, unless the state goes elsewhere.
    const typing = document.activeElement === this.protect && state.protect === this.#protect;
    if (!typing && this.protect.value !== String(state.protect)) this.protect.value = state.protect;
    this.#protect = state.protect;
  }
}
