import assert from "node:assert/strict";
import test from "node:test";

import { createActions } from "../../src/mascot/server/static/app/actions.js";
import { chosenIds, comparison, freshAddress, initialState, neighboursOf, nextSize } from "../../src/mascot/server/static/app/state.js";
import { createStore } from "../../src/mascot/server/static/app/store.js";
import { dialNames, leanOf, nearOf, withDial, withNear } from "../../src/mascot/server/static/app/wishes.js";
import { targetOf } from "../../src/mascot/server/static/charts/targets.js";

const photo = (id) => ({ id });
const ANSWER = { plain: [1, 2, 3].map(photo), results: [3, 4, 1].map((id, i) => ({ photo: photo(id), rank: i + 1 })) };
const ids = (entries) => entries.map((entry) => entry.photo.id);

test("a comparison has added, removed and kept photographs", () => {
  const { added, removed, kept } = comparison(ANSWER);
  assert.deepEqual([ids(added), ids(removed), ids(kept)], [[4], [2], [3, 1]]);
  assert.equal(removed[0].rank, 2);
});

test("neighbours are those of the list that a photograph is in", () => {
  const state = { ...initialState(freshAddress()), answer: ANSWER, answered: { wishes: [{ spread: "place" }] } };
  assert.deepEqual(neighboursOf(state, 4), [3, 4, 1]);
  assert.deepEqual(neighboursOf({ ...state, compare: true }, 1), [3, 1]);
  assert.deepEqual(neighboursOf({ ...state, reject: [4] }, 1), [3, 1]);
  assert.deepEqual(neighboursOf({ ...state, neighbours: [9, 8] }, 9), [9, 8]);
});

test("a dial is one wish, whose place in the list it keeps", () => {
  let wishes = withDial([{ limit: "day", n: 2 }, { spread: "hour", weight: 1 }, { focus: "hour", near: "18:00" }], "hour", -0.4);
  assert.deepEqual(wishes, [{ limit: "day", n: 2 }, { focus: "hour", weight: 0.4 }, { focus: "hour", near: "18:00" }]);
  assert.deepEqual([leanOf(wishes, "hour"), nearOf(wishes, "hour"), dialNames(wishes)], [-0.4, "18:00", ["hour"]]);
  wishes = withDial(wishes, "hour", 0);
  assert.deepEqual(withNear(wishes, "hour", null), [{ limit: "day", n: 2 }]);
});

test("a weight above 1 turns a dial to its end", () => assert.equal(leanOf([{ focus: "city", weight: 3 }], "city"), -1));

test("a target is where the server says, or where the text says until then", () => {
  const wishes = [{ focus: "hour", near: "18:30" }, { focus: "place", near: "Lisbon" }, { focus: "date", near: "2019-07" }];
  assert.deepEqual(targetOf(wishes, [], "hour"), { hour: 18.5 });
  assert.equal(targetOf(wishes, [], "place"), null);
  assert.deepEqual(targetOf(wishes, [], "date"), { date: "2019-07" });
  assert.equal(targetOf([{ focus: "date", near: "summer 2019" }], [], "date"), null, "words are read by the server");
  const target = { name: "place", near: "Lisbon", lat: 38.7, lon: -9.1 };
  assert.equal(targetOf(wishes, [target], "place"), target);
});

test("the next larger number of photographs", () => {
  assert.deepEqual([10, 24, 150, 192].map((k) => nextSize({ k, complete: null })), [20, 48, 192, null]);
  assert.equal(nextSize({ k: 24, complete: 5 }), null);
});

function page(changes = {}) {
  const store = createStore({ ...initialState(freshAddress()), ...changes });
  const entries = [];
  const history = {
    opened: null, push: (address) => entries.push(["push", address]), replace: (address) => entries.push(["replace", address]),
    pushGesture: (address, gesture) => entries.push([gesture, address]),
  };
  return { store, entries, actions: createActions(store, history) };
}

test("an action changes the state and the address", () => {
  const { store, entries, actions } = page();
  actions.search(" cat ");
  actions.turnDial("place", 0.5, "place");
  assert.deepEqual(store.get().wishes, [{ spread: "place", weight: 0.5 }]);
  assert.deepEqual(entries, [["push", "/?text=cat"], ["place", "/?text=cat&spread=place*0.5"]]);
});

test("completing a set turns dials if none is turned", () => {
  const { store, actions } = page({ pin: [1, 2] });
  actions.changeTray({ complete: 15 });
  assert.deepEqual(store.get().wishes.map(({ spread }) => spread), ["place", "date", "look"]);
  actions.changeTray({ pin: [] });
  assert.equal(store.get().complete, null);
});

test("picking and rejecting exclude each other", () => {
  const { store, actions } = page({ reject: [5] });
  actions.pick(5);
  assert.deepEqual([store.get().pin, store.get().reject, store.get().trayOpen], [[5], [], true]);
  actions.reject(5);
  assert.deepEqual([store.get().pin, store.get().reject], [[], [5]]);
});

test("a range of picks goes from the last pick to this one", () => {
  const { store, actions } = page({ answer: ANSWER });
  actions.pick(1, true);
  actions.pick(3, true);
  assert.deepEqual(store.get().pin, [1, 3, 4]);
  actions.pick(4);
  assert.deepEqual([store.get().pin, store.get().lastPick], [[1, 3], null]);
  actions.pickAll();
  assert.deepEqual(store.get().pin, [1, 3, 4]);
});

test("a rejection can be undone, also of a picked photograph", () => {
  const { store, actions } = page({ pin: [1, 5], reject: [2] });
  actions.reject(5);
  actions.undoReject();
  actions.undoReject();
  assert.deepEqual([store.get().pin, store.get().reject, store.get().message], [[1, 5], [2], ""]);
});

test("a completed set is taken as a whole, once it is found", () => {
  const state = { pin: [1], complete: 15, answer: ANSWER, answered: { pin: [1] } };
  assert.deepEqual(chosenIds(state), [3, 4, 1]);
  assert.deepEqual(chosenIds({ ...state, answered: {} }), [1]);
  assert.deepEqual(chosenIds({ ...state, complete: null }), [1]);
});

test("picks in the large view change its entry, and are remembered", () => {
  const { store, entries, actions } = page({ photo: 5 });
  actions.pick(5);
  assert.deepEqual(entries, [["replace", "/?pin=5&photo=5"]]);
  assert.deepEqual(store.get().viewerPicks, { pin: [5], reject: [], complete: null });
});

test("starting again keeps the tray", () => {
  const { entries, actions } = page({ text: "cat", pin: [1], keep: 0.5, large: true });
  actions.startAgain();
  assert.deepEqual(entries, [["push", "/?pin=1&map=large"]]);
});

test("a loaded choice continues its search", () => {
  const { entries, actions } = page({ text: "dog" });
  actions.loadChoice({ photos: [1], rejected: [2], query: { text: "cat", wishes: [{ limit: "day", n: 2 }] } });
  assert.deepEqual(entries, [["push", "/?text=cat&limit=day=2&pin=1&reject=2"]]);
});
