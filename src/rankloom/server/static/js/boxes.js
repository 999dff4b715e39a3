// Where text was read and faces are: boxes over a picture.

import { s } from "./dom.js";
import { locale, t, tn } from "./i18n.js";

/** @import { Box, Hit } from "./types.js" */

/** The kinds of boxes: their buttons, and how many of them are named. */
export const KINDS = [
  {
    kind: "ocr", symbol: "text", key: "T", button: (/** @type {number} */ n) => t("Text {n}", { n }),
    help: t("Show where the lines of text are"),
    count: (/** @type {number} */ n) => tn(n, "{n} line of text", "{n} lines of text"),
  },
  {
    kind: "face", symbol: "face", key: "F", button: (/** @type {number} */ n) => t("Faces {n}", { n }),
    help: t("Show where the faces are"), count: (/** @type {number} */ n) => tn(n, "{n} face", "{n} faces"),
  },
];

/** How many boxes there are, in words: "2 lines of text, 1 face". @param {Box[]} boxes */
export function tally(boxes) {
  const said = KINDS.flatMap(({ kind, count }) => {
    const n = boxes.filter((box) => box.kind === kind).length;
    return n ? [count(n)] : [];
  });
  return new Intl.ListFormat(locale, { type: "unit" }).format(said);
}

/**
 * Boxes as a drawing that fits the picture as the picture fits its frame.
 * @param {Hit} hit
 * @param {Box[]} boxes
 */
export function overlay({ width, height }, boxes) {
  const rects = boxes.map((box) => s("rect", {
    class: box.kind, x: box.left * width, y: box.top * height, width: box.width * width,
    height: box.height * height, rx: Math.min(width, height) / 150,
  }, box.text ? s("title", {}, box.text) : null));
  return s("svg", {
    class: "boxes", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": t("Marked: {things}", { things: tally(boxes) }),
  }, rects);
}
