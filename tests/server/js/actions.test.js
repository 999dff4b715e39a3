import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError } from "#page/api.js";
import { isRight, isWrong, latestGrades, Marking } from "#page/marking.js";
import { Search } from "#page/search.js";
import { createStore, initialState } from "#page/store.js";

/** @import { Answer, Mark } from "#page/types.js" */

/** @param {number} id @param {number} rank @param {number | null} mark */
const hit = (id, rank, mark = null) => ({
  id, rank, mark, name: `${id}.jpg`, folder: "a", score: 1 / rank, kind: /** @type {const} */ ("picture"),
  start: 0, end: 0, taken: null, caption: null, width: 4, height: 3, literal: null,
});

/** @param {number[]} ids @param {number} total @returns {Answer} */
const answer = (ids, total = ids.length) => ({
  total, cutoff: null, diffused: false, learning: false, literal: null, marks: 0, seconds: 0.01,
  hits: ids.map((id, i) => hit(id, i + 1)),
});

/** The actions with a server that answers as told. @param {Record<string, Function>} server */
function page(server, readOnly = false) {
  const store = createStore(initialState(readOnly, []));
  /** @type {string[]} */
  const said = [];
  /** @type {string[]} */
  const visited = [];
  /** @type {[string, any][]} */
  const delivered = [];
  const speech = { announce: (/** @type {string} */ text) => { said.push(text); }, toast: () => {} };
  const api = /** @type {any} */ ({ marks: async () => [], ...server });
  const search = new Search({
    store, api, speech, visit: (address) => { visited.push(address); }, showTab: () => {},
  });
  const marking = new Marking({
    store, api, speech, seen: () => 2, notify: () => {},
    deliver: async (path, body) => {
      delivered.push([path, body]);
      return server.deliver?.(path, body) ?? { undone: 1 };
    },
  });
  return { store, search, marking, said, visited, delivered };
}

test("a search asks the server and shows what comes", async () => {
  const { store, search, said, visited } = page({ search: async () => answer([5, 3], 70) });
  await search.ask({ text: "sea" });
  assert.deepEqual(visited, ["/?q=sea"]);
  assert.deepEqual(store.state.hits.map(({ id }) => id), [5, 3]);
  assert.equal(store.state.searching, false);
  assert.deepEqual(said, ["70 results for “sea”"]);
  await search.home();
  assert.equal(store.state.answer, null);
  assert.deepEqual(visited, ["/?q=sea", "/"]);
});

test("only the latest of two searches is shown", async () => {
  /** @type {((answer: Answer) => void)[]} */
  const waiting = [];
  const { store, search } = page({ search: () => new Promise((resolve) => { waiting.push(resolve); }) });
  const first = search.ask({ text: "sea" }), second = search.ask({ text: "boat" });
  waiting[1](answer([2]));
  waiting[0](answer([1]));
  await Promise.all([first, second]);
  assert.deepEqual(store.state.hits.map(({ id }) => id), [2]);
});

test("a failed search says why and can be repeated", async () => {
  let works = false;
  const { store, search } = page({
    search: async () => { if (!works) throw new ApiError(422, "no such date"); return answer([1]); },
  });
  await search.filter("after", "never");
  assert.equal(store.state.error?.message, "no such date");
  assert.deepEqual(store.state.hits, []);
  works = true;
  await search.run({ push: false });
  assert.equal(store.state.error, null);
  assert.equal(store.state.order.byDate, true);
});

test("more results are added once, and the end is noticed", async () => {
  /** @type {Record<number, number[]>} */
  const pages = { 0: [1, 2], 2: [2, 3] };
  const { store, search } = page({
    search: async (/** @type {{ offset?: number }} */ { offset = 0 }) => answer(pages[offset] ?? [], 9),
  });
  await search.ask({ text: "sea" });
  await search.more();
  assert.deepEqual(store.state.hits.map(({ id }) => id), [1, 2, 3]);
  await search.more();
  assert.equal(store.state.total, 3);
});

test("a mark shows at once, and the same mark again takes it back", async () => {
  /** @type {Partial<Mark>[]} */
  let marks = [];
  const { store, search, marking, delivered } = page({
    search: async () => answer([5, 3]), marks: async () => marks,
  });
  await search.ask({ text: "sea" });
  marks = [{ id: 11, item: 3, grade: 0, over: null }];
  const marked = marking.mark(store.state.hits[1], 0);
  assert.ok(isWrong(store.state, 3));
  assert.equal(store.state.changes, 1);
  await marked;
  assert.deepEqual(delivered[0][1].shown, [5, 3]);
  assert.equal(store.state.revision, 1);
  marks = [];
  await marking.mark(store.state.hits[1], 0);
  assert.deepEqual(delivered[1], ["undo", { mark: 11 }]);
  assert.ok(!isWrong(store.state, 3) && !isRight(store.state, 3));
});

test("a mark that the server refuses is taken back", async () => {
  const refuse = () => { throw new ApiError(422, "no"); };
  const { store, search, marking } = page({ search: async () => answer([5, 3]), deliver: refuse });
  await search.ask({ text: "sea" });
  await marking.mark(store.state.hits[0], 1);
  assert.equal(store.state.grades.size, 0);
  assert.equal(store.state.changes, 0);
});

test("nothing is marked in a list by date, or on a server that is read-only", async () => {
  const listed = page({ search: async () => answer([5]) });
  await listed.search.filter("kind", "shot");
  await listed.marking.mark(listed.store.state.hits[0], 1);
  const closed = page({ search: async () => answer([5]) }, true);
  await closed.search.ask({ text: "sea" });
  await closed.marking.mark(closed.store.state.hits[0], 1);
  assert.deepEqual([...listed.delivered, ...closed.delivered], []);
});

test("the newest mark of an item counts; preferences are no marks of it", () => {
  const marks = [
    { id: 4, item: 1, grade: 1, over: 2 }, { id: 3, item: 1, grade: 0, over: null },
    { id: 2, item: 1, grade: 1, over: null },
  ].map((mark) => ({ ...mark, name: "", caption: null }));
  assert.deepEqual([...latestGrades(marks)], [[1, 0]]);
});
