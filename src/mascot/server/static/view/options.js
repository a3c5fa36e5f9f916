// How many photographs are shown, and how many of the best matches are always among them.

import { h } from "./dom.js";
import { SIZES } from "../app/state.js";

const MAX_PROTECT = 20;

export class Options {
  #protect = null; // the value in the field

  /** Calls `changed({k | protect}, gesture)`. */
  constructor(host, changed) {
    this.size = h("select", { id: "size" }, ...SIZES.map((k) => h("option", { value: k }, String(k))));
    this.size.addEventListener("change", () => changed({ k: Number(this.size.value) }));
    this.protect = h("input", { type: "number", id: "protect", min: 0, max: MAX_PROTECT, step: 1, inputmode: "numeric" });
    this.protect.addEventListener("input", () => {
      const value = Number(this.protect.value);
      const isValid = this.protect.value !== "" && Number.isInteger(value) && value >= 0 && value <= MAX_PROTECT;
      if (isValid) changed({ protect: value }, "protect");
    });
    host.append(
      h("label", { for: "size" }, "Photographs"), this.size,
      h("label", { for: "protect" }, "Always keep the top"), this.protect,
    );
  }

  /** Without a value of its own, the field shows the one that the server used. */
  show({ k, protect, answer }) {
    if (![...this.size.options].some((option) => option.value === String(k))) this.size.append(h("option", { value: k }, String(k)));
    this.size.value = k;
    const value = protect ?? answer?.request?.protect ?? "";
    const isTyping = document.activeElement === this.protect && value === this.#protect;
    if (!isTyping && this.protect.value !== String(value)) this.protect.value = value;
    this.#protect = value;
  }
}
