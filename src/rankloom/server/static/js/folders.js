// The folders as a tree, to look into and to filter by.

import { attempt, h, icon, menu, put } from "./dom.js";
import { locale, t, tn } from "./i18n.js";

/** @import { Api, Folder, State, Store } from "./types.js" */
/** @typedef {{ name: string, folder: string, files: number, below: Branch[] }} Branch */

/**
 * Folders with what lies below them, and how many files that is in all.
 * @param {Folder[]} folders
 * @returns {Branch[]}
 */
export function treeOf(folders) {
  /** @type {Branch[]} */
  const roots = [];
  /** @type {Map<string, Branch>} */
  const known = new Map();
  /** @param {string} folder @returns {Branch} */
  const branch = (folder) => {
    const there = known.get(folder);
    if (there) return there;
    const cut = folder.lastIndexOf("/");
    const made = { name: folder.slice(cut + 1), folder, files: 0, below: [] };
    known.set(folder, made);
    (cut < 0 ? roots : branch(folder.slice(0, cut)).below).push(made);
    return made;
  };
  for (const { folder, files } of folders) {
    for (let at = folder; ; at = at.slice(0, at.lastIndexOf("/"))) {
      branch(at).files += files;
      if (!at.includes("/")) break;
    }
  }
  return roots;
}

/**
 * The menu with the tree; the arrows walk over it, right opens a folder, left closes it.
 * @param {Store<State>} store
 * @param {Pick<Api, "folders">} api
 * @param {(folder: string) => void} choose
 */
export function folderMenu(store, api, choose) {
  return menu(t("Folders"), "folder", async (close) => {
    /** @type {Folder[]} */
    let folders = [];
    await attempt(async () => { folders = await api.folders(); });
    const current = store.state.query.filters.folder ?? "";
    const pick = (/** @type {string} */ folder) => { close(true); choose(folder); };
    const tree = h("ul", { role: "tree", class: "tree", "aria-label": t("Folders") },
      treeOf(folders).map((root) => item(root, current, pick)));
    tree.addEventListener("keydown", (event) => walk(event, tree, pick));
    const first = tree.querySelector('[aria-selected="true"]') ?? tree.querySelector('[role="treeitem"]');
    first?.setAttribute("tabindex", "0");
    return [
      current
        ? h("button", { type: "button", class: "link", onclick: () => pick("") }, t("All folders")) : null,
      folders.length ? tree : h("p", { class: "muted" }, t("No folder is indexed yet.")),
    ];
  });
}

/** @param {Branch} branch @param {string} current @param {(folder: string) => void} pick */
function item({ name, folder, files, below }, current, pick) {
  const inside = current === folder || current.startsWith(`${folder}/`);
  const isOpen = inside || !folder.includes("/");
  const group = h("ul", { role: "group" });
  const fill = () => {
    if (!group.children.length) put(group, below.map((one) => item(one, current, pick)));
  };
  const node = h("li", {
    role: "treeitem", tabindex: "-1", "data-folder": folder,
    "aria-selected": String(current === folder),
    "aria-expanded": below.length ? String(isOpen) : null,
    "aria-label": tn(files, "{name}, {n} file", "{name}, {n} files", { name }),
  });
  const open = (/** @type {boolean} */ on) => {
    if (on) fill();
    group.hidden = !on;
    node.setAttribute("aria-expanded", String(on));
  };
  node.addEventListener("toggle-folder", (event) => {
    event.stopPropagation();
    if (below.length) open(/** @type {CustomEvent} */ (event).detail);
  });
  const toggle = h("span", { class: "twist", "aria-hidden": "true" }, below.length ? icon("next") : null);
  toggle.addEventListener("click", (event) => {
    event.stopPropagation();
    if (below.length) open(Boolean(group.hidden));
  });
  const line = h("div", { class: "branch" }, toggle, h("span", { class: "name" }, name),
    h("small", {}, files.toLocaleString(locale)));
  line.addEventListener("click", () => pick(folder));
  node.append(line, group);
  if (below.length) open(isOpen);
  else group.remove();
  return node;
}

/** @param {KeyboardEvent} event @param {HTMLElement} tree @param {(folder: string) => void} pick */
function walk(event, tree, pick) {
  const target = /** @type {Element} */ (event.target);
  const own = /** @type {HTMLElement | null} */ (target.closest('[role="treeitem"]'));
  if (!own || event.ctrlKey || event.metaKey || event.altKey) return;
  /** @type {NodeListOf<HTMLElement>} */
  const all = tree.querySelectorAll('[role="treeitem"]');
  const seen = [...all].filter((node) => !node.parentElement?.closest("[hidden]"));
  const at = seen.indexOf(own), expanded = own.getAttribute("aria-expanded");
  /** @param {boolean} on */
  const tell = (on) => own.dispatchEvent(new CustomEvent("toggle-folder", { detail: on }));
  const above = own.parentElement?.closest('[role="treeitem"]');
  /** @type {Record<string, () => Element | null | undefined | void | boolean>} */
  const keys = {
    ArrowDown: () => seen[at + 1], ArrowUp: () => seen[at - 1], Home: () => seen[0], End: () => seen.at(-1),
    ArrowRight: () => (expanded === "false" ? tell(true) : seen[at + 1]),
    ArrowLeft: () => (expanded === "true" ? tell(false) : above),
    Enter: () => pick(own.dataset.folder ?? ""), " ": () => pick(own.dataset.folder ?? ""),
  };
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  const next = keys[event.key]();
  if (!(next instanceof HTMLElement)) return;
  own.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}
