// A map of the world, drawn from an outline of its coasts: moved and zoomed by mouse, finger and keys.

import { h, put, s } from "./dom.js";
import { latitudeText, longitudeText } from "./format.js";
import { t } from "./i18n.js";
import {
  barOf, bounded, boxOf, lineStep, onScreen, placeAt, toLatitude, toLongitude, toX, toY, viewOf,
} from "./mercator.js";

/** @import { Box, View } from "./mercator.js" */

const STEP = 90; // pixels that an arrow moves
const EDGE = 4; // pixels between a label and the end of the map
const CLICK = 5; // pixels that a pointer may move and still click

/** @type {Promise<Path2D> | null} */
let coasts = null;

/** The land of the world as a path in the square of the projection. @returns {Promise<Path2D>} */
function land() {
  coasts ??= fetch(new URL("../coasts.json", import.meta.url)).then(async (answer) => {
    /** @type {{ unit: number, rings: number[][] }} */
    const { unit, rings } = await answer.json();
    const path = new Path2D();
    for (const [x, y, ...steps] of rings) {
      let across = x, up = y;
      path.moveTo(toX(across / unit), toY(up / unit));
      for (let i = 0; i < steps.length; i += 2) {
        across += steps[i];
        up += steps[i + 1];
        path.lineTo(toX(across / unit), toY(up / unit));
      }
      path.closePath();
    }
    return path;
  });
  return coasts;
}

export class WorldMap {
  /**
   * @param {object} actions
   * @param {(view: View) => void} actions.moved another part is seen
   * @param {(box: Box) => void} actions.drawn a rectangle was drawn
   */
  constructor({ moved, drawn }) {
    this.moved = moved;
    this.drawn = drawn;
    /** @type {View} */
    this.view = { x: 0.5, y: 0.42, scale: 360 };
    /** @type {Box | null} */
    this.marked = null;
    this.drawing = false;
    this.canvas = h("canvas", {});
    this.markers = h("div", { class: "markers", "aria-hidden": "true" });
    this.bar = h("div", { class: "scale-bar", "aria-hidden": "true" });
    this.frame = h("div", { class: "map-frame", hidden: true });
    this.root = h("div", {
      class: "map", tabindex: "0", role: "application", "aria-label": t("Map of the world"),
      "aria-describedby": "map-keys",
    }, this.canvas, this.markers, this.frame, this.bar);
    /** @type {Map<number, { left: number, top: number }>} */
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => { if (this.root.clientWidth) this.show(this.view); }).observe(this.root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    const theme = { attributeFilter: ["data-theme"] };
    new MutationObserver(() => this.draw()).observe(document.documentElement, theme);
  }

  /** Fetch the coasts; without them there are still places. */
  load() { land().then((path) => { this.path = path; this.draw(); }, () => {}); }

  get width() { return this.root.clientWidth || 360; }

  get height() { return this.root.clientHeight || 300; }

  /** @param {View} view */
  show(view) {
    this.view = bounded(view, this.width, this.height);
    this.draw();
    this.moved(this.view);
  }

  /** @param {Box} box */
  fit(box) { this.show(viewOf(box, this.width, this.height)); }

  /** @param {number} across @param {number} down pixels */
  pan(across, down) {
    const { x, y, scale } = this.view;
    this.show({ x: x + across / scale, y: y + down / scale, scale });
  }

  /** Zoom, and keep a point where it is. @param {number} times */
  zoom(times, left = this.width / 2, top = this.height / 2) {
    const { x, y, scale } = this.view;
    const next = bounded({ x, y, scale: scale * times }, this.width, this.height).scale;
    const across = left - this.width / 2, down = top - this.height / 2;
    this.show({ x: x + across / scale - across / next, y: y + down / scale - down / next, scale: next });
  }

  get box() { return boxOf(this.view, this.width, this.height); }

  draw() {
    const { width, height, canvas } = this;
    const sharp = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * sharp) || canvas.height !== Math.round(height * sharp)) {
      canvas.width = Math.round(width * sharp);
      canvas.height = Math.round(height * sharp);
    }
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const colors = getComputedStyle(canvas);
    const { x, y, scale } = this.view;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = colors.backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    const copies = Math.ceil(width / scale / 2) + 1;
    for (let copy = -copies; copy <= copies && this.path; copy += 1) {
      const left = width / 2 + (copy - x) * scale;
      // Land goes on beyond the date line.
      if (left - 0.25 * scale > width || left + 1.25 * scale < 0) continue;
      pen.setTransform(scale * sharp, 0, 0, scale * sharp, left * sharp, (height / 2 - y * scale) * sharp);
      pen.fillStyle = colors.color;
      pen.fill(this.path, "evenodd");
      pen.strokeStyle = colors.borderTopColor;
      pen.lineWidth = 1 / scale;
      pen.stroke(this.path);
    }
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    this.drawLines(pen, colors);
    this.drawMarked(pen, colors);
    this.drawBar();
  }

  /** The grid of coordinates. @param {CanvasRenderingContext2D} pen @param {CSSStyleDeclaration} colors */
  drawLines(pen, colors) {
    const { width, height } = this;
    const { x, y, scale } = this.view, step = lineStep(scale);
    const digits = Math.max(0, Math.ceil(-Math.log10(step)));
    pen.strokeStyle = colors.outlineColor;
    pen.fillStyle = colors.caretColor;
    pen.lineWidth = 1;
    pen.font = "11px system-ui, sans-serif";
    const west = toLongitude(x - width / scale / 2), east = toLongitude(x + width / scale / 2);
    const north = toLatitude(Math.max(0, y - height / scale / 2));
    const south = toLatitude(Math.min(1, y + height / scale / 2));
    pen.beginPath();
    for (let line = Math.ceil(west / step); line * step <= east; line += 1) {
      const left = Math.round(width / 2 + (toX(line * step) - x) * scale) + 0.5;
      pen.moveTo(left, 0);
      pen.lineTo(left, height);
      const turned = ((line * step + 180) % 360 + 360) % 360 - 180;
      const label = longitudeText(turned, digits), wide = pen.measureText(label).width;
      pen.fillText(label, left + 3 + wide > width - EDGE ? left - 3 - wide : left + 3, height - 5);
    }
    for (let line = Math.ceil(south / step); line * step <= north; line += 1) {
      const top = Math.round(height / 2 + (toY(line * step) - y) * scale) + 0.5;
      pen.moveTo(0, top);
      pen.lineTo(width, top);
      if (top < height - 20 && top > 20) pen.fillText(latitudeText(line * step, digits), EDGE, top - 3);
    }
    pen.stroke();
  }

  /** The filter's rectangle. @param {CanvasRenderingContext2D} pen @param {CSSStyleDeclaration} colors */
  drawMarked(pen, colors) {
    if (!this.marked) return;
    const { width, height } = this, { scale } = this.view, { west, south, east, north } = this.marked;
    const middle = onScreen(this.view, width, height, { latitude: north, longitude: (west + east) / 2 });
    const wide = ((east - west) / 360) * scale;
    const high = (toY(south) - toY(north)) * scale;
    pen.strokeStyle = colors.textDecorationColor;
    pen.lineWidth = 2;
    pen.strokeRect(middle.left - wide / 2, middle.top, wide, high);
  }

  drawBar() {
    const { km, pixels } = barOf(this.view);
    const text = km < 1 ? t("{n} m", { n: Math.round(km * 1000) }) : t("{n} km", { n: km });
    const width = Math.ceil(pixels) + 2;
    put(this.bar, s("svg", { width, height: 8, viewBox: `0 0 ${width} 8` },
      s("path", { d: `M1 1v6h${pixels.toFixed(1)}v-6` })), h("span", {}, text));
  }

  listen() {
    const { root } = this;
    root.addEventListener("wheel", (event) => {
      event.preventDefault();
      const at = this.at(event);
      this.zoom(2 ** (-event.deltaY / (event.deltaMode ? 6 : 240)), at.left, at.top);
    }, { passive: false });
    root.addEventListener("pointerdown", (event) => this.down(event));
    root.addEventListener("pointermove", (event) => this.move(event));
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
      root.addEventListener(name, (event) => this.up(event));
    }
    root.addEventListener("click", (event) => {
      if (this.dragged) { event.stopPropagation(); event.preventDefault(); }
    }, { capture: true });
    root.addEventListener("keydown", (event) => this.key(event));
  }

  /** Where on the map a pointer is. @param {MouseEvent} event */
  at(event) {
    const { left, top } = this.root.getBoundingClientRect();
    return { left: event.clientX - left, top: event.clientY - top };
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button) return;
    this.pointers.set(event.pointerId, this.at(event));
    this.start = this.at(event);
    if (this.pointers.size === 1) this.dragged = false;
    this.framing = this.pointers.size === 1 && (this.drawing || event.shiftKey);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const before = this.pointers.get(event.pointerId), now = this.at(event);
    if (!before || !this.start) return;
    if (Math.hypot(now.left - this.start.left, now.top - this.start.top) > CLICK && !this.dragged) {
      this.dragged = true;
      this.root.setPointerCapture(event.pointerId);
    }
    if (!this.dragged) return;
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    this.pointers.set(event.pointerId, now);
    if (others.length) this.pinch(others[0], before, now);
    else if (this.framing) this.drawFrame(this.start, now);
    else this.pan(before.left - now.left, before.top - now.top);
  }

  /** @typedef {{ left: number, top: number }} Point */
  /** @param {Point} fixed @param {Point} before @param {Point} now */
  pinch(fixed, before, now) {
    const apart = (/** @type {Point} */ point) =>
      Math.max(20, Math.hypot(point.left - fixed.left, point.top - fixed.top));
    this.pan((before.left - now.left) / 2, (before.top - now.top) / 2);
    this.zoom(apart(now) / apart(before), (fixed.left + now.left) / 2, (fixed.top + now.top) / 2);
  }

  /** @param {Point} start @param {Point} now */
  drawFrame(start, now) {
    this.frame.hidden = false;
    const { style } = this.frame;
    style.left = `${Math.min(start.left, now.left)}px`;
    style.top = `${Math.min(start.top, now.top)}px`;
    style.width = `${Math.abs(start.left - now.left)}px`;
    style.height = `${Math.abs(start.top - now.top)}px`;
  }

  /** @param {PointerEvent} event */
  up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.framing && this.dragged && this.start && event.type === "pointerup") {
      const now = this.at(event), { start, view, width, height } = this;
      const [left, right] = [start.left, now.left].sort((a, b) => a - b);
      const [top, bottom] = [start.top, now.top].sort((a, b) => a - b);
      const first = placeAt(view, width, height, left, top);
      const last = placeAt(view, width, height, right, bottom);
      this.drawn({
        west: first.longitude, south: last.latitude, east: last.longitude, north: first.latitude,
      });
    }
    this.framing = false;
    this.frame.hidden = true;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.root) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => this.pan(-STEP, 0), ArrowRight: () => this.pan(STEP, 0),
      ArrowUp: () => this.pan(0, -STEP), ArrowDown: () => this.pan(0, STEP),
      "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5),
      Enter: () => this.drawn(this.box),
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }
}
