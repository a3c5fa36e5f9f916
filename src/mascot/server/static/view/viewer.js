// The large view: one photograph, its metadata, and why it is in the result.

import { breakable, h, s } from "./dom.js";
import { Stage } from "./stage.js";
import { imageUrl, loadImageError, loadPhoto, thumbUrl } from "../app/api.js";
import { capitalized, counted, dayText, momentText, percent, photoName, placeName, pointText, stars, timeText } from "../text/labels.js";

const ICONS = {
  previous: "M12.5 4 6.5 10l6 6", next: "m7.5 4 6 6-6 6",
  zoom: "M8.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM13 13l4 4M6 8.5h5M8.5 6v5",
};

export class Viewer {
  #ids = [];
  #answer = null;
  #id = null;

  /**
   * Calls `searchLike(id)`, `pick(id)` and `reject(id)` for the buttons, `show(id)` for another photograph and
   * `closed(id)` when the dialog is closed.
   */
  constructor(dialog, { searchLike, pick, reject, show, closed }) {
    Object.assign(this, { dialog, showPhoto: show, rejectPhoto: reject });
    this.picture = h("img", { alt: "", draggable: "false" });
    this.picture.addEventListener("error", () => this.#showThumbnail());
    this.note = h("p", { class: "stage-note", role: "status", hidden: true });
    this.position = h("span", { class: "position" });
    this.about = h("div", { class: "about" });
    this.previous = iconButton("previous", "Previous photograph", () => this.#turn(-1));
    this.next = iconButton("next", "Next photograph", () => this.#turn(1));
    this.zoom = iconButton("zoom", "Actual size");
    const close = h("button", { type: "button", class: "close", "aria-label": "Close", autofocus: true,
      onclick: () => dialog.close() }, "×");
    this.like = h("button", { type: "button", class: "more", onclick: () => searchLike(this.#id) }, "More like this");
    this.pick = h("button", { type: "button", class: "more pick", onclick: () => pick(this.#id) }, "Pick");
    this.reject = h("button", { type: "button", class: "more reject", onclick: () => this.#reject() }, "Reject");
    const stage = h("div", { class: "stage" }, this.picture, this.note, this.previous, this.zoom, this.next);
    this.stage = new Stage(stage, this.picture, { zoom: this.zoom, turn: (step) => this.#turn(step), close: () => dialog.close() });
    dialog.append(
      stage,
      h("div", { class: "facts" }, h("div", { class: "facts-head" }, this.position, close),
        h("div", { class: "facts-actions" }, this.pick, this.reject, this.like), this.about),
    );
    dialog.addEventListener("close", () => closed(this.#id));
    dialog.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** Show a photograph; Previous and Next go through `ids`. */
  async show(id, ids, answer) {
    [this.#id, this.#ids, this.#answer] = [id, ids, answer];
    if (!this.dialog.open) this.dialog.showModal();
    const photo = photosOf(answer).get(id) ?? (await loadPhoto(id).catch(() => null));
    if (id === this.#id) this.#render(photo);
  }

  close() {
    if (this.dialog.open) this.dialog.close();
  }

  showPicked(pins) {
    const isPicked = pins.includes(this.#id);
    this.pick.setAttribute("aria-pressed", String(isPicked));
    this.pick.textContent = isPicked ? "Picked" : "Pick";
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const button = { p: this.pick, x: this.reject }[event.key];
    if (button && !button.hidden) button.click();
    const isZoomKey = !this.picture.hidden && this.stage.key(event.key);
    if (step && !isZoomKey) this.#turn(step);
    if (step || isZoomKey) event.preventDefault();
  }

  #turn(step) {
    const id = this.#ids[this.#ids.indexOf(this.#id) + step];
    if (id !== undefined) this.showPhoto(id);
  }

  /** Reject the photograph and show the next one. */
  #reject() {
    const [id, at] = [this.#id, this.#ids.indexOf(this.#id)];
    const next = this.#ids[at + 1] ?? this.#ids[at - 1];
    if (next === undefined) this.close();
    else this.showPhoto(next);
    this.rejectPhoto(id);
  }

  #render(photo) {
    const parts = [this.picture, this.previous, this.next, this.zoom, this.like, this.pick, this.reject];
    for (const part of parts) part.hidden = photo === null;
    this.note.hidden = photo !== null;
    if (photo === null) {
      this.note.textContent = "This photograph is no longer in the library.";
      this.position.textContent = "";
      this.about.replaceChildren();
      return;
    }
    this.#addDetails(photo.id);
    const at = this.#ids.indexOf(photo.id);
    this.position.textContent = at < 0 ? "" : `${at + 1} of ${this.#ids.length}`;
    // Not `disabled`: a button that is disabled while it has the focus loses it.
    this.previous.setAttribute("aria-disabled", String(at <= 0));
    this.next.setAttribute("aria-disabled", String(at < 0 || at === this.#ids.length - 1));
    this.#renderPicture(photo);
    this.dialog.setAttribute("aria-label", photoName(photo));
    this.about.replaceChildren(h("h2", {}, ...breakable(photoName(photo))), ...subtitle(photo), ...reason(photo, this.#answer),
      ...this.#similar(photo), ...metadata(photo));
    const next = this.#ids[at + 1];
    if (at >= 0 && next !== undefined) new Image().src = imageUrl(next);
  }

  /** Add what only the photograph's own answer holds: its quality, and the text in the picture. */
  async #addDetails(id) {
    const details = await loadPhoto(id).catch(() => null);
    if (details === null || id !== this.#id) return;
    const { quality, quality_parts: parts = {}, text } = details;
    const named = Object.entries(parts).map(([name, share]) => `${name} ${percent(share)}`).join(", ");
    this.about.querySelector(".known").append(...rowsOf({
      Quality: quality === null ? null : [percent(quality), h("small", {}, named)], "Text in it": text || null,
    }));
  }

  #renderPicture(photo) {
    const { picture } = this;
    picture.width = photo.width;
    picture.height = photo.height;
    picture.alt = photoName(photo);
    picture.classList.remove("small");
    picture.src = imageUrl(photo.id);
    picture.style.backgroundImage = `url("${thumbUrl(photo.id)}")`;
    picture.style.setProperty("--ratio", photo.width / photo.height);
    this.stage.fit();
  }

  /** Photographs of the same burst, and near copies. */
  #similar(photo) {
    const ids = resultOf(photo, this.#answer)?.similar ?? [];
    if (!ids.length) return [];
    const button = (id) => h("button", { type: "button", "aria-label": "Open a similar photograph",
      onclick: () => this.showPhoto(id) }, h("img", { src: thumbUrl(id), alt: "", width: 72, height: 72, loading: "lazy" }));
    const title = h("h3", {}, counted(ids.length, "similar photograph"));
    return [h("section", { class: "similar" }, title, h("div", {}, ...ids.map(button)))];
  }

  /** Show the thumbnail if the file is gone or the browser cannot show it. */
  async #showThumbnail() {
    const id = this.#id;
    if (this.picture.classList.contains("small")) return;
    this.picture.classList.add("small");
    this.picture.src = thumbUrl(id);
    const error = (await loadImageError(id)) ?? "this browser cannot show the file";
    if (id !== this.#id) return;
    this.note.textContent = `${capitalized(error)}. This is the small picture that the library keeps.`;
    this.note.hidden = false;
    this.about.querySelector(".original")?.remove();
  }
}

function iconButton(kind, label, onclick = null) {
  const icon = s("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, s("path", { d: ICONS[kind] }));
  return h("button", { type: "button", class: `step ${kind}`, "aria-label": label, onclick }, icon);
}

const resultOf = (photo, answer) => answer?.results.find((result) => result.photo.id === photo.id);

function photosOf(answer) {
  const photos = new Map((answer?.plain ?? []).map((photo) => [photo.id, photo]));
  for (const { photo } of answer?.results ?? []) photos.set(photo.id, photo);
  return photos;
}

function subtitle(photo) {
  const time = [dayText(photo.taken), timeText(photo.taken)].filter(Boolean).join(", ");
  return [placeName(photo), time].filter(Boolean).map((text) => h("p", { class: "sub" }, text));
}

/** The server's sentence about a result, or about a photograph that was left out. */
function reason(photo, answer) {
  const result = resultOf(photo, answer);
  const because = (result ?? answer?.left_out.find(({ id }) => id === photo.id))?.because;
  if (!because) return [];
  const title = result ? "Why it is here" : "Why it was left out";
  return [h("section", { class: "why" }, h("h3", {}, title), h("p", { class: "because" }, because))];
}

function metadata(photo) {
  const size = photo.size >= 1e6 ? `${(photo.size / 1e6).toFixed(1)} MB` : `${Math.max(Math.round(photo.size / 1e3), 1)} kB`;
  const rows = {
    Caption: photo.title && photo.caption ? photo.caption : null,
    Moment: momentText(photo.moment),
    Season: capitalized([photo.season, photo.part_of_day].filter(Boolean).join(", ")) || null,
    Camera: photo.camera,
    Lens: photo.lens,
    Position: positionText(photo),
    Keywords: photo.keywords.join(", ") || null,
    Rating: photo.rating > 0 ? stars(photo.rating) : null,
    File: [...breakable(photo.path), ` · ${photo.width} × ${photo.height} · ${size}`],
    Problems: photo.problems.join("; ") || null,
  };
  return [
    h("dl", { class: "known" }, ...rowsOf(rows)),
    h("a", { class: "original", href: imageUrl(photo.id), target: "_blank", rel: "noopener" }, "Open the original"),
  ];
}

/** Rows of names and values; those without a value are left out. */
function rowsOf(values) {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return known.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, ...[value].flat())));
}

function positionText(photo) {
  if (photo.lat === null) return null;
  const altitude = photo.altitude === null ? null : `${Math.round(photo.altitude)}\u00a0m`;
  return [photo.city, pointText(photo.lat, photo.lon, 4), altitude].filter((part) => part !== null).join(", ");
}
