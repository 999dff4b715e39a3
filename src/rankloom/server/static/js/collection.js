// The tab "Collection": what there is, whether all of it is described, and which files could not be read.

import {
  $, attempt, button, errorLine, h, messageOf, put, scrolled, tableHead, tableRow, toast,
} from "./dom.js";
import { expertName } from "./format.js";
import { jobEnd } from "./jobs.js";
import { latestPeople, peopleSection } from "./people.js";

/** @import { Api, CollectionState, FileError, Job } from "./types.js" */
/**
 * @typedef {object} Parts
 * @property {Api} api
 * @property {boolean} readOnly
 * @property {(folders: string[]) => void} setFolders
 * @property {(text: string) => void} find searches for words
 */

/** @type {Record<string, string>} */
const JOBS = {
  index: "Looking for changes", neighbours: "Building the graph of neighbours", train: "Training a model",
};

/** @param {Parts} parts */
export async function showCollection(parts) {
  const root = $("view-collection");
  try {
    const { api } = parts;
    const [state, errors, people] = await Promise.all([api.collection(), api.errors(), latestPeople(api)]);
    parts.setFolders(state.folders);
    const job = h("div", { class: "job" });
    if (state.job) follow(job, state.job, parts);
    put(root, h("h2", {}, "Collection"), facts(state), job, descriptors(state), unreadable(errors),
      parts.readOnly ? null : tools(job, errors.length > 0, parts), peopleSection(people, parts));
  } catch (error) {
    put(root, h("h2", {}, "Collection"), errorLine(error));
  }
}

/** @param {CollectionState} state */
function facts({ pictures, videos, shots, texts, marks, duplicates, bytes }) {
  /** @param {number} value @param {string} plural @param {string} singular */
  const fact = (value, plural, singular) => h("div", { class: "fact" },
    h("strong", {}, value.toLocaleString("en")), h("span", {}, value === 1 ? singular : plural));
  return h("div", { class: "facts-row" },
    fact(pictures, "pictures", "picture"), fact(videos, "videos", "video"),
    fact(shots, "shots", "shot"), fact(texts, "texts", "text"), fact(marks, "marks", "mark"),
    fact(duplicates, "copies", "copy"), fact(Math.round(bytes / 1e6), "MB on disk", "MB on disk"));
}

/** @param {CollectionState} state */
function descriptors({ descriptors: list, neighbours }) {
  const complete = list.every(({ share }) => share >= 1);
  return [
    h("h3", {}, "Index"),
    h("p", { class: complete ? "good" : "bad" }, complete ? "Every item is described by every descriptor."
      : "Some items are not described yet. Look for changes to finish."),
    h("p", { class: "muted" }, neighbours
      ? "The graph of neighbours is ready: similar pictures help each other."
      : "The graph of neighbours is being built; until then each result stands by itself."),
    scrolled("Descriptors", {}, tableHead(["Descriptor", "Components", "Described"]), h("tbody", {},
      list.map(({ name, dimension, share }) => {
        const { group } = expertName(name);
        return tableRow(group, dimension.toLocaleString("en"), [
          h("progress", { max: "1", value: String(share), "aria-label": `${group} described` }),
          ` ${(100 * share).toFixed(0)} %`,
        ]);
      }))),
  ];
}

/** @param {FileError[]} errors */
function unreadable(errors) {
  const title = "Files that could not be read";
  return [
    h("h3", {}, title),
    errors.length ? scrolled(title, { class: "errors" }, tableHead(["File", "Folder", "Reason"]),
      h("tbody", {}, errors.map(({ name, folder, reason }) => tableRow(name, folder, reason))))
      : h("p", { class: "good" }, "None: every file could be read."),
  ];
}

/** @param {HTMLElement} place @param {boolean} again whether files failed @param {Parts} parts */
function tools(place, again, parts) {
  const text = again ? "Look for changes and try these again" : "Look for changes";
  const onclick = () => attempt(async () => { follow(place, await parts.api.index(), parts); });
  return h("div", { class: "buttons" }, button(text, { kind: "primary", symbol: "undo", onclick }));
}

/** Show how far a job is, and its end. @param {HTMLElement} place @param {Job} job @param {Parts} parts */
async function follow(place, { name }, parts) {
  const title = JOBS[name] ?? name;
  const bar = h("progress", { "aria-label": title });
  const text = h("span", { class: "muted" });
  put(place, h("strong", {}, `${title}…`), bar, text);
  const { error, result } = await jobEnd(parts.api, name, (now) => {
    if (now.total) { bar.max = now.total; bar.value = now.done; }
    text.textContent = now.total ? `${now.done} of ${now.total} ${now.text}` : now.text;
  }).catch((failure) => ({ error: messageOf(failure), result: null }));
  toast(error ?? `${title}: ${result ?? "done"}`, error ? "bad" : "");
  if (!$("view-collection").hidden) showCollection(parts);
}
