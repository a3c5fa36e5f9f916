import assert from "node:assert/strict";
import test from "node:test";

import { fromAddress } from "../../src/mascot/server/static/app/address.js";
import { filtersOf, hasSameCandidates, isStart, requestOf, savedRequest, stateOf } from "../../src/mascot/server/static/app/request.js";
import { freshAddress } from "../../src/mascot/server/static/app/state.js";

const request = (search) => requestOf(fromAddress(search));

test("a request holds only what is set", () => assert.deepEqual(request(""), { k: 24 }));

test("filters are fields with types", () => {
  assert.deepEqual(request("?text=a&rating=3&box=-10,-20,10,20&folder=x"), { k: 24, sentence: "a", rating: 3, folder: "x", box: [-10, -20, 10, 20] });
});

test("the server decides strength, order and protect", () => {
  assert.deepEqual(Object.keys(request("?text=a&spread=place&focus=hour=18:00")).sort(), ["k", "sentence", "wishes"]);
});

test("options of the address are sent", () => {
  const { strength, keep, order, protect } = request("?text=a&strength=0.3&keep=0.9&order=relevance&protect=0");
  assert.deepEqual([strength, keep, order, protect], [0.3, 0.9, "relevance", 0]);
});

test("picks are sent only to complete them", () => {
  assert.equal(request("?pin=1,2").pin, undefined);
  assert.deepEqual(request("?pin=1,2&complete=5"), { k: 7, pin: [1, 2] });
});

test("a saved request is restored", () => {
  const search = "?text=a&spread=place*0.5&limit=day=2&country=PT&rating=4&box=1,2,3,4&k=48&keep=0.9&protect=2";
  const saved = savedRequest(request(search), { text: "a", country: "PT", city: null });
  assert.deepEqual(requestOf({ ...freshAddress(), ...stateOf(saved) }), request(search));
});

test("a sentence is saved as the fields that it means", () => {
  const resolved = { text: "boats", light: "dusk", wishes: [{ limit: "year", n: 1 }], country: null, k: 24, order: "relevance" };
  assert.deepEqual(savedRequest(request("?text=boats at dusk, one per year"), resolved),
    { k: 24, text: "boats", light: "dusk", wishes: [{ limit: "year", n: 1 }] });
});

test("a saved target may be numbers, and a saved photograph a path", () => {
  const state = stateOf({ like: "a.jpg", wishes: [{ spread: { kind: "Number" } }, { focus: "place", near: [38.7, -9.1] }, { focus: "hour", near: 18 }] });
  assert.deepEqual(state.wishes.map(({ near }) => near), ["38.7,-9.1", "18"]);
  assert.equal(state.like, null);
});

test("the request for the best of a year is a state", () => {
  const best = { since: "2019", until: "2019", wishes: [{ limit: "moment", n: 1, fill: true }, { spread: "place" }], k: 30, order: "date", best: true };
  const sent = requestOf({ ...freshAddress(), ...stateOf(best) });
  assert.deepEqual(sent, { ...best, since: "2019-01-01", until: "2019-12-31" });
});

test("requests with other wishes have the same candidates", () => {
  assert.ok(hasSameCandidates(request("?text=a&spread=place"), request("?text=a&focus=hour=18:00&keep=0.5")));
  assert.ok(!hasSameCandidates(request("?text=a"), request("?text=b")));
  assert.ok(!hasSameCandidates(request("?text=a&country=PT"), request("?text=a")));
});

test("the start page asks for nothing in particular", () => {
  assert.ok(isStart(request("?pin=3&k=48&map=large")));
  for (const search of ["?text=a", "?like=1", "?spread=place", "?city=Lisbon", "?pin=1&complete=5"]) assert.ok(!isStart(request(search)), search);
});

test("the filters of a request", () => assert.deepEqual(filtersOf(request("?text=a&city=Lisbon&rating=3&spread=place")), ["city", "rating"]));
