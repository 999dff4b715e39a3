// A query, and how it stands in the address: back, forward, reload and links just work.

import { locale, t, tn } from "./i18n.js";
import { regionFrom, regionText } from "./region.js";

/** @import { Asked, Example, Listed, Options, Query, Sort } from "./types.js" */

export const WEIGHTS = [0.25, 0.5, 1, 2, 4];
const MOST_EXAMPLES = 20;
const EXAMPLE = /^(?:i(\d{1,9})|p([\w-]{1,100}))(?:\.(\d+\.\d+\.\d+\.\d+))?(?:~(-?[\d.]+))?$/;
/** The names of filters in an address, and how they are read from it. */
const text = (/** @type {string} */ value) => value;
const whole = (/** @type {string} */ value) => (/^\d{1,15}$/.test(value) ? Number(value) : "");
const flag = (/** @type {string} */ value) => value === "1";
/** @type {[string, string, (value: string) => unknown][]} */
const FILTERS = [
  ["in", "folder", text], ["kind", "kind", text], ["after", "after", text], ["before", "before", text],
  ["text", "has_text", flag], ["stars", "stars", whole], ["tag", "tag", text], ["album", "album", whole],
  ["within", "within", text],
  ["marked", "marked", flag], ["hidden", "hidden", flag],
];
/** @type {Sort[]} */
const SORTS = ["newest", "oldest", "name", "uncertain"];

/** @returns {Query} */
export const empty = () => ({ text: "", text_weight: 1, examples: [], concept: null, filters: {} });

/** @param {unknown} value */
const given = (value) => value !== null && value !== undefined && value !== "";

/** @param {Query} query */
const unranked = (query) => !query.text.trim() && !query.examples.length && !query.concept;

/** @param {Query} query */
const filtered = (query) => Object.values(query.filters).some(given);

/** Nothing is asked for. @param {Query} query */
export const isEmpty = (query) => unranked(query) && !filtered(query);

/**
 * There is nothing to rank items by: all of them, or those that pass filters, are listed.
 * @param {Query} query
 */
export const isList = (query) => unranked(query);

/**
 * What a list asks for: its filters and its order.
 * @param {{ query: Query, sort: Sort }} state
 * @returns {Listed}
 */
export function listed({ query, sort }) {
  const filters = Object.entries(query.filters).filter(([name]) => name !== "marked"); // which is of a search
  return { ...Object.fromEntries(filters), sort: sort === "oldest" || sort === "name" ? sort : "newest" };
}

/** The order of ranked results. @param {Sort} sort */
export const rankedBy = (sort) => sort || "score";

/** The query with or without a filter. @param {Query} query @param {string} name @param {unknown} value */
export function withFilter(query, name, value) {
  const others = Object.entries(query.filters).filter(([key]) => key !== name);
  return { ...query, filters: Object.fromEntries(given(value) ? [...others, [name, value]] : others) };
}

/** The query with one more example, which it holds once. @param {Query} query @param {Example} example */
export function withExample(query, example) {
  const known = query.examples.some((other) => exampleName(other) === exampleName(example));
  return known ? query : { ...query, examples: [...query.examples, example] };
}

/** The query and the tab of an address. @param {string} search */
export function fromAddress(search) {
  const params = new URLSearchParams(search);
  const query = empty();
  query.text = params.get("q") ?? "";
  query.text_weight = bounded(params.get("w"));
  query.concept = params.get("concept");
  query.examples = params.getAll("x").slice(0, MOST_EXAMPLES).flatMap(exampleFrom);
  query.filters = Object.fromEntries(FILTERS
    .map(([key, name, read]) => [name, params.has(key) ? read(params.get(key) ?? "") : ""])
    .filter(([, value]) => given(value)));
  const sort = SORTS.find((name) => name === params.get("sort")) ?? "";
  return { query, tab: params.get("tab") ?? "search", plain: params.get("plain") === "1", sort };
}

/** @param {string} text @returns {Example[]} */
function exampleFrom(text) {
  const match = EXAMPLE.exec(text);
  if (!match) return [];
  const weight = bounded(match[4]) || 1, region = regionFrom(match[3]);
  if (match[3] && !region) return [];
  const whole = match[1] ? { item: Number(match[1]), weight } : { picture: match[2], weight };
  return [region ? { ...whole, region } : whole];
}

/** What an example is, whatever its weight. @param {Example} example */
const exampleName = ({ item, picture, region }) =>
  (item ? `i${item}` : `p${picture}`) + (region ? `.${regionText(region)}` : "");

/** @param {Example} example */
const exampleText = (example) => exampleName(example) + (example.weight === 1 ? "" : `~${example.weight}`);

/**
 * The address of a query and a tab.
 * @param {{ query: Query, tab: string, plain: boolean, sort?: Sort }} place
 */
export function toAddress({ query, tab, plain, sort = "" }) {
  const params = new URLSearchParams();
  if (query.text.trim()) params.set("q", query.text.trim());
  if (query.text_weight !== 1) params.set("w", String(query.text_weight));
  for (const example of query.examples) params.append("x", exampleText(example));
  if (query.concept) params.set("concept", query.concept);
  for (const [key, name, read] of FILTERS) {
    const value = /** @type {Record<string, unknown>} */ (query.filters)[name];
    if (given(value)) params.set(key, read === flag ? String(Number(value)) : String(value));
  }
  if (sort) params.set("sort", sort);
  if (plain) params.set("plain", "1");
  if (tab !== "search") params.set("tab", tab);
  const text = params.toString();
  return text ? `/?${text}` : "/";
}

/** What the server takes: without what is left open. @param {Query} query @returns {Query} */
export function forServer(query) {
  /** @param {Example} example */
  const bare = ({ item, picture, weight, region }) =>
    ({ ...(item ? { item } : { picture }), weight, ...(region ? { region } : {}) });
  return {
    text: query.text.trim(),
    text_weight: query.text_weight,
    examples: query.examples.map(bare),
    concept: query.concept || null,
    filters: Object.fromEntries(Object.entries(query.filters).filter(([, value]) => given(value))),
  };
}

/**
 * What every request about scores says; options that are as usual are left out.
 * @param {{ query: Query, plain: boolean, options: Options }} state
 * @returns {Asked}
 */
export function asked({ query, plain, options: { collapse, method } }) {
  return {
    query: forServer(query), diffusion: !plain, ...(collapse ? { collapse } : {}),
    ...(method === "experts" ? {} : { method }),
  };
}

/**
 * What every request about an order says.
 * @param {{ query: Query, plain: boolean, options: Options }} state
 * @returns {Asked & { diversity?: number }}
 */
export function arranged(state) {
  const { diversity } = state.options;
  return { ...asked(state), ...(diversity ? { diversity } : {}) };
}

/** A query as the server sends it, e.g. a saved one. @param {Partial<Query>} sent @returns {Query} */
export function fromServer(sent) {
  const examples = (sent.examples ?? []).map((example) => ({ ...example, weight: example.weight ?? 1 }));
  return { ...empty(), ...sent, examples, filters: sent.filters ?? {} };
}

/** A query in words. @param {Query} query */
export function inWords(query) {
  const parts = [];
  if (query.text.trim()) parts.push(t("“{text}”", { text: query.text.trim() }));
  if (query.examples.length) parts.push(tn(query.examples.length, "a picture", "{n} pictures"));
  if (query.concept) parts.push(t("the concept {name}", { name: query.concept }));
  if (!parts.length) return filtered(query) ? t("the filters") : t("everything");
  return new Intl.ListFormat(locale).format(parts);
}

/**
 * What is typed in two parts: the word at the end, if one ends it, and what is before it.
 * @param {string} text
 */
export function lastWord(text) {
  const word = /[\p{L}\p{M}\p{N}'’-]*$/u.exec(text)?.[0].replace(/^[-'’]+/, "") ?? "";
  return { before: text.slice(0, text.length - word.length), word };
}

/** What is typed with another word at its end. @param {string} text @param {string} word */
export const withLastWord = (text, word) => lastWord(text).before + word;

/**
 * What is typed without a name that was chosen from it: all of it, or the word at its end.
 * @param {string} text
 * @param {string} name
 */
export function withoutName(text, name) {
  if (name.toLowerCase().includes(text.trim().toLowerCase())) return "";
  return lastWord(text).before.replace(/[\s"“”-]+$/u, "");
}

/** A weight between -10 and 10; 1 where the text is none. @param {string | null | undefined} text */
function bounded(text) {
  if (text === null || text === undefined || !Number.isFinite(Number(text))) return 1;
  return Math.max(-10, Math.min(10, Number(text)));
}

/** A key of a query: equal for queries that the server takes for the same. @param {Query} query */
export const queryKey = (query) => JSON.stringify(forServer(query));
