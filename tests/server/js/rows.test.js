import assert from "node:assert/strict";
import { test } from "node:test";

import { layOut, moves, ratio, rowAt, rowOf, sameRow, vertical } from "#page/rows.js";

const hits = Array.from({ length: 23 }, (_, i) => ({ width: 300 + 40 * (i % 5), height: 240 }));
const options = { width: 1000, target: 190, cutoff: null };

test("rows hold every result once and fill the width", () => {
  const { rows, height } = layOut(hits, options);
  assert.equal(rows[0].first, 0);
  assert.equal(rows.at(-1)?.end, hits.length);
  for (const [i, row] of rows.entries()) {
    if (i) assert.equal(row.first, rows[i - 1].end);
    const width = hits.slice(row.first, row.end).reduce((total, hit) => total + row.picture * ratio(hit), 0);
    const gaps = 14 * (row.end - row.first - 1);
    assert.ok(width + gaps <= 1010, `row ${i} is ${width + gaps} wide`);
    if (i + 1 < rows.length) assert.ok(width + gaps >= 990, `row ${i} is ${width + gaps} wide`);
  }
  const last = rows[rows.length - 1];
  assert.equal(height, last.top + last.height);
});

test("nothing needs no rows", () => {
  assert.deepEqual(layOut([], options), { rows: [], height: 0 });
});

test("the divider stands where something else begins", () => {
  const { rows } = layOut(hits, { ...options, cutoff: 7 });
  const i = rows.findIndex((row) => row.divider);
  assert.equal(rows[i - 1].end, 7);
  assert.equal(rows[i + 1].first, 7);
  assert.ok(!layOut(hits, { ...options, cutoff: 0 }).rows.some((row) => row.divider));
});

test("rows are found by height and by result", () => {
  const { rows } = layOut(hits, options);
  assert.equal(rowAt(rows, -100), 0);
  assert.equal(rowAt(rows, rows[2].top + 1), 2);
  assert.equal(rowAt(rows, 1e9), rows.length - 1);
  assert.equal(rowOf(rows, rows[1].first), 1);
  assert.equal(rowOf(rows, hits.length), -1);
  assert.ok(sameRow(rows[0], layOut(hits, options).rows[0]));
  assert.ok(!sameRow(rows[0], rows[1]));
  assert.ok(!sameRow(rows[0], undefined));
});

test("up and down lead to the nearest result, over the divider, and back", () => {
  const { rows } = layOut(hits, { ...options, cutoff: 7 });
  const below = vertical(hits, rows, 0, 1);
  assert.equal(below, rows[1].first);
  assert.equal(vertical(hits, rows, below, -1), 0);
  assert.equal(vertical(hits, rows, 0, -1), 0);
  const i = rows.findIndex((row) => row.divider);
  assert.equal(vertical(hits, rows, rows[i - 1].first, 1), 7);
});

test("moves between two orders are counted", () => {
  const order = (/** @type {number[]} */ ids) => ids.map((id, i) => /** @type {any} */ ({ id, rank: i + 1 }));
  assert.deepEqual(moves(order([1, 2, 3]), order([3, 1, 2, 9])), { up: 1, down: 2 });
});
