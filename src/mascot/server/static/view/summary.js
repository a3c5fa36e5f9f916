// The lines above the photographs: counts before and after.

import { h } from "./dom.js";
import { isSteered } from "../app/state.js";
import { capitalized, counted, countValues, percent } from "../text/labels.js";

const SINGULARS = { places: "place", countries: "country", hours: "hour", moments: "moment" };

/** The summary of an answer. */
export function summary(answer, request, title) {
  const [before, after] = counts(answer);
  const names = Object.keys(after).filter((name) => after[name] || before[name]);
  const stats = names.map((name) => stat(name, isSteered(request) ? before[name] : after[name], after[name]));
  if (isSteered(request) && answer.newest_of === null) stats.push(matchStat(answer.kept));
  return [
    h("p", { class: "title" }, capitalized(title)),
    answer.results.length ? h("ul", { class: "stats" }, ...stats) : null,
  ].filter(Boolean);
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
  const meaning = `On average, these photographs match ${percent(share)} as well as those of the plain search.`;
  return h("li", { class: "stat match", title: meaning },
    h("span", { class: "values" }, h("b", {}, percent(share))), h("span", { class: "word" }, "as relevant"),
    h("span", { class: "visually-hidden" }, meaning));
}

const counts = ({ plain, results }) => [countValues(plain), countValues(results.map(({ photo }) => photo))];

/** The screen-reader summary of an answer. */
export function spokenSummary(answer, request) {
  const [before, after] = counts(answer);
  const note = (name) => (isSteered(request) && before[name] !== after[name] ? `, ${before[name]} as found` : "");
  return `${counted(answer.results.length, "photograph")}. ${counted(after.places, "place")}${note("places")}. `
    + `${counted(after.hours, "hour")}${note("hours")}.`;
}
