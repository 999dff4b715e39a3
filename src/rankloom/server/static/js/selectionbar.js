// The bar for what is selected.

import { $, button, focusedName, focusNamed, h, iconButton, put } from "./dom.js";
import { t, tn } from "./i18n.js";
import { isList } from "./query.js";
import { askAlbum, askName, askTag, openSheet } from "./sheets.js";

/** @import { Organizing } from "./organizing.js" */
/** @import { HandOrder } from "./reordering.js" */
/** @import { Selection } from "./selection.js" */
/** @import { Api, State, Store } from "./types.js" */

export class SelectionBar {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Api} parts.api
   * @param {Selection} parts.selection
   * @param {Organizing} parts.organizing
   * @param {(items: number[], grade: 0 | 1) => void} parts.mark
   * @param {(item: number) => void} parts.cover makes an item the cover of the album that is shown
   * @param {HandOrder} parts.order
   * @param {() => void} parts.focusResults
   */
  constructor({ store, api, selection, organizing, mark, cover, order, focusResults }) {
    this.store = store;
    this.api = api;
    this.selection = selection;
    this.organizing = organizing;
    this.mark = mark;
    this.cover = cover;
    this.order = order;
    this.root = $("selection");
    this.root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    document.addEventListener("keydown", (event) => {
      const taken = /** @type {Element} */ (event.target).closest("input, textarea, select, .panel, .menu");
      if (event.key !== "Escape" || event.defaultPrevented || taken || !selection.size) return;
      if (!document.querySelector("dialog[open]")) selection.clear();
    });
    store.watch(["selected", "order"], (state, before) => {
      const hadFocus = this.root.contains(document.activeElement);
      if (state.selected !== before.selected || state.selected.size) this.draw(state);
      if (hadFocus && !state.selected.size) focusResults();
    });
  }

  /** The arrows move over the buttons, Escape selects nothing. @param {KeyboardEvent} event */
  key(event) {
    const buttons = [...this.root.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (event.key === "Escape") this.selection.clear();
    else if (next !== undefined) buttons.at(next % buttons.length).focus();
    else return;
    event.preventDefault();
  }

  get items() { return [...this.store.state.selected]; }

  /** @param {State} state */
  draw({ selected, query, readOnly }) {
    const n = selected.size;
    document.body.classList.toggle("selecting", n > 0);
    this.root.hidden = n === 0;
    if (!n) return;
    const { organizing } = this;
    const { album, hidden } = query.filters;
    /** @param {string} symbol @param {string} text @param {() => void} onclick */
    const tool = (symbol, text, onclick) =>
      button(text, { symbol, kind: "quiet", "data-name": symbol, onclick });
    const focused = focusedName();
    put(this.root,
      iconButton("wrong", t("Select nothing"), {
        "data-name": "clear", onclick: () => this.selection.clear(),
      }),
      h("strong", { class: "how-many" }, tn(n, "{n} selected", "{n} selected")),
      readOnly || isList(query) ? null : [
        tool("right", t("Right"), () => this.mark(this.items, 1)),
        tool("wrong", t("Wrong"), () => this.mark(this.items, 0)),
      ],
      readOnly ? null : [
        tool("album", t("Album"), () => this.askAlbum()), tool("tag", t("Tag"), () => this.askTag()),
        tool("star", t("Stars"), () => this.askStars()),
      ],
      this.order.active && !readOnly ? [
        tool("prev", t("Earlier"), () => this.order.shift(this.items, -1)),
        tool("next", t("Later"), () => this.order.shift(this.items, 1)),
      ] : null,
      album && !readOnly ? [
        n === 1 ? tool("picture", t("Cover"), () => this.cover(this.items[0])) : null,
        tool("undo", t("Take out"), () => organizing.removeFromAlbum(this.items, album)),
      ] : null,
      readOnly ? null : tool("similar", t("Concept"), () => this.askConcept()),
      tool("export", t("Download"), () => organizing.download(this.items)),
      tool("text", t("Export"), () => this.askExport()),
      tool("open", t("Copy paths"), () => organizing.copyPaths(this.items)),
      readOnly ? null
        : tool("hide", hidden ? t("Show again") : t("Hide"), () => organizing.hide(this.items, !hidden)));
    focusNamed(this.root, focused);
  }

  askTag(items = this.items) {
    return askTag(this.api, items.length, (change) => this.organizing.tag(items, change));
  }

  askAlbum(items = this.items) {
    return askAlbum(this.api, items.length, {
      add: (album) => this.organizing.addToAlbum(items, album),
      make: (name) => this.organizing.makeAlbum(items, name),
    });
  }

  askStars(items = this.items) {
    const title = tn(items.length, "Stars for {n} item", "Stars for {n} items");
    openSheet(title, (close) => h("ul", { class: "choices" },
      [5, 4, 3, 2, 1, 0].map((stars) => h("li", {}, h("button", {
        type: "button", class: "link",
        "aria-label": stars ? tn(stars, "{n} star", "{n} stars") : t("No stars"),
        onclick: () => { close(); this.organizing.rate(items, stars); },
      }, stars ? "★".repeat(stars) : t("No stars"))))));
  }

  askConcept() {
    const { items } = this;
    askName(tn(items.length, "A concept from {n} example", "A concept from {n} examples"), {
      label: t("Name, e.g. harbour"), action: t("Make"), longest: 60,
      done: (name) => this.organizing.makeConcept(items, name),
    });
  }

  askExport() {
    const { items, organizing } = this;
    openSheet(tn(items.length, "Export {n} item", "Export {n} items"), (close) => {
      /** @param {string} text @param {() => void} action */
      const choice = (text, action) => h("li", {}, h("button", {
        type: "button", class: "link", onclick: () => { close(); action(); },
      }, text));
      return h("ul", { class: "choices" },
        choice(t("JSON: what is known of them"), () => organizing.export(items, "json")),
        choice(t("CSV: the same as a table"), () => organizing.export(items, "csv")),
        choice(t("XMP: captions, tags and stars as sidecars"), () => organizing.download(items, "xmp")));
    });
  }
}

/**
 * What keys act on: the selection, or the current result.
 * @param {State} state
 * @param {number | undefined} current
 */
export function chosen({ selected }, current) {
  if (selected.size) return [...selected];
  return current === undefined ? [] : [current];
}
