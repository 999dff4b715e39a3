import assert from "node:assert/strict";
import { test } from "node:test";

import { choose, t, tn } from "#page/i18n.js";

test("the first language that there is", () => {
  assert.equal(choose(["pt-BR", "de-AT", "fr"]), "de");
  assert.equal(choose(["zh-Hant-TW"]), "zh");
  assert.equal(choose(["pt"]), "en");
  assert.equal(choose([]), "en");
});

test("a text without a translation is English, with its values", () => {
  assert.equal(t("Shot from {start} to {end}", { start: "0:01", end: "0:02" }), "Shot from 0:01 to 0:02");
  assert.equal(t("{missing} stays"), "{missing} stays");
});

test("one and many", () => {
  assert.equal(tn(1, "{n} mark", "{n} marks"), "1 mark");
  assert.equal(tn(0, "{n} mark", "{n} marks"), "0 marks");
});
