// Choosing a folder of the server's machine, to add it to the collection.

import { announce, button, errorLine, h, icon, put, toast } from "./dom.js";
import { t, tn } from "./i18n.js";
import { jobView } from "./jobs.js";
import { save } from "./saving.js";
import { openSheet } from "./sheets.js";

/** @import { Api, FolderChoice, FolderChoices } from "./types.js" */
/** @import { Work } from "./work.js" */

/**
 * Let people choose a folder, and add it.
 * @param {Api} api
 * @param {Work} work
 */
export function askFolder(api, work) {
  openSheet(t("Add a folder"), (close) => {
    const root = h("div", { class: "choose-folder" });
    const add = (/** @type {string} */ folder) => save(api.addFolder(folder), {
      done: async ({ what }) => {
        close();
        toast(t("{folder} is being added; search goes on meanwhile.", { folder: what }));
        await work.ask();
      },
    });
    show(root, "", api, add);
    return root;
  });
}

/** @param {HTMLElement} root @param {string} folder @param {Api} api @param {(folder: string) => void} add */
async function show(root, folder, api, add) {
  const enter = (/** @type {string} */ name) => show(root, name, api, add);
  try {
    const choices = await api.roots(folder);
    const moved = root.closest("dialog")?.contains(document.activeElement);
    draw(root, choices, enter, add);
    /** @type {HTMLElement | null} */
    const first = root.querySelector(".choices button, .here button");
    if (moved) first?.focus();
    announce(`${folder || t("Folders to choose from")}: ${
      tn(choices.folders.length, "{n} folder", "{n} folders")}`);
  } catch (error) {
    put(root, errorLine(error), folder ? button(t("Back"), { onclick: () => enter("") }) : null);
  }
}

/**
 * @param {HTMLElement} root
 * @param {FolderChoices} choices
 * @param {(folder: string) => void} enter
 * @param {(folder: string) => void} add
 */
function draw(root, { folder, folders, files, more, indexed }, enter, add) {
  const parts = folder ? folder.split("/") : [];
  const steps = ["", ...parts.map((_, i) => parts.slice(0, i + 1).join("/"))];
  put(root,
    h("nav", { class: "steps", "aria-label": t("Folder") }, steps.map((step, i) => h("button", {
      type: "button", class: "link", "aria-current": step === folder ? "true" : null,
      onclick: () => enter(step),
    }, i ? parts[i - 1] : t("All folders")))),
    folders.length ? h("ul", { class: "choices folders-choice" }, folders.map((entry) => line(entry, enter)))
      : h("p", { class: "muted" }, folder ? t("There is no folder in it.") : nowhere()),
    more ? h("p", { class: "muted" }, t("It holds more folders than can be shown.")) : null,
    folder ? h("div", { class: "here" },
      h("p", { class: "muted" }, [
        tn(files, "{n} picture or video lies in it.", "{n} pictures and videos lie in it."),
        indexed ? t("It is indexed; adding it looks for changes.") : t("Folders below it are added, too."),
      ].join(" ")),
      button(t("Add {folder}", { folder: parts[parts.length - 1] }), {
        kind: "primary", onclick: () => add(folder),
      })) : null);
}

const nowhere = () => t("This server offers no folders. Start it with --allow-root PATH, or use the shell.");

/** @param {FolderChoice} entry @param {(folder: string) => void} enter */
const line = ({ name, folder, indexed }, enter) => h("li", {}, h("button", {
  type: "button", class: "link", onclick: () => enter(folder),
}, icon("folder"), h("span", {}, name), indexed ? h("small", {}, t("indexed")) : null));

/**
 * What stands in place of results while the collection is empty.
 * @param {Api} api
 * @param {Work} work
 * @param {boolean} readOnly
 */
export function emptyCollection(api, work, readOnly) {
  return h("div", { class: "empty-collection" },
    h("p", { class: "hint" }, readOnly
      ? t("The collection is still empty. Fill it in the shell: rankloom index PATH")
      : [t("The collection is still empty. Add a folder with pictures and videos: they stay where they are."),
        " ", t("New items show up here as they are described.")]),
    readOnly ? null : h("div", { class: "buttons" },
      button(t("Add a folder…"), { kind: "primary", symbol: "folder", onclick: () => askFolder(api, work) })),
    jobView(work, api, readOnly));
}
