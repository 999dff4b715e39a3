import assert from "node:assert/strict";
import { test } from "node:test";

import { jobOutcome, jobProgress, jobTitle, timeLeft } from "#page/jobs.js";

/** @type {import("#page/types.js").Job} */
const JOB = {
  name: "index", what: "", done: 0, total: 0, text: "", paused: false, rate: null, left: null,
  cancelled: false,
};

test("a job says what it does and how far it is", () => {
  assert.equal(jobTitle({ ...JOB, what: "photos/2024" }), "Adding photos/2024");
  assert.equal(jobTitle(JOB), "Looking for changes");
  assert.equal(jobTitle({ ...JOB, name: "toString" }), "toString");
  assert.equal(jobProgress({ ...JOB, done: 120, total: 4000, rate: 3.24, left: 1200, failed: 1 }),
    "120 of 4,000 · 3.2 a second · about 20 minutes left · 1 file could not be read");
  assert.equal(jobProgress({ ...JOB, done: 3, total: 9, rate: 1, left: 6, paused: true }), "paused · 3 of 9");
  assert.equal(jobProgress(JOB), "");
});

test("the rest of the time in words", () => {
  assert.deepEqual([30, 60, 5000, 9000].map(timeLeft),
    ["less than a minute left", "about 1 minute left", "about 83 minutes left", "about 3 hours left"]);
});

test("how a job ended", () => {
  assert.equal(jobOutcome({ report: { items: 1, removed: 2, failed: 0 } }), "1 new item, 2 files gone");
  assert.equal(jobOutcome({ error: "the disk is full" }), "the disk is full");
  assert.equal(jobOutcome({ cancelled: true }), "cancelled; what was described is kept");
  assert.equal(jobOutcome({ result: "ready" }), "done");
});
