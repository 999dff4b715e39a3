// What the owner says of an item, edited where it is read: stars, caption, tags, albums.

import { attempt, button, focusedName, focusNamed, h, iconButton, put } from "./dom.js";
import { t } from "./i18n.js";

/** @import { Organizing } from "./organizing.js" */
/** @import { Hit, Item, Tag } from "./types.js" */

export class NotesEditor {
  /**
   * @param {object} parts
   * @param {Organizing} parts.organizing
   * @param {() => Promise<Tag[]>} parts.tags
   * @param {boolean} parts.readOnly
   * @param {(album: number) => void} parts.openAlbum
   * @param {(hit: Hit) => void} parts.askAlbum
   */
  constructor({ organizing, tags, readOnly, openAlbum, askAlbum }) {
    this.organizing = organizing;
    this.tags = tags;
    this.readOnly = readOnly;
    this.openAlbum = openAlbum;
    this.askAlbum = askAlbum;
    /** @type {Item | null} the item whose notes are drawn */
    this.item = null;
    this.root = h("section", { class: "notes", "aria-label": t("Your notes") });
  }

  /** The notes of an item; drawn again only for another one, as somebody may be typing. */
  show(/** @type {Hit} */ hit, /** @type {Item} */ item) {
    if (this.item !== item) {
      this.item = item;
      this.draw(hit, item);
    }
    return this.root;
  }

  /** @param {Hit} hit @param {Item} item */
  draw(hit, item) {
    put(this.root, this.stars(hit, item), this.caption(item), this.tagList(hit, item),
      h("div", { class: "note-albums" },
        item.albums.map(({ id, name }) => button(name, {
          kind: "small", symbol: "album", onclick: () => this.openAlbum(id),
        })),
        this.readOnly ? null : button(item.albums.length ? t("Another album") : t("Add to an album"), {
          kind: "small quiet", symbol: item.albums.length ? "" : "album", onclick: () => this.askAlbum(hit),
        })));
  }

  /** @param {Hit} hit @param {Item} item */
  stars(hit, item) {
    const { notes } = item;
    const give = (/** @type {number} */ stars) => this.rate(hit, item, stars === notes.stars ? 0 : stars);
    if (this.readOnly && !notes.stars) return null;
    const label = t("Stars: {stars} of 5", { stars: notes.stars });
    return h("div", { class: "stars", role: "group", "aria-label": label },
      [1, 2, 3, 4, 5].map((stars) => h("button", {
        type: "button", "data-name": `stars-${stars}`, class: stars <= notes.stars ? "given" : "",
        disabled: this.readOnly,
        "aria-label": t("{stars} of 5 stars", { stars }), "aria-pressed": String(stars === notes.stars),
        onclick: () => give(stars),
      }, stars <= notes.stars ? "★" : "☆")));
  }

  /** @param {Hit} hit @param {Item} item @param {number} stars */
  async rate(hit, item, stars) {
    const before = item.notes.stars;
    const show = (/** @type {number} */ given) => {
      item.notes.stars = given;
      if (this.item !== item) return;
      const focused = focusedName();
      this.draw(hit, item);
      focusNamed(this.root, focused);
    };
    show(stars);
    if (!await this.organizing.rate([hit.id], stars)) show(before);
  }

  /** @param {Item} item */
  caption(item) {
    const { notes } = item;
    if (this.readOnly) return notes.caption ? h("p", { class: "own-caption" }, notes.caption) : null;
    const field = h("textarea", {
      rows: "2", maxlength: "5000", placeholder: t("Write a caption"), "aria-label": t("Your caption"),
      value: notes.caption,
    });
    const save = async () => {
      const wanted = field.value.trim();
      if (wanted !== notes.caption && await this.organizing.caption(item.id, wanted)) notes.caption = wanted;
    };
    field.addEventListener("change", save);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
      if (event.key !== "Escape") return;
      event.preventDefault(); // of what was typed, not of the whole viewer
      event.stopPropagation();
      field.value = notes.caption;
      field.blur();
    });
    return field;
  }

  /** @param {Hit} hit @param {Item} item */
  tagList(hit, item) {
    const { notes } = item;
    const again = () => {
      this.draw(hit, item);
      /** @type {HTMLElement | null} */ (this.root.querySelector(".new-tag"))?.focus();
    };
    const remove = async (/** @type {string} */ tag) => {
      if (!await this.organizing.tag([hit.id], { remove: [tag] })) return;
      notes.tags = notes.tags.filter((other) => other !== tag);
      again();
    };
    return h("ul", { class: "tags", "aria-label": t("Your tags") },
      notes.tags.map((tag) => h("li", { class: "tag" }, h("span", {}, tag), this.readOnly ? null
        : iconButton("wrong", t("Take away the tag {tag}", { tag }), {
          class: "remove", onclick: () => remove(tag),
        }))),
      this.readOnly ? null : h("li", {}, this.newTag(hit, notes, again)));
  }

  /** @param {Hit} hit @param {Item["notes"]} notes @param {() => void} again */
  newTag(hit, notes, again) {
    const known = h("datalist", { id: "known-tags" });
    const field = h("input", {
      type: "text", class: "new-tag", maxlength: "100", placeholder: t("Add a tag"),
      "aria-label": t("Add a tag"), list: "known-tags", autocomplete: "off", size: "12",
      onfocus: () => attempt(async () => {
        put(known, (await this.tags()).map(({ tag }) => h("option", { value: tag })));
      }),
    });
    const onsubmit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      const tag = field.value.trim();
      if (!tag || !await this.organizing.tag([hit.id], { add: [tag] })) return;
      if (!notes.tags.some((other) => other.toLowerCase() === tag.toLowerCase())) notes.tags.push(tag);
      again();
    };
    return h("form", { onsubmit }, field, known);
  }
}
