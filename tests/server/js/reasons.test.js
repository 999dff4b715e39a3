import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { reason, reasonIn } from "#page/reasons.js";

const messages = JSON.parse(readFileSync(
  new URL("../../../src/rankloom/server/static/messages/de.json", import.meta.url), "utf8"));

/** As `t` says it in German. @param {string} text @param {Record<string, string>} [values] */
const german = (text, values = {}) =>
  Object.entries(values).reduce((said, [name, value]) => said.replace(`{${name}}`, value), messages[text]);

/** @param {string} line */
const said = (line) => reasonIn(line, german);

test("a line of the server is said in the language of its reader, with its values", () => {
  assert.equal(said("too many requests; try again in 12 s"),
    "Zu viele Anfragen; versuchen Sie es in 12 s noch einmal.");
  assert.equal(said("cannot be decoded: image file is truncated (65 bytes not processed)"),
    "lässt sich nicht dekodieren: die Bilddatei ist abgeschnitten (65 Bytes nicht verarbeitet)");
});

test("which field of a request is meant is left out", () => {
  const forms = "2024, 2024-05, 2024-05-17, 2024-05-17T12:30, today, yesterday, 30d, 2w, 6m or 1y";
  for (const field of ["before: ", "filters.after: ", "query.filters.before: "]) {
    const line = said(`${field}'soon' is no date; give ${forms}`);
    assert.match(line, /^'soon' ist kein Datum; möglich sind .*heute/);
  }
});

test("what is not known stays as it is, and English always", () => {
  assert.equal(said("an error (of [nobody]) knows* why?"), "an error (of [nobody]) knows* why?");
  assert.equal(reason("the file is empty"), "the file is empty");
});
