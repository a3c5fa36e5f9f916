import assert from "node:assert/strict";
import test from "node:test";

import { isEditable, withRule } from "../../src/mascot/server/static/app/wishes.js";
import { headingsOf } from "../../src/mascot/server/static/text/headings.js";
import { asWords, withWords } from "../../src/mascot/server/static/text/sentence.js";
import { wishText } from "../../src/mascot/server/static/text/wishText.js";

const SENTENCE = "😀 boats in Portugal, one per year, at dusk";

/** The chip of these words of the sentence; its positions count code points. */
function chipOf(words) {
  const start = [...SENTENCE.slice(0, SENTENCE.indexOf(words))].length;
  return { words, start, end: start + [...words].length };
}

for (const [words, replacement, expected] of [
  ["in Portugal", "", "😀 boats, one per year, at dusk"],
  ["one per year", "", "😀 boats in Portugal, at dusk"],
  ["at dusk", "", "😀 boats in Portugal, one per year"],
  ["in Portugal", "in Spain", "😀 boats in Spain, one per year, at dusk"],
]) {
  test(`the sentence with “${replacement}” for “${words}”`, () => assert.equal(withWords(SENTENCE, chipOf(words), replacement), expected));
}

test("words in double quotes are not understood", () => {
  assert.equal(asWords(SENTENCE, chipOf("in Portugal")), '😀 boats "in Portugal", one per year, at dusk');
});

const PLACE = { spread: "place", weight: 1 };
const HALF = { share: "country", shares: { PT: 0.5, ES: 0.3 } };
for (const [name, wishes, rule, replaced, expected] of [
  ["a limit is added", [PLACE], { limit: "year", n: 1 }, null, [PLACE, { limit: "year", n: 1 }]],
  ["a limit replaces one on its attribute", [{ limit: "year", n: 2 }], { limit: "year", n: 1 }, null, [{ limit: "year", n: 1 }]],
  ["a limit replaces the edited one", [{ limit: "day", n: 2 }], { limit: "year", n: 1 }, { limit: "day", n: 2 }, [{ limit: "year", n: 1 }]],
  ["a share joins those of its attribute", [HALF], { share: "country", value: "IT", part: 0.2 }, null,
    [{ share: "country", shares: { PT: 0.5, ES: 0.3, IT: 0.2 } }]],
  ["an edited share keeps the others", [HALF], { share: "country", value: "IT", part: 0.2 }, HALF,
    [{ share: "country", shares: { ES: 0.3, IT: 0.2 } }]],
]) {
  test(name, () => assert.deepEqual(withRule(wishes, rule, replaced), expected));
}

test("a limit does not replace one in a window", () => {
  const wishes = [{ limit: "day", n: 2, window: 5 }];
  assert.deepEqual(withRule(wishes, { limit: "day", n: 3 }), [...wishes, { limit: "day", n: 3 }]);
});

for (const [wish, text, editable] of [
  [{ limit: "day", n: 2, fill: true }, "At most 2 per day", true],
  [{ limit: "day", n: 2, window: 5 }, "At most 2 per day in every 5", false],
  [{ limit: ["city", "year"], n: 1 }, "At most 1 per city and year", false],
  [{ limit: "city+year+camera", n: 1 }, "At most 1 per city and year and camera", true],
  [{ limit: "city", n: { Porto: 0 }, others: 2, first: 3 }, "City: at most 0 Porto, 2 of each other among the first 3", false],
  [{ at_least: "country", counts: { PT: 3 } }, "Country: at least 3 Portugal", false],
  [{ share: "country", shares: { PT: 0.25 } }, "Country: 25% Portugal", true],
  [{ share: "country", shares: { PT: 0.25 }, bound: "at most" }, "Country: at most 25% Portugal", false],
]) {
  test(`the chip of a rule: ${text}`, () => assert.deepEqual([wishText(wish), isEditable(wish)], [text, editable]));
}

const taken = (...days) => days.map((day) => ({ photo: { taken: day && `${day}T12:00:00` } }));
const good = (...flags) => flags.map((flag) => ({ photo: {}, good: flag }));
for (const [name, results, order, matches, expected] of [
  ["days of a short time", taken("2019-07-02", "2019-07-02", "2019-07-05"), "date", null, ["2 July 2019", null, "5 July 2019"]],
  ["months of a long time", taken("2019-01-02", "2019-07-02", "2019-07-05", null), "date", null, ["January 2019", "July 2019", null, "No date"]],
  ["where good matches end", good(true, false, true, false, false), undefined, 2, [null, null, null, "Weaker matches", null]],
  ["nothing fits", good(false, false), undefined, 0, ["Nothing fits well. These are the closest", null]],
  ["all are good", good(true, true), undefined, 9, [null, null]],
  ["without words", good(null, null), undefined, null, [null, null]],
]) {
  test(`headings: ${name}`, () => assert.deepEqual(headingsOf(results, order, matches), expected));
}
