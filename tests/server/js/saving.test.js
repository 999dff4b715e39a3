import assert from "node:assert/strict";
import { test } from "node:test";

import { api, ApiError } from "#page/api.js";
import { Saving } from "#page/saving.js";

// Asked by POST, as what is asked for is long or is not for logs; they change nothing that people made.
const READS = new Set([
  "signIn", "search", "interleave", "explain", "compare", "marks", "export", "paths", "download", "upload",
  "reveal",
]);

/** A `Saving` and what it says. */
function page() {
  /** @type {string[]} */
  const said = [];
  const saving = new Saving({ complain: (text) => { said.push(text); } });
  return { saving, said };
}

for (const waits of [true, false]) {
  test(`a change is shown at once and said to be done only when it is; waits: ${waits}`, async () => {
    const { saving, said } = page();
    /** @type {(answer: string) => void} */
    let answer = () => {};
    const steps = {
      waits, show: () => { said.push("shown"); return () => { said.push("taken back"); }; },
      done: (/** @type {string} */ text) => { said.push(text); },
    };
    const saved = saving.save(() => new Promise((resolve) => { answer = resolve; }), steps);
    await new Promise(setImmediate);
    assert.deepEqual([said, saving.unsent], [["shown"], 1]);
    answer("done");
    assert.equal(await saved, true);
    assert.deepEqual([said, saving.unsent], [["shown", "done"], 0]);
  });

  test(`a refused change is taken back and said in one line, no more; waits: ${waits}`, async () => {
    const { saving, said } = page();
    const saved = await saving.save(async () => { throw new ApiError(422, "no"); }, {
      waits, show: () => () => { said.push("taken back"); }, done: () => { said.push("done"); },
      refused: (reason) => `not saved: ${reason}`,
    });
    assert.equal(saved, false);
    assert.deepEqual([said, saving.unsent], [["taken back", "not saved: no"], 0]);
  });
}

test("what cannot be loaded after a change does not undo it", async () => {
  const { saving, said } = page();
  const done = () => { throw new ApiError(0, "away"); };
  assert.equal(await saving.save(async () => 1, { done }), true);
  assert.deepEqual(said, ["away"]);
});

test("changes are counted until the server has them", async () => {
  const { saving } = page();
  /** @type {number[]} */
  const counts = [];
  saving.changed = (unsent) => { counts.push(unsent); };
  await Promise.all([saving.save(async () => 1), saving.save(async () => 2, { waits: true })]);
  assert.deepEqual(counts, [1, 2, 1, 0]);
});

test("whatever changes something on the server is not sent by asking for it", () => {
  const asked = /** @type {Record<string, Function>} */ (/** @type {unknown} */ (api));
  const original = globalThis.fetch;
  /** @type {string[]} */
  const sent = [];
  globalThis.fetch = async (address, options) => {
    sent.push(`${options?.method} ${address}`);
    return new Response("{}");
  };
  try {
    for (const [name, ask] of Object.entries(asked)) {
      const before = sent.length, answer = ask("", "", "");
      const method = sent.length > before ? sent[sent.length - 1].split(" ")[0] : "";
      if (typeof answer === "function") assert.equal(method, "", name);
      else {
        answer.catch(() => {});
        assert.ok(method === "GET" || READS.has(name), `${name} changes something without \`save\``);
      }
    }
  } finally {
    globalThis.fetch = original;
  }
});
