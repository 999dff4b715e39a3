// What stands above the items of an album: its name, its order, and what a living one suggests.

import { thumbnail } from "./addresses.js";
import { toAlbums } from "./albums.js";
import { $, button, focusedName, focusNamed, h, icon, option, put } from "./dom.js";
import { t } from "./i18n.js";
import { fromServer, inWords } from "./query.js";
import { save } from "./saving.js";
import { askName, askSure } from "./sheets.js";

/** @import { Album, Api, Hit, State, Store } from "./types.js" */

export class AlbumBar {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Api} parts.api
   * @param {() => Promise<unknown>} parts.refresh
   * @param {() => void} parts.showAlbums the tab of all albums
   */
  constructor({ store, api, refresh, showAlbums }) {
    this.store = store;
    this.api = api;
    this.refresh = refresh;
    this.showAlbums = showAlbums;
    this.root = $("albumbar");
    /** @type {Album | null} the album that is shown */
    this.album = null;
    /** @type {Hit[]} */
    this.suggested = [];
    this.drawn = () => {};
    store.watch(["order"], () => this.load());
  }

  get number() { return this.store.state.query.filters.album ?? 0; }

  async load() {
    const { number } = this;
    if (!number) {
      this.album = null;
      return this.draw();
    }
    const other = this.album?.id !== number;
    try {
      const albums = await this.api.albums();
      if (number !== this.number) return;
      this.album = albums.find(({ id }) => id === number) ?? null;
      if (other) this.suggested = [];
      this.draw();
      if (!this.album?.query) return;
      const suggested = await this.api.albumSuggestions(number);
      if (number !== this.number) return;
      this.suggested = suggested;
      this.draw();
    } catch { /* what failed is said where the items are */ }
  }

  draw() {
    this.drawn();
    const { album } = this, { readOnly } = this.store.state;
    this.root.hidden = !album;
    if (!album) return put(this.root);
    const focused = focusedName();
    put(this.root,
      h("div", { class: "album-head" }, toAlbums(this.showAlbums), h("h2", {}, album.name),
        readOnly ? null : h("div", { class: "buttons" },
          this.order(album),
          button(t("Rename"), { kind: "small", onclick: () => this.rename(album) }),
          button(t("Delete"), { kind: "small", onclick: () => this.remove(album) }))),
      album.by_hand && !readOnly ? h("p", { class: "hint" },
        matchMedia("(hover: none)").matches
          ? t("In your own order: hold a picture and drag it onto another, or select some and move them.")
          : t("In your own order: drag a picture onto another, or move it with Alt and the arrows.")) : null,
      album.query ? this.suggestions(album) : null);
    focusNamed(this.root, focused);
  }

  /** @param {Album} album */
  order(album) {
    const select = h("select", { "aria-label": t("Order of the album") },
      option("date", t("Newest first")), option("hand", t("By hand")));
    select.value = album.by_hand ? "hand" : "date";
    select.addEventListener("change", () => this.change(album, { by_hand: select.value === "hand" }));
    return select;
  }

  /** @param {Album} album @param {Parameters<Api["changeAlbum"]>[1]} change */
  change(album, change) {
    return save(this.api.changeAlbum(album.id, change), { waits: true, done: this.refresh });
  }

  /** Make an item the cover. @param {number} item */
  cover(item) { if (this.album) this.change(this.album, { cover: item }); }

  /** @param {Album} album */
  rename(album) {
    askName(t("Rename the album"), {
      label: t("Name"), action: t("Rename"), value: album.name, done: (name) => this.change(album, { name }),
    });
  }

  /** @param {Album} album */
  remove(album) {
    const text = t("The album goes; its pictures stay in the collection.");
    askSure(t("Delete {name}?", { name: album.name }), text, t("Delete it"), () =>
      save(this.api.deleteAlbum(album.id), { done: this.showAlbums }));
  }

  /** @param {Album} album */
  suggestions(album) {
    const { readOnly } = this.store.state;
    const words = inWords(fromServer(album.query ?? {}));
    if (!this.suggested.length) {
      return h("p", { class: "hint" }, t("Nothing more is suggested by {query}.", { query: words }));
    }
    const all = this.suggested.map(({ id }) => id);
    return h("div", { class: "suggestions" },
      h("div", { class: "album-head" }, h("h3", {}, t("Suggested by {query}", { query: words })),
        readOnly ? null : button(t("Add all of these"), {
          kind: "small", "data-name": "all", onclick: () => this.judge(album, { add: all }),
        })),
      h("ul", { class: "suggested-members" }, this.suggested.map((hit) => this.suggestion(album, hit))));
  }

  /** @param {Album} album @param {Hit} hit */
  suggestion(album, hit) {
    const name = hit.caption || hit.name;
    /** @param {"right" | "wrong"} sign @param {string} text @param {object} change */
    const act = (sign, text, change) => h("button", {
      type: "button", class: `act ${sign}`, "data-name": sign, title: text,
      "aria-label": t("{action}: {name}", { action: text, name }), onclick: () => this.judge(album, change),
    }, icon(sign));
    return h("li", {}, h("img", { src: thumbnail(hit.id), alt: name }),
      this.store.state.readOnly ? null : h("div", {}, act("right", t("Add"), { add: [hit.id] }),
        act("wrong", t("Not this one"), { refuse: [hit.id] })));
  }

  /**
   * Confirm or refuse suggestions.
   * @param {Album} album
   * @param {{ add?: number[], refuse?: number[] }} change
   */
  judge(album, change) {
    const gone = new Set([...(change.add ?? []), ...(change.refuse ?? [])]);
    return save(this.api.albumItems(album.id, change), {
      waits: true,
      show: () => { // the next one is judged while this is stored
        this.suggested = this.suggested.filter(({ id }) => !gone.has(id));
        this.draw();
        return () => { this.load(); };
      },
      done: async () => {
        if (change.add) await this.refresh();
        else if (!this.suggested.length) await this.load();
      },
    });
  }

  /** Put items before another one of the album. @param {number[]} items @param {number | null} before */
  move(items, before) {
    const { album } = this;
    if (!album || this.store.state.readOnly) return;
    return save(this.api.albumOrder(album.id, items, before), { waits: true, done: this.refresh });
  }
}
