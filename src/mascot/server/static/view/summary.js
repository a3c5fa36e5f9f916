// The lines above the photographs: the title, counts before and after, and chips for wishes, options and filters.

import { h } from "./dom.js";
import { filtersOf } from "../app/request.js";
import { STEERING, isSteered } from "../app/state.js";
import { filterText } from "../text/filterText.js";
import { capitalized, counted, countValues, percent } from "../text/labels.js";
import { optionText, wishText } from "../text/wishText.js";

const SINGULARS = { places: "place", countries: "country", hours: "hour", moments: "moment" };

/** The title of an answer. */
export function titleOf({ candidates, newest_of: all }, request) {
  if (request.like !== undefined) return "Like this photograph";
  if (request.text) return request.text;
  if (all > candidates) return `The newest ${candidates.toLocaleString("en")} photographs`;
  return filtersOf(request).length ? "Photographs" : "All photographs";
}

/** The summary of an answer. Calls `removeWish(wish)` and `removeFields(names)`. */
export function summary(answer, request, title, actions) {
  const [before, after] = counts(answer);
  const stats = Object.keys(after).map((name) => stat(name, isSteered(request) ? before[name] : after[name], after[name]));
  if (isSteered(request) && answer.newest_of === null) stats.push(matchStat(answer.kept));
  return [
    h("p", { class: "title" }, capitalized(title)),
    answer.results.length ? h("ul", { class: "stats" }, ...stats) : null,
    h("ul", { class: "wishes", "aria-label": "Wishes and filters" }, ...chips(request, actions)),
  ].filter(Boolean);
}

function chips(request, { removeWish, removeFields }) {
  const { pin = [], wishes = [] } = request;
  const setText = `Completes the ${counted(pin.length, "photograph")} you picked`;
  const options = STEERING.filter((name) => request[name] !== undefined);
  return [
    ...(pin.length ? [chip("picked", setText, "the set", () => removeFields(["complete"]))] : []),
    ...wishes.map((wish) => chip(wishKind(wish), wishText(wish), wishText(wish), () => removeWish(wish))),
    ...options.map((name) => {
      const text = optionText(name, request[name]);
      return chip("option", text, text, () => removeFields([name]));
    }),
    ...filtersOf(request).map((name) => {
      const text = filterText(name, request[name]);
      return chip("only", text, `the filter ${text}`, () => removeFields([name]));
    }),
  ];
}

function wishKind(wish) {
  if (wish.limit !== undefined || wish.share !== undefined) return "rule";
  if (wish.near !== undefined) return "near-chip";
  return wish.spread !== undefined ? "mix" : "together";
}

function chip(kind, text, object, remove) {
  const button = h("button", { type: "button", "aria-label": `Remove ${object}`, onclick: remove }, "×");
  return h("li", { class: `chip ${kind}` }, text, button);
}

function stat(name, before, after) {
  const word = after === 1 ? SINGULARS[name] : name;
  const isChanged = before !== after;
  return h("li", { class: isChanged ? "stat changed" : "stat", "data-stat": name, "data-before": before, "data-after": after },
    h("span", { class: "visually-hidden" }, isChanged ? `${after} ${word}, ${before} as found` : `${after} ${word}`),
    h("span", { "aria-hidden": "true", class: "values" }, ...(isChanged ? [h("i", {}, `${before}`), " → "] : []), h("b", {}, `${after}`)),
    h("span", { "aria-hidden": "true", class: "word" }, word));
}

function matchStat(share) {
  return h("li", { class: "stat" },
    h("span", { class: "values" }, h("b", {}, percent(share))), h("span", { class: "word" }, "of the best match"));
}

const counts = ({ plain, results }) => [countValues(plain), countValues(results.map(({ photo }) => photo))];

/** The screen-reader summary of an answer. */
export function spokenSummary(answer, request) {
  const [before, after] = counts(answer);
  const note = (name) => (isSteered(request) && before[name] !== after[name] ? `, ${before[name]} as found` : "");
  return `${counted(answer.results.length, "photograph")}. ${counted(after.places, "place")}${note("places")}. `
    + `${counted(after.hours, "hour")}${note("hours")}.`;
}
