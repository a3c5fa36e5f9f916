// Above the photographs: what was searched, how many places and hours there are, before and after, and the wishes.

import { h } from "./dom.js";
import { wishText } from "./controls.js";
import { filterText } from "./filters.js";
import { counts, label, plural } from "./words.js";

const ONE = { places: "place", countries: "country", hours: "hour", moments: "moment" };
const MANY = { places: "places", countries: "countries", hours: "hours", moments: "moments" };

/** `drop(name)` takes a wish back, `allow(name)` a filter; `filters` are [name, value]. */
export function summary(found, { title, wishes, filters }, { drop, allow }) {
  const some = found.results.length > 0;
  const [before, after] = [counts(found.plain), counts(found.results.map((result) => result.photo))];
  const stats = Object.keys(after).map((name) => stat(name, wishes.length ? before[name] : after[name], after[name]));
  if (wishes.length && found.newest_of === null) stats.push(kept(found.kept));
  const chips = wishes.map(([name, wish]) => chip(wish.lean > 0 ? "spread" : "focus",
    `${label(name)}: ${wishText(name, wish)}`, `${label(name).toLowerCase()}: ${wishText(name, wish)}`, () => drop(name)));
  chips.push(...filters.map(([name, value]) => {
    const text = filterText(name, value);
    return chip("only", text, `the filter: ${text.toLowerCase()}`, () => allow(name));
  }));
  return [
    h("p", { class: "title" }, title),
    some ? h("ul", { class: "stats" }, ...stats) : null,
    h("ul", { class: "wishes", "aria-label": "Wishes and filters" }, ...chips),
  ].filter(Boolean);
}

function chip(kind, text, told, remove) {
  return h("li", { class: `chip ${kind}` }, text, h("button", { type: "button", "aria-label": `Remove ${told}`, onclick: remove }, "×"));
}

function stat(name, before, after) {
  const word = after === 1 ? ONE[name] : MANY[name];
  const changed = before !== after;
  const told = changed ? `${after} ${word}, was ${before}` : `${after} ${word}`;
  return h("li", { class: changed ? "stat changed" : "stat", "data-stat": name, "data-before": before, "data-after": after },
    h("span", { class: "unseen" }, told),
    h("span", { "aria-hidden": "true", class: "values" }, changed ? h("i", {}, `${before}`) : null, changed ? " → " : null, h("b", {}, `${after}`)),
    h("span", { "aria-hidden": "true", class: "word" }, word));
}

function kept(share) {
  const text = `${Math.round(share * 100)}%`;
  return h("li", { class: "stat" }, h("span", { class: "values" }, h("b", {}, text)), h("span", { class: "word" }, "relevance kept"));
}

/** The same in one sentence, for who listens. */
export function spoken(found, steered) {
  const [before, after] = [counts(found.plain), counts(found.results.map((result) => result.photo))];
  const was = (name) => (steered && before[name] !== after[name] ? `, was ${before[name]}` : "");
  return `${plural(found.results.length, "photograph")}. ${plural(after.places, "place")}${was("places")}. `
    + `${plural(after.hours, "hour")}${was("hours")}.`;
}
