// The tab "Albums": those there are, and new ones, by hand or living around a search or a concept.

import { thumbnail } from "./addresses.js";
import { $, button, errorLine, h, icon, option, put } from "./dom.js";
import { t, tn } from "./i18n.js";
import { forServer, fromServer, inWords, isList } from "./query.js";
import { save } from "./saving.js";

/** @import { Album, Api, Query, State, Store } from "./types.js" */
/**
 * @typedef {object} Parts
 * @property {Api} api
 * @property {Store<State>} store
 * @property {(album: number) => void} openAlbum
 */

const HINT = t("An album by hand holds what you put into it: select pictures anywhere and choose Album. "
  + "A living album also has a search or a concept, which suggests members for you to confirm or refuse.");

/** @param {Parts} parts */
export async function showAlbums(parts) {
  const root = $("view-albums"), { api, store } = parts;
  try {
    const [albums, sources] = await Promise.all([api.albums(), sourcesOf(parts)]);
    put(root, h("h2", {}, t("Albums")), h("p", { class: "muted" }, HINT),
      store.state.readOnly ? null : form(parts, sources),
      albums.length ? h("ul", { class: "albums" }, albums.map((album) => card(album, parts)))
        : h("p", { class: "hint" }, t("There is no album yet.")));
  } catch (error) {
    put(root, h("h2", {}, t("Albums")), errorLine(error));
  }
}

/** What may suggest members: this search, saved searches, concepts. @param {Parts} parts */
async function sourcesOf({ api, store }) {
  const [saved, concepts] = await Promise.all([api.saved(), api.concepts()]);
  const { query } = store.state;
  /** @type {[string, Query][]} */
  const own = isList(query) ? [] : [[t("This search: {query}", { query: inWords(query) }), query]];
  return [
    ...own,
    ...saved.map(({ name, query: kept }) =>
      /** @type {[string, Query]} */ ([t("Saved: {name}", { name }), fromServer(kept)]))
      .filter(([, asked]) => !isList(asked)),
    ...concepts.map(({ name }) =>
      /** @type {[string, Query]} */ ([t("Concept: {name}", { name }), fromServer({ concept: name })])),
  ];
}

/** @param {Parts} parts @param {[string, Query][]} sources */
function form({ api, openAlbum }, sources) {
  const name = h("input", { type: "text", maxlength: "100", required: true, placeholder: t("Name") });
  const source = h("select", {}, option("", t("Nothing: by hand")),
    sources.map(([text], i) => option(String(i), text)));
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const query = source.value === "" ? undefined : forServer(sources[Number(source.value)][1]);
    save(api.makeAlbum({ name: name.value.trim(), query }), { done: ({ id }) => openAlbum(id) });
  };
  return h("form", { class: "new-album", onsubmit },
    h("label", { class: "field" }, h("span", {}, t("New album")), name),
    h("label", { class: "field" }, h("span", {}, t("Members suggested by")), source),
    h("button", { class: "primary" }, t("Make")));
}

/** @param {Album} album @param {Parts} parts */
function card({ id, name, cover, size, query }, { openAlbum }) {
  return h("li", {}, h("button", { type: "button", class: "album", onclick: () => openAlbum(id) },
    h("span", { class: "cover" },
      cover ? h("img", { src: thumbnail(cover), alt: "", loading: "lazy" }) : icon("album")),
    h("strong", {}, name),
    h("small", {}, query ? t("{size}, living: {query}", {
      size: tn(size, "{n} item", "{n} items"), query: inWords(fromServer(query)),
    }) : tn(size, "{n} item", "{n} items"))));
}

/** A button that leads to all albums. @param {() => void} open */
export const toAlbums = (open) =>
  button(t("All albums"), { kind: "small quiet", symbol: "prev", onclick: open });
