// The tray: picked photographs. They can be completed to a set, downloaded, and saved as a choice.

import { h } from "./dom.js";
import { downloadPhotos } from "./export.js";
import { deleteChoice, loadChoices, saveChoice, thumbUrl } from "../app/api.js";
import { SET_SIZES, chosenIds } from "../app/state.js";
import { counted } from "../text/labels.js";

export class Tray {
  #state = null;
  #choices = [];

  /** Calls `change({pin, reject, complete})`, `open(id)`, `load(choice)` and `say(text)`; `title()` returns the
   * title of the search, `request()` the search to save. */
  constructor(root, { change, open, load, say, title, request }) {
    Object.assign(this, { root, change, open, load, say, searchTitle: title, request });
    this.title = h("h2", { tabindex: "-1" });
    this.pictures = h("ul", { class: "tray-pictures", "aria-label": "Picked photographs" });
    this.find = h("select", { "aria-label": "How many photographs to find" },
      ...SET_SIZES.map((n) => h("option", { value: n }, `+ ${n}`)));
    this.find.value = SET_SIZES[2];
    this.find.addEventListener("change", () => this.#state.complete !== null && this.#complete());
    this.complete = h("button", { type: "button", class: "tool strong", onclick: () => this.#complete() }, "Complete my set");
    this.zip = h("button", { type: "button", class: "tool", onclick: () => this.#export("zip") });
    this.album = h("button", { type: "button", class: "tool", onclick: () => this.#export("album") }, "Album");
    this.name = h("input", { type: "text", maxlength: 100, placeholder: "Name it", "aria-label": "Name of this choice", autocomplete: "off" });
    this.form = h("form", { class: "tray-save" }, this.name, h("button", { type: "submit", class: "tool" }, "Save"));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
    this.saved = h("details", { class: "tray-saved" }, h("summary", { class: "quiet" }), h("ul", {}));
    this.restore = h("button", { type: "button", class: "quiet", onclick: () => this.change({ reject: [] }) });
    this.clear = h("button", {
      type: "button", class: "quiet", "aria-label": "Empty the tray", onclick: () => this.change({ pin: [], reject: [], complete: null }),
    }, "Empty");
    root.append(
      h("div", { class: "tray-head" }, this.title, this.restore, this.saved, this.clear),
      this.pictures,
      h("div", { class: "tray-acts" }, h("span", { class: "tray-complete" }, this.complete, this.find),
        this.zip, this.album, this.form),
    );
  }

  /** Load the saved choices; without them the tray still works. */
  async loadChoices() {
    try {
      this.#choices = (await loadChoices()).choices;
    } catch {
      this.#choices = [];
    }
    if (this.#state) this.show(this.#state);
  }

  show(state) {
    this.#state = state;
    const { pin, reject, complete, trayOpen } = state;
    this.root.hidden = !trayOpen;
    const chosen = chosenIds(state).length;
    const found = chosen - pin.length;
    this.title.textContent = pin.length ? `${counted(pin.length, "photograph")} picked${found ? `, ${found} found` : ""}` : "Pick photographs with ✓";
    this.zip.textContent = `Download ${chosen}`;
    this.restore.hidden = reject.length === 0;
    this.restore.textContent = `Bring back ${reject.length} rejected`;
    this.clear.hidden = pin.length + reject.length === 0;
    for (const part of [this.complete.parentElement, this.zip, this.album, this.form]) part.hidden = pin.length === 0;
    this.complete.setAttribute("aria-pressed", String(complete !== null));
    if (complete !== null && SET_SIZES.includes(complete)) this.find.value = complete;
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
        h("img", { src: thumbUrl(id), alt: "", width: 64, height: 64 })),
      h("button", { type: "button", class: "mini", "aria-label": "Take it out of the tray", onclick: () => this.#drop(id) }, "×"));
  }

  #choice(choice) {
    const open = h("button", { type: "button", class: "quiet", onclick: () => this.#load(choice) },
      choice.name, h("small", {}, ` ${choice.photos.length}`));
    const remove = h("button", { type: "button", class: "undo", "aria-label": `Delete the choice ${choice.name}`,
      onclick: () => this.#delete(choice.name) }, "×");
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
    this.load(choice);
    this.name.value = choice.name;
    const verb = choice.missing === 1 ? "is" : "are";
    this.say(choice.missing ? `${counted(choice.missing, "photograph")} of it ${verb} no longer in the library.` : "");
  }

  async #save() {
    const name = this.name.value.trim();
    if (!name) return this.name.focus();
    const [photos, rejected] = [chosenIds(this.#state), this.#state.reject];
    return this.#run(async () => {
      await saveChoice(name, { photos, rejected, query: this.request() });
      await this.loadChoices();
      return `Saved as “${name}”.`;
    });
  }

  #delete(name) {
    return this.#run(async () => {
      await deleteChoice(name);
      await this.loadChoices();
      return `Deleted “${name}”.`;
    });
  }

  #export(format) {
    return downloadPhotos(chosenIds(this.#state), format, this.name.value.trim() || this.searchTitle(), this.say);
  }

  /** Run a task and show its outcome. */
  async #run(task) {
    try {
      this.say(await task());
    } catch (error) {
      this.say(error.message);
    }
  }
}
