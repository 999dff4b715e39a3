// Where results stand: rows that fill the width, in which pictures share one height; or squares by month.

import { t } from "./i18n.js";

/** @import { Group, Hit, Row } from "./types.js" */

const CAPTION = 46;
const GAP = 14;
const DIVIDER = 64;
const MONTH = 52;
const SQUARE_GAP = 6;
const ENDED = t("From here on it is probably something else");

/** Whether a row is a line of text. @param {Row} row */
export const isText = (row) => row.first === row.end;

/** @typedef {{ width: number, height: number } | undefined} Shape of a result, if it is known */

/** Width by height of a picture as it is shown. @param {Shape} hit */
export const ratio = (hit) => !hit ? 1 : Math.max(0.55, Math.min(2.2, (hit.width || 4) / (hit.height || 3)));

/**
 * The rows of results, with a divider where `cutoff` says that something else begins.
 * @param {Shape[]} hits
 * @param {{ width: number, target: number, cutoff: number | null, letters?: number }} options where
 *   `letters` says how large those of the reader are, 1 as usual
 */
export function layOut(hits, { width, target, cutoff, letters = 1 }) {
  /** @type {Row[]} */
  const rows = [];
  let top = 0, first = 0, ratios = 0;
  /** @param {number} height @param {Omit<Row, "top" | "height">} row */
  const push = (height, row) => {
    rows.push({ top, height, ...row });
    top += height + GAP;
  };
  /** @param {number} end @param {boolean} full */
  const close = (end, full) => {
    const space = width - GAP * (end - first - 1);
    const fitting = space / ratios; // not rounded: rows would end unevenly
    const picture = full ? fitting : Math.min(target, fitting);
    push(Math.ceil(picture) + Math.round(CAPTION * letters), { picture, first, end });
    first = end;
    ratios = 0;
  };
  hits.forEach((hit, index) => {
    if (index === cutoff && index > 0) {
      if (index > first) close(index, false);
      push(DIVIDER * letters, { picture: 0, first: index, end: index, title: ENDED });
    }
    ratios += ratio(hit);
    if (ratios * target + GAP * (index - first) >= width) close(index + 1, true);
  });
  if (first < hits.length) close(hits.length, false);
  return { rows, height: Math.max(0, top - GAP) };
}

/**
 * The rows of a listing: squares below the names of their months; short months share a row. How many items
 * each has is all that must be known.
 * @param {Group[]} groups
 * @param {{ width: number, target: number, letters?: number }} options as of `layOut`
 */
export function layOutGroups(groups, { width, target, letters = 1 }) {
  /** @type {Row[]} */
  const rows = [];
  const columns = Math.max(3, Math.floor((width + SQUARE_GAP) / (target + SQUARE_GAP)));
  const picture = Math.floor((width - SQUARE_GAP * (columns - 1)) / columns);
  let top = 0, first = 0;
  /** @param {{ month: string, column: number }[]} months @param {number} size */
  const push = (months, size) => {
    if (groups.length > 1 || months[0].month) {
      rows.push({ top, height: MONTH * letters, picture, first, end: first, months });
      top += MONTH * letters;
    }
    for (const last = first + size; first < last;) {
      const end = Math.min(first + columns, last);
      rows.push({ top, height: picture, picture, first, end, square: true });
      top += picture + SQUARE_GAP;
      first = end;
    }
  };
  for (let i = 0; i < groups.length;) {
    let { size } = groups[i];
    const months = [{ month: groups[i].month, column: 0 }];
    for (i += 1; i < groups.length && size + groups[i].size <= columns; i += 1) {
      months.push({ month: groups[i].month, column: size });
      size += groups[i].size;
    }
    push(months, size);
  }
  return { rows, height: Math.max(0, top - SQUARE_GAP) };
}

/** The first row that ends below `y`; the last one if none does. @param {Row[]} rows @param {number} y */
export function rowAt(rows, y) {
  let low = 0, high = rows.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].top + rows[middle].height < y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The row of a result; -1 if it has none. @param {Row[]} rows @param {number} index */
export function rowOf(rows, index) {
  let low = 0, high = rows.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].end <= index) low = middle + 1;
    else high = middle;
  }
  return rows.length && index >= rows[low].first && index < rows[low].end ? low : -1;
}

/** Whether a row stands where it stood, with the same results. @param {Row} [a] @param {Row} [b] */
export function sameRow(a, b) {
  return a !== undefined && b !== undefined && a.top === b.top && a.height === b.height && a.first === b.first
    && a.end === b.end && a.picture === b.picture;
}

/**
 * The result above (-1) or below (1) whose middle is nearest; the same where there is no such row.
 * @param {Shape[]} hits
 * @param {Row[]} rows
 * @param {number} index
 * @param {-1 | 1} step
 */
export function vertical(hits, rows, index, step) {
  const own = rows[rowOf(rows, index)];
  let i = rowOf(rows, index) + step;
  while (rows[i] && isText(rows[i])) i += step;
  const row = rows[i];
  if (!row || !own) return index;
  const distance = (/** @type {number} */ j) => Math.abs(middle(hits, row, j) - middle(hits, own, index));
  let nearest = row.first;
  for (let j = row.first; j < row.end; j += 1) if (distance(j) < distance(nearest)) nearest = j;
  return nearest;
}

/** The width of a result in its row. @param {Row} row @param {Shape} hit */
export const widthOf = (row, hit) => (row.square ? row.picture : row.picture * ratio(hit));

/** @param {Shape[]} hits @param {Row} row @param {number} index */
function middle(hits, row, index) {
  let left = 0;
  for (let j = row.first; j < index; j += 1) left += widthOf(row, hits[j]) + (row.square ? SQUARE_GAP : GAP);
  return left + widthOf(row, hits[index]) / 2;
}

/** Where a column of squares begins. @param {Row} row @param {number} column */
export const columnAt = (row, column) => column * (row.picture + SQUARE_GAP);

/**
 * How many results moved up and down between two orders.
 * @param {(Hit | undefined)[]} before
 * @param {Hit[]} after
 */
export function moves(before, after) {
  const ranks = new Map(before.flatMap((hit) => (hit ? [[hit.id, hit.rank]] : [])));
  const steps = after.map((hit) => (ranks.get(hit.id) ?? hit.rank) - hit.rank);
  return { up: steps.filter((step) => step > 0).length, down: steps.filter((step) => step < 0).length };
}
