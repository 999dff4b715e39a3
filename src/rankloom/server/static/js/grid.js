// The grid of results: rows of pictures, of which only those near the window exist in the document.

import { thumbnail } from "./addresses.js";
import { calm, h, icon, put } from "./dom.js";
import { clock, date, matchedLine, number } from "./format.js";
import { isRight, isWrong } from "./marking.js";
import { layOut, ratio, rowAt, rowOf, sameRow, vertical } from "./rows.js";

/** @import { Hit, Row, State, Store } from "./types.js" */
/** @typedef {{ x: number, y: number, width: number }} Place */
/**
 * @typedef {object} Actions what a tile does with its hit
 * @property {(hit: Hit) => void} open
 * @property {(hit: Hit, grade: 0 | 1) => void} mark
 * @property {(hit: Hit) => void} why
 * @property {(hit: Hit) => void} similar
 * @property {() => void} more the end comes near
 * @property {(hit: Hit) => void} moved another tile is the current one
 */

const OVERSCAN = 600; // pixels above and below the window
const AHEAD = 1500;
const HEAD = 150; // what stands above the results
const NARROW = 560;

export class Grid {
  /** @param {HTMLElement} root @param {Store<State>} store @param {Actions} actions */
  constructor(root, store, actions) {
    this.root = root;
    this.store = store;
    this.actions = actions;
    /** @type {Hit[]} */
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
    /** @type {HTMLElement | null} */
    this.pattern = null;
    this.listen();
    store.watch(["order"], (state) => this.show(state));
    store.watch(["hits"], ({ hits, order }, before) => { if (order === before.order) this.extend(hits); });
    store.watch(["grades"], () => this.refresh());
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
  show({ hits, order: { animate } }) {
    if (hits.length && (!animate || scrollY > 0)) scrollTo({ top: 0 });
    const before = animate ? this.places() : null;
    this.ranks = new Map(animate ? this.hits.map((hit) => [hit.id, hit.rank]) : []);
    this.hits = hits;
    // Marked results stand at the ends with scores of their own; the others are measured against their best.
    this.best = hits.find((hit) => hit.mark === null)?.score || 1;
    this.current = 0;
    this.rows = [];
    this.seen = 0;
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
    this.root.hidden = hits.length === 0;
    this.layout();
    if (before && !calm()) this.animate(before);
  }

  /** More results of the same order. @param {Hit[]} hits */
  extend(hits) {
    this.hits = hits;
    this.layout();
    setTimeout(() => this.render()); // the end may be in sight again
  }

  /** @param {number} size the height of pictures */
  resize(size) {
    this.size = size;
    this.layout();
  }

  /** Lay the rows out anew; those that stay where they were keep their elements. */
  layout() {
    this.width = this.root.clientWidth;
    const { total, answer } = this.store.state;
    const target = this.width < NARROW ? Math.min(this.size, 150) : this.size;
    const before = this.rows;
    const { rows, height } = layOut(this.width ? this.hits : [], {
      width: this.width, target, cutoff: answer?.cutoff ?? null,
    });
    this.rows = rows;
    this.root.style.setProperty("height", `${height}px`);
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
    const { top, height, first, end, picture, divider } = this.rows[i];
    const style = { transform: `translateY(${top}px)`, height: `${height}px` };
    if (divider) {
      return h("div", { class: "row divider", role: "row", "aria-rowindex": i + 1, style },
        h("div", { role: "gridcell" }, "From here on it is probably something else"));
    }
    const tiles = this.hits.slice(first, end).map((hit, at) => this.tile(hit, first + at, picture));
    return h("div", { class: "row", role: "row", "aria-rowindex": i + 1, style }, tiles);
  }

  /** @param {Hit} hit @param {number} index @param {number} height */
  tile(hit, index, height) {
    this.pattern ??= tilePattern(this.store.state.readOnly);
    const tile = /** @type {HTMLElement} */ (this.pattern.cloneNode(true));
    const [frame, meter, caption] = /** @type {any} */ (tile.children);
    const [picture, , acts] = frame.children;
    tile.style.width = `${Math.round(height * ratio(hit))}px`;
    tile.tabIndex = index === this.current ? 0 : -1;
    tile.dataset.index = String(index);
    tile.dataset.id = String(hit.id);
    frame.style.height = `${height}px`;
    picture.src = thumbnail(hit.id);
    if (hit.kind === "shot") {
      frame.insertBefore(h("span", { class: "badge" }, icon("play"), clock(hit.end - hit.start)), acts);
    }
    const step = (this.ranks.get(hit.id) ?? hit.rank) - hit.rank;
    if (step) frame.insertBefore(moved(step), acts);
    meter.firstChild.style.width = `${Math.max(0, Math.min(100, (100 * hit.score) / this.best))}%`;
    caption.firstChild.textContent = hit.matched ? matchedLine(hit.matched) : hit.caption || hit.name;
    tile.classList.toggle("by-looks", hit.literal === false && this.store.state.answer?.literal !== 0);
    const [rank, when, score] = caption.lastChild.children;
    rank.textContent = hit.rank;
    when.textContent = date(hit.taken);
    score.textContent = this.store.state.order.byDate ? "" : number(hit.score);
    this.verdict(tile, hit);
    return tile;
  }

  /** Show the mark of a tile. @param {HTMLElement} tile @param {Hit} hit */
  verdict(tile, hit) {
    const { state } = this.store;
    const right = isRight(state, hit.id), wrong = isWrong(state, hit.id);
    tile.classList.toggle("is-right", right);
    tile.classList.toggle("is-wrong", wrong);
    tile.setAttribute("aria-label", described(state, hit));
    const stamp = tile.querySelector(".stamp");
    if (stamp && (right || wrong)) put(stamp, icon(wrong ? "wrong" : "right"));
    if (state.readOnly) return;
    tile.querySelector(".act.right")?.setAttribute("aria-pressed", String(right));
    tile.querySelector(".act.wrong")?.setAttribute("aria-pressed", String(wrong));
  }

  /** Draw the marks again. */
  refresh() {
    for (const tile of this.tiles()) this.verdict(tile, this.hits[Number(tile.dataset.index)]);
  }

  /** @param {MouseEvent} event */
  click(event) {
    const tile = tileOf(event);
    if (!tile) return;
    const index = Number(tile.dataset.index), hit = this.hits[index];
    this.select(index, false);
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
    if (changed) this.actions.moved(this.hits[next]);
  }

  focus() { this.select(this.current); }

  /** @param {KeyboardEvent} event */
  key(event) {
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
    event.preventDefault();
  }

  /** Where the tiles of the document are on the page, by item. @returns {Map<number, Place>} */
  places() {
    return new Map([...this.tiles()].map((tile) => {
      const box = tile.getBoundingClientRect();
      return [Number(tile.dataset.id), { x: box.left, y: box.top + scrollY, width: box.width }];
    }));
  }

  /** @param {Map<number, Place>} before */
  animate(before) {
    for (const tile of this.tiles()) {
      const box = tile.getBoundingClientRect(), old = before.get(Number(tile.dataset.id));
      const from = old ? { transform: movement(old, box) } : { opacity: 0, transform: "scale(.92)" };
      const to = old ? { transform: "none" } : { opacity: 1, transform: "none" };
      tile.animate([from, to], { duration: old ? 650 : 400, easing: "cubic-bezier(.3, .7, .2, 1)" });
    }
  }
}

/** The tile of an event. @param {Event} event @returns {HTMLElement | null} */
const tileOf = (event) => /** @type {HTMLElement} */ (event.target).closest?.(".tile");

/** From where a tile is to where it was. @param {Place} old @param {DOMRect} box */
function movement(old, box) {
  const x = old.x - box.left, y = old.y - box.top - scrollY;
  return `translate(${x}px, ${y}px) scale(${old.width / box.width})`;
}

/** @param {number} step */
function moved(step) {
  const up = step > 0;
  return h("span", { class: `moved ${up ? "up" : "down"}` }, `${up ? "↑" : "↓"} ${Math.abs(step)}`);
}

/** What every tile is made of; made once and copied. @param {boolean} readOnly */
function tilePattern(readOnly) {
  /** @param {string} name @param {string} text */
  const act = (name, text) => h("button", {
    type: "button", tabindex: "-1", class: `act ${name}`, "data-act": name, "aria-label": text, title: text,
  }, icon(name));
  return h("div", { class: "tile", role: "gridcell", draggable: "true" },
    h("div", { class: "frame" },
      h("img", { alt: "", decoding: "async", draggable: "false" }),
      h("span", { class: "stamp" }),
      h("div", { class: "acts" },
        readOnly ? null : [act("right", "Right"), act("wrong", "Wrong")],
        h("span", { class: "spring" }), act("similar", "More like this"), act("why", "Why here"))),
    h("div", { class: "meter" }, h("i", {})),
    h("div", { class: "caption" },
      h("div", { class: "name" }),
      h("div", { class: "facts" },
        h("span", {}), h("span", { class: "when" }), h("span", { class: "score" }))));
}

/** A result in words. @param {State} state @param {Hit} hit */
function described(state, hit) {
  const parts = [`Result ${hit.rank} of ${state.total}`, hit.caption || hit.name];
  if (hit.kind === "shot") parts.push(`video shot of ${Math.round(hit.end - hit.start)} seconds`);
  if (hit.matched) parts.push(matchedLine(hit.matched));
  if (hit.taken) parts.push(date(hit.taken));
  if (hit.literal === false) parts.push("a guess by looks");
  if (!state.order.byDate) parts.push(`score ${number(hit.score)}`);
  if (isRight(state, hit.id)) parts.push("marked right");
  if (isWrong(state, hit.id)) parts.push("marked wrong");
  return parts.join(", ");
}
