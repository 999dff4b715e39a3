import assert from "node:assert/strict";
import { test } from "node:test";

import { isText, layOut, layOutGroups, moves, ratio, rowAt, rowOf, sameRow, vertical } from "#page/rows.js";
import { treeOf } from "#page/folders.js";
import { markAt, marksOf, yearsOf } from "#page/scrubber.js";

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
  const i = rows.findIndex((row) => isText(row));
  assert.equal(rows[i - 1].end, 7);
  assert.equal(rows[i + 1].first, 7);
  assert.ok(!layOut(hits, { ...options, cutoff: 0 }).rows.some((row) => isText(row)));
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
  const i = rows.findIndex((row) => isText(row));
  assert.equal(vertical(hits, rows, rows[i - 1].first, 1), 7);
});

test("moves between two orders are counted", () => {
  const order = (/** @type {number[]} */ ids) => ids.map((id, i) => /** @type {any} */ ({ id, rank: i + 1 }));
  assert.deepEqual(moves(order([1, 2, 3]), order([3, 1, 2, 9])), { up: 1, down: 2 });
});

test("squares stand below their months, all of one size, each once", () => {
  const groups = [{ month: "2024-05", size: 7 }, { month: "2024-04", size: 1 }, { month: "", size: 12 }];
  const { rows, height } = layOutGroups(groups, { width: 1000, target: 190 });
  const filled = rows.filter((row) => !isText(row));
  const places = [[0, 5], [5, 7], [7, 8], [8, 13], [13, 18], [18, 20]];
  assert.deepEqual(filled.map(({ first, end }) => [first, end]), places);
  assert.equal(new Set(filled.map((row) => row.picture)).size, 1);
  assert.ok(5 * filled[0].picture + 4 * 6 <= 1000);
  const months = rows.filter(isText).map((row) => [row.months?.[0].month, row.first]);
  assert.deepEqual(months, [["2024-05", 0], ["2024-04", 7], ["", 8]]);
  for (const [i, row] of rows.entries()) if (i) assert.ok(row.top >= rows[i - 1].top + rows[i - 1].height);
  assert.equal(height, (rows.at(-1)?.top ?? 0) + (rows.at(-1)?.height ?? 0));
  const unknown = new Array(20).fill(undefined);
  assert.equal(vertical(unknown, rows, 6, 1), 7);
  assert.equal(vertical(unknown, rows, 9, 1), 14);
  assert.equal(rowOf(rows, 7), rows.findIndex((row) => row.first === 7 && row.end === 8));
  assert.equal(rowOf(rows, 20), -1);
  const alone = layOutGroups([{ month: "", size: 2 }], { width: 300, target: 110 });
  assert.deepEqual(alone.rows.map(isText), [false]);
});

test("short months share a row, each below its name", () => {
  const sizes = [2, 1, 3, 2, 6, 1];
  const groups = sizes.map((size, i) => ({ month: `2024-0${9 - i}`, size }));
  const { rows } = layOutGroups(groups, { width: 1000, target: 190 });
  assert.deepEqual(rows.filter((row) => !isText(row)).map(({ first, end }) => [first, end]),
    [[0, 3], [3, 8], [8, 13], [13, 14], [14, 15]]);
  assert.deepEqual(rows.filter(isText).map(({ months }) => months?.map(({ column }) => column)),
    [[0, 2], [0, 3], [0], [0]]);
  assert.deepEqual(marksOf(rows, 1000).map(({ month }) => month), groups.map(({ month }) => month));
});

test("the scrubber knows months by their place, and writes years that have room", () => {
  const dates = ["2024-12", "2024-06", "2023-12", "2023-06", "2022-12", "2022-06", "1999-01"];
  const groups = dates.map((month) => ({ month, size: month === "1999-01" ? 1 : 40 }));
  const { rows, height } = layOutGroups(groups, { width: 800, target: 100 });
  const marks = marksOf(rows, height);
  assert.equal(marks.length, 7);
  assert.equal(markAt(marks, 0), 0);
  assert.equal(markAt(marks, marks[3].top), 3);
  assert.equal(markAt(marks, 1), 6);
  assert.deepEqual(yearsOf(marks, 600).map(({ year }) => year), ["2024", "2023", "2022", "1999"]);
  assert.deepEqual(yearsOf(marks, 40).map(({ year }) => year), ["2024", "2022"]);
});

test("folders become a tree that counts what is below", () => {
  const tree = treeOf([
    { folder: "a", files: 1 }, { folder: "a/b/c", files: 2 }, { folder: "a/d", files: 3 },
    { folder: "z", files: 4 },
  ]);
  assert.deepEqual(tree.map(({ name, files }) => [name, files]), [["a", 6], ["z", 4]]);
  assert.deepEqual(tree[0].below.map(({ folder, files }) => [folder, files]), [["a/b", 2], ["a/d", 3]]);
  assert.equal(tree[0].below[0].below[0].name, "c");
});
