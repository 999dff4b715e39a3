// The row below the box: filters, saved searches, export, and how the results are shown.

import { $, attempt, button, h, iconButton, menu, option, put, toast } from "./dom.js";
import { t } from "./i18n.js";
import { arranged, forServer, fromServer, inWords, isEmpty, isList } from "./query.js";
import { save } from "./saving.js";

/** @import { Api, Query, SavedSearch, Sort, State, Store } from "./types.js" */
/** @typedef {(refocus?: boolean) => void} Close */

/** @type {Record<string, number>} */
const SIZES = { Small: 130, Medium: 190, Large: 280 };
/** @type {Record<string, string>} */
const SIZE_NAMES = { Small: t("Small"), Medium: t("Medium"), Large: t("Large") };
const MOST = 10_000;

/**
 * @param {object} parts
 * @param {{ root: HTMLElement, toggle: HTMLElement }} parts.filters
 * @param {{ root: HTMLElement, toggle: HTMLElement }} parts.advanced
 * @param {HTMLElement} parts.folders
 * @param {HTMLElement} parts.sort
 * @param {HTMLElement} parts.saved
 * @param {HTMLElement} parts.exports
 * @param {(height: number) => void} parts.resize
 * @param {() => void} parts.togglePanel
 */
export function makeTools({ filters, advanced, folders, sort, saved, exports, resize, togglePanel }) {
  const panel = button(t("Why & marks"), {
    symbol: "panel", kind: "quiet", id: "panel-toggle", "aria-controls": "panel", "aria-expanded": "false",
    onclick: togglePanel,
  });
  const row = h("div", { class: "tool-row" }, filters.toggle, folders, saved, exports, advanced.toggle,
    h("span", { class: "spring" }), sort, sizeChoice(resize), panel);
  put($("tools"), row, filters.root, advanced.root);
}

/** @type {[Sort, string][]} */
const LISTS = [["", t("Newest first")], ["oldest", t("Oldest first")], ["name", t("By name")]];
/** @type {[Sort, string][]} */
const ALBUMS = [["", t("Album order")], ...LISTS.slice(1)];
/** @type {[Sort, string][]} */
const RANKED = [
  ["", t("Best first")], ["newest", t("Newest first")],
  ["oldest", t("Oldest first")], ["name", t("By name")],
];
/** @type {[Sort, string][]} */
const DOUBTED = [...RANKED, ["uncertain", t("Most uncertain first")]];

/**
 * The order of the results; ranked ones have other orders than lists.
 * @param {Store<State>} store
 * @param {(sort: Sort) => void} change
 */
export function sortChoice(store, change) {
  const select = h("select", { "aria-label": t("Order"), class: "sort" });
  select.addEventListener("change", () => change(/** @type {Sort} */ (select.value)));
  /** @type {[Sort, string][]} */
  let shown = [];
  store.watch(["asked", "answer"], ({ query, sort, answer }) => {
    const lists = query.filters.album ? ALBUMS : LISTS;
    const doubted = sort === "uncertain" || answer?.orders.includes("uncertain");
    const wanted = isList(query) ? lists : doubted ? DOUBTED : RANKED;
    if (wanted !== shown) put(select, wanted.map(([value, text]) => option(value, text)));
    shown = wanted;
    select.value = sort;
    if (select.selectedIndex < 0) select.value = "";
  });
  return select;
}

/** @param {(height: number) => void} resize */
function sizeChoice(resize) {
  const size = h("select", { "aria-label": t("Size of the pictures") },
    Object.keys(SIZES).map((name) => option(name, SIZE_NAMES[name])));
  const apply = () => {
    localStorage.setItem("size", size.value);
    resize(SIZES[size.value] ?? SIZES.Medium);
  };
  size.value = localStorage.getItem("size") ?? "Medium";
  size.addEventListener("change", apply);
  apply();
  return size;
}

/**
 * The menu of saved searches.
 * @param {Store<State>} store
 * @param {Pick<Api, "saved" | "save" | "forgetSaved">} api
 * @param {(query: Query) => void} ask
 */
export function savedMenu(store, api, ask) {
  /** @param {Close} close */
  function form(close) {
    const { query } = store.state;
    const name = h("input", {
      type: "text", maxlength: "60", placeholder: t("Name"), "aria-label": t("Name for this search"),
      value: query.text.replace(/[^\p{L}\p{M}\p{N} _-]/gu, "").trim(),
    });
    const onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      save(api.save(name.value.trim(), forServer(query)), {
        done: () => {
          toast(t("The search is saved"));
          close(true);
        },
      });
    };
    return h("form", { class: "inline", onsubmit }, name,
      h("button", { class: "small" }, t("Save this")));
  }

  /** @param {SavedSearch} saved @param {Close} close */
  function line({ name, query }, close) {
    const entry = h("li", {}, h("button", {
      type: "button", class: "link", onclick: () => { close(); ask(fromServer(query)); },
    }, name, h("small", {}, inWords(fromServer(query)))));
    const forget = () => save(api.forgetSaved(name), { done: () => entry.remove() });
    if (!store.state.readOnly) {
      entry.append(iconButton("wrong", t("Forget {name}", { name }), { onclick: forget }));
    }
    return entry;
  }

  return menu(t("Saved"), "save", async (close) => {
    /** @type {SavedSearch[]} */
    let list = [];
    await attempt(async () => { list = await api.saved(); });
    return [
      isEmpty(store.state.query) || store.state.readOnly ? null : form(close),
      list.length ? h("ul", { class: "choices" }, list.map((saved) => line(saved, close)))
        : h("p", { class: "muted" }, t("No search is saved yet. Search for something, then save it here.")),
    ];
  });
}

/**
 * The menu that saves results and marks as files.
 * @param {Store<State>} store
 * @param {Pick<Api, "export">} api
 * @param {() => void} sidecars saves what the owner says of all items for other programs
 */
export function exportMenu(store, api, sidecars) {
  /** @param {string} what @param {string} format */
  async function download(what, format) {
    const scope = what === "results" ? { ...arranged(store.state), k: MOST } : {};
    const address = URL.createObjectURL(await api.export({ what, format, ...scope }));
    h("a", { href: address, download: `rankloom-${what}.${format === "trec" ? "txt" : format}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  return menu(t("Export"), "export", (close) => {
    /** @param {string} what @param {Record<string, string>} formats */
    const choices = (what, formats) => {
      const lines = Object.entries(formats).map(([format, name]) => {
        const onclick = () => { attempt(() => download(what, format)); close(true); };
        return h("li", {}, h("button", { type: "button", class: "link", onclick }, name));
      });
      return h("ul", { class: "choices" }, lines);
    };
    const { query } = store.state;
    const files = { json: "JSON", csv: "CSV" };
    return [
      isEmpty(query) ? [
        h("h3", {}, t("All items")), choices("items", files), h("ul", { class: "choices" },
          h("li", {}, h("button", {
            type: "button", class: "link", onclick: () => { sidecars(); close(true); },
          }, t("XMP: captions, tags and stars as sidecars")))),
      ] : [
        h("h3", {}, t("These results")),
        choices("results", isList(query) ? files : { ...files, trec: t("TREC run") }),
      ],
      h("h3", {}, t("All my marks")), choices("marks", { ...files, trec: t("TREC qrels") }),
    ];
  });
}
