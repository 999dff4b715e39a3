// Small charts, drawn as SVG and said in words.

import { h, s } from "./dom.js";

const WIDTH = 720, HEIGHT = 296, LEFT = 44, BOTTOM = 50, TOP = 30, RIGHT = 12;

/** Lines over 1, 2, 3 ...; `series` is [{name, kind, values}], values from 0 to 1 or null. */
export function lines(series, { x, y, label }) {
  const n = Math.max(1, ...series.map((one) => one.values.length));
  const px = (i) => LEFT + (n === 1 ? 0.5 : i / (n - 1)) * (WIDTH - LEFT - RIGHT);
  const py = (value) => TOP + (1 - value) * (HEIGHT - TOP - BOTTOM);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((value) => [
    s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: py(value), y2: py(value), class: "grid-line" }),
    s("text", { x: LEFT - 8, y: py(value) + 4, "text-anchor": "end" }, String(value)),
  ]);
  const marks = [...new Set([0, n - 1])].map((i) => s("text", { x: px(i), y: HEIGHT - BOTTOM + 20, "text-anchor": "middle" }, String(i + 1)));
  const paths = series.map(({ kind, values }) => {
    const points = values.map((value, i) => (value === null || value === undefined ? null : [px(i), py(value)])).filter(Boolean);
    const path = points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
    return [s("path", { d: path, class: `line ${kind}` }), points.length < 40 ? points.map(([a, b]) => s("circle", { cx: a, cy: b, r: 3.5, class: `point ${kind}` })) : null];
  });
  return h("figure", { class: "chart" },
    s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, grid, marks, paths,
      s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, x), s("text", { x: LEFT, y: 12 }, y)),
    h("figcaption", { class: "legend" }, series.map(({ name, kind }) => h("span", { class: kind }, h("i", {}), name))));
}

/** A value with its interval on a scale from 0 to 1. */
export function interval(value, low, high, label) {
  const x = (of) => 4 + of * 152;
  return s("svg", { viewBox: "0 0 160 18", class: "interval", role: "img", "aria-label": label },
    s("line", { x1: 4, x2: 156, y1: 9, y2: 9, class: "grid-line" }),
    low === null || high === null ? null : s("line", { x1: x(low), x2: x(high), y1: 9, y2: 9, class: "whisker" }),
    s("circle", { cx: x(value), cy: 9, r: 4.5, class: "point learned" }));
}

/** The mean of the last `window` values, for each place. */
export function smooth(values, window) {
  return values.map((_, i) => {
    const some = values.slice(Math.max(0, i - window + 1), i + 1).filter((value) => value !== null && value !== undefined);
    return some.length ? some.reduce((a, b) => a + b, 0) / some.length : null;
  });
}
