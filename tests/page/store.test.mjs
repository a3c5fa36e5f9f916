import assert from "node:assert/strict";
import test from "node:test";

import { createStore } from "../../src/mascot/server/static/app/store.js";

test("a listener is called for its keys alone", () => {
  const store = createStore({ text: "", k: 24 });
  const calls = [];
  store.subscribe(["text"], (state, before) => calls.push([state.text, before.text]));
  store.set({ k: 12 });
  store.set({ text: "cat", k: 48 });
  assert.deepEqual(calls, [["cat", ""]]);
  assert.deepEqual(store.get(), { text: "cat", k: 48 });
});

test("a value that stays the same calls no listener", () => {
  const store = createStore({ k: 24 });
  store.subscribe(["k"], () => assert.ok(false));
  store.set({ k: 24 });
});

test("a state is never changed in place", () => {
  const store = createStore({ k: 24 });
  const before = store.get();
  store.set({ k: 12 });
  assert.equal(before.k, 24);
});

test("a listener may set values, and later listeners see them", () => {
  const store = createStore({ text: "", status: "shown" });
  const statuses = [];
  store.subscribe(["text"], () => store.set({ status: "asking" }));
  store.subscribe(["text"], (state) => statuses.push(state.status));
  store.set({ text: "cat" });
  assert.deepEqual(statuses, ["asking"]);
});

test("a subscription can be ended", () => {
  const store = createStore({ k: 24 });
  const end = store.subscribe(["k"], () => assert.ok(false));
  end();
  store.set({ k: 12 });
});
