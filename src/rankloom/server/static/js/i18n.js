// The page in the reader's language. A message is its English text; files of messages translate it. The texts
// of index.html itself are translated by the server, which also says in `lang` which language it chose.

/** The languages by their own names; English needs no file of messages. @type {Record<string, string>} */
export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", zh: "中文" };

const COOKIE = "language";
const YEAR = 365 * 24 * 3600;

/** @param {string} name */
const bare = (name) => name.toLowerCase().split("-")[0];

/** The first wanted language that there is; English where none is. @param {readonly string[]} wanted */
export function choose(wanted) {
  return wanted.map(bare).find((name) => Object.hasOwn(LANGUAGES, name)) ?? "en";
}

/** @type {readonly string[]} */
const spoken = globalThis.navigator?.languages ?? [];

export const language = choose([globalThis.document?.documentElement.lang ?? "en", ...spoken]);

/** How dates and numbers are written: the browser's way where it speaks the page's language. */
export const locale = spoken.find((name) => bare(name) === language) ?? language;

/** What the reader chose; empty as the browser has it. */
export function chosenLanguage() {
  return new RegExp(`(?:^|; )${COOKIE}=(\\w+)`).exec(document.cookie)?.[1] ?? "";
}

/** Read the page in another language from now on; empty as the browser has it. @param {string} name */
export function speak(name) {
  document.cookie = `${COOKIE}=${name}; Path=/; SameSite=Strict; Max-Age=${name ? YEAR : 0}`;
  location.reload();
}

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
