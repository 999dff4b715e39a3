import assert from "node:assert/strict";
import { test } from "node:test";

import { matchedLine } from "#page/format.js";
import { cueAt, tally } from "#page/places.js";

const box = (/** @type {string} */ kind) =>
  ({ kind, left: 0, top: 0, width: 1, height: 1, text: null, time: null });

test("how many things are marked", () => {
  assert.equal(tally([]), "");
  assert.equal(tally([box("face")]), "1 face");
  assert.equal(tally([box("face"), box("ocr"), box("ocr")]), "2 lines of text, 1 face");
});

test("the line that is said at a time", () => {
  const cues = [{ start: 1, end: 2, text: "a" }, { start: 4, end: 6, text: "b" }];
  assert.deepEqual([0, 1, 3, 4, 99].map((time) => cueAt(cues, time)), [-1, 0, 0, 1, 1]);
  assert.equal(cueAt([], 5), -1);
});

test("where a match is from", () => {
  assert.equal(matchedLine({ source: "ocr", text: "STOP" }), "Text in it: “STOP”");
  assert.equal(matchedLine({ source: "toString", text: "x" }), "toString: “x”");
});
