// What stands above or instead of photographs: the first visit, nothing found, nothing there.

import { thumb } from "./api.js";
import { h } from "./dom.js";
import { capital, plural, time } from "./words.js";

/** The first visit: what the library holds, and searches that find something in it. The photographs follow below. */
export function welcome(library, go) {
  if (library.photos === 0) {
    return [
      h("h2", {}, "No photographs yet"),
      h("p", {}, "This library is empty. Put photographs into its folder and index it:"),
      h("pre", {}, "mascot index FOLDER"),
      h("p", {}, "Then reload this page."),
    ];
  }
  const years = library.first ? [...new Set([library.first, library.last].map((at) => time(at).getUTCFullYear()))].join(" – ") : null;
  const { city = 0, country = 0 } = library.distinct;
  const line = [
    city ? plural(city, "place") : null, country ? plural(country, "country", "countries") : null, years,
  ].filter(Boolean).join(" · ");
  const cards = library.suggestions.map(({ text, photo }) => h("li", {}, h("button", { type: "button", class: "card-search", onclick: () => go(text) },
    h("img", { src: thumb(photo), alt: "", width: 256, height: 171, decoding: "async" }), h("span", {}, capital(text)))));
  return [
    h("h2", {}, plural(library.photos, "photograph"), line ? h("small", {}, line) : null),
    cards.length ? h("ul", { class: "cards", "aria-label": "Searches to begin with" }, ...cards) : null,
  ].filter(Boolean);
}

/** A search that found nothing; `allow` takes the filters back, where there are some. */
export function nothing({ text, like }, again, allow) {
  const which = allow ? "photograph that the filters allow" : "photograph of the library";
  const reason = like ? `No other ${which} is like this one.` : text ? `No ${which} matches “${text}”.` : `There is no ${which}.`;
  return [
    h("h2", {}, "Nothing found"),
    h("p", {}, reason),
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
