// Small charts, drawn as SVG and said in words.

import { h, put, s } from "./dom.js";
import { locale } from "./i18n.js";

const WIDE = 720, HEIGHT = 252, LEFT = 48, BOTTOM = 26, TOP = 12, RIGHT = 12;
const MOST_POINTS = 40;

/** @typedef {{ name: string, kind: string, values: (number | null)[] }} Series values from 0 to 1 */

/**
 * Lines over 1, 2, 3 ... as wide as there is room: its letters keep their size.
 * @param {Series[]} series
 * @param {{ x: string, y: string, label: string }} texts
 */
export function lines(series, { x, y, label }) {
  const svg = s("svg", { height: HEIGHT, role: "img", "aria-label": label });
  const draw = (/** @type {number} */ width) => {
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    put(svg, ...drawing(series, width));
  };
  draw(WIDE);
  const figure = h("figure", { class: "chart" }, h("p", { class: "axis" }, y), svg,
    h("p", { class: "axis x" }, x),
    h("figcaption", { class: "legend" },
      series.map(({ name, kind }) => h("span", { class: kind }, h("i", {}), name))));
  new ResizeObserver(() => { if (svg.clientWidth) draw(svg.clientWidth); }).observe(svg);
  return figure;
}

/** @param {Series[]} series @param {number} width */
function drawing(series, width) {
  const n = Math.max(1, ...series.map(({ values }) => values.length)), room = width - LEFT - RIGHT;
  const px = (/** @type {number} */ i) => LEFT + (n === 1 ? 0.5 : i / (n - 1)) * room;
  // The first stands at its place, the last ends there: also a long number stays inside.
  const last = n > 1 ? text(px(n - 1), HEIGHT - 6, n.toLocaleString(locale), "end") : null;
  return [
    [0, 0.25, 0.5, 0.75, 1].map((value) => gridLine(value, width)),
    text(px(0), HEIGHT - 6, "1", "middle"), last, series.map((curve) => line(curve, px)),
  ];
}

/** @param {number} value */
const py = (value) => TOP + (1 - value) * (HEIGHT - TOP - BOTTOM);

/** @param {number} x @param {number} y @param {string} content @param {string} anchor */
const text = (x, y, content, anchor) => s("text", { x, y, "text-anchor": anchor }, content);

/** @param {number} value @param {number} width */
function gridLine(value, width) {
  const y = py(value);
  return [
    s("line", { x1: LEFT, x2: width - RIGHT, y1: y, y2: y, class: "grid-line" }),
    text(LEFT - 8, y + 4, value.toLocaleString(locale), "end"),
  ];
}

/** @param {Series} series @param {(i: number) => number} px */
function line({ kind, values }, px) {
  const points = values.flatMap((value, i) => (value === null ? [] : [[px(i), py(value)]]));
  const path = points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  return [
    s("path", { d: path, class: `line ${kind}` }),
    points.length < MOST_POINTS
      ? points.map(([x, y]) => s("circle", { cx: x, cy: y, r: 3.5, class: `point ${kind}` })) : null,
  ];
}

/**
 * A value with its interval on a scale from 0 to 1.
 * @param {number} value
 * @param {number | null} low
 * @param {number | null} high
 * @param {string} label
 */
export function interval(value, low, high, label) {
  const x = (/** @type {number} */ of) => 4 + of * 152;
  return s("svg", { viewBox: "0 0 160 18", class: "interval", role: "img", "aria-label": label },
    s("line", { x1: 4, x2: 156, y1: 9, y2: 9, class: "grid-line" }),
    low === null || high === null ? null
      : s("line", { x1: x(low), x2: x(high), y1: 9, y2: 9, class: "whisker" }),
    s("circle", { cx: x(value), cy: 9, r: 4.5, class: "point learned" }));
}
