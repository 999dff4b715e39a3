// Choosing a part of a picture: a rectangle that is drawn over it by pointer or by keys.

import { s } from "./dom.js";
import { t } from "./i18n.js";
import { between, corners, holds, MIDDLE, moved, resized } from "./region.js";

/** @import { Region } from "./types.js" */
/** @import { Size } from "./zoom.js" */
/** @import { Share } from "./region.js" */

const STEP = 0.02, REACH = 22; // a key's step, and how many pixels from a corner a press still means it
const NAMED = t("The part to search with: arrows move it, Shift and arrows resize it, Enter searches");

/** A share of 1 in hundredths. @param {number} value */
const percent = (value) => Math.round(100 * value);

/** Where a part is, in words. @param {Region} region */
export const inWords = ([left, top, right, bottom]) => t(
  "From {left}% to {right}% of the width, from {top}% to {bottom}% of the height",
  { left: percent(left), right: percent(right), top: percent(top), bottom: percent(bottom) });

export class Picker {
  /**
   * @param {Size} size of the picture
   * @param {Region | null} region what is chosen already
   * @param {(region: Region, settled: boolean) => void} changed settled is what is not being dragged
   */
  constructor(size, region, changed) {
    this.size = size;
    this.region = region;
    this.changed = changed;
    const { width, height } = size;
    this.shade = s("path", { class: "shade", "fill-rule": "evenodd" });
    this.frame = s("rect", { class: "chosen" });
    this.handles = [0, 1, 2, 3].map(() => s("circle", { class: "handle", r: Math.min(width, height) / 50 }));
    this.root = s("svg", {
      class: "picker", viewBox: `0 0 ${width} ${height}`, tabindex: "0", role: "application",
      "aria-label": NAMED,
    }, this.shade, this.frame, this.handles);
    this.listen();
    this.draw();
  }

  listen() {
    /** What a move of the pointer does. @type {((at: Share) => Region) | null} */
    let drag = null;
    this.root.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault();
      this.root.focus();
      this.root.setPointerCapture(event.pointerId);
      drag = this.dragFrom(this.shareAt(event));
    });
    this.root.addEventListener("pointermove", (event) => {
      if (drag) this.set(drag(this.shareAt(event)), false);
    });
    this.root.addEventListener("pointerup", () => {
      if (drag && this.region) this.changed(this.region, true);
      drag = null;
    });
    this.root.addEventListener("pointercancel", () => { drag = null; });
  }

  /** What a drag from here does: it moves a corner, or the part, or draws a new one. @param {Share} from */
  dragFrom(from) {
    const { region } = this;
    if (region) {
      const { width, height } = this.placed();
      const near = corners(region).find(({ at }) =>
        Math.hypot((at.x - from.x) * width, (at.y - from.y) * height) < REACH);
      if (near) return (/** @type {Share} */ at) => between(near.across, at);
      if (holds(region, from)) {
        return (/** @type {Share} */ at) => moved(region, { x: at.x - from.x, y: at.y - from.y });
      }
    }
    return (/** @type {Share} */ at) => between(from, at);
  }

  /** Where the picture is on the screen: it fits its frame. */
  placed() {
    const frame = this.root.getBoundingClientRect();
    const ratio = Math.min(frame.width / this.size.width, frame.height / this.size.height);
    const width = ratio * this.size.width, height = ratio * this.size.height;
    const left = frame.left + (frame.width - width) / 2, top = frame.top + (frame.height - height) / 2;
    return { left, top, width, height };
  }

  /** @param {PointerEvent} event @returns {Share} */
  shareAt({ clientX, clientY }) {
    const { left, top, width, height } = this.placed();
    return { x: (clientX - left) / width, y: (clientY - top) / height };
  }

  /** Take a key; whether it was one of ours. @param {KeyboardEvent} event */
  key(event) {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!by) return false;
    const step = { x: STEP * by[0], y: STEP * by[1] };
    if (!this.region) this.set(MIDDLE, true);
    else this.set(event.shiftKey ? resized(this.region, step) : moved(this.region, step), true);
    return true;
  }

  /** @param {Region} region @param {boolean} settled */
  set(region, settled) {
    this.region = region;
    this.draw();
    this.changed(region, settled);
  }

  draw() {
    const { width, height } = this.size;
    const whole = `M0 0H${width}V${height}H0Z`;
    const { region } = this;
    for (const part of [this.frame, ...this.handles]) part.toggleAttribute("hidden", !region);
    if (!region) return this.shade.setAttribute("d", "");
    const [left, top, right, bottom] = region.map((value, i) => value * (i % 2 ? height : width));
    this.shade.setAttribute("d", `${whole}M${left} ${top}H${right}V${bottom}H${left}Z`);
    const box = { x: left, y: top, width: right - left, height: bottom - top };
    for (const [name, value] of Object.entries(box)) this.frame.setAttribute(name, String(value));
    for (const [i, { at }] of corners(region).entries()) {
      this.handles[i].setAttribute("cx", String(at.x * width));
      this.handles[i].setAttribute("cy", String(at.y * height));
    }
  }
}
