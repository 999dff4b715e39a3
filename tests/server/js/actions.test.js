import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError } from "#page/api.js";
import { PAGE, pagesOf } from "#page/browse.js";
import { gradeOf, isRight, isWrong, latestGrades, Marking } from "#page/marking.js";
import { Saving } from "#page/saving.js";
import { Search } from "#page/search.js";
import { Selection } from "#page/selection.js";
import { createStore, initialState } from "#page/store.js";

/** @import { Answer, Hit, Mark, State, Store } from "#page/types.js" */

/** @param {number} id @param {number} rank @param {number | null} mark */
const hit = (id, rank, mark = null) => ({
  id, rank, mark, name: `${id}.jpg`, folder: "a", score: 1 / rank, kind: /** @type {const} */ ("picture"),
  start: 0, end: 0, taken: null, caption: null, width: 4, height: 3, literal: null,
  stars: 0, hidden: false,
});

/** @param {number[]} ids @param {number} total @returns {Answer} */
const answer = (ids, total = ids.length) => ({
  total, cutoff: null, likely: null, diffused: false, learning: false, literal: null, in_texts: null,
  in_tags: null, orders: [], did_you_mean: null, marks: 0, seconds: 0.01,
  hits: ids.map((id, i) => hit(id, i + 1)),
});

/** The result at a place. @param {Store<State>} store @param {number} i */
const at = (store, i) => /** @type {Hit} */ (store.state.hits[i]);

/** A server that lists so many items, in two months. @param {number} total */
const lists = (total) => ({
  months: async () => ({ total, groups: [{ month: "2024-05", size: 1 }, { month: "", size: total - 1 }] }),
  browse: async (/** @type {any} */ _, /** @type {number} */ offset, /** @type {number} */ k) => ({
    total,
    hits: Array.from({ length: Math.min(k, total - offset) }, (_n, i) => hit(offset + i + 1, offset + i + 1)),
  }),
  browsedItems: async (/** @type {any} */ _, /** @type {number} */ offset, /** @type {number} */ k) =>
    Array.from({ length: k }, (_n, i) => offset + i + 1),
});

/** The marks that a server has, the newest first, and how it takes and undoes them. */
function markLog() {
  /** @type {Partial<Mark>[]} */
  const marks = [];
  let number = 0;
  /** @param {string} path @param {any} body */
  const log = (path, body) => {
    number += 1;
    if (path === "feedback") marks.unshift({ id: number, ...body.marks[0], over: null });
    else marks.splice(marks.findIndex(({ id }) => id === body.mark), 1);
    return { ids: [number] };
  };
  return { marks, log };
}

/** The actions with a server that answers as told. @param {Record<string, Function>} server */
function page(server, readOnly = false) {
  const store = createStore(initialState(readOnly, []));
  /** @type {string[]} */
  const said = [];
  /** @type {string[]} */
  const visited = [];
  /** @type {[string, any][]} */
  const delivered = [];
  const speech = {
    announce: (/** @type {string} */ text) => { said.push(text); },
    toast: (/** @type {string} */ text) => { toasts.push(text); },
  };
  /** @type {string[]} */
  const toasts = [];
  const saving = new Saving({ complain: (text) => { toasts.push(text); } });
  /** @param {string} path @param {any} body */
  const deliver = (path, body) => async () => {
    const answer = await server.deliver?.(path, body);
    delivered.push([path, body]);
    return answer ?? { ids: body.marks?.map(() => 11) };
  };
  const api = /** @type {any} */ ({
    marks: async () => [], ...server,
    mark: (/** @type {any} */ body) => deliver("feedback", body),
    undo: (/** @type {number} */ mark) => deliver("undo", { mark }),
  });
  const search = new Search({
    store, api, speech, visit: (address) => { visited.push(address); }, showTab: () => {},
  });
  const marking = new Marking({ store, api, save: saving.save, speech, seen: () => 2, notify: () => {} });
  return { store, search, marking, saving, said, toasts, visited, delivered };
}

test("a search asks the server and shows what comes", async () => {
  const { store, search, said, visited } = page({ search: async () => answer([5, 3], 70) });
  await search.ask({ text: "sea" });
  assert.deepEqual(visited, ["/?q=sea"]);
  assert.deepEqual(store.state.hits.map((one) => one?.id), [5, 3]);
  assert.equal(store.state.searching, false);
  assert.deepEqual(said, ["“sea”: 70 items, best first"]);
  assert.equal(store.state.groups, null);
});

test("only the latest of two searches is shown", async () => {
  /** @type {((answer: Answer) => void)[]} */
  const waiting = [];
  const { store, search } = page({ search: () => new Promise((resolve) => { waiting.push(resolve); }) });
  const first = search.ask({ text: "sea" }), second = search.ask({ text: "boat" });
  waiting[1](answer([2]));
  waiting[0](answer([1]));
  await Promise.all([first, second]);
  assert.deepEqual(store.state.hits.map((one) => one?.id), [2]);
});

test("a failed search says why and can be repeated", async () => {
  let works = false;
  const { store, search } = page({
    ...lists(3),
    months: () => {
      if (!works) throw new ApiError(422, "no such date");
      return lists(3).months();
    },
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
  assert.deepEqual(store.state.hits.map((one) => one?.id), [1, 2, 3]);
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
  const marked = marking.mark(at(store, 1), 0);
  assert.ok(isWrong(store.state, 3));
  assert.equal(store.state.changes, 1);
  await marked;
  assert.deepEqual(delivered[0][1].shown, [5, 3]);
  assert.equal(store.state.revision, 1);
  marks = [];
  await marking.mark(at(store, 1), 0);
  assert.deepEqual(delivered[1], ["undo", { mark: 11 }]);
  assert.ok(!isWrong(store.state, 3) && !isRight(store.state, 3));
});

test("a mark that the server refuses is taken back", async () => {
  const refuse = () => { throw new ApiError(422, "no"); };
  const { store, search, marking, toasts } = page({ search: async () => answer([5, 3]), deliver: refuse });
  await search.ask({ text: "sea" });
  await marking.mark(at(store, 0), 1);
  assert.equal(gradeOf(store.state, 5), null);
  assert.equal(store.state.changes, 0);
  assert.deepEqual(toasts, ["The mark was not taken: no"]);
});

test("marks are sent in every round, and what the server does not have yet is shown as such", async () => {
  const { marks, log } = markLog();
  let away = false;
  const { store, search, marking, saving, toasts } = page({
    search: async () => answer([5, 3, 8]), marks: async () => [...marks],
    deliver: (/** @type {string} */ path, /** @type {any} */ body) => {
      if (away) throw new ApiError(0, "away");
      return log(path, body);
    },
  });
  await search.ask({ text: "sea" });
  for (const [round, place] of [0, 1, 2].entries()) {
    away = round > 0;
    const marked = marking.mark(at(store, place), 1);
    await saving.flush();
    assert.ok(isRight(store.state, at(store, place).id));
    assert.equal(saving.unsent, Number(away));
    if (away) assert.equal(store.state.pending.size, 1);
    away = false;
    await saving.flush();
    await marked;
    assert.equal(store.state.pending.size, 0);
    await saving.flush(); // as a new order does
    await search.reorder();
    assert.equal(store.state.changes, 0);
  }
  assert.deepEqual(marks.map(({ item }) => item), [8, 3, 5]);
  assert.deepEqual(toasts, []);
});

test("a mark that is on its way can be taken back, and survives that marks are loaded", async () => {
  const { marks, log } = markLog();
  let away = true;
  const { store, search, marking, saving, delivered } = page({
    search: async () => answer([5, 3, 8]), marks: async () => [...marks],
    deliver: (/** @type {string} */ path, /** @type {any} */ body) => {
      if (away) throw new ApiError(0, "away");
      return log(path, body);
    },
  });
  await search.ask({ text: "sea" });
  const steps = [marking.mark(at(store, 0), 1), marking.mark(at(store, 1), 0), marking.mark(at(store, 0), 1)];
  await marking.load();
  assert.deepEqual([gradeOf(store.state, 5), gradeOf(store.state, 3)], [null, 0]);
  steps.push(marking.undo());
  assert.equal(gradeOf(store.state, 3), null);
  await saving.flush(); // in vain
  away = false;
  await saving.flush();
  await Promise.all(steps);
  assert.deepEqual(delivered.map(([path, body]) => body.mark ?? path), ["feedback", "feedback", 1, 2]);
  assert.deepEqual(marks, []);
  assert.equal(saving.unsent, 0);
  await marking.undo();
  assert.equal(delivered.length, 4, "there is nothing more to undo");
});

test("undo takes back the last mark also while its number is being loaded, and each mark once", async () => {
  const { marks, log } = markLog();
  const { store, search, marking, delivered } = page({
    search: async () => answer([5, 3, 8]),
    marks: async () => {
      const now = [...marks];
      await new Promise(setImmediate); // slowly
      return now;
    },
    deliver: log,
  });
  await search.ask({ text: "sea" });
  await marking.mark(at(store, 0), 1);
  const second = marking.mark(at(store, 1), 0);
  for (let tick = 0; tick < 12; tick += 1) await null; // it is delivered, and the marks are being loaded
  assert.equal(delivered.length, 2);
  await Promise.all([marking.undo(), second]);
  assert.deepEqual(marks.map(({ item }) => item), [5]);
  await Promise.all([marking.undo(), marking.undo()]);
  assert.deepEqual(delivered.map(([path, body]) => body.mark ?? path), ["feedback", "feedback", 2, 1]);
});

test("marks of a search that is left stay marks of that search", async () => {
  let reachable = false;
  const { store, search, marking, delivered, saving } = page({
    search: async () => answer([5, 3]),
    deliver: () => { if (!reachable) throw new ApiError(0, "away"); },
  });
  await search.ask({ text: "sea" });
  const marked = marking.mark(at(store, 0), 1);
  await search.ask({ text: "boat" });
  assert.equal(gradeOf(store.state, 5), null);
  await search.ask({ text: "sea" });
  assert.equal(gradeOf(store.state, 5), 1, "it is still on its way");
  await search.ask({ text: "boat" });
  reachable = true;
  await saving.flush();
  await marked;
  assert.equal(delivered[0][1].query.text, "sea");
  assert.equal(gradeOf(store.state, 5), null);
});

test("nothing is marked in a list by date, or on a server that is read-only", async () => {
  const listed = page(lists(4));
  await listed.search.filter("kind", "shot");
  await listed.marking.mark(at(listed.store, 0), 1);
  const closed = page({ search: async () => answer([5]) }, true);
  await closed.search.ask({ text: "sea" });
  await closed.marking.mark(at(closed.store, 0), 1);
  assert.deepEqual([...listed.delivered, ...closed.delivered], []);
});

test("the newest mark of an item counts; preferences are no marks of it", () => {
  const marks = [
    { id: 4, item: 1, grade: 1, over: 2 }, { id: 3, item: 1, grade: 0, over: null },
    { id: 2, item: 1, grade: 1, over: null },
  ].map((mark) => ({ ...mark, name: "", caption: null, contradicted: false }));
  assert.deepEqual([...latestGrades(marks)], [[1, 0]]);
});

test("a list knows its length at once, and fetches what is looked at", async () => {
  const { store, search, visited } = page(lists(1000));
  await search.home();
  assert.deepEqual(visited, ["/"]);
  assert.equal(store.state.hits.length, 1000);
  assert.equal(store.state.hits.filter(Boolean).length, PAGE);
  assert.equal((await search.browse.at(700))?.id, 701);
  assert.equal(store.state.hits[500], undefined);
  assert.deepEqual(pagesOf(PAGE - 1, PAGE + 1), [0, 1]);
  search.browse.need(690, 710);
  await search.refresh();
  assert.equal(store.state.hits[700]?.id, 701, "what is in sight stays there");
  await search.change({}, { sort: "name" });
  assert.equal(store.state.hits[700], undefined);
  assert.equal(visited.at(-1), "/?sort=name");
  await search.filter("stars", 3);
  assert.equal(visited.at(-1), "/?stars=3&sort=name");
});

test("what is far from sight is forgotten", async () => {
  const { store, search } = page(lists(100 * PAGE));
  await search.home();
  for (let i = 0; i < 100; i += 1) await search.browse.at(i * PAGE);
  const kept = store.state.hits.filter(Boolean).length / PAGE;
  assert.ok(kept <= 60 && kept > 50, String(kept));
  assert.ok(store.state.hits.at(-1) && !store.state.hits[0]);
  assert.equal((await search.browse.at(0))?.id, 1);
});

test("items are selected one by one, in stretches that grow and shrink, and all of them", async () => {
  const { store, search, said } = page(lists(1000));
  const speech = { announce: (/** @type {string} */ text) => { said.push(text); }, toast: () => {} };
  const items = (/** @type {number} */ first, /** @type {number} */ end) => search.browse.items(first, end);
  const selection = new Selection({ store, items, speech });
  const selected = () => [...store.state.selected].sort((a, b) => a - b);
  await search.home();
  selection.toggle(4);
  selection.toggle(7);
  await selection.extend(9);
  assert.deepEqual(selected(), [5, 8, 9, 10]);
  await selection.extend(6);
  assert.deepEqual(selected(), [5, 7, 8]);
  assert.equal(said.at(-1), "3 items selected");
  selection.toggle(4);
  assert.deepEqual(selected(), [7, 8]);
  await selection.extend(900); // of which most are not there yet
  assert.equal(selected().length, 897);
  await selection.all();
  assert.equal(selection.size, 1000);
  await search.refresh();
  assert.equal(selection.size, 1000);
  await search.filter("kind", "shot");
  assert.equal(selection.size, 0);
});

test("many results are marked in requests of bounded size", async () => {
  const ids = Array.from({ length: 1500 }, (_, i) => i + 1);
  const { store, search, marking, delivered } = page({ search: async () => answer(ids) });
  await search.ask({ text: "sea" });
  await marking.markAll(ids, 1);
  assert.deepEqual(delivered.map(([, body]) => body.marks.length), [1000, 500]);
  assert.equal(store.state.changes, 1500);
});

test("of many marks only those that the server took are said to be", async () => {
  const ids = Array.from({ length: 1500 }, (_, i) => i + 1);
  const { store, search, marking, said, toasts } = page({
    search: async () => answer(ids),
    deliver: (/** @type {string} */ _, /** @type {any} */ { marks }) => {
      if (marks.length === 500) throw new ApiError(500, "no");
    },
    marks: async () => ids.slice(0, 1000).map((item) => ({ id: item, item, grade: 1, over: null })),
  });
  await search.ask({ text: "sea" });
  await marking.markAll(ids, 1);
  assert.equal(said.at(-1), "1,000 marked right");
  assert.deepEqual(toasts, ["The marks were not taken: no"]);
  assert.ok(isRight(store.state, 1000) && !isRight(store.state, 1001));
  await marking.markAll(ids.slice(1000), 1);
  assert.equal(said.at(-1), "1,000 marked right", "nothing is said of what failed");
});
