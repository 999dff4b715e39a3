// Every text of the page in every language: nothing is missing, nothing is left over, no value is lost.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { LANGUAGES } from "#page/i18n.js";

const PAGE = new URL("../../../src/rankloom/server/static/", import.meta.url);
const MODULES = readdirSync(new URL("js/", PAGE)).filter((name) => /^(?!i18n).*\.js$/.test(name));
const LITERAL = /\s*("(?:[^"\\]|\\.)*")\s*/y;

/** @param {string} name */
const read = (name) => readFileSync(new URL(name, PAGE), "utf8");

/**
 * The text that is written out at a place, in one piece or several, and where it ends.
 * @param {string} source
 * @param {number} start
 */
function written(source, start) {
  let text = "", end = start;
  do {
    LITERAL.lastIndex = end;
    const literal = LITERAL.exec(source);
    if (!literal) return null;
    text += JSON.parse(literal[1]);
    end = LITERAL.lastIndex;
  } while (source[end++] === "+");
  return { text, end: end - 1 };
}

/** Where an argument ends. @param {string} source @param {number} start */
function argumentEnd(source, start) {
  let depth = 0, at = start;
  for (; depth > 0 || source[at] !== ","; at += 1) depth += { "(": 1, ")": -1 }[source[at]] ?? 0;
  return at;
}

/** The texts of a module: of each, whether it stands for one of several things. @param {string} name */
function textsOf(name) {
  const source = read(`js/${name}`);
  return [...source.matchAll(/(?<![\w.$])(tn?)\(/g)].flatMap((call) => {
    const several = call[1] === "tn", begin = call.index + call[0].length;
    const line = `${name}:${source.slice(0, begin).split("\n").length}`;
    const first = written(source, several ? argumentEnd(source, begin) + 1 : begin);
    assert.ok(first && ",)".includes(source[first.end]), `${line}: a text is written out where it is used`);
    if (!several) return [{ text: first.text, singular: false }];
    const second = written(source, first.end + 1);
    assert.ok(second && ",)".includes(source[second.end]), `${line}: both texts are written out`);
    return [{ text: first.text, singular: true }, { text: second.text, singular: false }];
  });
}

/** The texts of index.html, as languages.py finds them. */
function staticTexts() {
  const marked = [...read("index.html").matchAll(/(<[a-z0-9]+\b[^>]*?)\sdata-t(?=[\s>])([^>]*>)([^<]*)/g)];
  const label = /\s(?:aria-label|placeholder|title)="([^"]*)"/g;
  return marked.flatMap(([, before, after, text]) =>
    [text, ...[...(before + after).matchAll(label)].map(([, value]) => value)])
    .map((text) => text.trim().replaceAll("&amp;", "&")).filter(Boolean)
    .map((text) => ({ text, singular: false }));
}

/** Every text, and whether it only ever stands for one of several things. @type {Map<string, boolean>} */
const TEXTS = new Map();
for (const { text, singular } of [...staticTexts(), ...MODULES.flatMap(textsOf)]) {
  TEXTS.set(text, singular && (TEXTS.get(text) ?? true));
}

/** @param {string} text */
const values = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort().join();

test("the texts of the page are found", () => assert.ok(TEXTS.size > 200));

for (const language of Object.keys(LANGUAGES).filter((name) => name !== "en")) {
  /** @type {Record<string, string>} */
  const messages = JSON.parse(read(`messages/${language}.json`));
  const plural = new Intl.PluralRules(language).resolvedOptions().pluralCategories.includes("one");
  const wanted = [...TEXTS].filter(([, singular]) => plural || !singular).map(([text]) => text);

  test(`${language} has every text, and no other`, () => {
    assert.deepEqual(wanted.filter((text) => !messages[text]), [], "missing");
    assert.deepEqual(Object.keys(messages).filter((text) => !wanted.includes(text)), [], "left over");
  });

  test(`${language} keeps the values of every text`, () => {
    const wrong = Object.entries(messages).filter(([text, message]) => values(text) !== values(message));
    assert.deepEqual(wrong, []);
  });
}
