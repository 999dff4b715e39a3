// Numbers, dates and names as people read them.

/** @import { Answer, Hit, Matched, Part } from "./types.js" */

/**
 * A table without the names that every object has: what is looked up in it may come from people.
 * @template V
 * @param {Record<string, V>} entries
 * @returns {Record<string, V>}
 */
export function table(entries) {
  return Object.assign(Object.create(null), entries);
}

/** Several things of a kind: "1 mark", "2 marks". @param {number} n @param {string} word */
export const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

/** An estimate by its first two digits. @param {number} n */
export const about = (n) => `about ${Number(n.toPrecision(2)).toLocaleString("en")}`;

/** How many results are likely right, or there at all. @param {Pick<Answer, "likely" | "total">} answer */
export const howMany = ({ likely, total }) =>
  likely === null ? count(total, "result") : `${about(likely)} likely`;

/** A number as scores are shown. @param {number} value */
export const number = (value, digits = 3) => value.toFixed(Math.abs(value) >= 100 ? 0 : digits);

/** The same with its sign. @param {number} value */
export const signed = (value, digits = 3) => (value < 0 ? "−" : "+") + number(Math.abs(value), digits);

/** How long a search took. @param {number} seconds */
export function duration(seconds) {
  return seconds < 0.1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${seconds.toFixed(1)} s`;
}

/** Seconds as 1:05. @param {number} seconds */
export function clock(seconds) {
  const full = Math.floor(seconds);
  return `${Math.floor(full / 60)}:${String(full % 60).padStart(2, "0")}`;
}

const FRAME = 1 / 25; // seconds; the frame rate of a video is not known here

/** When a shot shows its last frame: at its end the next begins. @param {number} start @param {number} end */
export const lastFrame = (start, end) => Math.max(start, end - FRAME);

/**
 * A date as people write it; the collection has "2024-05-01T10:00:00" or less.
 * @param {string | null | undefined} text
 * @param {string} [locale] the browser's unless given
 */
export function date(text, locale) {
  if (!text) return "";
  const match = /^(\d{4})-(\d{2})-(\d{2})/.exec(text);
  if (!match) return text.slice(0, 10);
  const day = new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]));
  return day.toLocaleDateString(locale, { year: "numeric", month: "short", day: "numeric" });
}

/**
 * A month as people write it: "2024-05" is May 2024.
 * @param {string} month
 * @param {boolean} [short] for little room
 * @param {string} [locale] the browser's unless given
 */
export function monthName(month, short = false, locale = undefined) {
  const [year, number] = month.split("-").map(Number);
  if (!year || !number) return "Without a date";
  const style = short ? "short" : "long";
  return new Date(year, number - 1, 1).toLocaleDateString(locale, { year: "numeric", month: style });
}

/** What stands above an item: what people wrote, else its date and file. @param {Hit} hit */
export const title = ({ caption, taken, name }) => caption || [date(taken), name].filter(Boolean).join(", ");

const READ = table({ ocr: "Text in it", speech: "Said in it", people: "Shows" });

/** What of an item was read or heard, for people. @param {Matched} matched */
export const matchedLine = ({ source, text }) => `${READ[source] ?? source}: “${text}”`;

const DESCRIPTORS = table({
  semantic: "What it shows", color_correlogram: "Colours side by side", color_layout: "Layout of colours",
  color_similarity: "Where colours are alike", spatial_color_histogram: "Colours by place",
  hsv_histogram: "Colours", color_moments: "Mean colours", edge_histogram: "Edges", hog: "Shapes",
  gist: "Scene layout", lbp: "Fine texture", gabor: "Texture", wavelet: "Wavelets",
  dense_words: "Details by place", sift_words: "Local details", text: "Words of people, read or said",
  tags: "Automatic words", faces: "Faces", perceptual_hash: "Near copies",
});
const DETAILS = table({
  l1: "sum of differences", l2: "straight distance", cosine: "proportions", chi2: "relative differences",
  intersection: "overlap", bm25: "",
});
const WORDS = table({
  "words.map": "Looks like the words", "words.classes": "Shows what the words name",
  "words.colors": "Has the colours",
});

/** An expert's name for people: its group, and how it compares. @param {string} name */
export function expertName(name) {
  if (name.startsWith("concept.")) return { group: `Concept: ${name.slice(8)}`, detail: "" };
  if (WORDS[name]) return { group: WORDS[name], detail: "" };
  const [first, ...others] = name.split("."), rest = others.join(".");
  return { group: DESCRIPTORS[first] ?? first.replaceAll("_", " "), detail: DETAILS[rest] ?? rest };
}

const KINDS = table({
  neighbour: "Its neighbours", mark: "Your marks", example: "Like your pictures",
  method: "Reranking by looks",
});
const OTHERS = table({ "nearer than the rest": "What others have too", start: "Start of the model" });

/**
 * How many results have words of the query, and that the others are a guess; nothing where no words are
 * asked for.
 * @param {{ literal: number | null, total: number }} answer
 */
export function literally({ literal, total }) {
  if (literal === null || total === 0 || literal >= total) return "";
  if (literal === 0) return "no text has these words: a guess by looks";
  const have = literal === 1 ? "has" : "have";
  return `${literal.toLocaleString("en")} ${have} these words, the others are a guess by looks`;
}

/** The group of a part of a score. @param {Part} part */
export function partGroup({ kind, name }) {
  return kind === "other" ? OTHERS[name] ?? name : KINDS[kind] ?? expertName(name).group;
}

/**
 * What falls under the same name, in order of first sight.
 * @template T
 * @param {T[]} values
 * @param {(value: T) => string} name
 * @returns {Map<string, T[]>}
 */
export function grouped(values, name) {
  const groups = new Map();
  for (const value of values) {
    const key = name(value);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(value);
  }
  return groups;
}

/** The sum of some numbers. @param {number[]} values */
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The mean of the numbers that are there; null if none is. @param {(number | null | undefined)[]} values */
export function mean(values) {
  const known = values.filter((value) => typeof value === "number");
  return known.length ? sum(known) / known.length : null;
}

/** The mean of the last `window` values, at each. @param {(number | null)[]} values @param {number} window */
export function smooth(values, window) {
  return values.map((_, i) => mean(values.slice(Math.max(0, i - window + 1), i + 1)));
}
