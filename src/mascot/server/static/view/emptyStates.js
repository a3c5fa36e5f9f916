// Texts above or in place of the photographs: the first visit, an empty library, no results, a failed search.

import { h } from "./dom.js";
import { thumbUrl } from "../app/api.js";
import { filtersOf } from "../app/request.js";
import { FILTERS } from "../app/state.js";
import { capitalized, counted, yearOf } from "../text/labels.js";
import { withWords } from "../text/sentence.js";

const button = (text, onclick) => h("button", { type: "button", class: "tool", onclick }, text);

/** A library without photographs. */
export function emptyLibrary() {
  return [
    h("h2", {}, "No photographs yet"),
    h("p", {}, "This library is empty. Put photographs into its folder and index it:"),
    h("pre", {}, "mascot index FOLDER"),
    h("p", {}, "Then reload this page."),
  ];
}

/** The first visit: what the library holds, and searches to begin with. The photographs follow below. */
export function welcome(library, search) {
  const years = library.first ? [...new Set([library.first, library.last].map(yearOf))].join(" – ") : null;
  const { city = 0, country = 0 } = library.distinct;
  const facts = [city ? counted(city, "place") : null, country ? counted(country, "country", "countries") : null, years];
  const line = facts.filter(Boolean).join(" · ");
  const card = ({ text, photo }) => h("button", { type: "button", class: "card-search", onclick: () => search(text) },
    h("img", { src: thumbUrl(photo), alt: "", width: 256, height: 171, decoding: "async" }), h("span", {}, capitalized(text)));
  const cards = library.suggestions.map((suggestion) => h("li", {}, card(suggestion)));
  return [
    h("h2", {}, counted(library.photos, "photograph"), line ? h("small", {}, line) : null),
    cards.length ? h("ul", { class: "cards", "aria-label": "Searches to begin with" }, ...cards) : null,
  ].filter(Boolean);
}

/** A search without results, and which parts of its sentence to leave out. */
export function noResults({ understood = null }, request, { search, startAgain, removeFields }) {
  const isFiltered = filtersOf(request).length > 0;
  const which = isFiltered ? "photograph that the filters allow" : "photograph of the library";
  let reason = `There is no ${which}.`;
  if (request.like) reason = `No other ${which} is like this one.`;
  else if (understood?.text) reason = `No ${which} matches “${understood.text}”.`;
  return [
    h("h2", {}, "Nothing found"),
    h("p", {}, reason),
    ...(understood?.drop ?? []).map(({ chip, label, count }) => button(
      `Without ${label}: ${count.toLocaleString("en")}`, () => search(withWords(understood.sentence, understood.chips[chip], "")))),
    isFiltered ? button("Remove the filters", () => removeFields(FILTERS)) : null,
    button("Start again", startAgain),
  ].filter(Boolean);
}

/** A first search that failed; the bar above gives the reason. */
export function failedSearch(startAgain) {
  return [
    h("h2", {}, "No photographs to show"),
    h("p", {}, "The search failed. The reason is above."),
    button("Start again", startAgain),
  ];
}
