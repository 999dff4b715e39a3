// The tab "Albums": those there are, and new ones, by hand or living around a search or a concept.

import { thumbnail } from "./addresses.js";
import { $, attempt, button, errorLine, h, icon, option, put } from "./dom.js";
import { count } from "./format.js";
import { forServer, fromServer, inWords, isList } from "./query.js";

/** @import { Album, Api, Query, State, Store } from "./types.js" */
/**
 * @typedef {object} Parts
 * @property {Api} api
 * @property {Store<State>} store
 * @property {(album: number) => void} openAlbum
 */

const HINT = "An album by hand holds what you put into it: select pictures anywhere and choose Album. "
  + "A living album also has a search or a concept, which suggests members for you to confirm or refuse.";

/** @param {Parts} parts */
export async function showAlbums(parts) {
  const root = $("view-albums"), { api, store } = parts;
  try {
    const [albums, sources] = await Promise.all([api.albums(), sourcesOf(parts)]);
    put(root, h("h2", {}, "Albums"), h("p", { class: "muted" }, HINT),
      store.state.readOnly ? null : form(parts, sources),
      albums.length ? h("ul", { class: "albums" }, albums.map((album) => card(album, parts)))
        : h("p", { class: "hint" }, "There is no album yet."));
  } catch (error) {
    put(root, h("h2", {}, "Albums"), errorLine(error));
  }
}

/** What may suggest members: this search, saved searches, concepts. @param {Parts} parts */
async function sourcesOf({ api, store }) {
  const [saved, concepts] = await Promise.all([api.saved(), api.concepts()]);
  const { query } = store.state;
  /** @type {[string, Query][]} */
  const own = isList(query) ? [] : [[`This search: ${inWords(query)}`, query]];
  return [
    ...own,
    ...saved.map((one) => /** @type {[string, Query]} */ ([`Saved: ${one.name}`, fromServer(one.query)]))
      .filter(([, asked]) => !isList(asked)),
    ...concepts.map(({ name }) =>
      /** @type {[string, Query]} */ ([`Concept: ${name}`, fromServer({ concept: name })])),
  ];
}

/** @param {Parts} parts @param {[string, Query][]} sources */
function form({ api, openAlbum }, sources) {
  const name = h("input", { type: "text", maxlength: "100", required: true, placeholder: "Name" });
  const source = h("select", {}, option("", "Nothing: by hand"),
    sources.map(([text], i) => option(String(i), text)));
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const query = source.value === "" ? undefined : forServer(sources[Number(source.value)][1]);
    attempt(async () => openAlbum((await api.makeAlbum({ name: name.value.trim(), query })).id));
  };
  return h("form", { class: "new-album", onsubmit },
    h("label", { class: "field" }, h("span", {}, "New album"), name),
    h("label", { class: "field" }, h("span", {}, "Members suggested by"), source),
    h("button", { class: "primary" }, "Make"));
}

/** @param {Album} album @param {Parts} parts */
function card({ id, name, cover, size, query }, { openAlbum }) {
  return h("li", {}, h("button", { type: "button", class: "album", onclick: () => openAlbum(id) },
    h("span", { class: "cover" },
      cover ? h("img", { src: thumbnail(cover), alt: "", loading: "lazy" }) : icon("album")),
    h("strong", {}, name),
    h("small", {}, count(size, "item"), query ? `, living: ${inWords(fromServer(query))}` : "")));
}

/** A button that leads to all albums. @param {() => void} open */
export const toAlbums = (open) =>
  button("All albums", { kind: "small quiet", symbol: "prev", onclick: open });
