// Organizing: what people do with items that they chose. It changes the store and draws nothing.

import { t, tn } from "./i18n.js";

/** @import { Saving, Steps } from "./saving.js" */
/** @import { Album, Api, Change, Hit, Speech, State, Store } from "./types.js" */

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
   * @param {Saving["save"]} parts.save
   * @param {Speech} parts.speech
   * @param {() => Promise<unknown>} parts.refresh shows again what is listed
   * @param {(text: string, undo: () => void) => void} parts.offerUndo
   */
  constructor({ store, api, save, speech, refresh, offerUndo }) {
    this.store = store;
    this.api = api;
    this.save = save;
    this.speech = speech;
    this.refresh = refresh;
    this.offerUndo = offerUndo;
  }

  /**
   * Change something; returns whether the server has it.
   * @template T
   * @param {Change<T>} send
   * @param {Steps<T>} steps
   */
  async change(send, steps) {
    if (this.store.state.readOnly) {
      this.speech.toast(t("This server is read-only; nothing can be changed."), "bad");
      return false;
    }
    return this.save(send, steps);
  }

  /** What is shown of items from now on. @param {number[]} items @param {Partial<Hit>} patch */
  patch(items, patch) {
    const changed = new Set(items);
    /** @param {Hit | undefined} hit */
    const now = (hit) => (hit && changed.has(hit.id) ? { ...hit, ...patch } : hit);
    this.store.update({ hits: this.store.state.hits.map(now) });
  }

  /** @param {number[]} items @param {number} stars */
  rate(items, stars) {
    const before = new Map(this.store.state.hits.flatMap((hit) => (hit ? [[hit.id, hit.stars]] : [])));
    const n = items.length;
    return this.change(this.api.rate(items, stars), {
      waits: true,
      show: () => {
        this.patch(items, { stars });
        return () => { for (const item of items) this.patch([item], { stars: before.get(item) ?? 0 }); };
      },
      done: () => this.speech.announce(stars
        ? tn(n, "{n} item: {stars} of 5 stars", "{n} items: {stars} of 5 stars", { stars })
        : tn(n, "{n} item: no stars", "{n} items: no stars")),
    });
  }

  /** @param {number[]} items @param {boolean} hidden */
  hide(items, hidden = true) {
    const n = items.length;
    return this.change(this.api.hide(items, hidden), {
      waits: true,
      done: async () => {
        this.store.update({ selected: new Set() });
        this.offerUndo(hidden ? tn(n, "{n} item is hidden", "{n} items are hidden")
          : tn(n, "{n} item is shown again", "{n} items are shown again"),
        () => this.change(this.api.hide(items, !hidden), { waits: true, done: this.refresh }));
        await this.refresh();
      },
    });
  }

  /** @param {number[]} items @param {{ add?: string[], remove?: string[] }} change */
  tag(items, change) {
    const [tag] = [...(change.add ?? []), ...(change.remove ?? [])];
    return this.change(this.api.tag(items, change), {
      waits: true,
      done: () => this.speech.toast(change.add?.length
        ? tn(items.length, "{n} item tagged {tag}", "{n} items tagged {tag}", { tag })
        : t("No more {tag}", { tag })),
    });
  }

  /** @param {number} item @param {string} caption */
  caption(item, caption) {
    return this.change(this.api.caption(item, caption), {
      waits: true,
      done: () => {
        if (caption) this.patch([item], { caption });
        this.speech.toast(caption ? t("The caption is saved") : t("The caption is taken away"));
      },
    });
  }

  /** @param {number[]} items @param {Album} album */
  addToAlbum(items, album) {
    return this.change(this.api.albumItems(album.id, { add: items }), {
      waits: true,
      done: async () => {
        this.speech.toast(tn(items.length, "{n} item in the album {name}", "{n} items in the album {name}",
          { name: album.name }));
        if (this.store.state.query.filters.album === album.id) await this.refresh();
      },
    });
  }

  /** @param {number[]} items @param {string} name */
  makeAlbum(items, name) {
    return this.change(this.api.makeAlbum({ name, items }), {
      done: (album) => this.speech.toast(tn(album.size, "The album {name} has {n} item",
        "The album {name} has {n} items", { name: album.name })),
    });
  }

  /** @param {number[]} items @param {number} album */
  removeFromAlbum(items, album) {
    const n = items.length;
    return this.change(this.api.albumItems(album, { remove: items }), {
      waits: true,
      done: async () => {
        this.store.update({ selected: new Set() });
        this.offerUndo(tn(n, "{n} item taken out of the album", "{n} items taken out of the album"),
          () => this.change(this.api.albumItems(album, { add: items }),
            { waits: true, done: this.refresh }));
        await this.refresh();
      },
    });
  }

  /** @param {number[]} items @param {string} name */
  makeConcept(items, name) {
    return this.change(this.api.makeConcept(name, { positive: items }), {
      done: (concept) => this.speech.toast(t("The concept {name} is ready", { name: concept.name })),
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
