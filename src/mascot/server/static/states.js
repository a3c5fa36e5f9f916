// What stands where photographs would be: the first visit, nothing found, nothing there.

import { thumb } from "./api.js";
import { h } from "./dom.js";
import { plural, time } from "./words.js";

/** The first visit: what the library holds, and searches that find something in it. */
export function welcome(known, go) {
  if (known.photos === 0) {
    return [
      h("h2", {}, "No photographs yet"),
      h("p", {}, "This library is empty. Put photographs into its folder and index it:"),
      h("pre", {}, "mascot index FOLDER"),
      h("p", {}, "Then reload this page."),
    ];
  }
  const years = known.first ? [...new Set([known.first, known.last].map((at) => time(at).getUTCFullYear()))].join(" – ") : null;
  const cities = known.distinct.city ?? 0;
  const countries = known.distinct.country ?? 0;
  const line = [
    cities ? plural(cities, "place") : null, countries ? plural(countries, "country", "countries") : null, years,
  ].filter(Boolean).join(" · ");
  const cards = known.suggestions.map(({ text, photo }) => h("li", {}, h("button", { type: "button", class: "card-search", onclick: () => go(text) },
    h("img", { src: thumb(photo), alt: "", width: 256, height: 171, decoding: "async" }), h("span", {}, text))));
  return [
    h("h2", {}, plural(known.photos, "photograph")),
    h("p", { class: "lead" }, line),
    h("p", {}, "Search for anything, or begin with the map or the clock. Then steer what you see: from many places or one, at any hour or just at dusk."),
    cards.length ? h("ul", { class: "cards", "aria-label": "Searches to begin with" }, ...cards) : null,
  ].filter(Boolean);
}

/** A search that found nothing; `allow` takes the filters back, where there are some. */
export function nothing({ text, like }, again, allow) {
  const which = allow ? "photograph that the filters allow" : "photograph of the library";
  const told = like ? `No other ${which} is like this one.` : text ? `No ${which} matches “${text}”.` : `There is no ${which}.`;
  return [
    h("h2", {}, "Nothing found"),
    h("p", {}, told),
    allow ? h("button", { type: "button", class: "tool", onclick: allow }, "Remove the filters") : null,
    h("button", { type: "button", class: "tool", onclick: again }, "Start again"),
  ].filter(Boolean);
}

/** A first search that was refused or not answered; the bar above says why. */
export function failure(again) {
  return [
    h("h2", {}, "No photographs to show"),
    h("p", {}, "The search was not answered: the reason is above."),
    h("button", { type: "button", class: "tool", onclick: again }, "Start again"),
  ];
}
