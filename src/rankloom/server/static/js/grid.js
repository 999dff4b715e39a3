// The grid of results: rows of pictures, of which only those near the window exist in the document.

import { calm, h } from "./dom.js";
import { monthName } from "./format.js";
import { holdToSelect, selecting, tileOf } from "./gestures.js";
import { moveFrom, placesOf } from "./moving.js";
import { columnAt, isText, layOut, layOutGroups, rowAt, rowOf, sameRow, vertical, widthOf } from "./rows.js";
import { drawState, makeTile, waitingTile } from "./tiles.js";

/** @import { Selection } from "./selection.js" */
/** @import { Hit, Row, State, Store } from "./types.js" */
/**
 * @typedef {object} Actions what a tile does with its hit
 * @property {(hit: Hit) => void} open
 * @property {(hit: Hit, grade: 0 | 1) => void} mark
 * @property {(hit: Hit) => void} why
 * @property {(hit: Hit) => void} similar
 * @property {() => void} more the end comes near
 * @property {(first: number, end: number) => void} need these are in sight
 * @property {(hit: Hit) => void} moved another tile is the current one
 */

const OVERSCAN = 600; // pixels above and below the window
const AHEAD = 1500;
const HEAD = 150; // what stands above the results
const NARROW = 560;

/** How large the reader's letters are, 1 as usual: captions need so much more room. */
const letterSize = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

export class Grid {
  /**
   * @param {HTMLElement} root
   * @param {Store<State>} store
   * @param {Selection} selection
   * @param {Actions} actions
   */
  constructor(root, store, selection, actions) {
    this.root = root;
    this.store = store;
    this.selection = selection;
    this.actions = actions;
    /** @type {(Hit | undefined)[]} */
    this.hits = [];
    /** @type {Row[]} */
    this.rows = [];
    /** @type {Map<number, HTMLElement>} */
    this.shown = new Map();
    this.ranks = new Map();
    this.current = 0;
    this.seen = 0;
    this.size = 190;
    this.width = 0;
    this.best = 1;
    this.height = 0;
    this.listen();
    store.watch(["order"], (state) => this.show(state));
    store.watch(["hits"], ({ hits, order }, before) => { if (order === before.order) this.extend(hits); });
    store.watch(["grades", "pending", "selected", "gone"], () => this.refresh());
  }

  listen() {
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; this.render(); });
    }, { passive: true });
    new ResizeObserver(() => { if (this.root.clientWidth !== this.width) this.layout(); }).observe(this.root);
    this.root.addEventListener("keydown", (event) => this.key(event));
    holdToSelect(this.root, this.selection);
    this.root.addEventListener("click", (event) => this.click(event));
    this.root.addEventListener("dragstart", (event) => {
      const tile = tileOf(event);
      if (tile) event.dataTransfer?.setData("application/x-rankloom-item", tile.dataset.id ?? "");
    });
    this.root.addEventListener("focusin", (event) => {
      const tile = tileOf(event);
      if (tile) this.select(Number(tile.dataset.index), false);
    });
  }

  /** Show another order. If it is animated, tiles move from where they were. @param {State} state */
  show({ hits, groups, order: { animate, keep } }) {
    if (hits.length && !keep && (!animate || scrollY > 0)) scrollTo({ top: 0 });
    const before = animate ? placesOf(this.tiles()) : null;
    const known = animate ? this.hits.flatMap((hit) => (hit ? [hit] : [])) : [];
    this.ranks = new Map(known.map((hit) => [hit.id, hit.rank]));
    this.hits = hits;
    // Marked results stand at the ends with scores of their own; the others are measured against their best.
    this.best = groups ? 1 : hits.find((hit) => hit?.mark === null)?.score || 1;
    this.current = keep ? Math.max(0, Math.min(this.current, hits.length - 1)) : 0;
    this.rows = [];
    this.seen = 0;
    this.root.classList.toggle("squares", Boolean(groups));
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
    this.root.hidden = hits.length === 0;
    this.layout();
    if (before && !calm()) moveFrom(before, this.tiles());
  }

  /** More results of the same order. @param {(Hit | undefined)[]} hits */
  extend(hits) {
    const before = this.hits;
    this.hits = hits;
    if (this.store.state.groups || hits.length === before.length) return this.fill(before);
    this.layout();
    setTimeout(() => this.render()); // the end may be in sight again
  }

  /** Draw rows again whose results have come, or are forgotten. @param {(Hit | undefined)[]} before */
  fill(before) {
    const focused = document.activeElement?.classList.contains("tile");
    this.discard((i) => {
      const { first, end } = this.rows[i];
      for (let j = first; j < end; j += 1) if (before[j] !== this.hits[j]) return true;
      return false;
    });
    this.render();
    if (focused) this.element()?.focus({ preventScroll: true });
  }

  /** @param {number} size the height of pictures */
  resize(size) {
    this.size = size;
    this.layout();
  }

  /** Lay the rows out anew; those that stay where they were keep their elements. */
  layout() {
    this.width = this.root.clientWidth;
    const { total, answer, groups } = this.store.state;
    const target = this.width < NARROW ? Math.min(this.size, groups ? 110 : 150) : this.size;
    const before = this.rows, { width } = this, letters = letterSize();
    const { rows, height } = groups ? layOutGroups(width ? groups : [], { width, target, letters })
      : layOut(width ? this.hits : [], { width, target, cutoff: answer?.cutoff ?? null, letters });
    this.rows = rows;
    this.height = height;
    this.root.style.setProperty("height", `${height}px`);
    this.root.dispatchEvent(new CustomEvent("layout"));
    if (!rows.length) return;
    this.root.setAttribute("aria-rowcount", String(this.hits.length < total ? -1 : rows.length));
    const focused = document.activeElement?.classList.contains("tile");
    this.discard((i) => !sameRow(before[i], rows[i]));
    this.render();
    if (focused) this.element()?.focus({ preventScroll: true }); // tiles are made anew, the focus stays
  }

  /** @param {(i: number) => boolean} unwanted */
  discard(unwanted) {
    for (const [i, element] of this.shown) {
      if (!unwanted(i)) continue;
      element.remove();
      this.shown.delete(i);
    }
  }

  /** Make the rows near the window, and drop the others. */
  render() {
    if (!this.rows.length || !this.root.offsetParent) return;
    const start = this.root.getBoundingClientRect().top;
    const from = -start - OVERSCAN, to = -start + innerHeight + OVERSCAN;
    const wanted = new Set();
    for (let i = rowAt(this.rows, from); i < this.rows.length && this.rows[i].top < to; i += 1) wanted.add(i);
    const own = rowOf(this.rows, this.current); // the row with the focus stays, wherever the window is
    if (own >= 0) wanted.add(own);
    this.discard((i) => !wanted.has(i));
    for (const i of [...wanted].sort((a, b) => a - b)) if (!this.shown.has(i)) this.insert(i);
    const last = this.rows[this.rows.length - 1];
    this.actions.need(this.rows[rowAt(this.rows, from)].first, this.rows[rowAt(this.rows, to)].end);
    this.seen = Math.max(this.seen, (this.rows[rowAt(this.rows, -start + innerHeight)] ?? last).end);
    if (this.hits.length < this.store.state.total && to + AHEAD > last.top) this.actions.more();
  }

  /** @param {number} i */
  insert(i) {
    const element = this.row(i);
    const after = Math.min(...[...this.shown.keys()].filter((shown) => shown > i));
    this.root.insertBefore(element, this.shown.get(after) ?? null);
    this.shown.set(i, element);
  }

  /** @param {number} i */
  row(i) {
    const row = this.rows[i], { top, height, first, end } = row;
    const style = { transform: `translateY(${top}px)`, height: `${height}px` };
    const props = { role: "row", "aria-rowindex": i + 1, style };
    if (isText(row)) {
      const { title, months = [] } = row;
      return h("div", { class: `row ${title ? "divider" : "month"}`, ...props },
        title ? h("div", { role: "gridcell" }, title)
          : months.map((begun, at) => this.month(row, begun, months[at + 1])));
    }
    const tiles = this.hits.slice(first, end).map((hit, at) => this.tile(row, hit, first + at));
    return h("div", { class: "row", ...props }, tiles);
  }

  /** @typedef {{ month: string, column: number }} Begun a month and its column */
  /**
   * The name of a month, as wide as what it has in its row.
   * @param {Row} row
   * @param {Begun} begun
   * @param {Begun} [next]
   */
  month(row, { month, column }, next) {
    const left = columnAt(row, column);
    const width = next ? `${columnAt(row, next.column) - left}px` : `calc(100% - ${left}px)`;
    const name = monthName(month, Boolean(next || column));
    return h("div", { role: "gridcell", style: { left: `${left}px`, width } }, name);
  }

  /** @param {Row} row @param {Hit | undefined} hit @param {number} index */
  tile(row, hit, index) {
    const step = hit ? (this.ranks.get(hit.id) ?? hit.rank) - hit.rank : 0;
    const size = { width: widthOf(row, hit), height: row.picture, best: this.best, step };
    const tile = hit ? makeTile(this.store.state, hit, index, size) : waitingTile(index, size);
    tile.tabIndex = index === this.current ? 0 : -1;
    return tile;
  }

  /** Draw marks and the selection again. */
  refresh() {
    for (const tile of this.tiles()) {
      const hit = this.hits[Number(tile.dataset.index)];
      if (hit) drawState(this.store.state, tile, hit);
    }
  }

  /** @param {MouseEvent} event */
  click(event) {
    const tile = tileOf(event);
    if (!tile) return;
    const index = Number(tile.dataset.index), hit = this.hits[index];
    if (!hit) return;
    this.select(index, false);
    if (selecting(event, index, this.selection)) return;
    this.selection.begin(index);
    const act = /** @type {HTMLElement} */ (event.target).closest(".act")?.getAttribute("data-act") ?? "open";
    if (act === "right" || act === "wrong") this.actions.mark(hit, act === "right" ? 1 : 0);
    else if (act === "similar" || act === "why" || act === "open") this.actions[act](hit);
  }

  /** The current result. @returns {Hit | undefined} */
  get hit() { return this.hits[this.current]; }

  /** @returns {NodeListOf<HTMLElement>} */
  tiles() { return this.root.querySelectorAll(".tile"); }

  /** The current tile. @returns {HTMLElement | null} */
  element() { return this.root.querySelector(`.tile[data-index="${this.current}"]`); }

  /** Make a tile the current one; `focus` also brings it into view. @param {number} index */
  select(index, focus = true) {
    if (!this.hits.length) return;
    const next = Math.max(0, Math.min(this.hits.length - 1, index));
    const changed = next !== this.current;
    this.element()?.setAttribute("tabindex", "-1");
    this.current = next;
    this.render();
    const tile = this.element();
    tile?.setAttribute("tabindex", "0");
    if (focus && tile) {
      tile.focus({ preventScroll: true });
      const box = tile.getBoundingClientRect();
      if (box.top < HEAD || box.bottom > innerHeight - 20) {
        tile.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
      }
    }
    const hit = this.hits[next];
    if (changed && hit) this.actions.moved(hit);
  }

  focus() { this.select(this.current); }

  /** Keys are a result's from now on; the window stays where it is. @param {number} item */
  take(item) {
    const index = this.hits.findIndex((hit) => hit?.id === item);
    if (index >= 0) this.select(index, false);
    this.element()?.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.selectionKey(event)) return event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.hits.length - 1, { current } = this;
    const above = () => vertical(this.hits, this.rows, current, -1);
    const below = () => vertical(this.hits, this.rows, current, 1);
    const target = {
      ArrowRight: () => current + 1, ArrowLeft: () => current - 1, Home: () => 0, End: () => last,
      ArrowUp: above, ArrowDown: below,
    }[event.key];
    if (!target) return;
    this.select(target());
    if (event.shiftKey) this.selection.extend(this.current);
    else this.selection.begin(this.current);
    event.preventDefault();
  }

  /**
   * Space selects, Ctrl and A everything, Escape nothing; whether it was one of these.
   * @param {KeyboardEvent} event
   */
  selectionKey(event) {
    const { key } = event, { selection } = this;
    if (key === " " && tileOf(event) === event.target) selection.toggle(this.current);
    else if (key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey)) selection.all();
    else if (key === "Escape" && selection.size) selection.clear();
    else return false;
    return true;
  }
}
