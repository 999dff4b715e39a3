import assert from "node:assert/strict";
import { test } from "node:test";

import {
  clock, date, duration, expertName, grouped, howMany, lastFrame, literally, mean, number, partGroup,
  signed, smooth, sum, table, title,
} from "#page/format.js";

test("numbers", () => {
  assert.equal(number(0.12345), "0.123");
  assert.equal(number(-123.4), "-123");
  assert.equal(signed(0.5, 2), "+0.50");
  assert.equal(signed(-0.5, 2), "−0.50");
});

test("how many results there are, or are likely right", () => {
  assert.equal(howMany({ likely: null, total: 1835 }), "1,835 results");
  assert.equal(howMany({ likely: 0, total: 9 }), "about 0 likely");
  assert.equal(howMany({ likely: 32, total: 1835 }), "about 32 likely");
  assert.equal(howMany({ likely: 1249, total: 9000 }), "about 1,200 likely");
});

test("how many results have the words", () => {
  assert.equal(literally({ literal: null, total: 9 }), "");
  assert.equal(literally({ literal: 9, total: 9 }), "");
  assert.equal(literally({ literal: 0, total: 9 }), "no text has these words: a guess by looks");
  assert.equal(literally({ literal: 1, total: 9 }), "1 has these words, the others are a guess by looks");
  const many = { literal: 1200, total: 9000 };
  assert.equal(literally(many), "1,200 have these words, the others are a guess by looks");
});

test("times", () => {
  assert.equal(duration(0.0001), "1 ms");
  assert.equal(duration(0.0346), "35 ms");
  assert.equal(duration(1.26), "1.3 s");
  assert.equal(clock(0), "0:00");
  assert.equal(clock(65.9), "1:05");
});

test("a shot ends before the next one begins", () => {
  assert.equal(lastFrame(1, 3), 3 - 1 / 25);
  assert.equal(lastFrame(5, 5.02), 5); // of a single frame
});

test("dates", () => {
  assert.equal(date(null), "");
  assert.equal(date("2024"), "2024");
  // The day of the camera, wherever the reader is.
  assert.equal(date("2024-05-01T23:59:59", "en-US"), "May 1, 2024");
});

test("experts have names for people", () => {
  assert.deepEqual(expertName("hsv_histogram.cosine"), { group: "Colours", detail: "proportions" });
  assert.deepEqual(expertName("text.bm25"), { group: "Words of people, read or said", detail: "" });
  assert.deepEqual(expertName("my_clip.l2.x"), { group: "my clip", detail: "l2.x" });
  assert.deepEqual(expertName("concept.a.b"), { group: "Concept: a.b", detail: "" });
  assert.equal(expertName("constructor").group, "constructor"); // not what every object has
});

test("an item without a caption is called by its date and file", () => {
  const hit = /** @type {any} */ ({ caption: null, taken: "2024", name: "a.jpg" });
  assert.equal(title(hit), "2024, a.jpg");
  assert.equal(title({ ...hit, taken: null }), "a.jpg");
  assert.equal(title({ ...hit, caption: "A boat" }), "A boat");
});

test("parts of a score fall into groups", () => {
  /** @param {string} kind @param {string} name */
  const part = (kind, name) => partGroup({ kind, name, value: 1 });
  assert.equal(part("expert", "hog.l1"), "Shapes");
  assert.equal(part("neighbour", "item 3"), "Its neighbours");
  assert.equal(part("other", "start"), "Start of the model");
  assert.equal(part("other", "something new"), "something new");
});

test("groups keep the order of first sight", () => {
  const groups = grouped(["b1", "a1", "b2"], (name) => name[0]);
  assert.deepEqual([...groups], [["b", ["b1", "b2"]], ["a", ["a1"]]]);
});

test("means leave out what is missing", () => {
  assert.equal(sum([]), 0);
  assert.equal(mean([null, undefined]), null);
  assert.equal(mean([1, null, 2]), 1.5);
  assert.deepEqual(smooth([1, 3, null, null, 5], 2), [1, 2, 3, null, 5]);
});

test("a table has only its own names", () => {
  assert.equal(table({ a: 1 }).toString, undefined);
});
