// Sheets that ask for something: a tag, an album, a name. One is open at a time.

import { $, attempt, button, h, put } from "./dom.js";
import { thumbnail } from "./addresses.js";
import { t, tn } from "./i18n.js";

/** @import { Album, Api, Tag } from "./types.js" */

/**
 * Open a sheet.
 * @param {string} title
 * @param {(close: () => void) => any} content
 */
export function openSheet(title, content) {
  const dialog = $("sheet");
  const close = () => dialog.close();
  put(dialog, h("h2", { id: "sheet-title" }, title), content(close),
    h("div", { class: "buttons" }, button(t("Cancel"), { kind: "quiet", onclick: close })));
  dialog.showModal();
  /** @type {HTMLElement | null} */ (dialog.querySelector("input, .choices button"))?.focus();
}

/**
 * A form with one field.
 * @param {object} options
 * @param {string} options.label
 * @param {string} options.action what the button says
 * @param {string} [options.value]
 * @param {string[]} [options.known] what can be chosen from
 * @param {number} [options.longest]
 * @param {(text: string) => void} options.done
 */
export function nameForm({ label, action, value = "", known = [], longest = 100, done }) {
  const field = h("input", {
    type: "text", "aria-label": label, placeholder: label, maxlength: String(longest), value, required: true,
    list: known.length ? "sheet-known" : null, autocomplete: "off",
  });
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (field.value.trim()) done(field.value.trim());
  };
  return h("form", { class: "inline", onsubmit }, field,
    h("datalist", { id: "sheet-known" }, known.map((text) => h("option", { value: text }))),
    h("button", { class: "primary" }, action));
}

/** Ask for a name. @param {string} title @param {Parameters<typeof nameForm>[0]} options */
export function askName(title, options) {
  openSheet(title, (close) => nameForm({ ...options, done: (text) => { close(); options.done(text); } }));
}

/**
 * Ask for a tag to give to some items, or to take away.
 * @param {Pick<Api, "tags">} api
 * @param {number} n how many items
 * @param {(change: { add?: string[], remove?: string[] }) => void} done
 */
export async function askTag(api, n, done) {
  /** @type {Tag[]} */
  let tags = [];
  await attempt(async () => { tags = await api.tags(); });
  const known = tags.map(({ tag }) => tag);
  openSheet(tn(n, "Tag {n} item", "Tag {n} items"), (close) => [
    nameForm({
      label: t("Tag"), action: t("Add"), known, done: (tag) => { close(); done({ add: [tag] }); },
    }),
    known.length ? nameForm({
      label: t("Tag to take away"), action: t("Take away"), known,
      done: (tag) => { close(); done({ remove: [tag] }); },
    }) : null,
  ]);
}

/**
 * Ask for an album: one that there is, or a new one.
 * @param {Pick<Api, "albums">} api
 * @param {number} n how many items
 * @param {{ add: (album: Album) => void, make: (name: string) => void }} done
 */
export async function askAlbum(api, n, done) {
  /** @type {Album[]} */
  let albums = [];
  await attempt(async () => { albums = await api.albums(); });
  /** @param {Album} album @param {() => void} close */
  const line = (album, close) => h("li", {}, h("button", {
    type: "button", class: "link", onclick: () => { close(); done.add(album); },
  }, album.cover ? h("img", { src: thumbnail(album.cover), alt: "" }) : h("span", { class: "no-cover" }),
  album.name, h("small", {}, tn(album.size, "{n} item", "{n} items"))));
  openSheet(tn(n, "Add {n} item to an album", "Add {n} items to an album"), (close) => [
    nameForm({
      label: t("Name of a new album"), action: t("Make"), done: (name) => { close(); done.make(name); },
    }),
    albums.length
      ? h("ul", { class: "choices albums-choice" }, albums.map((album) => line(album, close))) : null,
  ]);
}

/**
 * Ask before something that cannot be undone.
 * @param {string} title
 * @param {string} text
 * @param {string} action what the button says
 * @param {() => void} done
 */
export function askSure(title, text, action, done) {
  openSheet(title, (close) => [
    h("p", {}, text), h("div", { class: "buttons" },
      button(action, { kind: "primary", onclick: () => { close(); done(); } })),
  ]);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Say what was done, with a way back. @param {string} text @param {() => void} undo */
export function offerUndo(text, undo) {
  const place = $("undo");
  const close = () => { place.hidden = true; };
  clearTimeout(timer);
  put(place, h("span", {}, text), button(t("Undo"), { kind: "small", onclick: () => { close(); undo(); } }));
  place.hidden = false;
  $("live").textContent = t("{done}. There is a button to undo it.", { done: text });
  timer = setTimeout(close, 12_000);
}
