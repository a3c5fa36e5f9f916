// The tray: photographs that were picked, what completes them, and how they are taken away.

import * as api from "./api.js";
import { h } from "./dom.js";
import { FIND } from "./state.js";
import { download } from "./taking.js";
import { plural } from "./words.js";

export class Tray {
  #state = null;
  #choices = [];

  /** `change({pin, reject, complete, ...}, focus)` changes the state, `open(id)` shows a photograph, `query()` is what was asked. */
  constructor(root, { change, open, query }) {
    Object.assign(this, { root, change, open, query });
    this.title = h("h2", { tabindex: "-1" });
    this.pictures = h("ul", { class: "tray-pictures", "aria-label": "Picked photographs" });
    this.find = h("select", { "aria-label": "How many photographs to find" }, ...FIND.map((n) => h("option", { value: n }, `+ ${n}`)));
    this.find.value = FIND[2];
    this.find.addEventListener("change", () => this.#state.complete !== null && this.#complete());
    this.complete = h("button", { type: "button", class: "tool strong", onclick: () => this.#complete() }, "Complete my set");
    this.zip = h("button", { type: "button", class: "tool", onclick: () => this.#export("zip") }, "Download");
    this.album = h("button", { type: "button", class: "tool", onclick: () => this.#export("album") }, "Album");
    this.name = h("input", { type: "text", maxlength: 100, placeholder: "Name it", "aria-label": "Name of this choice", autocomplete: "off" });
    this.form = h("form", { class: "tray-save" }, this.name, h("button", { type: "submit", class: "tool" }, "Save"));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
    this.saved = h("details", { class: "tray-saved" }, h("summary", { class: "quiet" }), h("ul", {}));
    this.restore = h("button", { type: "button", class: "quiet", onclick: () => this.change({ reject: [] }) });
    this.clear = h("button", { type: "button", class: "quiet", onclick: () => this.change({ pin: [], reject: [], complete: null }), "aria-label": "Empty the tray" }, "Empty");
    this.status = h("span", { class: "tray-status", role: "status" });
    root.append(
      h("div", { class: "tray-head" }, this.title, this.restore, this.saved, this.clear),
      this.pictures,
      h("div", { class: "tray-acts" }, h("span", { class: "tray-complete" }, this.complete, this.find), this.zip, this.album, this.form, this.status),
    );
  }

  /** Ask for the saved choices; without them the tray still works. */
  async load() {
    try {
      this.#choices = (await api.choices()).choices;
    } catch {
      this.#choices = [];
    }
    if (this.#state) this.show(this.#state, this.opened);
  }

  show(state, opened) {
    this.#state = state;
    this.opened = opened;
    const { pin, reject, complete } = state;
    this.root.hidden = !opened;
    this.title.textContent = pin.length ? `${plural(pin.length, "photograph")} picked` : "Pick photographs with ✓";
    this.restore.hidden = reject.length === 0;
    this.restore.textContent = `Bring back ${plural(reject.length, "rejected", "rejected")}`;
    this.clear.hidden = pin.length + reject.length === 0;
    for (const part of [this.complete.parentElement, this.zip, this.album, this.form]) part.hidden = pin.length === 0;
    this.complete.setAttribute("aria-pressed", String(complete !== null));
    if (complete !== null && FIND.includes(complete)) this.find.value = complete;
    const before = new Map([...this.pictures.children].map((item) => [Number(item.dataset.id), item]));
    this.pictures.replaceChildren(...pin.map((id) => before.get(id) ?? this.#picture(id)));
    const [summary, list] = this.saved.children;
    this.saved.hidden = this.#choices.length === 0;
    summary.textContent = `Saved (${this.#choices.length})`;
    list.replaceChildren(...this.#choices.map((choice) => this.#choice(choice)));
  }

  #picture(id) {
    return h("li", { "data-id": id },
      h("button", { type: "button", class: "tray-picture", "aria-label": "Open this picked photograph", onclick: () => this.open(id) },
        h("img", { src: api.thumb(id), alt: "", width: 64, height: 64 })),
      h("button", { type: "button", class: "mini", "aria-label": "Take it out of the tray", onclick: () => this.#drop(id) }, "×"));
  }

  #choice(choice) {
    const open = h("button", { type: "button", class: "quiet", onclick: () => this.#load(choice) }, choice.name, h("small", {}, ` ${choice.photos.length}`));
    const remove = h("button", { type: "button", class: "undo", "aria-label": `Delete the choice ${choice.name}`, onclick: () => this.#delete(choice.name) }, "×");
    return h("li", {}, open, remove);
  }

  #drop(id) {
    const pin = this.#state.pin.filter((other) => other !== id);
    this.change({ pin, complete: pin.length ? this.#state.complete : null });
    this.title.focus({ preventScroll: true });
  }

  #complete() {
    this.change({ complete: Number(this.find.value) });
  }

  #load(choice) {
    this.change({ pin: choice.photos, reject: choice.rejected, complete: null });
    this.name.value = choice.name;
    this.#say(choice.missing ? `${plural(choice.missing, "photograph")} of it ${choice.missing === 1 ? "is" : "are"} not in the library any more.` : "");
  }

  async #save() {
    const name = this.name.value.trim();
    if (!name) return this.name.focus();
    const { pin, reject } = this.#state;
    return this.#run(async () => {
      await api.saveChoice(name, { photos: pin, rejected: reject, query: this.query() });
      await this.load();
      return `Saved as “${name}”.`;
    });
  }

  #delete(name) {
    return this.#run(async () => {
      await api.deleteChoice(name);
      await this.load();
      return `Deleted “${name}”.`;
    });
  }

  #export(format) {
    const title = this.name.value.trim() || "Photographs";
    return this.#run(async () => {
      const { blob, name } = await api.exported({ photos: this.#state.pin, format, title });
      download(blob, name ?? `${title}.${format === "zip" ? "zip" : "html"}`);
      return format === "zip" ? "Downloaded." : "The album is downloaded: one file, open it in any browser.";
    });
  }

  /** Do something that takes its time, and say what became of it. */
  async #run(act) {
    this.#say("Working…");
    try {
      this.#say(await act());
    } catch (error) {
      this.#say(error.message);
    }
  }

  #say(text) {
    this.status.textContent = text;
  }
}
