// Organizing: what people do with items that they chose. It changes the store and draws nothing.

import { t, tn } from "./i18n.js";

/** @import { Album, Api, Hit, Speech, State, Store } from "./types.js" */

/** Save what is at an address as a file. @param {string} address @param {string} name */
export function saveAs(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}

export class Organizing {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Api} parts.api
   * @param {Speech} parts.speech
   * @param {() => Promise<unknown>} parts.refresh shows again what is listed
   * @param {(text: string, undo: () => void) => void} parts.offerUndo
   */
  constructor({ store, api, speech, refresh, offerUndo }) {
    this.store = store;
    this.api = api;
    this.speech = speech;
    this.refresh = refresh;
    this.offerUndo = offerUndo;
  }

  /** Do something that may fail; whether it worked. @param {() => Promise<unknown>} action */
  async attempt(action) {
    if (this.store.state.readOnly) {
      this.speech.toast(t("This server is read-only; nothing can be changed."), "bad");
      return false;
    }
    try {
      await action();
      return true;
    } catch (error) {
      this.speech.toast(/** @type {Error} */ (error).message, "bad");
      return false;
    }
  }

  /** What is shown of items from now on. @param {number[]} items @param {Partial<Hit>} patch */
  patch(items, patch) {
    const changed = new Set(items);
    /** @param {Hit | undefined} hit */
    const now = (hit) => (hit && changed.has(hit.id) ? { ...hit, ...patch } : hit);
    this.store.update({ hits: this.store.state.hits.map(now) });
  }

  /** @param {number[]} items @param {number} stars */
  async rate(items, stars) {
    if (!await this.attempt(() => this.api.rate(items, stars))) return;
    this.patch(items, { stars });
    const n = items.length;
    this.speech.announce(stars
      ? tn(n, "{n} item: {stars} of 5 stars", "{n} items: {stars} of 5 stars", { stars })
      : tn(n, "{n} item: no stars", "{n} items: no stars"));
  }

  /** @param {number[]} items @param {boolean} hidden */
  async hide(items, hidden = true) {
    if (!await this.attempt(() => this.api.hide(items, hidden))) return;
    this.store.update({ selected: new Set() });
    await this.refresh();
    const n = items.length;
    const done = hidden ? tn(n, "{n} item is hidden", "{n} items are hidden")
      : tn(n, "{n} item is shown again", "{n} items are shown again");
    this.offerUndo(done, async () => {
      if (!await this.attempt(() => this.api.hide(items, !hidden))) return;
      await this.refresh();
    });
  }

  /** @param {number[]} items @param {{ add?: string[], remove?: string[] }} change */
  async tag(items, change) {
    if (!await this.attempt(() => this.api.tag(items, change))) return false;
    const [tag] = [...(change.add ?? []), ...(change.remove ?? [])];
    this.speech.toast(change.add?.length
      ? tn(items.length, "{n} item tagged {tag}", "{n} items tagged {tag}", { tag })
      : t("No more {tag}", { tag }));
    return true;
  }

  /** @param {number} item @param {string} caption */
  async caption(item, caption) {
    if (!await this.attempt(() => this.api.caption(item, caption))) return false;
    if (caption) this.patch([item], { caption });
    this.speech.toast(caption ? t("The caption is saved") : t("The caption is taken away"));
    return true;
  }

  /** @param {number[]} items @param {Album} album */
  async addToAlbum(items, album) {
    if (!await this.attempt(() => this.api.albumItems(album.id, { add: items }))) return;
    this.speech.toast(tn(items.length, "{n} item in the album {name}", "{n} items in the album {name}",
      { name: album.name }));
    if (this.store.state.query.filters.album === album.id) await this.refresh();
  }

  /** @param {number[]} items @param {string} name */
  async makeAlbum(items, name) {
    await this.attempt(async () => {
      const album = await this.api.makeAlbum({ name, items });
      this.speech.toast(tn(album.size, "The album {name} has {n} item", "The album {name} has {n} items",
        { name: album.name }));
    });
  }

  /** @param {number[]} items @param {number} album */
  async removeFromAlbum(items, album) {
    if (!await this.attempt(() => this.api.albumItems(album, { remove: items }))) return;
    this.store.update({ selected: new Set() });
    await this.refresh();
    const n = items.length;
    this.offerUndo(tn(n, "{n} item taken out of the album", "{n} items taken out of the album"), async () => {
      await this.attempt(() => this.api.albumItems(album, { add: items }));
      await this.refresh();
    });
  }

  /** @param {number[]} items @param {string} name */
  async makeConcept(items, name) {
    await this.attempt(async () => {
      const concept = await this.api.makeConcept(name, { positive: items });
      this.speech.toast(t("The concept {name} is ready", { name: concept.name }));
    });
  }

  /** @param {number[]} items */
  async copyPaths(items) {
    try {
      const paths = await this.api.paths(items);
      await navigator.clipboard.writeText(paths.join("\n"));
      this.speech.toast(tn(paths.length, "{n} path copied", "{n} paths copied"));
    } catch (error) {
      const reason = /** @type {Error} */ (error).message;
      this.speech.toast(t("Nothing was copied: {reason}", { reason }), "bad");
    }
  }

  /**
   * An archive of the original files, or of sidecars, then also of all items.
   * @param {number[] | null} items
   * @param {"files" | "xmp"} what
   */
  async download(items, what = "files") {
    try {
      const { key, files } = await this.api.download(items, what);
      saveAs(`/api/downloads/${key}`, `rankloom-${what}.zip`);
      this.speech.toast(tn(files, "{n} file in one archive", "{n} files in one archive"));
    } catch (error) {
      this.speech.toast(/** @type {Error} */ (error).message, "bad");
    }
  }

  /** @param {number[]} items @param {string} format */
  async export(items, format) {
    try {
      const address = URL.createObjectURL(await this.api.export({ what: "items", format, items }));
      saveAs(address, `rankloom-items.${format}`);
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (error) {
      this.speech.toast(/** @type {Error} */ (error).message, "bad");
    }
  }
}
