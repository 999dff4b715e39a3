// How results are selected by hand: with Ctrl and Shift, by a rectangle, by holding a finger on one.

import { h } from "./dom.js";

/** @import { Selection } from "./selection.js" */

export const HELD = 450; // milliseconds until a finger has held a picture
const TAKEN = ".tile, button, input, select, a, label, .panel, .scrubber, .albumbar, .search-head, .status, "
  + "#message, .selection, .pill";
export const SLACK = 10; // pixels that it may move meanwhile

/** The tile of an event. @param {Event} event @returns {HTMLElement | null} */
export const tileOf = (event) => /** @type {HTMLElement} */ (event.target).closest?.(".tile");

/**
 * Take clicks that select; whether one did.
 * @param {MouseEvent} event
 * @param {number} index
 * @param {Selection} selection
 */
export function selecting(event, index, selection) {
  const button = /** @type {HTMLElement} */ (event.target).closest(".act");
  if (event.shiftKey) selection.extend(index);
  else if (button ? button.getAttribute("data-act") === "select"
    : event.ctrlKey || event.metaKey || selection.size > 0) selection.toggle(index);
  else return false;
  return true;
}

/** A finger that is held on a tile selects it. @param {HTMLElement} root @param {Selection} selection */
export function holdToSelect(root, selection) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let x = 0, y = 0, held = false;
  const stop = () => clearTimeout(timer);
  root.addEventListener("pointerdown", (event) => {
    const tile = tileOf(event);
    stop();
    held = false;
    if (event.pointerType === "mouse" || !tile) return;
    [x, y] = [event.clientX, event.clientY];
    timer = setTimeout(() => {
      held = true;
      selection.toggle(Number(tile.dataset.index));
      navigator.vibrate?.(15);
    }, HELD);
  });
  root.addEventListener("pointermove", (event) => {
    if (Math.hypot(event.clientX - x, event.clientY - y) > SLACK) stop();
  });
  for (const end of ["pointerup", "pointercancel"]) root.addEventListener(end, stop);
  // What follows a long touch is neither a click nor the browser's own menu.
  root.addEventListener("click", (event) => {
    if (held) event.stopImmediatePropagation();
    held = false;
  }, { capture: true });
  root.addEventListener("contextmenu", (event) => { if (held) event.preventDefault(); });
}

/**
 * A rectangle that is drawn beside the tiles selects those that it touches.
 * @param {Element} area where it may begin
 * @param {() => boolean} active whether there are results
 * @param {() => Iterable<HTMLElement>} tiles
 * @param {Selection} selection
 * @param {(item: number) => void} drawn the first one touched; keys are its from then on, not the box's
 */
export function drawToSelect(area, active, tiles, selection, drawn) {
  area.addEventListener("pointerdown", (/** @type {any} */ event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const taken = target.closest(TAKEN);
    if (event.pointerType !== "mouse" || event.button !== 0 || taken || !active()) return;
    const band = h("div", { class: "band" });
    const start = { x: event.pageX, y: event.pageY };
    if (!event.ctrlKey && !event.shiftKey && !event.metaKey) selection.clear();
    selection.base = selection.store.state.selected;
    /** What was touched stays so when its tile is out of sight. @type {Map<number, DOMRect>} */
    const seen = new Map();
    const move = (/** @type {PointerEvent} */ now) => {
      now.preventDefault();
      if (!band.isConnected && Math.hypot(now.pageX - start.x, now.pageY - start.y) < 6) return;
      document.body.append(band);
      const box = {
        left: Math.min(start.x, now.pageX), top: Math.min(start.y, now.pageY),
        width: Math.abs(now.pageX - start.x), height: Math.abs(now.pageY - start.y),
      };
      for (const [name, value] of Object.entries(box)) band.style.setProperty(name, `${value}px`);
      for (const tile of tiles()) if (tile.dataset.id) seen.set(Number(tile.dataset.id), place(tile));
      selection.touch([...seen].filter(([, rect]) => touches(rect, box)).map(([id]) => id));
    };
    const end = () => {
      const [first] = selection.store.state.selected;
      if (band.isConnected && first !== undefined) drawn(first);
      band.remove();
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
    event.preventDefault();
  });
}

/** Where a tile is on the page. @param {HTMLElement} tile */
function place(tile) {
  const { left, top, width, height } = tile.getBoundingClientRect();
  return new DOMRect(left + scrollX, top + scrollY, width, height);
}

/** @param {DOMRect} rect @param {{ left: number, top: number, width: number, height: number }} box */
function touches(rect, box) {
  return rect.left < box.left + box.width && rect.right > box.left && rect.top < box.top + box.height
    && rect.bottom > box.top;
}
