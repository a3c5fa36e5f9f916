// Small forms that open below a chip or a button: words, a value, or a rule.

import { h } from "./dom.js";
import { label } from "../text/labels.js";

const COUNTED = ["year", "month", "day", "moment", "city", "country", "camera", "season", "weekday", "part_of_day", "folder"];
const SHARED = ["country", "city", "camera", "season", "part_of_day", "weekday", "year"];

let close = () => {};

/**
 * Open a form below an element. `save()` returns a message if the form stays open, or a promise of one; `links` are further
 * buttons [text, action].
 */
export function openEditor(host, opener, fields, save, links = []) {
  close();
  const problem = h("p", { class: "problem", role: "alert" });
  const buttons = links.map(([text, act]) => h("button", { type: "button", class: "quiet", onclick: () => { end(); act(); } }, text));
  const form = h("form", { class: "editor" }, h("div", { class: "editor-fields" }, ...fields, h("button", { type: "submit", class: "tool strong" }, "Set")),
    problem, ...buttons);
  const outside = (event) => { if (!host.contains(event.target)) end(); };
  function end() {
    document.removeEventListener("pointerdown", outside);
    opener.setAttribute("aria-expanded", "false");
    form.remove();
    close = () => {};
  }
  close = end;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.textContent = "";
    const message = await save();
    if (message) problem.textContent = message;
    else if (form.isConnected) end();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    end();
    opener.focus();
  });
  document.addEventListener("pointerdown", outside);
  opener.setAttribute("aria-expanded", "true");
  host.append(form);
  form.querySelector("input, select").focus();
}

/** Open a field of text; `save(value)` as for `openEditor`. */
export function editText(host, opener, { name, value, links = [] }, save) {
  const input = h("input", { type: "text", maxlength: 200, "aria-label": name, autocomplete: "off", spellcheck: "false" });
  input.value = value;
  openEditor(host, opener, [input], () => save(input.value.trim()), links);
  input.select();
}

/**
 * Open the form of a limit or a share. `save(rule)` takes {limit, n} or {share, value, part}; `valuesOf(name)` offers the
 * values of an attribute.
 */
export function editRule(host, opener, wish, valuesOf, save) {
  const select = (text, options, value) => {
    const element = h("select", { "aria-label": text }, ...options.map(([key, word]) => h("option", { value: key }, word)));
    if (value !== undefined && !options.some(([key]) => key === value)) element.append(h("option", { value }, label(value)));
    element.value = value ?? options[0][0];
    return element;
  };
  const number = (text, max, value) => h("input", { type: "number", min: 1, max, required: true, value, "aria-label": text });
  const attributes = (names) => names.map((name) => [name, label(name).toLowerCase()]);
  const [shared, part] = Object.entries(wish?.shares ?? {})[0] ?? ["", 0.5];
  const kind = select("Kind of rule", [["limit", "At most"], ["share", "Share of"]], wish?.share === undefined ? "limit" : "share");
  const n = number("How many", 200, wish?.n ?? 1);
  const per = select("Per which attribute", attributes(COUNTED), wish?.limit);
  const name = select("Attribute", attributes(SHARED), wish?.share);
  const values = h("datalist", { id: "rule-values" });
  const value = h("input", { type: "text", list: values.id, maxlength: 200, value: shared, placeholder: "Which one", "aria-label": "Value", autocomplete: "off" });
  const percentage = number("Percent of the photographs", 100, Math.round(part * 100));
  const limit = [n, h("span", {}, "per"), per];
  const share = [name, value, percentage, h("span", {}, "%"), values];
  const show = () => {
    for (const part_ of limit) part_.hidden = kind.value !== "limit";
    for (const part_ of share) part_.hidden = kind.value !== "share";
    value.required = kind.value === "share";
    [n.disabled, percentage.disabled] = [kind.value !== "limit", kind.value !== "share"];
    values.replaceChildren(...valuesOf(name.value).map((text) => h("option", { value: text })));
  };
  for (const element of [kind, name]) element.addEventListener("change", show);
  show();
  openEditor(host, opener, [kind, ...limit, ...share], () => save(kind.value === "limit"
    ? { limit: per.value, n: Number(n.value) } : { share: name.value, value: value.value.trim(), part: percentage.value / 100 }));
}
