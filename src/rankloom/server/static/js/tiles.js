// One result in the grid: its picture, its mark, what can be done with it.

import { thumbnail } from "./addresses.js";
import { h, icon, put } from "./dom.js";
import { clock, date, matchedLine, number } from "./format.js";
import { t, tn } from "./i18n.js";
import { isRight, isWrong } from "./marking.js";

/** @import { Hit, State } from "./types.js" */
/**
 * @typedef {object} Size
 * @property {number} width
 * @property {number} height of the picture
 * @property {number} best the score that fills the meter
 * @property {number} step how many places it moved up
 */

/** @type {Map<boolean, HTMLElement>} */
const patterns = new Map();

/** @type {boolean | undefined} */
let hovers;

/**
 * Whether pictures can be dragged; with a finger, holding one selects it. Asked once: it makes styles anew.
 */
function draggable() {
  hovers ??= matchMedia("(hover: hover)").matches;
  return hovers;
}

/** What every tile is made of; made once and copied. @param {boolean} readOnly */
function pattern(readOnly) {
  /** @param {string} name @param {string} text */
  const act = (name, text) => h("button", {
    type: "button", tabindex: "-1", class: `act ${name}`, "data-act": name, "aria-label": text, title: text,
  }, icon(name));
  const made = patterns.get(readOnly) ?? h("div", { class: "tile", role: "gridcell" },
    h("div", { class: "frame" },
      h("img", { alt: "", decoding: "async", draggable: "false" }),
      h("span", { class: "stamp" }), h("span", { class: "gone-badge" }, t("File is gone")),
      act("select", t("Select")),
      h("div", { class: "acts" },
        readOnly ? null : [act("right", t("Right")), act("wrong", t("Wrong"))],
        h("span", { class: "spring" }), act("similar", t("More like this")), act("why", t("Why here")))),
    h("div", { class: "meter" }, h("i", {})),
    h("div", { class: "caption" },
      h("div", { class: "name" }),
      h("div", { class: "facts" },
        h("span", {}), h("span", { class: "when" }), h("span", { class: "score" }))));
  patterns.set(readOnly, made);
  return /** @type {HTMLElement} */ (made.cloneNode(true));
}

/** The place of a result that is still on its way. @param {number} index @param {Size} size */
export function waitingTile(index, { width, height }) {
  const tile = h("div", { class: "tile waiting", role: "gridcell", "data-index": index, tabindex: "-1" },
    h("div", { class: "frame", style: { height: `${height}px` } }));
  tile.setAttribute("aria-label", t("Item {n}, loading", { n: index + 1 }));
  tile.style.width = `${width}px`;
  return tile;
}

/** @param {State} state @param {Hit} hit @param {number} index @param {Size} size */
export function makeTile(state, hit, index, { width, height, best, step }) {
  const tile = pattern(state.readOnly);
  const [frame, meter, caption] = /** @type {any} */ (tile.children);
  const [picture, , , select] = frame.children;
  tile.style.width = `${width}px`;
  tile.dataset.index = String(index);
  tile.dataset.id = String(hit.id);
  tile.draggable = draggable();
  frame.style.height = `${height}px`;
  picture.src = thumbnail(hit.id);
  if (hit.kind === "shot") {
    frame.insertBefore(h("span", { class: "badge" }, icon("play"), clock(hit.end - hit.start)), select);
  }
  if (hit.stars) frame.insertBefore(h("span", { class: "stars-badge" }, "★".repeat(hit.stars)), select);
  if (step) frame.insertBefore(moved(step), select);
  meter.firstChild.style.width = `${Math.max(0, Math.min(100, (100 * hit.score) / best))}%`;
  caption.firstChild.textContent = hit.matched ? matchedLine(hit.matched) : hit.caption || hit.name;
  const byLooks = hit.literal === false && state.answer?.literal !== 0;
  tile.classList.toggle("by-looks", byLooks);
  const [rank, when, score] = caption.lastChild.children;
  rank.textContent = hit.rank;
  const day = date(dated(state, hit));
  when.textContent = byLooks ? t("looks like it {date}", { date: day }).trim() : day;
  score.textContent = state.order.byDate ? "" : number(hit.score);
  drawState(state, tile, hit);
  return tile;
}

/**
 * Show the mark of a tile, and whether it is selected.
 * @param {State} state
 * @param {HTMLElement} tile
 * @param {Hit} hit
 */
export function drawState(state, tile, hit) {
  const right = isRight(state, hit.id), wrong = isWrong(state, hit.id), selected = state.selected.has(hit.id);
  tile.classList.toggle("is-right", right);
  tile.classList.toggle("is-wrong", wrong);
  tile.classList.toggle("is-selected", selected);
  tile.classList.toggle("is-gone", state.gone.has(hit.id));
  tile.setAttribute("aria-selected", String(selected));
  tile.setAttribute("aria-label", described(state, hit));
  tile.querySelector(".act.select")?.setAttribute("aria-pressed", String(selected));
  const stamp = tile.querySelector(".stamp");
  if (stamp && (right || wrong)) put(stamp, icon(wrong ? "wrong" : "right"));
  if (state.readOnly) return;
  tile.querySelector(".act.right")?.setAttribute("aria-pressed", String(right));
  tile.querySelector(".act.wrong")?.setAttribute("aria-pressed", String(wrong));
}

/** @param {number} step */
function moved(step) {
  const up = step > 0;
  return h("span", { class: `moved ${up ? "up" : "down"}` }, `${up ? "↑" : "↓"} ${Math.abs(step)}`);
}

/**
 * The date of a result: when it was taken; in an order by date also that of its file, which then decides.
 * @param {State} state
 * @param {Hit} hit
 */
function dated({ order, sort }, { taken, changed }) {
  return taken ?? (order.byDate || sort === "newest" || sort === "oldest" ? changed : null);
}

/** A result in words. @param {State} state @param {Hit} hit */
function described(state, hit) {
  const place = { rank: hit.rank, total: state.total };
  const parts = [
    state.order.byDate ? t("Item {rank} of {total}", place) : t("Result {rank} of {total}", place),
    hit.caption || hit.name,
  ];
  if (hit.kind === "shot") {
    parts.push(tn(Math.round(hit.end - hit.start), "video shot of {n} second", "video shot of {n} seconds"));
  }
  if (hit.matched) parts.push(matchedLine(hit.matched));
  if (dated(state, hit)) parts.push(date(dated(state, hit)));
  if (hit.stars) parts.push(t("{stars} of 5 stars", { stars: hit.stars }));
  if (hit.literal === false) parts.push(t("a guess by looks"));
  if (!state.order.byDate) parts.push(t("score {value}", { value: number(hit.score) }));
  if (state.gone.has(hit.id)) parts.push(t("its file is gone"));
  if (isRight(state, hit.id)) parts.push(t("marked right"));
  if (isWrong(state, hit.id)) parts.push(t("marked wrong"));
  return parts.join(", ");
}
