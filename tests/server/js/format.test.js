import assert from "node:assert/strict";
import { test } from "node:test";

import {
  clock, coordinates, date, duration, expertName, fileSize, grouped, howMany, lastFrame, literally,
  longitudeText, mean, number, partGroup, signed, smooth, sum, table, title,
} from "#page/format.js";

test("numbers", () => {
  assert.equal(number(0.12345), "0.123");
  assert.equal(number(-123.4), "-123");
  assert.equal(signed(0.5, 2), "+0.50");
  assert.equal(signed(-0.5, 2), "−0.50");
});

test("how many results there are, or are likely right", () => {
  const counted = { likely: null, total: 1835, in_texts: null };
  assert.equal(howMany(counted), "1,835 items, best first");
  assert.equal(howMany({ ...counted, in_texts: 0 }), "1,835 items, best first");
  assert.equal(howMany({ ...counted, in_texts: 12 }), "12 have these words");
  assert.equal(howMany({ ...counted, in_texts: 12 }, "newest"), "the 1,835 best results");
  assert.equal(howMany({ ...counted, in_texts: 12 }, "uncertain"), "1,835 items");
  assert.equal(howMany({ ...counted, likely: 0 }), "about 0 likely");
  assert.equal(howMany({ ...counted, likely: 32, in_texts: 12 }), "about 32 likely");
  assert.equal(howMany({ ...counted, likely: 1249, total: 9000 }), "about 1,200 likely");
});

test("how many results have the words", () => {
  const said = { likely: null, total: 9, literal: null, in_texts: null, in_tags: null };
  assert.deepEqual(literally(said), []);
  assert.deepEqual(literally({ ...said, literal: 9, in_texts: 9, in_tags: 0 }), []); // how many says it
  const others = "the others are a guess by looks";
  const nothing = { ...said, literal: 0, in_texts: 0, in_tags: 0 };
  assert.deepEqual(literally(nothing), ["no text has these words: a guess by looks"]);
  assert.deepEqual(literally({ ...said, literal: 1, in_texts: 1, in_tags: 0 }), [others]);
  assert.deepEqual(literally({ ...said, literal: 1, in_texts: 0, in_tags: 1 }),
    ["1 has these words as automatic tags", others]);
  const many = { ...said, total: 9000, literal: 1200, in_texts: 12, in_tags: 88 };
  assert.deepEqual(literally(many), ["88 more by automatic tags", "1,100 have some of them", others]);
  assert.deepEqual(literally({ ...many, likely: 40 })[0], "12 have these words");
  assert.deepEqual(literally({ ...many, in_texts: 0, in_tags: 0 }),
    ["none has all these words", "1,200 have some of them", others]);
});

test("times", () => {
  assert.equal(duration(0.0001), "1 ms");
  assert.equal(duration(0.0346), "35 ms");
  assert.equal(duration(1.26), "1.3 s");
  assert.equal(clock(0), "0:00");
  assert.equal(clock(65.9), "1:05");
});

test("sizes of files", () => {
  const sizes = [1, 741_200, 999_499, 999_500, 2_340_000, 9_960_000, 1_234_567_000];
  const said = ["1 kB", "741 kB", "999 kB", "1 MB", "2.3 MB", "10 MB", "1,235 MB"];
  assert.deepEqual(sizes.map(fileSize), said);
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

test("places", () => {
  assert.equal(coordinates(52.5, -13.40012), "52.5° N, 13.4° W");
  assert.equal(coordinates(0, 0), "0°, 0°");
  assert.deepEqual([180, -180, 90.04].map((degrees) => longitudeText(degrees, 1)), ["180°", "180°", "90° E"]);
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
