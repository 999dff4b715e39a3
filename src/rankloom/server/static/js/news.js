// New items while the page is open: they come by themselves where nothing would move, else a line says so.

import { $, button, h, iconButton, put } from "./dom.js";
import { t, tn } from "./i18n.js";
import { isEmpty } from "./query.js";

/** @import { State, Store, WorkState } from "./types.js" */
/** @import { Work } from "./work.js" */

const FEW = 60; // results that may move
const PAUSE = 2500; // milliseconds between two times that results come by themselves

export class News {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Work} parts.work
   * @param {() => Promise<void>} parts.refresh searches again, where the page is scrolled to
   */
  constructor({ store, work, refresh }) {
    this.store = store;
    this.refresh = refresh;
    /** How many items there were when results came. @type {number | null} */
    this.known = null;
    this.last = 0;
    this.items = 0;
    this.root = h("div", { class: "pill news", role: "status", hidden: true });
    $("view-search").append(this.root);
    store.watch(["answer"], ({ answer, query }) => {
      if (!answer) return;
      this.known = isEmpty(query) ? answer.total : this.items || null;
      this.draw();
    });
    work.watch((state) => this.take(state));
  }

  /** @param {WorkState} state */
  take({ items }) {
    this.items = items;
    if (this.known === null || items < this.known) this.known = items;
    if (items > this.known && this.still() && performance.now() - this.last > PAUSE) {
      this.last = performance.now();
      this.refresh();
    }
    this.draw();
  }

  /** Whether results may come without anybody's wish: few are seen, and nobody does anything with them. */
  still() {
    const { query, total, selected, searching } = this.store.state;
    return isEmpty(query) && total < FEW && !selected.size && !searching && !$("view-search").hidden
      && !document.querySelector("dialog[open]") && !$("results").contains(document.activeElement);
  }

  draw() {
    const fresh = this.known === null ? 0 : this.items - this.known;
    this.root.hidden = fresh <= 0 || this.still();
    if (this.root.hidden) {
      put(this.root);
      return;
    }
    const text = tn(fresh, "{n} new item", "{n} new items");
    if (this.root.dataset.text === text && this.root.children.length) return;
    this.root.dataset.text = text;
    const close = () => { this.known = this.items; this.draw(); };
    put(this.root, h("span", { class: "dot" }), h("span", { class: "said" }, text),
      button(t("Show"), { kind: "primary", onclick: () => { close(); this.refresh(); } }),
      iconButton("wrong", t("Not now"), { onclick: close }));
  }
}
