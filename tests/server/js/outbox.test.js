import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError } from "#page/api.js";
import { Outbox } from "#page/outbox.js";

/** A server that can go away, and what it has taken. */
function server() {
  /** @type {unknown[]} */
  const taken = [];
  const state = { away: false, taken };
  /** @param {unknown} body */
  const take = (body) => async () => {
    await null;
    if (state.away) throw new ApiError(0, "away");
    taken.push(body);
    return body;
  };
  return { state, take };
}

test("changes go out one after another, in their order", async () => {
  /** @type {unknown[]} */
  const sent = [];
  const outbox = new Outbox();
  /** @param {number} body */
  const send = (body) => async () => {
    sent.push(["begin", body]);
    await null;
    sent.push(["end", body]);
    return body;
  };
  const answers = await Promise.all([outbox.deliver(send(1)), outbox.deliver(send(2))]);
  assert.deepEqual(answers, [1, 2]);
  assert.deepEqual(sent, [["begin", 1], ["end", 1], ["begin", 2], ["end", 2]]);
});

test("an outbox that was flushed while empty still sends", async () => {
  const { state, take } = server();
  const outbox = new Outbox();
  for (const round of [1, 2, 3]) {
    await outbox.flush();
    assert.equal(await outbox.deliver(take(round)), round);
    outbox.flush();
    assert.equal(await outbox.deliver(take(-round)), -round);
  }
  assert.deepEqual(state.taken, [1, -1, 2, -2, 3, -3]);
});

test("changes wait while the server is away, round after round", async () => {
  const { state, take } = server();
  const outbox = new Outbox();
  for (const round of [1, 2, 3]) {
    state.away = true;
    const answers = Promise.all([outbox.deliver(take(round)), outbox.deliver(take(-round))]);
    await outbox.flush(); // in vain
    assert.equal(outbox.letters.length, 2);
    await outbox.flush();
    state.away = false;
    await outbox.flush();
    assert.deepEqual(await answers, [round, -round]);
    assert.equal(outbox.letters.length, 0);
  }
  assert.deepEqual(state.taken, [1, -1, 2, -2, 3, -3]);
});

test("whoever flushes waits for what is on its way", async () => {
  const outbox = new Outbox();
  /** @param {number} body */
  const slow = (body) => async () => {
    await new Promise(setImmediate);
    return body;
  };
  outbox.deliver(slow(1));
  outbox.deliver(slow(2));
  await outbox.flush();
  assert.equal(outbox.letters.length, 0);
  assert.equal(await outbox.deliver(slow(3)), 3);
});

test("what is delivered the moment another has arrived is sent, too", async () => {
  const { state, take } = server();
  const outbox = new Outbox();
  for (let i = 0; i < 20; i += 1) {
    await outbox.deliver(take(i));
    for (let tick = 0; tick < i % 7; tick += 1) await null;
  }
  assert.equal(state.taken.length, 20);
});

test("a busy server is asked again", async () => {
  let waits = 0;
  const outbox = new Outbox(async () => { waits += 1; });
  assert.equal(await outbox.deliver(async () => {
    if (waits < 2) throw new ApiError(waits ? 429 : 503, "busy");
    return "taken";
  }), "taken");
  assert.equal(waits, 2);
});

test("what needs the token waits until there is one", async () => {
  let known = false;
  const outbox = new Outbox();
  const answer = outbox.deliver(async () => {
    if (!known) throw new ApiError(401, "token");
    return "taken";
  });
  await outbox.flush();
  known = true;
  await outbox.flush();
  assert.equal(await answer, "taken");
});

test("a refused change does not hold up the next", async () => {
  const outbox = new Outbox();
  const refused = assert.rejects(outbox.deliver(async () => { throw new ApiError(422, "no such item"); }),
    { status: 422, message: "no such item" });
  assert.equal(await outbox.deliver(async () => 2), 2);
  await refused;
});

test("what arrived although its answer was lost is not sent again", async () => {
  let sent = 0, reachable = false;
  const outbox = new Outbox();
  const answer = outbox.deliver(async () => {
    sent += 1;
    throw new ApiError(0, "the answer was lost");
  }, async () => {
    if (!reachable) throw new ApiError(0, "away");
    return "it is there";
  });
  await outbox.flush();
  await outbox.flush();
  reachable = true;
  await outbox.flush();
  assert.equal(await answer, "it is there");
  assert.equal(sent, 1);
});
