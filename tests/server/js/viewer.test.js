import assert from "node:assert/strict";
import { test } from "node:test";

import { tally } from "#page/boxes.js";
import { swipe } from "#page/fingers.js";
import { matchedLine } from "#page/format.js";
import { between, corners, holds, MIDDLE, moved, regionFrom, regionText, resized } from "#page/region.js";
import { begunAt, linesOf } from "#page/strip.js";
import { largest, WHOLE, wantsOriginal, within, zoomed } from "#page/zoom.js";

/** @import { Region } from "#page/types.js" */

const box = (/** @type {string} */ kind) =>
  ({ kind, left: 0, top: 0, width: 1, height: 1, text: null, time: null });

test("how many things are marked", () => {
  assert.equal(tally([]), "");
  assert.equal(tally([box("face")]), "1 face");
  assert.equal(tally([box("face"), box("ocr"), box("ocr")]), "2 lines of text, 1 face");
});

test("the line that is said at a time, and the shot in which it is said", () => {
  const cues = [
    { start: 1, end: 2, text: "a" }, { start: 4, end: 6, text: "b" }, { start: 5, end: 9, text: "c" },
  ];
  assert.deepEqual([0, 1, 3, 4, 99].map((time) => begunAt(cues, time)), [-1, 0, 0, 1, 2]);
  assert.equal(begunAt([], 5), -1);
  const shots = [{ id: 1, start: 0, end: 4 }, { id: 2, start: 4, end: 8 }, { id: 3, start: 8, end: 9 }];
  const lines = linesOf(shots, cues).map((said) => said.map(({ text }) => text).join());
  assert.deepEqual(lines, ["a", "b,c", ""]);
  assert.deepEqual(linesOf([], cues), []);
});

test("where a match is from", () => {
  assert.equal(matchedLine({ source: "ocr", text: "STOP" }), "Text in it: “STOP”");
  assert.equal(matchedLine({ source: "toString", text: "x" }), "toString: “x”");
});

const FRAME = { width: 800, height: 600 }, PICTURE = { width: 4000, height: 2000 }; // fits as 800 x 400

test("zooming keeps what is under the pointer, within bounds", () => {
  const at = { x: 100, y: 50 };
  const closer = zoomed(WHOLE, 2, at, FRAME, PICTURE);
  assert.deepEqual(closer, { scale: 2, x: -100, y: -50 });
  // The point of the picture under the pointer is the same as before.
  assert.equal((at.x - closer.x) / closer.scale, at.x);
  assert.deepEqual(zoomed(closer, 0.5, at, FRAME, PICTURE), WHOLE);
  assert.deepEqual(zoomed(WHOLE, 0.1, at, FRAME, PICTURE), WHOLE);
  assert.equal(zoomed(WHOLE, 1e6, at, FRAME, PICTURE).scale, largest(FRAME, PICTURE));
  assert.equal(largest(FRAME, PICTURE), 20); // four pixels of the screen for one of the picture
  assert.equal(largest(FRAME, { width: 40, height: 30 }), 4);
});

test("a picture never leaves a gap in its frame", () => {
  assert.deepEqual(within({ scale: 2, x: 9999, y: -9999 }, FRAME, PICTURE), { scale: 2, x: 400, y: -100 });
  // Where it is smaller than the frame it stays in the middle.
  assert.deepEqual(within({ scale: 1.2, x: 30, y: 30 }, FRAME, PICTURE), { scale: 1.2, x: 30, y: 0 });
  assert.deepEqual(within({ scale: 0, x: 5, y: 5 }, FRAME, PICTURE), WHOLE);
});

test("the original is wanted where the view has too few pixels", () => {
  const closer = { scale: 2.5, x: 0, y: 0 };
  assert.equal(wantsOriginal(closer, FRAME, PICTURE, 1600, 1), true);
  assert.equal(wantsOriginal({ ...closer, scale: 1.9 }, FRAME, PICTURE, 1600, 1), false);
  assert.equal(wantsOriginal({ ...closer, scale: 1.9 }, FRAME, PICTURE, 1600, 2), true);
  assert.equal(wantsOriginal(closer, FRAME, PICTURE, 4000, 1), false);
  assert.equal(wantsOriginal(WHOLE, FRAME, PICTURE, 100, 2), false);
});

test("what a finger means", () => {
  assert.deepEqual([[-90, 10], [90, -10], [10, 90], [10, -90], [50, 5], [80, 80], [0, 0]]
    .map(([x, y]) => swipe(x, y)), ["next", "before", "close", null, null, null, null]);
});

test("a part is drawn, moved and resized inside the picture", () => {
  assert.deepEqual(between({ x: 0.8, y: 0.9 }, { x: 0.2, y: 0.1 }), [0.2, 0.1, 0.8, 0.9]);
  assert.deepEqual(between({ x: -1, y: 0.5 }, { x: 2, y: 0.50001 }), [0, 0.5, 1, 0.52]);
  assert.deepEqual(between({ x: 1, y: 1 }, { x: 1, y: 1 }), [0.98, 0.98, 1, 1]);
  assert.deepEqual(moved(MIDDLE, { x: 0.1, y: -9 }), [0.35, 0, 0.85, 0.5]);
  assert.deepEqual(resized(MIDDLE, { x: 9, y: -9 }), [0.25, 0.25, 1, 0.27]);
  assert.equal(holds(MIDDLE, { x: 0.5, y: 0.3 }), true);
  assert.equal(holds(MIDDLE, { x: 0.5, y: 0.2 }), false);
  assert.deepEqual(corners([0, 0.25, 0.5, 1])[1], { at: { x: 0.5, y: 0.25 }, across: { x: 0, y: 1 } });
});

test("a part in an address", () => {
  /** @type {Region} */
  const region = [0.1, 0.25, 0.333, 1];
  assert.equal(regionText(region), "100.250.333.1000");
  assert.deepEqual(regionFrom("100.250.333.1000"), region);
  for (const text of ["", "1.2.3", "a.b.c.d", "500.0.100.1000", "0.0.1001.1000", undefined]) {
    assert.equal(regionFrom(text), null);
  }
});
