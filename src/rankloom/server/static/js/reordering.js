// The order of an album by hand: pictures are dragged by mouse or finger onto the one that they come before,
// moved with Alt and the arrows, or by one place with the buttons for what is selected.

import { HELD, SLACK, tileOf } from "./gestures.js";
import { isList } from "./query.js";

/** @import { AlbumBar } from "./albumbar.js" */
/** @import { Browse } from "./browse.js" */
/** @import { Grid } from "./grid.js" */
/** @import { Selection } from "./selection.js" */
/** @import { Hit, State, Store } from "./types.js" */

const EDGE = 70; // pixels from an end of the window where a finger scrolls
const SPEED = 12; // pixels in a frame

export class HandOrder {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Grid} parts.grid
   * @param {AlbumBar} parts.albumBar
   * @param {Browse} parts.browse
   * @param {Selection} parts.selection
   */
  constructor({ store, grid, albumBar, browse, selection }) {
    this.store = store;
    this.grid = grid;
    this.albumBar = albumBar;
    this.browse = browse;
    this.selection = selection;
    /** The item that is dragged. */
    this.dragged = 0;
    /** The tile onto which it would be dropped. @type {HTMLElement | null} */
    this.target = null;
    this.finger = { x: 0, y: 0, moved: false };
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.follow = (/** @type {TouchEvent} */ event) => this.touchMoved(event);
    this.byMouse(grid.root);
    this.byFinger(grid.root);
    grid.root.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by || !event.altKey || !this.active || !grid.hit) return;
      event.preventDefault();
      this.shift([grid.hit.id], by < 0 ? -1 : 1);
    });
  }

  get active() { return Boolean(this.albumBar.album?.by_hand) && isList(this.store.state.query); }

  /** Fingers are followed only where they can move something: elsewhere scrolling need not wait for it. */
  listen() {
    const { root } = this.grid;
    if (this.active) root.addEventListener("touchmove", this.follow, { passive: false });
    else root.removeEventListener("touchmove", this.follow);
  }

  /** @param {HTMLElement} root */
  byMouse(root) {
    root.addEventListener("dragstart", (event) => { this.dragged = Number(tileOf(event)?.dataset.id ?? 0); });
    for (const name of ["dragenter", "dragleave", "dragover", "drop"]) {
      root.addEventListener(name, (/** @type {any} */ event) => {
        if (!this.dragged || !this.active) return;
        event.stopPropagation(); // it is not searched with
        if (name !== "dragleave") event.preventDefault();
        this.aim(name === "dragover" || name === "dragenter" ? tileOf(event) : null);
        const tile = tileOf(event);
        if (name === "drop" && tile) this.drop(tile, event.clientX);
      });
    }
    addEventListener("dragend", () => { this.dragged = 0; });
  }

  /** @param {HTMLElement} root */
  byFinger(root) {
    root.addEventListener("touchstart", (event) => {
      const tile = tileOf(event), [{ clientX: x, clientY: y }] = event.touches;
      this.putDown();
      if (!this.active || !tile || event.touches.length > 1) return;
      this.finger = { x, y, moved: false };
      this.timer = setTimeout(() => {
        this.dragged = Number(tile.dataset.id);
        tile.classList.add("carried");
      }, HELD);
    }, { passive: true });
    root.addEventListener("touchend", () => {
      const { dragged, target } = this;
      this.timer = clearTimeout(this.timer) ?? undefined;
      if (dragged && target) this.drop(target, this.finger.x, true);
      this.putDown();
    });
    root.addEventListener("touchcancel", () => this.putDown());
  }

  /** @param {TouchEvent} event */
  touchMoved(event) {
    const [{ clientX: x, clientY: y }] = event.touches;
    const far = Math.hypot(x - this.finger.x, y - this.finger.y) > SLACK;
    if (!this.dragged) {
      if (far) clearTimeout(this.timer);
      return;
    }
    event.preventDefault(); // what is carried does not scroll
    const begins = !this.finger.moved && far;
    if (!this.finger.moved && !far) return;
    this.finger = { x, y, moved: true };
    this.over();
    if (begins) this.scroll();
  }

  /** What the finger is over. */
  over() {
    const { x, y } = this.finger;
    /** @type {HTMLElement | null | undefined} */
    const tile = document.elementFromPoint(x, y)?.closest(".tile");
    this.aim(tile && Number(tile.dataset.id) !== this.dragged ? tile : null);
  }

  /** At the ends of the window the page goes on by itself. */
  scroll() {
    if (!this.dragged) return;
    const { y } = this.finger;
    const by = y < EDGE ? -SPEED : y > innerHeight - EDGE ? SPEED : 0;
    if (by) {
      scrollBy(0, by);
      this.over();
    }
    requestAnimationFrame(() => this.scroll());
  }

  /** @param {HTMLElement | null} tile */
  aim(tile) {
    if (this.target !== tile) this.target?.classList.remove("drop-here");
    this.target = tile;
    tile?.classList.add("drop-here");
  }

  putDown() {
    clearTimeout(this.timer);
    this.aim(null);
    this.grid.root.querySelector(".carried")?.classList.remove("carried");
    this.dragged = 0;
  }

  /**
   * Put what is dragged before a tile, or after the last one where it lies on its right half.
   * @param {HTMLElement} tile
   * @param {number} x
   * @param {boolean} [held] whether holding it has selected it
   */
  drop(tile, x, held = false) {
    const { dragged, store: { state: { selected, total } } } = this;
    const items = selected.has(dragged) ? this.inOrder([...selected]) : [dragged];
    const { left, width } = tile.getBoundingClientRect();
    const last = Number(tile.dataset.index) === total - 1 && x > left + width / 2;
    const before = Number(tile.dataset.id);
    if (held && selected.size === 1) this.selection.clear();
    if (!items.includes(before)) this.albumBar.move(items, last ? null : before);
  }

  /** @param {number[]} items */
  inOrder(items) {
    const places = this.placesOf(items);
    return places.map((place) => /** @type {Hit} */ (this.store.state.hits[place]).id);
  }

  /** Where items are in the list, as far as they are loaded. @param {number[]} items */
  placesOf(items) {
    const wanted = new Set(items);
    return this.store.state.hits.flatMap((hit, i) => (hit && wanted.has(hit.id) ? [i] : []));
  }

  /** Move items by one place. @param {number[]} items @param {-1 | 1} by */
  async shift(items, by) {
    const places = this.placesOf(items), { current, hit, root } = this.grid;
    const follows = hit?.id === items[0] && root.contains(document.activeElement);
    if (!places.length) return;
    const next = await this.browse.at(by < 0 ? places[0] - 1 : places[places.length - 1] + 2);
    if (by < 0 && !next) return;
    await this.albumBar.move(this.inOrder(items), next?.id ?? null);
    if (follows) this.grid.select(current + by);
  }
}
