import assert from "node:assert/strict";
import { test } from "node:test";

import { createStore, initialState } from "#page/store.js";

test("an update replaces the state and tells who listens", () => {
  const store = createStore({ count: 0, name: "a" });
  /** @type {unknown[]} */
  const seen = [];
  const end = store.subscribe((state, before) => seen.push([before.count, state.count]));
  const before = store.state;
  store.update({ count: 1 });
  assert.deepEqual(seen, [[0, 1]]);
  assert.deepEqual(before, { count: 0, name: "a" });
  assert.deepEqual(store.state, { count: 1, name: "a" });
  end();
  store.update({ count: 2 });
  assert.equal(seen.length, 1);
});

test("the state cannot be changed in place", () => {
  const store = createStore({ count: 0 });
  assert.throws(() => { store.state.count = 1; }, TypeError);
});

test("a watcher hears of its own values only", () => {
  const store = createStore({ count: 0, name: "a" });
  /** @type {string[]} */
  const names = [];
  store.watch(["name"], ({ name }) => names.push(name));
  store.update({ count: 1 });
  store.update({ name: "b" });
  store.update({ name: "b" });
  assert.deepEqual(names, ["b"]);
});

test("a search begins with nothing", () => {
  const state = initialState(true, ["a"]);
  assert.equal(state.readOnly, true);
  assert.deepEqual(state.folders, ["a"]);
  assert.equal(state.answer, null);
  assert.equal(state.grades.size, 0);
});
