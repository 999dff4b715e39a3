import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError } from "#page/api.js";
import { Outbox } from "#page/outbox.js";

test("marks go out one after another, in their order", async () => {
  /** @type {unknown[]} */
  const sent = [];
  const outbox = new Outbox(async (path, body) => {
    sent.push(["begin", body]);
    await null;
    sent.push(["end", body]);
    return `${path} ${body}`;
  });
  const answers = await Promise.all([outbox.deliver("feedback", 1), outbox.deliver("undo", 2)]);
  assert.deepEqual(answers, ["feedback 1", "undo 2"]);
  assert.deepEqual(sent, [["begin", 1], ["end", 1], ["begin", 2], ["end", 2]]);
  assert.equal(outbox.size, 0);
});

test("marks wait while the server is away", async () => {
  let away = true;
  const outbox = new Outbox(async (_, body) => {
    if (away) throw new ApiError(0, "away");
    return body;
  });
  const answers = Promise.all([outbox.deliver("feedback", 1), outbox.deliver("feedback", 2)]);
  await new Promise(setImmediate); // the first attempt has failed
  assert.equal(outbox.size, 2);
  away = false;
  await outbox.flush();
  assert.deepEqual(await answers, [1, 2]);
});

test("whoever flushes waits for what is on its way", async () => {
  const outbox = new Outbox(async (_, body) => {
    await new Promise(setImmediate);
    return body;
  });
  outbox.deliver("feedback", 1);
  outbox.deliver("feedback", 2);
  await outbox.flush();
  assert.equal(outbox.size, 0);
  assert.equal(await outbox.deliver("feedback", 3), 3);
});

test("a busy server is asked again", async () => {
  let waits = 0;
  const outbox = new Outbox(async () => {
    if (waits < 2) throw new ApiError(waits ? 429 : 503, "busy");
    return "taken";
  }, async () => { waits += 1; });
  assert.equal(await outbox.deliver("feedback", 1), "taken");
  assert.equal(waits, 2);
});

test("a refused mark does not hold up the next", async () => {
  const outbox = new Outbox(async (_, body) => {
    if (body === 1) throw new ApiError(422, "no such item");
    return body;
  });
  const refused = assert.rejects(outbox.deliver("feedback", 1), { status: 422, message: "no such item" });
  assert.equal(await outbox.deliver("feedback", 2), 2);
  await refused;
});
