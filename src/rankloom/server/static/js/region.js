// A part of a picture: left, top, right and bottom as shares of its width and height. Numbers alone.

/** @import { Region } from "./types.js" */
/** @typedef {{ x: number, y: number }} Share of the width and the height */

const LEAST = 0.02; // of a side
const THOUSAND = 1000; // an address holds thousandths

/** What the keys begin with: the middle. @type {Region} */
export const MIDDLE = [0.25, 0.25, 0.75, 0.75];

/** @param {number} value */
const share = (value) => Math.max(0, Math.min(1, value));
/** @param {number} value */
const rounded = (value) => Math.round(value * THOUSAND) / THOUSAND;

/** A stretch between two shares that is not too short. @param {number} a @param {number} b */
function stretch(a, b) {
  const low = Math.min(share(a), share(b)), high = Math.max(share(a), share(b));
  if (high - low >= LEAST) return [rounded(low), rounded(high)];
  const from = Math.min(low, 1 - LEAST);
  return [rounded(from), rounded(from + LEAST)];
}

/** The part between two corners. @param {Share} a @param {Share} b @returns {Region} */
export function between(a, b) {
  const [left, right] = stretch(a.x, b.x), [top, bottom] = stretch(a.y, b.y);
  return [left, top, right, bottom];
}

/** The same part elsewhere, inside the picture. @param {Region} region @param {Share} by @returns {Region} */
export function moved([left, top, right, bottom], { x, y }) {
  const dx = Math.max(-left, Math.min(1 - right, x)), dy = Math.max(-top, Math.min(1 - bottom, y));
  return between({ x: left + dx, y: top + dy }, { x: right + dx, y: bottom + dy });
}

/** The part with its right and lower sides elsewhere. @param {Region} region @param {Share} by */
export function resized([left, top, right, bottom], { x, y }) {
  return between({ x: left, y: top },
    { x: Math.max(left + LEAST, right + x), y: Math.max(top + LEAST, bottom + y) });
}

/** Whether a part holds a point. @param {Region} region @param {Share} at */
export const holds = ([left, top, right, bottom], { x, y }) =>
  x >= left && x <= right && y >= top && y <= bottom;

/** The corners, each with the one that lies across. @param {Region} region */
export function corners([left, top, right, bottom]) {
  return [[left, top], [right, top], [right, bottom], [left, bottom]].map(([x, y]) => ({
    at: { x, y }, across: { x: left + right - x, y: top + bottom - y },
  }));
}

/** A part as it stands in an address: "100.200.500.600". @param {Region} region */
export const regionText = (region) => region.map((value) => Math.round(value * THOUSAND)).join(".");

/** A part of an address, if it is one. @param {string | undefined} text @returns {Region | null} */
export function regionFrom(text) {
  const [left, top, right, bottom] = (text ?? "").split(".").map((value) => Number(value) / THOUSAND);
  const known = left >= 0 && left < right && right <= 1 && top >= 0 && top < bottom && bottom <= 1;
  return known ? [left, top, right, bottom] : null;
}
