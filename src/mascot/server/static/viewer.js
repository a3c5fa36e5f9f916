// One photograph, large, with what is known of it and why it is there.

import { complaint, image, photo as ask, thumb } from "./api.js";
import { breakable, h, s } from "./dom.js";
import { Stage } from "./stage.js";
import { clockTime, day, label, name, ordinal, point, where } from "./words.js";

const ICONS = { previous: "M12.5 4 6.5 10l6 6", next: "m7.5 4 6 6-6 6", zoom: "M8.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM13 13l4 4M6 8.5h5M8.5 6v5" };

export class Viewer {
  #ids = [];
  #found = null;
  #id = null;

  /** `more(id)` searches for what is like it; `moved(id)` and `closed(id)` say what is shown. */
  constructor(dialog, { more, moved, closed }) {
    this.dialog = dialog;
    this.moved = moved;
    this.picture = h("img", { alt: "", draggable: "false" });
    this.picture.addEventListener("error", () => this.#fallBack());
    this.note = h("p", { class: "stage-note", role: "status", hidden: true });
    this.place = h("span", { class: "place" });
    this.about = h("div", { class: "about" });
    this.previous = button("previous", "Previous photograph", () => this.#go(-1));
    this.next = button("next", "Next photograph", () => this.#go(1));
    this.zoom = button("zoom", "Actual size");
    const close = h("button", { type: "button", class: "close", "aria-label": "Close", autofocus: true, onclick: () => dialog.close() }, "×");
    this.like = h("button", { type: "button", class: "more", onclick: () => more(this.#id) }, "More like this");
    const stage = h("div", { class: "stage" }, this.picture, this.note, this.previous, this.zoom, this.next);
    this.stage = new Stage(stage, this.picture, { zoom: this.zoom, turn: (turn) => this.#go(turn), close: () => dialog.close() });
    dialog.append(
      stage,
      h("div", { class: "facts" }, h("div", { class: "facts-head" }, this.place, this.like, close), this.about),
    );
    dialog.addEventListener("close", () => closed(this.#id));
    dialog.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const zoomed = !this.picture.hidden && this.stage.key(event.key);
      if (turn && !zoomed) this.#go(turn);
      if (turn || zoomed) event.preventDefault();
    });
  }

  get open() {
    return this.dialog.open;
  }

  get id() {
    return this.#id;
  }

  /** Show a photograph; `ids` are those that previous and next go through. */
  async show(id, ids, found) {
    this.#ids = ids;
    this.#found = found;
    this.#id = id;
    if (!this.dialog.open) this.dialog.showModal();
    const known = photos(found).get(id);
    this.#dress(known ?? (await ask(id).catch(() => null)));
  }

  close() {
    if (this.dialog.open) this.dialog.close();
  }

  #go(turn) {
    const to = this.#ids[this.#ids.indexOf(this.#id) + turn];
    if (to === undefined) return;
    this.show(to, this.#ids, this.#found);
    this.moved(to);
  }

  #dress(photo) {
    if (photo !== null && photo.id !== this.#id) return;
    for (const part of [this.picture, this.previous, this.next, this.zoom, this.like]) part.hidden = photo === null;
    this.note.hidden = photo !== null;
    if (photo === null) {
      this.note.textContent = "This photograph is not in the library any more.";
      this.place.textContent = "";
      this.about.replaceChildren();
      return;
    }
    const at = this.#ids.indexOf(photo.id);
    this.place.textContent = at < 0 ? "" : `${at + 1} of ${this.#ids.length}`;
    // Not `disabled`: a button that is disabled while it has the focus loses the keyboard.
    this.previous.setAttribute("aria-disabled", String(at <= 0));
    this.next.setAttribute("aria-disabled", String(at < 0 || at === this.#ids.length - 1));
    this.picture.width = photo.width;
    this.picture.height = photo.height;
    this.picture.alt = name(photo);
    this.picture.classList.remove("small");
    this.picture.src = image(photo.id);
    this.picture.style.backgroundImage = `url("${thumb(photo.id)}")`;
    this.picture.style.setProperty("--ratio", photo.width / photo.height);
    this.stage.fit();
    this.dialog.setAttribute("aria-label", name(photo));
    this.about.replaceChildren(h("h2", {}, ...breakable(name(photo))), ...subtitle(photo), ...reasons(photo, this.#found), ...facts(photo));
    const after = this.#ids[at + 1];
    if (at >= 0 && after !== undefined) new Image().src = image(after);
  }

  /** The file is gone or cannot be shown: the library still has its small picture. */
  async #fallBack() {
    const id = this.#id;
    if (this.picture.classList.contains("small")) return;
    this.picture.classList.add("small");
    this.picture.src = thumb(id);
    const why = (await complaint(id)) ?? "this browser cannot show the file";
    if (id !== this.#id) return;
    this.note.textContent = `${why[0].toUpperCase()}${why.slice(1)}. This is the small picture that the library keeps.`;
    this.note.hidden = false;
    this.about.querySelector(".original")?.remove();
  }
}

function button(which, label, go = null) {
  const icon = s("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, s("path", { d: ICONS[which] }));
  return h("button", { type: "button", class: `step ${which}`, "aria-label": label, onclick: go }, icon);
}

function photos(found) {
  const all = new Map((found?.plain ?? []).map((photo) => [photo.id, photo]));
  for (const result of found?.results ?? []) all.set(result.photo.id, result.photo);
  return all;
}

function subtitle(photo) {
  const when = [day(photo.taken), clockTime(photo.taken)].filter(Boolean).join(", ");
  return [where(photo), when].filter(Boolean).map((text) => h("p", { class: "sub" }, text));
}

/** What photographs are in the order of before they are steered. */
const order = (found) => (found.newest_of === null ? "relevance" : "date");

/** What it earned and paid, as bars about a middle line. */
function reasons(photo, found) {
  const result = found?.results.find((other) => other.photo.id === photo.id);
  if (!result) return leftOut(photo, found);
  const steered = Object.keys(result.gains).length > 1;
  const came = !found.plain.some((other) => other.id === photo.id);
  const told = !steered || result.was === result.rank
    ? `${ordinal(result.rank)} of ${found.results.length}${steered ? `, as by ${order(found)} alone` : ` by ${order(found)}`}.`
    : `Now ${ordinal(result.rank)}, was ${ordinal(result.was)}${came ? `: ${order(found)} alone would not have shown it` : ""}.`;
  const gains = Object.entries(result.gains).filter(([about]) => about !== "relevance" || found.newest_of === null);
  const most = Math.max(...gains.map(([, gain]) => Math.abs(gain)), 1e-9);
  const rows = gains.map(([about, gain]) => row(about, gain, most, openedText(about, result)));
  return [h("section", { class: "why" }, h("h3", {}, "Why it is here"), h("p", {}, told), h("dl", {}, ...rows))];
}

/** What it was the first to cover; under a focus, what it paid for. */
function openedText(about, { opened, gains, photo }) {
  const bins = opened[about];
  if (!bins?.length) return null;
  const paid = gains[about] < 0;
  if (about === "look") return paid ? "the price of adding another look" : "the first that looks so";
  if (about === "place") return `${paid ? "the price of adding" : "the first around"} ${photo.city ?? point(photo.lat, photo.lon)}`;
  return `${paid ? "the price of adding" : "the first to cover"} ${bins.join(", ")}`;
}

function row(about, gain, most, opened) {
  const bar = h("i", { class: gain < 0 ? "bar minus" : "bar", "aria-hidden": "true" });
  bar.style.setProperty("--size", Math.abs(gain) / most);
  const sign = gain < 0 ? "−" : "+";
  const value = h("dd", {}, bar, h("span", { class: "gain" }, `${sign}${Math.abs(gain).toFixed(2)}`));
  const first = opened ? h("dd", { class: "opened" }, opened) : null;
  return h("div", {}, h("dt", {}, label(about)), value, first);
}

function leftOut(photo, found) {
  const left = found?.left_out.find((other) => other.id === photo.id);
  if (!left) return [];
  return [h("section", { class: "why" }, h("h3", {}, "Why it was left out"),
    h("p", {}, `${ordinal(left.was)} by ${order(found)}. ${left.because}`))];
}

function facts(photo) {
  const size = photo.size >= 1e6 ? `${(photo.size / 1e6).toFixed(1)} MB` : `${Math.max(Math.round(photo.size / 1e3), 1)} kB`;
  const told = {
    Caption: photo.title && photo.caption ? photo.caption : null,
    Moment: photo.moment,
    Season: [photo.season, photo.part_of_day?.replaceAll("_", " ")].filter(Boolean).join(", ") || null,
    Camera: photo.camera,
    Lens: photo.lens,
    Position: position(photo),
    Keywords: photo.keywords.join(", ") || null,
    Rating: photo.rating === null ? null : "★".repeat(photo.rating) || "none",
    File: [...breakable(photo.path), ` · ${photo.width} × ${photo.height} · ${size}`],
    Problems: photo.problems.join("; ") || null,
  };
  const rows = Object.entries(told).filter(([, value]) => value !== null);
  return [
    h("dl", { class: "known" }, ...rows.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, ...[value].flat())))),
    h("a", { class: "original", href: image(photo.id), target: "_blank", rel: "noopener" }, "Open the original"),
  ];
}

function position(photo) {
  if (photo.lat === null) return null;
  const high = photo.altitude === null ? null : `${Math.round(photo.altitude)}\u00a0m`;
  return [photo.city, point(photo.lat, photo.lon, 4), high].filter((part) => part !== null).join(", ");
}
