// Which items are selected. It changes the store and draws nothing.

import { t, tn } from "./i18n.js";

/** @import { Speech, State, Store } from "./types.js" */

export const MOST = 10_000; // items that can be selected at once

export class Selection {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {(first: number, end: number) => Promise<number[]>} parts.items the numbers of a stretch
   * @param {Speech} parts.speech
   */
  constructor({ store, items, speech }) {
    this.store = store;
    this.items = items;
    this.speech = speech;
    /** The place from which a stretch goes. */
    this.anchor = 0;
    /** What was selected before the stretch. @type {ReadonlySet<number>} */
    this.base = new Set();
    this.asked = 0;
  }

  get size() { return this.store.state.selected.size; }

  /** @param {Iterable<number>} ids */
  set(ids) {
    const wanted = [...new Set(ids)];
    if (wanted.length > MOST) this.speech.toast(t("At most {n} items can be selected.", { n: MOST }));
    const selected = new Set(wanted.slice(0, MOST));
    if (selected.size === 0 && this.size === 0) return;
    this.store.update({ selected });
    this.speech.announce(selected.size ? tn(selected.size, "{n} item selected", "{n} items selected")
      : t("Nothing is selected"));
  }

  /** Select a result, or not any more. @param {number} index */
  toggle(index) {
    const hit = this.store.state.hits[index];
    if (!hit) return;
    const selected = new Set(this.store.state.selected);
    if (!selected.delete(hit.id)) selected.add(hit.id);
    this.begin(index);
    this.set(selected);
    this.base = this.store.state.selected;
  }

  /** A stretch may begin at a result. @param {number} index */
  begin(index) {
    this.anchor = index;
    this.base = this.store.state.selected;
    this.asked += 1;
  }

  /** Select all from where the stretch began. @param {number} index */
  async extend(index) {
    const first = Math.min(this.anchor, index), end = Math.max(this.anchor, index) + 1;
    await this.stretch(first, Math.min(end, first + MOST));
  }

  /** All results. */
  all() {
    this.base = new Set();
    return this.stretch(0, Math.min(this.store.state.hits.length, MOST));
  }

  /** @param {number} first @param {number} end */
  async stretch(first, end) {
    this.asked += 1;
    const { asked, base } = this;
    const order = this.store.state.order;
    const ids = await this.items(first, end);
    if (asked === this.asked && order === this.store.state.order) this.set([...base, ...ids]);
  }

  /** Results that a drawn rectangle touches, beside what was selected before. @param {number[]} ids */
  touch(ids) { this.set([...this.base, ...ids]); }

  clear() {
    this.base = new Set();
    this.set([]);
  }
}
