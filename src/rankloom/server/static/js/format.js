// Numbers, dates and names as people read them.

import { locale, t, tn } from "./i18n.js";

/** @import { Answer, Hit, Matched, Part, Sort } from "./types.js" */

/**
 * A table without the names that every object has: what is looked up in it may come from people.
 * @template V
 * @param {Record<string, V>} entries
 * @returns {Record<string, V>}
 */
export function table(entries) {
  return Object.assign(Object.create(null), entries);
}

/** An estimate by its first two digits. @param {number} n */
export const about = (n) => t("about {n}", { n: Number(n.toPrecision(2)) });

/**
 * How many results are likely right, or have the words; else how many items were put into an order. Another
 * order is that of the best results alone.
 * @param {Pick<Answer, "likely" | "total" | "in_texts">} answer
 * @param {Sort} [sort]
 */
export function howMany({ likely, total, in_texts: written }, sort = "") {
  if (sort === "uncertain") return tn(total, "{n} item", "{n} items");
  if (sort) return tn(total, "the best result", "the {n} best results");
  if (likely !== null) return t("{about} likely", { about: about(likely) });
  if (written) return tn(written, "{n} has these words", "{n} have these words");
  return total ? tn(total, "{n} item, best first", "{n} items, best first") : tn(0, "{n} item", "{n} items");
}

/** @type {Map<number, Intl.NumberFormat>} */
const formats = new Map();

/** How numbers with so many digits behind the point are written. @param {number} digits */
function plain(digits) {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false };
  const format = formats.get(digits) ?? new Intl.NumberFormat(locale, options);
  formats.set(digits, format);
  return format;
}

/** A number as scores are shown. @param {number} value */
export const number = (value, digits = 3) => plain(Math.abs(value) >= 100 ? 0 : digits).format(value);

/** The same with its sign. @param {number} value */
export const signed = (value, digits = 3) => (value < 0 ? "−" : "+") + number(Math.abs(value), digits);

/** How long a search took. @param {number} seconds */
export function duration(seconds) {
  return seconds < 0.1 ? t("{n} ms", { n: Math.max(1, Math.round(1000 * seconds)) })
    : t("{n} s", { n: number(seconds, 1) });
}

/** Bytes as people read them. @param {number} bytes */
export const fileSize = (bytes) => (bytes < 999_500
  ? t("{n} kB", { n: Math.max(1, Math.round(bytes / 1e3)) })
  : t("{n} MB", { n: Number((bytes / 1e6).toFixed(bytes < 9.95e6 ? 1 : 0)) }));

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
 * @param {string} [written] how dates are written: as the reader does unless given
 */
export function date(text, written = locale) {
  if (!text) return "";
  const match = /^(\d{4})-(\d{2})-(\d{2})/.exec(text);
  if (!match) return text.slice(0, 10);
  const day = new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]));
  return day.toLocaleDateString(written, { year: "numeric", month: "short", day: "numeric" });
}

/**
 * A month as people write it: "2024-05" is May 2024.
 * @param {string} month
 * @param {boolean} [short] for little room
 * @param {string} [written] how dates are written: as the reader does unless given
 */
export function monthName(month, short = false, written = locale) {
  const [year, number] = month.split("-").map(Number);
  if (!year || !number) return t("Without a date");
  const style = short ? "short" : "long";
  return new Date(year, number - 1, 1).toLocaleDateString(written, { year: "numeric", month: style });
}

/** @param {number} degrees @param {number} digits */
const degreesText = (degrees, digits) =>
  Math.abs(degrees).toLocaleString(locale, { maximumFractionDigits: digits });

/** A latitude as people write it; the equator is neither north nor south. @param {number} latitude */
export function latitudeText(latitude, digits = 3) {
  const degrees = degreesText(latitude, digits);
  if (latitude === 0) return `${degrees}°`;
  return latitude < 0 ? t("{degrees}° S", { degrees }) : t("{degrees}° N", { degrees });
}

/** A longitude likewise; 0° and 180° are neither east nor west. @param {number} longitude */
export function longitudeText(longitude, digits = 3) {
  const degrees = degreesText(longitude, digits);
  if (longitude % 180 === 0) return `${degrees}°`;
  return longitude < 0 ? t("{degrees}° W", { degrees }) : t("{degrees}° E", { degrees });
}

/** A place as people write it. @param {number} latitude @param {number} longitude */
export const coordinates = (latitude, longitude) => `${latitudeText(latitude)}, ${longitudeText(longitude)}`;

/** What stands above an item: what people wrote, else its date and file. @param {Hit} hit */
export const title = ({ caption, taken, name }) => caption || [date(taken), name].filter(Boolean).join(", ");

const READ = table({ ocr: t("Text in it"), speech: t("Said in it"), people: t("Shows") });

/** What of an item was read or heard, for people. @param {Matched} matched */
export const matchedLine = ({ source, text }) =>
  t("{source}: “{text}”", { source: READ[source] ?? source, text });

const DESCRIPTORS = table({
  semantic: t("What it shows"), color_correlogram: t("Colours side by side"),
  color_layout: t("Layout of colours"), color_similarity: t("Where colours are alike"),
  spatial_color_histogram: t("Colours by place"), hsv_histogram: t("Colours"),
  color_moments: t("Mean colours"), edge_histogram: t("Edges"), hog: t("Shapes"), gist: t("Scene layout"),
  lbp: t("Fine texture"), gabor: t("Texture"), wavelet: t("Wavelets"), dense_words: t("Details by place"),
  sift_words: t("Local details"), text: t("Words of people, read or said"), tags: t("Automatic words"),
  faces: t("Faces"), perceptual_hash: t("Near copies"),
});
const DETAILS = table({
  l1: t("sum of differences"), l2: t("straight distance"), cosine: t("proportions"),
  chi2: t("relative differences"), intersection: t("overlap"), bm25: "",
});
const WORDS = table({
  "words.map": t("Looks like the words"), "words.classes": t("Shows what the words name"),
  "words.colors": t("Has the colours"),
});

/** An expert's name for people: its group, and how it compares. @param {string} name */
export function expertName(name) {
  if (name.startsWith("concept.")) {
    return { group: t("Concept: {name}", { name: name.slice(8) }), detail: "" };
  }
  if (WORDS[name]) return { group: WORDS[name], detail: "" };
  const [first, ...others] = name.split("."), rest = others.join(".");
  return { group: DESCRIPTORS[first] ?? first.replaceAll("_", " "), detail: DETAILS[rest] ?? rest };
}

const KINDS = table({
  neighbour: t("Its neighbours"), mark: t("Your marks"), example: t("Like your pictures"),
  method: t("Reranking by looks"),
});
const OTHERS = table({
  "nearer than the rest": t("What others have too"), start: t("Start of the model"),
});

/**
 * How many results have the words of the query by automatic tags, and what the others are; nothing where no
 * words are asked for.
 * @param {Pick<Answer, "likely" | "literal" | "in_texts" | "in_tags" | "total">} answer
 * @returns {string[]}
 */
export function literally({ likely, literal, in_texts: written, in_tags: tagged, total }) {
  if (literal === null || written === null || tagged === null || total === 0) return [];
  if (literal === 0) return [t("no text has these words: a guess by looks")];
  const whole = written + tagged;
  return [
    written && likely !== null ? tn(written, "{n} has these words", "{n} have these words") : "",
    tagged && written ? t("{n} more by automatic tags", { n: tagged }) : "",
    tagged && !written
      ? tn(tagged, "{n} has these words as automatic tags", "{n} have these words as automatic tags") : "",
    whole === 0 ? t("none has all these words") : "",
    literal > whole ? tn(literal - whole, "{n} has some of them", "{n} have some of them") : "",
    literal < total ? t("the others are a guess by looks") : "",
  ].filter(Boolean);
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
