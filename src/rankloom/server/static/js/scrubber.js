// The scrubber beside a listing: where its years and months are, to drag along and to walk over by keys.

import { $, h, put } from "./dom.js";
import { monthName } from "./format.js";
import { t } from "./i18n.js";

/** @import { Grid } from "./grid.js" */
/** @import { Row } from "./types.js" */
/** @typedef {{ month: string, top: number }} Mark a month, and where it begins as a share of the whole */

const APART = 22; // pixels between two years
const TALL = 2.5; // windows that a listing must fill

/** The months of rows, and where each begins. @param {Row[]} rows @param {number} height @returns {Mark[]} */
export function marksOf(rows, height) {
  const share = (/** @type {number} */ top) => top / (height || 1);
  return rows.flatMap(({ months = [], top }) => months.map(({ month }) => ({ month, top: share(top) })));
}

/**
 * The last month that begins at or above a share; 0 if none does.
 * @param {Mark[]} marks
 * @param {number} share
 */
export function markAt(marks, share) {
  let at = 0;
  while (at + 1 < marks.length && marks[at + 1].top <= share + 1e-9) at += 1;
  return at;
}

/**
 * The years to write, far enough from each other.
 * @param {Mark[]} marks
 * @param {number} height of the track
 */
export function yearsOf(marks, height) {
  /** @type {{ year: string, top: number }[]} */
  const years = [];
  let before = "";
  for (const { month, top } of marks) {
    const year = month.slice(0, 4), last = years.at(-1);
    if (year && year !== before && (!last || (top - last.top) * height >= APART)) years.push({ year, top });
    before = year;
  }
  return years;
}

export class Scrubber {
  /** @param {HTMLElement} root @param {Grid} grid */
  constructor(root, grid) {
    this.root = root;
    this.grid = grid;
    /** @type {Mark[]} */
    this.marks = [];
    /** How far below the top of the window the first row is seen. */
    this.lead = 0;
    /** The month that the keys chose, as long as nobody scrolls: the last ones may be in sight together. */
    this.held = { index: 0, y: -1 };
    this.thumb = h("div", { class: "thumb" });
    this.bubble = h("div", { class: "bubble" });
    this.years = h("div", { class: "years" });
    for (const [name, value] of Object.entries({
      role: "slider", tabindex: "0", "aria-orientation": "vertical", "aria-label": t("Month"),
      "aria-valuemin": "0", "aria-valuenow": "0",
    })) root.setAttribute(name, value);
    put(root, this.years, this.thumb, this.bubble);
    this.listen();
  }

  listen() {
    this.grid.root.addEventListener("layout", () => this.draw());
    addEventListener("scroll", () => this.follow(), { passive: true });
    addEventListener("resize", () => this.draw());
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      this.root.classList.add("dragging");
      this.drag(event);
      event.preventDefault();
    });
    this.root.addEventListener("pointermove", (event) => {
      if (this.root.hasPointerCapture(event.pointerId)) this.drag(event);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      this.root.addEventListener(end, () => this.root.classList.remove("dragging"));
    }
  }

  /** Months, years and whether there is something to scrub over. */
  draw() {
    const { grid } = this;
    this.marks = marksOf(grid.rows, grid.height);
    const hidden = this.marks.length < 2 || grid.height < TALL * innerHeight;
    if (this.root.hidden !== hidden) this.root.hidden = hidden;
    if (hidden) return;
    const head = $("tools").parentElement;
    this.lead = getComputedStyle(head).position === "sticky" ? head.offsetHeight : 8;
    put(this.years, yearsOf(this.marks, this.root.clientHeight).map(({ year, top }) =>
      h("span", { style: { top: `${100 * top}%` } }, year)));
    this.root.setAttribute("aria-valuemax", String(this.marks.length - 1));
    this.follow();
  }

  /** The share of the listing above the window. */
  share() {
    const { height, root } = this.grid;
    return Math.max(0, Math.min(1, (this.lead - root.getBoundingClientRect().top) / (height || 1)));
  }

  /** The month that is seen first. @param {number} share */
  at(share) {
    return Math.abs(scrollY - this.held.y) < 2 ? this.held.index : markAt(this.marks, share);
  }

  follow() {
    if (this.root.hidden) return;
    const share = this.share(), at = this.at(share);
    const text = monthName(this.marks[at].month);
    this.thumb.style.setProperty("top", `${100 * share}%`);
    this.bubble.style.setProperty("top", `${100 * share}%`);
    if (this.bubble.textContent === text) return;
    this.bubble.textContent = text;
    this.root.setAttribute("aria-valuenow", String(at));
    this.root.setAttribute("aria-valuetext", text);
  }

  /** @param {PointerEvent} event */
  drag(event) {
    const { top, height } = this.root.getBoundingClientRect();
    this.to(Math.max(0, Math.min(1, (event.clientY - top) / height)));
  }

  /** Scroll to a share of the listing. @param {number} share */
  to(share) {
    this.held = { index: 0, y: -1 };
    const { root, height } = this.grid;
    const start = root.getBoundingClientRect().top + scrollY;
    scrollTo({ top: share <= 0 ? 0 : start + share * height - this.lead, behavior: "instant" });
    this.follow();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { marks } = this, at = this.at(this.share());
    const year = (/** @type {number} */ i) => marks[i]?.month.slice(0, 4);
    const nextYear = marks.findIndex((_, i) => i > at && year(i) !== year(at));
    const beforeYear = marks.findLastIndex((_, i) => i < at && year(i) !== year(at));
    const target = {
      ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0,
      End: marks.length - 1,
      PageDown: nextYear < 0 ? marks.length - 1 : nextYear, PageUp: Math.max(0, beforeYear),
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(marks.length - 1, target));
    this.to(marks[index].top);
    this.held = { index, y: scrollY };
    this.follow();
  }
}
