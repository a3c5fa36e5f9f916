// One photograph, large, with what is known of it and why it is there.

import { complaint, image, photo as ask, thumb } from "./api.js";
import { h } from "./dom.js";
import { clockTime, day, label, name, ordinal, point, where } from "./words.js";

const ARROW = { previous: "M12.5 4 6.5 10l6 6", next: "m7.5 4 6 6-6 6" };

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
    this.previous = step("previous", () => this.#go(-1));
    this.next = step("next", () => this.#go(1));
    const close = h("button", { type: "button", class: "close", "aria-label": "Close", autofocus: true, onclick: () => dialog.close() }, "×");
    this.like = h("button", { type: "button", class: "more", onclick: () => more(this.#id) }, "More like this");
    dialog.append(
      h("div", { class: "stage" }, this.picture, this.note, this.previous, this.next),
      h("div", { class: "facts" }, h("div", { class: "facts-head" }, this.place, this.like, close), this.about),
    );
    dialog.addEventListener("close", () => closed(this.#id));
    dialog.addEventListener("keydown", (event) => {
      const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (turn) {
        event.preventDefault();
        this.#go(turn);
      }
    });
    dialog.querySelector(".stage").addEventListener("click", (event) => {
      if (event.target === event.currentTarget) dialog.close();
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
    for (const part of [this.picture, this.previous, this.next, this.like]) part.hidden = photo === null;
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
    this.dialog.setAttribute("aria-label", name(photo));
    this.about.replaceChildren(h("h2", {}, name(photo)), ...subtitle(photo), ...reasons(photo, this.#found), ...facts(photo));
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

function step(which, go) {
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("viewBox", "0 0 20 20");
  icon.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", ARROW[which]);
  icon.append(line);
  const title = which === "next" ? "Next photograph" : "Previous photograph";
  return h("button", { type: "button", class: `step ${which}`, "aria-label": title, onclick: go }, icon);
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

/** What it earned and paid, as bars about a middle line. */
function reasons(photo, found) {
  const result = found?.results.find((other) => other.photo.id === photo.id);
  if (!result) return leftOut(photo, found);
  const steered = Object.keys(result.gains).length > 1;
  const came = !found.plain.some((other) => other.id === photo.id);
  const told = !steered || result.was === result.rank
    ? `${ordinal(result.rank)} of ${found.results.length}${steered ? ", as by relevance alone" : " by relevance"}.`
    : `Now ${ordinal(result.rank)}, was ${ordinal(result.was)}${came ? ": relevance alone would not have shown it" : ""}.`;
  const most = Math.max(...Object.values(result.gains).map(Math.abs), 1e-9);
  const rows = Object.entries(result.gains).map(([about, gain]) => row(about, gain, most, openedText(about, result)));
  return [h("section", { class: "why" }, h("h3", {}, "Why it is here"), h("p", {}, told), h("dl", {}, ...rows))];
}

/** The bins it was the first to cover. */
function openedText(about, { opened, photo }) {
  const bins = opened[about];
  if (!bins?.length) return null;
  const around = about === "place" && photo.city ? `the first around ${photo.city}: ` : "the first to cover ";
  return around + bins.join(", ");
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
    h("p", {}, `${ordinal(left.was)} by relevance. ${left.because}`))];
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
    File: `${photo.path} · ${photo.width} × ${photo.height} · ${size}`,
    Problems: photo.problems.join("; ") || null,
  };
  const rows = Object.entries(told).filter(([, value]) => value !== null);
  return [
    h("dl", { class: "known" }, ...rows.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)))),
    h("a", { class: "original", href: image(photo.id), target: "_blank", rel: "noopener" }, "Open the original"),
  ];
}

function position(photo) {
  if (photo.lat === null) return null;
  const high = photo.altitude === null ? null : `${Math.round(photo.altitude)} m`;
  return [photo.city, point(photo.lat, photo.lon, 4), high].filter((part) => part !== null).join(", ");
}
