import assert from "node:assert/strict";
import test from "node:test";

import { fromAddress, ignoredParameters, toAddress } from "../../src/mascot/server/static/app/address.js";
import { freshAddress } from "../../src/mascot/server/static/app/state.js";

const roundTrip = (address) => toAddress(fromAddress(address.slice(1)));
const read = (address) => fromAddress(address.slice(1));

const ADDRESSES = [
  "/",
  "/?text=boats+in+the+harbour&spread=place*0.7&focus=hour=18:00&since=2019-01-01&compare=1",
  "/?like=12&spread=look&k=48",
  "/?focus=place=38.7000,-9.1000~50*0.5&focus=camera&focus=title=50%25~2",
  "/?text=a&limit=day=2&share=country=PT:60%25,Spain:12.5%25&fill=1&strength=0.5&keep=0.9&order=selection",
  "/?text=a&country=PT&city=Lisbon&camera=X100&rating=3&since=2019-01-01&until=2020-12-31&folder=stra%C3%9Fe&box=-10,170,10,-170",
  "/?text=a&protect=0&pin=3,1&reject=2&complete=15",
  "/?k=10&map=large&photo=7",
  "/?limit=moment=1&spread=place&fill=1&best=1&since=2019-01-01&until=2019-12-31&k=30",
];

for (const address of ADDRESSES) {
  test(`an address stays the same: ${address}`, () => assert.equal(roundTrip(address), address));
}

const RULES = [
  { limit: "day", n: 2, window: 5 }, { limit: "country", n: { PT: 1 }, others: 3, missing: "value" }, { limit: ["city", "year"], n: 1, session: true },
  { at_least: "country", counts: { PT: 3 } }, { share: "country", shares: { PT: 0.25 }, bound: "at most" },
];

for (const rule of RULES) {
  test(`a rule that the page cannot edit stays the same: ${JSON.stringify(rule)}`, () => {
    const wishes = [{ limit: "moment", n: 1, fill: true }, rule, { limit: "year", n: 2 }];
    assert.deepEqual(read(toAddress({ ...freshAddress(), wishes })).wishes, wishes);
  });
}

test("the start page has an empty address", () => assert.deepEqual(read("/"), freshAddress()));

test("wishes have the grammar of the server", () => {
  const { wishes } = read("/?spread=place*0.5&focus=hour=18:00~1&focus=city&limit=day=2&share=country=PT:60%25,ES:0.4");
  assert.deepEqual(wishes, [
    { spread: "place", weight: 0.5 }, { focus: "hour", near: "18:00", within: 1, weight: 1 }, { focus: "city", weight: 1 },
    { limit: "day", n: 2 }, { share: "country", shares: { PT: 0.6, ES: 0.4 } },
  ]);
});

test("a label may contain a tilde and an equals sign", () => {
  assert.deepEqual(read("/?focus=camera=a=b~2").wishes, [{ focus: "camera", near: "a=b~2", weight: 1 }]);
});

const INVALID = [
  "since=2019-13-01", "until=yesterday", "rating=6", "rating=x", "box=1,2,3", "box=10,0,-10,0", "box=0,0,91,0", "k=0", "k=999", "k=1.5",
  "like=-1", "pin=x,-1", "strength=2", "keep=0", "protect=-1", "order=size", "limit=day", "limit=day=0", "limit=day=x", "rule=x", "rule=null", "rule=3",
  'rule={"spread":"city"}', 'rule={"limit":3,"n":1}',
  "share=country", "share=country=PT", "share=country=PT:150%25", "spread=", "spread=place=Lisbon", "spread=Ünder", "complete=5", "photo=0",
];

for (const parameter of INVALID) {
  test(`an invalid value is ignored: ${parameter}`, () => assert.deepEqual(read(`/?${parameter}`), freshAddress()));
}

test("a month or a year as a filter means its first or last day", () => {
  const { since, until } = read("/?since=2019&until=2020-02");
  assert.deepEqual([since, until, read("/?until=2019").until], ["2019-01-01", "2020-02-29", "2019-12-31"]);
});

test("like takes precedence over text", () => {
  assert.equal(read("/?text=cat&like=3").text, "");
});

test("picks are distinct and limited", () => {
  const ids = Array.from({ length: 500 }, (_, i) => (i % 300) + 1);
  assert.equal(read(`/?pin=${ids.join(",")}`).pin.length, 200);
});

test("every combination of view and request survives", () => {
  const values = { text: ["", "a&b=c#d %é"], country: ["", "PT"], k: [24, 96], compare: [false, true], photo: [null, 5], keep: [null, 0.95] };
  const combinations = (entries) => {
    if (!entries.length) return [{}];
    const [[name, options], ...rest] = entries;
    return combinations(rest).flatMap((other) => options.map((value) => ({ ...other, [name]: value })));
  };
  for (const changes of combinations(Object.entries(values))) {
    const state = { ...freshAddress(), ...changes };
    assert.deepEqual(read(toAddress(state)), state);
  }
});

for (const [search, expected] of [
  ["?since=banana&text=a", ["since=banana"]], ["?k=7", []], ["?k=24&since=2019&pin=3", []], ["?box=1,2,3", ["box=1,2,3"]],
  ["?nonsense=1", ["nonsense=1"]], ["?pin=3&complete=5&compare=1&map=large&fill=1&limit=day=2", []], ["?limit=year=1&limit=x", ["limit=x"]],
  ['?fill=1&limit=day=2&rule={"limit":"year","n":2}', []], ["?rule=3", ["rule=3"]],
]) {
  test(`what is ignored of ${search}`, () => assert.deepEqual(ignoredParameters(search), expected));
}
