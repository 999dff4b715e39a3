// The page in the reader's language. A message is its English text; files of messages translate it.

/** The languages with a file of messages beside English, which needs none. */
export const LANGUAGES = ["en", "de", "fr", "es", "zh"];

/** The first wanted language that there is; English where none is. @param {readonly string[]} wanted */
export function choose(wanted) {
  const names = wanted.map((name) => name.toLowerCase().split("-")[0]);
  return names.find((name) => LANGUAGES.includes(name)) ?? "en";
}

/** @returns {readonly string[]} */
function wanted() {
  const chosen = globalThis.localStorage?.getItem("language");
  return [...(chosen ? [chosen] : []), ...(globalThis.navigator?.languages ?? [])];
}

export const language = choose(wanted());

/** How dates and numbers are written: the browser's way where it speaks the page's language. */
export const locale = wanted().find((name) => choose([name]) === language) ?? language;

/** @type {Record<string, string>} */
const messages = Object.assign(Object.create(null), language === "en" ? {} : await load(language));

/**
 * The messages of a language; without them the page stays English.
 * @param {string} name
 * @returns {Promise<Record<string, string>>}
 */
async function load(name) {
  try {
    const answer = await fetch(new URL(`../messages/${name}.json`, import.meta.url));
    return answer.ok ? await answer.json() : {};
  } catch {
    return {};
  }
}

/**
 * A text in the reader's language: t("Shot from {start} to {end}", { start, end }).
 * @param {string} text in English, written out where it is used: so a check finds it
 * @param {Record<string, string | number>} [values] for what stands in braces; numbers as readers write them
 */
export function t(text, values = {}) {
  return (messages[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return typeof value === "number" ? value.toLocaleString(locale) : value ?? whole;
  });
}

/**
 * Several things: tn(n, "{n} mark", "{n} marks"). A language without a plural has one message for both.
 * @param {number} n
 * @param {string} one
 * @param {string} many
 * @param {Record<string, string | number>} [values] beside n
 */
export function tn(n, one, many, values = {}) {
  const singular = new Intl.PluralRules(language).select(n) === "one";
  return t(singular ? one : many, { n, ...values });
}
