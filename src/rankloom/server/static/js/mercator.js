// The map's mathematics: Mercator's projection onto a square with sides of 1, and parts of it on a screen.

/** The middle of what is seen, and the pixels that the world is wide. */
/** @typedef {{ x: number, y: number, scale: number }} View */
/** Degrees; longitudes may go on beyond 180. */
/** @typedef {{ west: number, south: number, east: number, north: number }} Box */

export const HIGHEST = 85.0511; // degrees, where the square ends
export const LARGEST = 256 * 2 ** 14; // pixels that the world may be wide: one is about 10 m
const CELL = 84; // pixels that a cell of the grid has at least
const STEPS = [90, 30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const KM = 40_075; // around the equator

/** @param {number} longitude */
export const toX = (longitude) => (longitude + 180) / 360;

/** @param {number} latitude */
export function toY(latitude) {
  const angle = (Math.max(-HIGHEST, Math.min(HIGHEST, latitude)) * Math.PI) / 180;
  return (1 - Math.asinh(Math.tan(angle)) / Math.PI) / 2;
}

/** @param {number} x */
export const toLongitude = (x) => x * 360 - 180;

/** @param {number} y */
export const toLatitude = (y) => (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI;

/**
 * A view that shows the world where it is: not smaller than the window, nor beyond its ends.
 * @param {View} view @param {number} width @param {number} height
 * @returns {View}
 */
export function bounded({ x, y, scale }, width, height) {
  const size = Math.max(width, Math.min(LARGEST, scale));
  const half = Math.min(0.5, height / size / 2);
  return { x: x - Math.floor(x), y: Math.max(half, Math.min(1 - half, y)), scale: size };
}

/** The view that holds a box. @param {Box} box @param {number} width @param {number} height */
export function viewOf({ west, south, east, north }, width, height) {
  const left = toX(west), right = toX(east < west ? east + 360 : east);
  const top = toY(north), bottom = toY(south);
  const room = 1.35; // times what is needed
  const scale = Math.min(width / ((right - left) * room || 1e-9), height / ((bottom - top) * room || 1e-9));
  const near = 256 * 2 ** 10; // a single place is shown with its surroundings
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  return bounded({ ...middle, scale: Math.min(scale, near) }, width, height);
}

/** Where a place is on the screen, on the copy of the world that is nearest to the middle. */
export function onScreen(
  /** @type {View} */ { x, y, scale }, /** @type {number} */ width, /** @type {number} */ height,
  /** @type {{ latitude: number, longitude: number }} */ { latitude, longitude },
) {
  const away = toX(longitude) - x;
  return {
    left: width / 2 + (away - Math.round(away)) * scale, top: height / 2 + (toY(latitude) - y) * scale,
  };
}

/** The place at a point of the screen. */
export function placeAt(
  /** @type {View} */ { x, y, scale }, /** @type {number} */ width, /** @type {number} */ height,
  /** @type {number} */ left, /** @type {number} */ top,
) {
  const across = x + (left - width / 2) / scale, down = y + (top - height / 2) / scale;
  return { longitude: toLongitude(across), latitude: toLatitude(Math.max(0, Math.min(1, down))) };
}

/** What is seen. @param {View} view @param {number} width @param {number} height @returns {Box} */
export function boxOf(view, width, height) {
  const first = placeAt(view, width, height, 0, 0), last = placeAt(view, width, height, width, height);
  const whole = width >= view.scale;
  return {
    west: whole ? -180 : first.longitude, south: last.latitude, east: whole ? 180 : last.longitude,
    north: first.latitude,
  };
}

/**
 * What is asked of the server: whole cells of a grid that stays where it is while the map is moved, so that
 * groups do not jump.
 * @param {View} view @param {number} width @param {number} height
 */
export function gridOf({ x, y, scale }, width, height) {
  const cell = 2 ** Math.ceil(Math.log2(CELL / scale));
  const left = Math.floor((x - width / scale / 2) / cell), right = Math.ceil((x + width / scale / 2) / cell);
  const top = Math.max(0, Math.floor((y - height / scale / 2) / cell));
  const bottom = Math.min(1 / cell, Math.ceil((y + height / scale / 2) / cell));
  const whole = (right - left) * cell >= 1;
  const box = {
    west: whole ? -180 : toLongitude(left * cell), east: whole ? 180 : toLongitude(right * cell),
    north: top === 0 ? 90 : toLatitude(top * cell),
    south: bottom * cell >= 1 ? -90 : toLatitude(bottom * cell),
  };
  const columns = whole ? 1 / cell : right - left;
  return { box, columns: Math.min(32, columns), rows: Math.max(1, Math.min(32, bottom - top)) };
}

/** A box as the filter takes it; what lies beyond the date line is turned back. @param {Box} box */
export function boxText({ west, south, east, north }) {
  const turned = (/** @type {number} */ value) => ((value + 180) % 360 + 360) % 360 - 180;
  const whole = east - west >= 360;
  const values = [whole ? -180 : turned(west), south, whole ? 180 : turned(east), north];
  return values.map((value) => String(Number(value.toFixed(6)))).join(",");
}

/** A box of a text; null if it is none. @param {string} text @returns {Box | null} */
export function boxFrom(text) {
  const [west, south, east, north, ...more] = text.split(",").map(Number);
  const known = [west, south, east, north].every(Number.isFinite) && !more.length && south <= north;
  return known ? { west, south, east: east < west ? east + 360 : east, north } : null;
}

/** Degrees between two lines of coordinates, far enough apart. @param {number} scale */
export const lineStep = (scale) => STEPS.findLast((step) => (step / 360) * scale >= 110) ?? STEPS[0];

/** A round length for the bar that shows the scale, and its pixels. @param {View} view */
export function barOf({ y, scale }) {
  const km = (KM * Math.cos((toLatitude(y) * Math.PI) / 180)) / scale; // a pixel
  const most = km * 120;
  const power = 10 ** Math.floor(Math.log10(most));
  const length = [5, 2, 1].map((times) => times * power).find((value) => value <= most) ?? power;
  return { km: length, pixels: length / km };
}
