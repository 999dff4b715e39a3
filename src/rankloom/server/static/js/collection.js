// The tab "Collection": what there is, whether all of it is described, and which files could not be read.

import { askFolder } from "./adding.js";
import { askCaptions } from "./captions.js";
import { $, button, errorLine, h, put, scrolled, tableHead, tableRow } from "./dom.js";
import { duplicatesSection } from "./duplicates.js";
import { expertName } from "./format.js";
import { locale, t, tn } from "./i18n.js";
import { jobView } from "./jobs.js";
import { latestPeople, peopleSection } from "./people.js";
import { reason } from "./reasons.js";
import { save } from "./saving.js";
import { upkeepSection } from "./upkeep.js";

/** @import { Api, CollectionState, FileError } from "./types.js" */
/** @import { Work } from "./work.js" */
/**
 * @typedef {object} Parts
 * @property {Api} api
 * @property {boolean} readOnly
 * @property {(folders: string[]) => void} setFolders
 * @property {(text: string) => void} find searches for words
 * @property {Work} work the long jobs
 */

/** @param {Parts} parts */
export async function showCollection(parts) {
  const root = $("view-collection");
  const title = h("h2", {}, t("Collection"));
  try {
    const { api } = parts;
    const [state, errors, people] = await Promise.all([api.collection(), api.errors(), latestPeople(api)]);
    parts.setFolders(state.folders);
    put(root, title, facts(state), parts.readOnly ? null : tools(errors.length > 0, parts),
      jobView(parts.work, api, parts.readOnly), descriptors(state), unreadable(errors, parts),
      state.items ? duplicatesSection(api, () => parts.work.ask()) : null, peopleSection(people, parts),
      upkeep(parts));
  } catch (error) {
    put(root, title, errorLine(error), jobView(parts.work, parts.api, parts.readOnly), upkeep(parts));
  }
}

/** It helps where nothing else can be read. @param {Parts} parts */
const upkeep = ({ api, work, readOnly }) => (readOnly ? null : upkeepSection(api, work));

/** @param {CollectionState} state */
function facts({ pictures, videos, shots, texts, marks, duplicates, bytes }) {
  /** @param {number} value @param {string} unit */
  const fact = (value, unit) => h("div", { class: "fact" },
    h("strong", {}, value.toLocaleString(locale)), h("span", {}, unit));
  return h("div", { class: "facts-row" },
    fact(pictures, tn(pictures, "picture", "pictures")), fact(videos, tn(videos, "video", "videos")),
    fact(shots, tn(shots, "shot", "shots")), fact(texts, tn(texts, "text", "texts")),
    fact(marks, tn(marks, "mark", "marks")), fact(duplicates, tn(duplicates, "copy", "copies")),
    fact(Math.round(bytes / 1e6), t("MB on disk")));
}

/** @param {CollectionState} state */
function descriptors({ descriptors: list, neighbours, items }) {
  if (!items) return h("p", { class: "muted" }, t("There is nothing in it yet: add a folder."));
  const complete = list.every(({ share }) => share >= 1);
  return [
    h("h3", {}, t("Index")),
    h("p", { class: complete ? "good" : "bad" }, complete ? t("Every item is described by every descriptor.")
      : t("Some items are not described yet. Look for changes to finish.")),
    h("p", { class: "muted" }, neighbours
      ? t("The graph of neighbours is ready: similar pictures help each other.")
      : t("The graph of neighbours is being built; until then each result stands by itself.")),
    scrolled(t("Descriptors"), {}, tableHead([t("Descriptor"), t("Components"), t("Described")]),
      h("tbody", {}, list.map(({ name, dimension, share }) => {
        const { group } = expertName(name);
        const label = t("{name} described", { name: group });
        return tableRow(group, dimension.toLocaleString(locale), [
          h("progress", { max: "1", value: String(share), "aria-label": label }),
          ` ${share.toLocaleString(locale, { style: "percent" })}`,
        ]);
      }))),
  ];
}

/** Those of a job that runs are added as they come. @param {FileError[]} errors @param {Parts} parts */
function unreadable(errors, { api, work }) {
  const root = h("section", { class: "unreadable" }, listOf(errors));
  let known = 0;
  work.watchWith(root, ({ job }) => {
    const failed = job?.failed ?? 0;
    if (failed > known) api.errors().then((now) => put(root, listOf(now)), () => {});
    known = failed;
  });
  return root;
}

/** @param {FileError[]} errors */
function listOf(errors) {
  const title = t("Files that could not be read");
  return [
    h("h3", {}, title),
    errors.length ? scrolled(title, { class: "errors" }, tableHead([t("File"), t("Folder"), t("Reason")]),
      h("tbody", {}, errors.map(({ name, folder, reason: why }) => tableRow(name, folder, reason(why)))))
      : h("p", { class: "good" }, t("None: every file could be read.")),
  ];
}

/** @param {boolean} again whether files failed @param {Parts} parts */
function tools(again, { api, work }) {
  const text = again ? t("Look for changes and try these again") : t("Look for changes");
  return h("div", { class: "buttons" },
    button(t("Add a folder…"), { kind: "primary", symbol: "folder", onclick: () => askFolder(api, work) }),
    button(text, { symbol: "undo", onclick: () => save(api.index(), { done: () => work.ask() }) }),
    button(t("Add captions…"), { symbol: "text", onclick: () => askCaptions(api) }));
}
