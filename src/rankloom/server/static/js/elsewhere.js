// What other windows and devices do with albums, stars and hidden items: lists show it as soon as nobody here
// is in the middle of something.

import { $ } from "./dom.js";
import { isList } from "./query.js";

/** @import { State, Store, WorkState } from "./types.js" */
/** @import { Work } from "./work.js" */

export class Elsewhere {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Work} parts.work
   * @param {() => Promise<void>} parts.refresh lists again, where the page is scrolled to
   * @param {() => void} parts.showAlbums draws the tab of all albums
   */
  constructor({ store, work, refresh, showAlbums }) {
    this.store = store;
    this.refresh = refresh;
    this.showAlbums = showAlbums;
    /** How often things were organized when they were drawn last. @type {number | null} */
    this.known = null;
    work.watch((state) => this.take(state));
  }

  /** @param {WorkState} state */
  take({ organized }) {
    if (this.known === null) this.known = organized;
    if (organized === this.known || this.busy()) return;
    this.known = organized;
    if (!$("view-albums").hidden) this.showAlbums();
    else if (!$("view-search").hidden && isList(this.store.state.query)) this.refresh();
  }

  /** Whether somebody is in the middle of something. */
  busy() {
    const { selected, searching } = this.store.state;
    return searching || selected.size > 0 || document.querySelector("dialog[open], .carried") !== null
      || document.activeElement?.closest("#view-albums, .albumbar") !== null;
  }
}
