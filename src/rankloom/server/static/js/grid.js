// The grid of results: rows of pictures of equal height, of which only those near the window exist in the document.

import { calm, clock, date, h, icon, number, put, thumbnail } from "./dom.js";

const CAPTION = 46;
const GAP = 14;
const DIVIDER = 64;
const OVERSCAN = 600;

export class Grid {
  /** `actions`: open, mark, why, similar, more, moved: called with a hit; `more` when the end comes near. */
  constructor(root, actions) {
    this.root = root;
    this.actions = actions;
    this.hits = [];
    this.rows = [];
    this.shown = new Map();
    this.current = 0;
    this.seen = 0;
    this.total = 0;
    this.cutoff = null;
    this.size = 190;
    this.readOnly = false;
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; this.render(); });
    };
    addEventListener("scroll", later, { passive: true });
    new ResizeObserver(() => { if (this.root.clientWidth !== this.width) this.layout(); }).observe(root);
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("click", (event) => this.click(event));
    root.addEventListener("dragstart", (event) => {
      const tile = event.target.closest(".tile");
      if (tile) event.dataTransfer.setData("application/x-rankloom-item", tile.dataset.id);
    });
    root.addEventListener("focusin", (event) => {
      const tile = event.target.closest?.(".tile");
      if (tile) this.select(Number(tile.dataset.index), false);
    });
  }

  /** Show other results. With `animate` tiles move from where they were to where they are. */
  show(hits, { total, cutoff, animate = false, byDate = false }) {
    const before = animate ? this.places() : null;
    const ranks = animate ? new Map(this.hits.map((hit) => [hit.id, hit.rank])) : null;
    for (const hit of hits) hit.moved = ranks?.has(hit.id) ? ranks.get(hit.id) - hit.rank : 0;
    this.hits = hits;
    this.byDate = byDate;
    // Marked results stand at the ends with scores of their own; the others are measured against the best of them.
    this.best = hits.find((hit) => hit.mark === null || hit.mark === undefined)?.score || 1;
    this.total = total;
    this.cutoff = cutoff;
    this.current = 0;
    this.rows = [];
    this.seen = 0;
    this.clear();
    this.root.hidden = hits.length === 0;
    this.layout();
    if (before && !calm()) this.animate(before);
  }

  /** More results of the same order. */
  append(hits) {
    const known = new Set(this.hits.map((hit) => hit.id));
    this.hits.push(...hits.filter((hit) => !known.has(hit.id)));
    this.layout();
  }

  clear() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
  }

  /** Rows that fill the width: pictures of a row share one height. */
  layout() {
    this.width = this.root.clientWidth;
    if (!this.width || !this.hits.length) { this.rows = []; this.root.style.setProperty("height", "0"); return; }
    const target = this.width < 560 ? Math.min(this.size, 150) : this.size;
    const rows = [];
    let top = 0, first = 0, sum = 0;
    const close = (end, full) => {
      const space = this.width - GAP * (end - first - 1);
      const height = Math.round(full ? space / sum : Math.min(target, space / sum));
      rows.push({ top, height: height + CAPTION, picture: height, first, end });
      top += height + CAPTION + GAP;
      first = end;
      sum = 0;
    };
    this.hits.forEach((hit, index) => {
      if (this.cutoff !== null && index === this.cutoff && index > 0) {
        if (index > first) close(index, false);
        rows.push({ top, height: DIVIDER, divider: true, first: index, end: index });
        top += DIVIDER + GAP;
      }
      sum += ratio(hit);
      if (sum * target + GAP * (index - first) >= this.width) close(index + 1, true);
    });
    if (first < this.hits.length) close(this.hits.length, false);
    const before = this.rows;
    this.rows = rows;
    this.root.style.setProperty("height", `${Math.max(0, top - GAP)}px`);
    this.root.setAttribute("aria-rowcount", this.hits.length < this.total ? -1 : rows.length);
    const focused = document.activeElement?.classList.contains("tile");
    const same = (a, b) => a && b && a.top === b.top && a.height === b.height && a.first === b.first && a.end === b.end && !a.divider === !b.divider;
    for (const [i, element] of this.shown) if (!same(before[i], rows[i])) { element.remove(); this.shown.delete(i); }
    this.render();
    if (focused) this.element()?.focus({ preventScroll: true }); // tiles are made anew, the focus stays
  }

  render() {
    if (!this.rows.length || !this.root.offsetParent) return;
    const start = this.root.getBoundingClientRect().top;
    const from = -start - OVERSCAN, to = -start + innerHeight + OVERSCAN;
    const wanted = new Set();
    for (let i = this.rowAt(from); i < this.rows.length && this.rows[i].top < to; i += 1) wanted.add(i);
    const own = this.rowOf(this.current); // the row with the focus stays, wherever the window is
    if (own >= 0) wanted.add(own);
    for (const [i, element] of this.shown) if (!wanted.has(i)) { element.remove(); this.shown.delete(i); }
    for (const i of [...wanted].sort((a, b) => a - b)) {
      if (this.shown.has(i)) continue;
      const element = this.row(i);
      this.shown.set(i, element);
      const after = [...this.shown.keys()].filter((one) => one > i).sort((a, b) => a - b)[0];
      this.root.insertBefore(element, after === undefined ? null : this.shown.get(after));
    }
    const visible = this.rows[this.rowAt(-start + innerHeight)] ?? this.rows.at(-1);
    this.seen = Math.max(this.seen, visible.end);
    if (this.hits.length < this.total && to + 1500 > this.rows.at(-1).top) this.actions.more();
  }

  rowAt(y) {
    let low = 0, high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].top + this.rows[middle].height < y) low = middle + 1; else high = middle;
    }
    return low;
  }

  rowOf(index) {
    return this.rows.findIndex((row) => index >= row.first && index < row.end);
  }

  row(i) {
    const row = this.rows[i];
    const style = { transform: `translateY(${row.top}px)`, height: `${row.height}px` };
    if (row.divider) {
      return h("div", { class: "row divider", role: "row", "aria-rowindex": i + 1, style },
        h("div", { role: "gridcell" }, "From here on it is probably something else"));
    }
    const tiles = this.hits.slice(row.first, row.end).map((hit, at) => this.tile(hit, row.first + at, row.picture));
    return h("div", { class: "row", role: "row", "aria-rowindex": i + 1, style }, tiles);
  }

  tile(hit, index, height) {
    const tile = this.pattern().cloneNode(true);
    const [frame, meter, caption] = tile.children, [picture, stamp, acts] = frame.children;
    tile.style.width = `${Math.round(height * ratio(hit))}px`;
    tile.tabIndex = index === this.current ? 0 : -1;
    tile.dataset.index = index;
    tile.dataset.id = hit.id;
    frame.style.height = `${height}px`;
    picture.src = thumbnail(hit.id);
    if (hit.kind === "shot") frame.insertBefore(h("span", { class: "badge" }, icon("play"), clock(hit.end - hit.start)), acts);
    if (hit.moved) frame.insertBefore(h("span", { class: `moved ${hit.moved > 0 ? "up" : "down"}` }, `${hit.moved > 0 ? "↑" : "↓"} ${Math.abs(hit.moved)}`), acts);
    meter.firstChild.style.width = `${Math.max(0, Math.min(100, (100 * hit.score) / this.best))}%`;
    caption.firstChild.textContent = hit.caption || hit.name;
    const [rank, when, score] = caption.lastChild.children;
    rank.textContent = hit.rank;
    when.textContent = date(hit.taken);
    score.textContent = this.byDate ? "" : number(hit.score);
    this.verdict(tile, hit, stamp, acts);
    return tile;
  }

  /** What every tile is made of; made once and copied. */
  pattern() {
    const act = (name, text) => h("button", { type: "button", tabindex: "-1", class: `act ${name}`, "data-act": name, "aria-label": text, title: text }, icon(name));
    this.made ??= h("div", { class: "tile", role: "gridcell", draggable: "true" },
      h("div", { class: "frame" },
        h("img", { alt: "", decoding: "async", draggable: "false" }),
        h("span", { class: "stamp" }),
        h("div", { class: "acts" }, this.readOnly ? null : [act("right", "Right"), act("wrong", "Wrong")], h("span", { class: "spring" }), act("similar", "More like this"), act("why", "Why here"))),
      h("div", { class: "meter" }, h("i", {})),
      h("div", { class: "caption" }, h("div", { class: "name" }), h("div", { class: "facts" }, h("span", {}), h("span", { class: "when" }), h("span", { class: "score" }))));
    return this.made;
  }

  /** Show the mark of a tile. */
  verdict(tile, hit, stamp = tile.querySelector(".stamp"), acts = tile.querySelector(".acts")) {
    const right = isRight(hit), wrong = isWrong(hit);
    tile.classList.toggle("is-right", right);
    tile.classList.toggle("is-wrong", wrong);
    tile.setAttribute("aria-label", describe(hit, this.total, this.byDate));
    if (right || wrong) put(stamp, icon(wrong ? "wrong" : "right"));
    if (this.readOnly) return;
    acts.children[0].ariaPressed = String(right);
    acts.children[1].ariaPressed = String(wrong);
  }

  click(event) {
    const tile = event.target.closest(".tile");
    if (!tile) return;
    const index = Number(tile.dataset.index), hit = this.hits[index];
    this.select(index, false);
    const act = event.target.closest(".act")?.dataset.act;
    if (act === "right" || act === "wrong") this.actions.mark(hit, act === "right" ? 1 : 0);
    else this.actions[act ?? "open"](hit);
  }

  /** Draw the marks again. */
  refresh() {
    for (const tile of this.root.querySelectorAll(".tile")) this.verdict(tile, this.hits[Number(tile.dataset.index)]);
  }

  get hit() { return this.hits[this.current]; }

  element(index = this.current) {
    return this.root.querySelector(`.tile[data-index="${index}"]`);
  }

  /** Make a tile the current one; with `focus` it gets the focus and is brought into view. */
  select(index, focus = true) {
    if (!this.hits.length) return;
    const next = Math.max(0, Math.min(this.hits.length - 1, index));
    const moved = next !== this.current;
    this.element()?.setAttribute("tabindex", "-1");
    this.current = next;
    this.render();
    const tile = this.element();
    tile?.setAttribute("tabindex", "0");
    if (focus && tile) {
      tile.focus({ preventScroll: true });
      const box = tile.getBoundingClientRect(), top = 150;
      if (box.top < top || box.bottom > innerHeight - 20) tile.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
    }
    if (moved) this.actions.moved(this.hits[next]);
  }

  focus() { this.select(this.current); }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.select(Math.max(0, Math.min(this.hits.length - 1, this.current + steps[event.key])));
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.vertical(event.key === "ArrowDown" ? 1 : -1);
    else return;
    event.preventDefault();
  }

  /** The tile above or below whose middle is nearest. */
  vertical(step) {
    let i = this.rowOf(this.current) + step;
    while (this.rows[i]?.divider) i += step;
    const row = this.rows[i], own = this.rows[this.rowOf(this.current)];
    if (!row || !own) return;
    const middle = (of, index) => {
      let x = 0;
      for (let j = of.first; j < index; j += 1) x += of.picture * ratio(this.hits[j]) + GAP;
      return x + (of.picture * ratio(this.hits[index])) / 2;
    };
    const x = middle(own, this.current);
    let best = row.first;
    for (let j = row.first; j < row.end; j += 1) if (Math.abs(middle(row, j) - x) < Math.abs(middle(row, best) - x)) best = j;
    this.select(best);
  }

  /** Where the tiles of the document are on the page, by item. */
  places() {
    const found = new Map();
    for (const tile of this.root.querySelectorAll(".tile")) {
      const box = tile.getBoundingClientRect();
      found.set(Number(tile.dataset.id), { x: box.left, y: box.top + scrollY, width: box.width });
    }
    return found;
  }

  animate(before) {
    for (const tile of this.root.querySelectorAll(".tile")) {
      const box = tile.getBoundingClientRect(), old = before.get(Number(tile.dataset.id));
      const frames = old
        ? [{ transform: `translate(${old.x - box.left}px, ${old.y - box.top - scrollY}px) scale(${old.width / box.width})` }, { transform: "none" }]
        : [{ opacity: 0, transform: "scale(.92)" }, { opacity: 1, transform: "none" }];
      tile.animate(frames, { duration: old ? 650 : 400, easing: "cubic-bezier(.3, .7, .2, 1)" });
    }
  }
}

export const isRight = (hit) => hit.mark !== null && hit.mark !== undefined && hit.mark > 0;
export const isWrong = (hit) => hit.mark === 0;

const ratio = (hit) => Math.max(0.55, Math.min(2.2, (hit.width || 4) / (hit.height || 3)));

function describe(hit, total, byDate) {
  const parts = [`Result ${hit.rank} of ${total}`, hit.caption || hit.name];
  if (hit.kind === "shot") parts.push(`video shot of ${Math.round(hit.end - hit.start)} seconds`);
  if (hit.taken) parts.push(date(hit.taken));
  if (!byDate) parts.push(`score ${number(hit.score)}`);
  if (isRight(hit)) parts.push("marked right");
  if (isWrong(hit)) parts.push("marked wrong");
  return parts.join(", ");
}
