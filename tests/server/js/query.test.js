import assert from "node:assert/strict";
import { test } from "node:test";

import { usual } from "#page/advanced.js";
import {
  arranged, asked, empty, forServer, fromAddress, fromServer, inWords, isEmpty, isList, lastWord, listed,
  toAddress, withExample, withFilter, withLastWord, withoutName,
} from "#page/query.js";

const ADDRESSES = [
  "/",
  "/?q=sea",
  "/?q=red+boat&w=2&x=i3&x=i9%7E-0.5&x=pabc_1-2%7E4&concept=harbour",
  "/?in=a%2Fb&kind=shot&after=2024-05&before=30d&text=0",
  "/?q=sea&text=1&plain=1&tab=models",
  "/?stars=4&tag=my+garden&album=12&hidden=1&sort=oldest",
  "/?q=sea&marked=0&sort=name",
  "/?q=sea&sort=uncertain",
  "/?x=i3.100.200.500.1000&x=i3&x=pabc-1_2.0.0.500.500%7E-2",
];

for (const address of ADDRESSES) {
  test(`the address ${address} survives`, () => {
    assert.equal(toAddress(fromAddress(address.slice(1))), address);
  });
}

test("what is wrong in an address is left out", () => {
  const { query, tab, plain } = fromAddress(
    "?w=many&x=i&x=i1~x&x=../etc&x=i7.5.5.1.1&x=i7.1.2.3&x=i7~0&x=i8~99&kind=&tab=search&album=1e9"
      + "&stars=-1&sort=size",
  );
  assert.deepEqual(query, { ...empty(), examples: [{ item: 7, weight: 1 }, { item: 8, weight: 10 }] });
  assert.equal(tab, "search");
  assert.equal(plain, false);
});

test("an address holds at most twenty examples", () => {
  const many = Array.from({ length: 30 }, (_, i) => `x=i${i + 1}`).join("&");
  assert.equal(fromAddress(`?${many}`).query.examples.length, 20);
});

test("without words and examples there is a list: of everything, or of what passes filters", () => {
  const filtered = withFilter(empty(), "kind", "shot");
  assert.deepEqual([isEmpty(empty()), isList(empty())], [true, true]);
  assert.deepEqual([isEmpty(filtered), isList(filtered)], [false, true]);
  assert.equal(isList({ ...filtered, text: "sea" }), false);
  const query = withFilter(filtered, "marked", false);
  assert.deepEqual(listed({ query, sort: "" }), { kind: "shot", sort: "newest" });
  assert.equal(isEmpty({ ...empty(), text: "  " }), true);
});

test("a filter is set and taken away", () => {
  const without = withFilter(empty(), "has_text", false);
  assert.deepEqual(without.filters, { has_text: false });
  assert.deepEqual(withFilter(without, "has_text", "").filters, {});
  assert.deepEqual(empty().filters, {});
});

test("an example is held once", () => {
  const query = withExample(empty(), { item: 3, weight: 1 });
  assert.equal(withExample(query, { item: 3, weight: 2 }), query);
  assert.equal(withExample(query, { picture: "a", weight: 1 }).examples.length, 2);
});

test("the server gets what is given, and no more", () => {
  const query = {
    ...empty(), text: " sea ", examples: [{ item: 3, weight: 2 }], filters: { kind: "", has_text: false },
  };
  assert.deepEqual(forServer(query), {
    text: "sea", text_weight: 1, examples: [{ item: 3, weight: 2 }], concept: null,
    filters: { has_text: false },
  });
  const state = { query, plain: true, options: usual() };
  assert.deepEqual(asked(state), { query: forServer(query), diffusion: false });
  const options = { diversity: 0.3, collapse: true, method: "smooth", against: null };
  const chosen = { query: forServer(query), diffusion: false, collapse: true, method: "smooth" };
  assert.deepEqual(asked({ ...state, options }), chosen);
  assert.deepEqual(arranged({ ...state, options }), { ...chosen, diversity: 0.3 });
});

test("a saved query is completed", () => {
  const saved = JSON.parse('{"text": "sea", "examples": [{"item": 3}]}');
  assert.deepEqual(fromServer(saved), { ...empty(), text: "sea", examples: [{ item: 3, weight: 1 }] });
});

test("a query in words", () => {
  assert.equal(inWords(empty()), "everything");
  assert.equal(inWords(withFilter(empty(), "kind", "shot")), "the filters");
  const examples = [{ item: 1, weight: 1 }];
  assert.equal(inWords({ ...empty(), text: " sea ", examples }), "“sea” and a picture");
  const query = { ...empty(), examples: [...examples, ...examples], concept: "harbour" };
  assert.equal(inWords(query), "2 pictures and the concept harbour");
});

test("a suggestion takes the place of the word that is typed", () => {
  assert.deepEqual(lastWord("red lig"), { before: "red ", word: "lig" });
  assert.deepEqual(lastWord("red -lig"), { before: "red -", word: "lig" });
  assert.deepEqual(lastWord('"old tow'), { before: '"old ', word: "tow" });
  assert.deepEqual(lastWord("red "), { before: "red ", word: "" });
  assert.equal(withLastWord("red -été", "étés"), "red -étés");
  assert.equal(withoutName("summer in", "Summer in Rome"), "");
  assert.equal(withoutName("red Rom", "Summer in Rome"), "red");
  assert.equal(withoutName("red -Rom", "Rome"), "red");
});

test("a part of an item is an example of its own", () => {
  /** @type {[number, number, number, number]} */
  const region = [0.1, 0.2, 0.5, 1];
  const whole = withExample(empty(), { item: 3, weight: 1 });
  const both = withExample(whole, { item: 3, weight: 1, region });
  assert.equal(both.examples.length, 2);
  assert.equal(withExample(both, { item: 3, weight: 2, region }), both);
  assert.deepEqual(forServer(both).examples, [{ item: 3, weight: 1 }, { item: 3, weight: 1, region }]);
});
