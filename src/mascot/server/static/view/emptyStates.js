// Texts above or in place of the photographs: the first visit, an empty library, no results, a failed search.

import { h } from "./dom.js";
import { thumbUrl } from "../app/api.js";
import { filtersOf } from "../app/request.js";
import { FILTERS } from "../app/state.js";
import { capitalized, counted, dateText, yearOf } from "../text/labels.js";
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

/** The first visit: what the library holds, its trips and years, or words to begin with. The photographs follow below. */
export function welcome(library, periods, { search, show }) {
  const years = library.first ? [...new Set([library.first, library.last].map(yearOf))].join(" – ") : null;
  const { city = 0, country = 0 } = library.distinct;
  const facts = [city ? counted(city, "place") : null, country ? counted(country, "country", "countries") : null, years];
  const line = facts.filter(Boolean).join(" · ");
  const rows = {
    Trips: periods.filter(({ place }) => place !== null).map((period) => periodCard(period, show)),
    Years: periods.filter(({ place }) => place === null).map((period) => periodCard(period, show)),
    Searches: periods.length ? [] : library.suggestions.map(({ text, photo }) => card(photo, capitalized(text), "", () => search(text))),
  };
  return [
    h("h2", {}, counted(library.photos, "photograph"), line ? h("small", {}, line) : null),
    ...Object.entries(rows).filter(([, cards]) => cards.length).map(([name, cards]) => h("ul", { class: "cards", "aria-label": name }, ...cards)),
  ];
}

function card(photo, title, line, open, ...more) {
  return h("li", { class: "card-item" },
    h("button", { type: "button", class: "card-search", onclick: open },
      h("img", { src: thumbUrl(photo), alt: "", width: 256, height: 171, decoding: "async" }),
      h("span", {}, title, line ? h("small", {}, line) : null)), ...more);
}

/** A trip or a year: its photographs by date, and a button for the best of them. */
function periodCard({ name, place, since, photos, cover, request, best }, show) {
  const line = [place ? dateText(since.slice(0, 7)) : null, counted(photos, "photo")].filter(Boolean).join(" · ");
  const button = best ? h("button", { type: "button", class: "card-best", "aria-label": `The best ${best.k} of ${name}`,
    onclick: () => show(best) }, `Best ${best.k}`) : null;
  return card(cover, place ?? name, line, () => show(request), button);
}

/** Buttons that search again without one chip of the sentence. */
export function dropButtons({ understood }, search) {
  return (understood?.drop ?? []).map(({ chip, label, count }) => button(
    `Without ${label}: ${count.toLocaleString("en")}`, () => search(withWords(understood.sentence, understood.chips[chip], ""))));
}

/** A search without results, and which parts of its sentence to leave out. */
export function noResults(answer, request, { search, startAgain, removeFields }) {
  const { understood } = answer;
  const isFiltered = filtersOf(request).length > 0;
  const which = isFiltered ? "photograph that the filters allow" : "photograph of the library";
  let reason = `There is no ${which}.`;
  if (request.like) reason = `No other ${which} is like this one.`;
  else if (understood?.text) reason = `No ${which} matches “${understood.text}”.`;
  return [
    h("h2", {}, "Nothing found"),
    h("p", {}, reason),
    ...dropButtons(answer, search),
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
