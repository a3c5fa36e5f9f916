import assert from "node:assert/strict";
import test from "node:test";

import { filterText } from "../../src/mascot/server/static/text/filterText.js";
import * as labels from "../../src/mascot/server/static/text/labels.js";
import { learnPlaces } from "../../src/mascot/server/static/text/places.js";
import { titleOf } from "../../src/mascot/server/static/text/title.js";
import { leanText, nearText, optionText, wishText } from "../../src/mascot/server/static/text/wishText.js";

const PHOTO = { title: null, caption: null, path: "a/b.jpg", city: "Porto", country: "PT", taken: "2019-07-14T18:05:00", lat: 41.15, lon: -8.61, moment: null };

const TEXTS = [
  [labels.label("part_of_day"), "Part of day"], [labels.label("file_kind"), "File kind"], [labels.pluralLabel("city"), "cities"],
  [labels.pluralLabel("place"), "places"], [labels.counted(1, "place"), "1 place"], [labels.counted(1200, "country", "countries"), "1,200 countries"],
  [labels.countryName("PT"), "Portugal"], [labels.countryName("nowhere"), "nowhere"], [labels.countryName(null), null],
  [labels.dateText("2019-07-14"), "14 July 2019"], [labels.dateText("2019-07"), "July 2019"], [labels.dateText("2019"), "2019"],
  [labels.daysText("2019", "2019"), "2019"], [labels.daysText("2019-07-01", "2019-07-31"), "July 2019"], [labels.daysText("2019-07-04", "2019-07-04"), "4 July 2019"],
  [labels.daysText("2019-07-04", ""), "from 4 July 2019"], [labels.daysText("", "2019"), "until 31 December 2019"],
  [labels.daysText("2019-07-30", "2019-08-02").replace(/\s/g, " "), "30 July – 2 August 2019"],
  [labels.momentText("2019-07-14 18:05 Lisbon"), "14 July 2019, 18:05, Lisbon"], [labels.momentText("odd"), "odd"],
  [labels.pointText(38.7, 350.9), "38.7° N 9.1° W"], [labels.pointText(-33.9, 18.4, 2), "33.90° S 18.40° E"],
  [labels.altText(PHOTO), "b.jpg, Porto, Portugal, 14 July 2019"], [labels.placeKey(PHOTO), "Porto, PT"],
  [labels.placeKey({ ...PHOTO, city: null }), "41.1,-8.6"], [labels.placeKey({ ...PHOTO, city: null, lat: null }), null],
  [leanText(0), "As found"], [leanText(0.7), "Mix it up 70%"], [leanText(-1), "Keep together 100%"],
  [wishText({ spread: "place", weight: 1 }), "Mix up places"], [wishText({ spread: "place", weight: 0.5 }), "Mix up places 50%"],
  [wishText({ focus: "city", weight: 0.6 }), "Keep cities together 60%"], [wishText({ focus: "hour", near: "18:00", weight: 1 }), "Near 18:00"],
  [wishText({ limit: "day", n: 2 }), "At most 2 per day"], [wishText({ share: "country", shares: { PT: 0.6, ES: 0.25 } }), "Country: 60% Portugal, 25% Spain"],
  [nearText("date", "2019-07"), "July 2019"], [nearText("season", "late_summer"), "Late summer"], [nearText("place", "1.0,2.0"), "1.0° N 2.0° E"],
  [optionText("strength", 0.5), "Strength 50%"], [optionText("keep", 0.9), "Keep 90% of the best match"], [optionText("order", "selection"), "Shown in order of selection"],
  [filterText("country", "PT"), "Country Portugal"], [filterText("rating", 3), "Rating ★★★ or more"], [filterText("rating", "5"), "Rating ★★★★★"],
  [filterText("since", "2019-07-14"), "From 14 July 2019"], [filterText("folder", "AT"), "Folder “AT”"],
  [filterText("box", [-10, -20, 10, 20]), "Inside the box on the map"],
];

const PERIODS = [{ name: "Portugal, July 2019", since: "2019-07-04", until: "2019-07-09" }, { name: "2019", since: "2019", until: "2019" }];
const ANSWER = { candidates: 10, newest_of: 10, request: {} };
const BEST = { ...ANSWER, request: { best: true } };
const UNDERSTOOD = { text: "boats", chips: [{ label: "best 20", fields: { best: true } }, { label: "July 2019", fields: {} }] };
const TITLES = [
  [{}, ANSWER, "All photographs"], [{}, { ...ANSWER, newest_of: 60 }, "The newest 10 photographs"], [{ country: "PT" }, ANSWER, "Photographs"],
  [{ like: 3 }, ANSWER, "Like this photograph"], [{ sentence: "a" }, { ...ANSWER, understood: UNDERSTOOD }, "boats"],
  [{ sentence: "a" }, { ...ANSWER, understood: { ...UNDERSTOOD, text: null } }, "July 2019"], [{ best: true }, BEST, "The best of all photographs"],
  [{ since: "2019-07-04", until: "2019-07-09" }, ANSWER, "Portugal, July 2019"], [{ since: "2019-07-04", until: "2019-07-08" }, ANSWER, "4–8 July 2019"],
  [{ sentence: "a" }, { ...BEST, understood: { ...UNDERSTOOD, text: null } }, "The best of July 2019"],
  [{ best: true, since: "2019-01-01", until: "2019-12-31" }, BEST, "The best of 2019"],
  [{ best: true, sentence: "a", since: "2019", until: "2019" }, { ...BEST, understood: UNDERSTOOD }, "The best of boats, 2019"],
];

for (const [answered, answer, expected] of TITLES) {
  test(`the title “${expected}”`, () => assert.equal(titleOf({ answer, answered, periods: PERIODS }).replace(/\s/g, " ").replace(" – 8", "–8"), expected));
}

for (const [text, expected] of TEXTS) test(`${expected}`, () => assert.equal(text, expected));

test("a place that was clicked is read as the city of a photograph there", () => {
  learnPlaces([PHOTO]);
  assert.equal(nearText("place", "41.1500,-8.6100"), "Porto, Portugal");
});

test("different values are counted once, and missing ones not at all", () => {
  const counts = labels.countValues([PHOTO, { ...PHOTO, taken: null, country: null }, { ...PHOTO, city: "Faro" }]);
  assert.deepEqual(counts, { places: 3, countries: 1, hours: 1, moments: 0 });
});
