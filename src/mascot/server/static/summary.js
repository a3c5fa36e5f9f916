// Above the photographs: what was searched, how many places and hours there are, before and after, and the wishes.

import { h } from "./dom.js";
import { filterText } from "./filters.js";
import { counts, plural } from "./words.js";
import { wishText } from "./wishing.js";

const ONE = { places: "place", countries: "country", hours: "hour", moments: "moment" };

/** `drop(name, part)` takes a wish back, `allow(name)` a filter, `free()` the set that is completed. */
export function summary(answer, { title, wishes, filters, completing }, { drop, allow, free }) {
  const [before, after] = [counts(answer.plain), counts(answer.results.map((result) => result.photo))];
  const stats = Object.keys(after).map((name) => stat(name, wishes.length ? before[name] : after[name], after[name]));
  if (wishes.length && answer.newest_of === null) stats.push(match(answer.kept));
  const chips = completing ? [chip("picked", `Completes the ${plural(completing, "photograph")} you picked`, "the set", free)] : [];
  chips.push(...wishes.map((wish) => {
    const kind = wish.near ? "near-chip" : wish.lean > 0 ? "mix" : "together";
    return chip(kind, wishText(wish), wishText(wish), () => drop(wish.name, wish.near ? "near" : "lean"));
  }));
  chips.push(...filters.map(([name, value]) => chip("only", filterText(name, value), `the filter ${filterText(name, value)}`, () => allow(name))));
  return [
    title ? h("p", { class: "title" }, title) : null,
    answer.results.length ? h("ul", { class: "stats" }, ...stats) : null,
    h("ul", { class: "wishes", "aria-label": "Wishes and filters" }, ...chips),
  ].filter(Boolean);
}

function chip(kind, text, what, remove) {
  return h("li", { class: `chip ${kind}` }, text, h("button", { type: "button", "aria-label": `Remove ${what}`, onclick: remove }, "×"));
}

function stat(name, before, after) {
  const word = after === 1 ? ONE[name] : name;
  const changed = before !== after;
  return h("li", { class: changed ? "stat changed" : "stat", "data-stat": name, "data-before": before, "data-after": after },
    h("span", { class: "unseen" }, changed ? `${after} ${word}, ${before} as found` : `${after} ${word}`),
    h("span", { "aria-hidden": "true", class: "values" }, changed ? h("i", {}, `${before}`) : null, changed ? " → " : null, h("b", {}, `${after}`)),
    h("span", { "aria-hidden": "true", class: "word" }, word));
}

function match(share) {
  return h("li", { class: "stat" }, h("span", { class: "values" }, h("b", {}, `${Math.round(share * 100)}%`)), h("span", { class: "word" }, "of the best match"));
}

/** The same in one sentence, for who listens. */
export function spoken(answer, steered) {
  const [before, after] = [counts(answer.plain), counts(answer.results.map((result) => result.photo))];
  const was = (name) => (steered && before[name] !== after[name] ? `, ${before[name]} as found` : "");
  return `${plural(answer.results.length, "photograph")}. ${plural(after.places, "place")}${was("places")}. `
    + `${plural(after.hours, "hour")}${was("hours")}.`;
}
