// What is searched for, and how it stands in the address: back, forward, reload and links just work.

const FILTERS = { in: "folder", kind: "kind", after: "after", before: "before" };
export const WEIGHTS = [0.25, 0.5, 1, 2, 4];

/** A query without anything. */
export const empty = () => ({ text: "", text_weight: 1, examples: [], concept: null, filters: {} });

const unranked = (query) => !query.text.trim() && !query.examples.length && !query.concept;
const filtered = (query) => Object.values(query.filters).some((value) => value !== null && value !== undefined && value !== "");

/** Nothing is asked for. */
export const isEmpty = (query) => unranked(query) && !filtered(query);

/** Filters alone: items are listed by date, there is nothing to rank them by. */
export const isList = (query) => unranked(query) && filtered(query);

/** The query and the tab of an address. */
export function fromAddress(search) {
  const params = new URLSearchParams(search);
  const query = empty();
  query.text = params.get("q") ?? "";
  query.text_weight = finite(params.get("w"), 1);
  query.concept = params.get("concept");
  for (const text of params.getAll("x").slice(0, 20)) {
    const found = /^(?:i(\d{1,9})|p([\w-]{1,100}))(?:~(-?[\d.]+))?$/.exec(text);
    if (!found) continue;
    const weight = finite(found[3], 1) || 1;
    query.examples.push(found[1] ? { item: Number(found[1]), weight } : { picture: found[2], weight });
  }
  for (const [key, name] of Object.entries(FILTERS)) if (params.get(key)) query.filters[name] = params.get(key);
  if (params.has("text")) query.filters.has_text = params.get("text") === "1";
  return { query, tab: params.get("tab") ?? "search", plain: params.get("plain") === "1" };
}

/** The address of a query and a tab. */
export function toAddress({ query, tab, plain }) {
  const params = new URLSearchParams();
  if (query.text.trim()) params.set("q", query.text.trim());
  if (query.text_weight !== 1) params.set("w", query.text_weight);
  for (const one of query.examples) {
    const weight = one.weight === 1 ? "" : `~${one.weight}`;
    params.append("x", (one.item ? `i${one.item}` : `p${one.picture}`) + weight);
  }
  if (query.concept) params.set("concept", query.concept);
  for (const [key, name] of Object.entries(FILTERS)) if (query.filters[name]) params.set(key, query.filters[name]);
  if (query.filters.has_text !== undefined && query.filters.has_text !== null) params.set("text", query.filters.has_text ? "1" : "0");
  if (plain) params.set("plain", "1");
  if (tab !== "search") params.set("tab", tab);
  const text = params.toString();
  return text ? `/?${text}` : "/";
}

/** What the server takes: without what is left open. */
export function forServer(query) {
  const filters = Object.fromEntries(Object.entries(query.filters).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  return { text: query.text.trim(), text_weight: query.text_weight, examples: query.examples.map(({ item, picture, weight }) => (item ? { item, weight } : { picture, weight })), concept: query.concept || null, filters };
}

/** A query as the server sends it, e.g. a saved one. */
export function fromServer(found) {
  return { ...empty(), ...found, examples: (found.examples ?? []).map((one) => ({ weight: 1, ...one })), filters: found.filters ?? {} };
}

/** A query in words. */
export function inWords(query) {
  const parts = [];
  if (query.text.trim()) parts.push(`“${query.text.trim()}”`);
  if (query.examples.length) parts.push(query.examples.length === 1 ? "a picture" : `${query.examples.length} pictures`);
  if (query.concept) parts.push(`the concept ${query.concept}`);
  return parts.join(" and ") || (isList(query) ? "the filters" : "nothing yet");
}

const finite = (text, otherwise) => (text !== null && text !== undefined && Number.isFinite(Number(text)) ? Math.max(-10, Math.min(10, Number(text))) : otherwise);
