// One photograph, large, with what is known of it and why it is there.

import { complaint, image, photo as ask, thumb } from "./api.js";
import { breakable, h, s } from "./dom.js";
import { Stage } from "./stage.js";
import { leftOutReasons, reasons } from "./reasons.js";
import { capital, clockTime, day, moment, name, plural, point, stars, where } from "./words.js";

const ICONS = { previous: "M12.5 4 6.5 10l6 6", next: "m7.5 4 6 6-6 6", zoom: "M8.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM13 13l4 4M6 8.5h5M8.5 6v5" };

export class Viewer {
  #ids = [];
  #answer = null;
  #wishes = [];
  #id = null;

  /**
   * `more(id)` searches for what is like it, `pick(id)` and `reject(id)` go to the tray and `isPicked(id)` comes from it;
   * `moved(id)` and `closed(id)` say what is shown.
   */
  constructor(dialog, { more, pick, reject, isPicked, moved, closed }) {
    Object.assign(this, { dialog, moved, isPicked });
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
    this.pick = h("button", { type: "button", class: "more pick", onclick: () => { pick(this.#id); this.#dressPick(); } }, "Pick");
    this.reject = h("button", { type: "button", class: "more reject", onclick: () => this.#reject(reject) }, "Reject");
    const stage = h("div", { class: "stage" }, this.picture, this.note, this.previous, this.zoom, this.next);
    this.stage = new Stage(stage, this.picture, { zoom: this.zoom, turn: (turn) => this.#go(turn), close: () => dialog.close() });
    dialog.append(
      stage,
      h("div", { class: "facts" }, h("div", { class: "facts-head" }, this.place, close),
        h("div", { class: "facts-actions" }, this.pick, this.reject, this.like), this.about),
    );
    dialog.addEventListener("close", () => closed(this.#id));
    dialog.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const act = { p: this.pick, x: this.reject }[event.key];
      if (act && !act.hidden) act.click();
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
  async show(id, ids, answer, wishes) {
    [this.#id, this.#ids, this.#answer, this.#wishes] = [id, ids, answer, wishes];
    if (!this.dialog.open) this.dialog.showModal();
    this.#dress(photos(answer).get(id) ?? (await ask(id).catch(() => null)));
  }

  close() {
    if (this.dialog.open) this.dialog.close();
  }

  #go(turn) {
    const to = this.#ids[this.#ids.indexOf(this.#id) + turn];
    if (to === undefined) return;
    this.#open(to);
  }

  #open(id) {
    this.show(id, this.#ids, this.#answer, this.#wishes);
    this.moved(id);
  }

  /** Rejected: what comes next is shown instead. */
  #reject(reject) {
    const [id, at] = [this.#id, this.#ids.indexOf(this.#id)];
    const next = this.#ids[at + 1] ?? this.#ids[at - 1];
    this.#ids = this.#ids.filter((other) => other !== id);
    if (next === undefined) this.close();
    else this.#open(next);
    reject(id);
  }

  #dressPick() {
    const picked = this.isPicked(this.#id);
    this.pick.setAttribute("aria-pressed", String(picked));
    this.pick.textContent = picked ? "Picked" : "Pick";
  }

  #dress(photo) {
    if (photo !== null && photo.id !== this.#id) return;
    for (const part of [this.picture, this.previous, this.next, this.zoom, this.like, this.pick, this.reject]) part.hidden = photo === null;
    this.note.hidden = photo !== null;
    if (photo === null) {
      this.like.hidden = true;
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
    this.about.replaceChildren(h("h2", {}, ...breakable(name(photo))), ...subtitle(photo), ...why(photo, this.#answer, this.#wishes),
      ...this.#similar(photo), ...facts(photo));
    this.#dressPick();
    const after = this.#ids[at + 1];
    if (at >= 0 && after !== undefined) new Image().src = image(after);
  }

  /** Others of the same burst, or nearly the same; each opens. */
  #similar(photo) {
    const ids = this.#answer?.results.find((result) => result.photo.id === photo.id)?.similar ?? [];
    if (!ids.length) return [];
    const open = (id) => h("button", { type: "button", "aria-label": "Open a similar photograph", onclick: () => this.#open(id) },
      h("img", { src: thumb(id), alt: "", width: 72, height: 72, loading: "lazy" }));
    return [h("section", { class: "similar" }, h("h3", {}, plural(ids.length, "similar photograph")), h("div", {}, ...ids.map(open)))];
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

function photos(answer) {
  const all = new Map((answer?.plain ?? []).map((photo) => [photo.id, photo]));
  for (const result of answer?.results ?? []) all.set(result.photo.id, result.photo);
  return all;
}

function subtitle(photo) {
  const when = [day(photo.taken), clockTime(photo.taken)].filter(Boolean).join(", ");
  return [where(photo), when].filter(Boolean).map((text) => h("p", { class: "sub" }, text));
}

/** Sentences that say why it is here, or why it was left out. */
function why(photo, answer, wishes) {
  const result = answer?.results.find((other) => other.photo.id === photo.id);
  const left = !result && wishes.length && answer?.plain.some((other) => other.id === photo.id);
  if (!result && !left) return [];
  const sentences = result ? reasons(result, answer, wishes) : leftOutReasons(photo, answer, wishes);
  return [h("section", { class: "why" }, h("h3", {}, result ? "Why it is here" : "Why it was left out"), ...sentences.map((text) => h("p", {}, text)))];
}

function facts(photo) {
  const size = photo.size >= 1e6 ? `${(photo.size / 1e6).toFixed(1)} MB` : `${Math.max(Math.round(photo.size / 1e3), 1)} kB`;
  const rows = {
    Caption: photo.title && photo.caption ? photo.caption : null,
    Moment: moment(photo.moment),
    Season: capital([photo.season, photo.part_of_day].filter(Boolean).join(", ")) || null,
    Camera: photo.camera,
    Lens: photo.lens,
    Position: position(photo),
    Keywords: photo.keywords.join(", ") || null,
    Rating: photo.rating > 0 ? stars(photo.rating) : null,
    File: [...breakable(photo.path), ` · ${photo.width} × ${photo.height} · ${size}`],
    Problems: photo.problems.join("; ") || null,
  };
  const present = Object.entries(rows).filter(([, value]) => value !== null && value !== undefined);
  return [
    h("dl", { class: "known" }, ...present.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, ...[value].flat())))),
    h("a", { class: "original", href: image(photo.id), target: "_blank", rel: "noopener" }, "Open the original"),
  ];
}

function position(photo) {
  if (photo.lat === null) return null;
  const high = photo.altitude === null ? null : `${Math.round(photo.altitude)}\u00a0m`;
  return [photo.city, point(photo.lat, photo.lon, 4), high].filter((part) => part !== null).join(", ");
}
