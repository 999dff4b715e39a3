// The tab "Collection": what there is, whether all of it is described, and which files could not be read.

import { get, post } from "./api.js";
import { $, button, h, put, toast } from "./dom.js";
import { ended } from "./models.js";

export async function showCollection(app) {
  const root = $("view-collection");
  try {
    const [state, errors] = await Promise.all([get("collection"), get("errors")]);
    app.folders = state.folders;
    draw(root, app, state, errors);
  } catch (error) {
    put(root, h("h2", {}, "Collection"), h("p", { class: "error" }, error.message));
  }
}

function draw(root, app, state, errors) {
  const fact = (value, name) => h("div", { class: "fact" }, h("strong", {}, value.toLocaleString("en")), h("span", {}, value === 1 ? name.replace(/ies$/, "y").replace(/s$/, "") : name));
  const whole = state.descriptors.every((one) => one.share >= 1);
  const job = h("div", { class: "job" });
  if (state.job) running(job, state.job, app);
  put(root,
    h("h2", {}, "Collection"),
    h("div", { class: "facts-row" }, fact(state.pictures, "pictures"), fact(state.videos, "videos"), fact(state.shots, "shots"), fact(state.texts, "texts"), fact(state.marks, "marks"), fact(state.duplicates, "copies"), fact(Math.round(state.bytes / 1e6), "MB on disk")),
    job,
    h("h3", {}, "Index"),
    h("p", { class: whole ? "good" : "bad" }, whole ? "Every item is described by every descriptor." : "Some items are not described yet. Look for changes to finish."),
    h("p", { class: "muted" }, state.neighbours ? "The graph of neighbours is ready: similar pictures help each other." : "The graph of neighbours is being built; until then each result stands by itself."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Descriptors" }, h("table", {}, h("thead", {}, h("tr", {}, ["Descriptor", "Components", "Described"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, state.descriptors.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name), h("td", {}, one.dimension.toLocaleString("en")),
        h("td", {}, h("progress", { max: "1", value: String(one.share), "aria-label": `${one.name} described` }), ` ${(100 * one.share).toFixed(0)} %`)))))),
    h("h3", {}, "Files that could not be read"),
    errors.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Files that could not be read" }, h("table", { class: "errors" }, h("thead", {}, h("tr", {}, ["File", "Folder", "Reason"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, errors.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name), h("td", {}, one.folder), h("td", {}, one.reason))))))
      : h("p", { class: "good" }, "None: every file could be read."),
    app.readOnly ? null : h("div", { class: "buttons" }, button(errors.length ? "Look for changes and try these again" : "Look for changes", { kind: "primary", symbol: "undo", onclick: () => retry(job, app) })));
}

async function retry(place, app) {
  try {
    running(place, await post("errors/retry"), app);
  } catch (error) {
    toast(error.message, "bad");
  }
}

async function running(place, job, app) {
  const names = { index: "Looking for changes", neighbours: "Building the graph of neighbours", train: "Training a model" };
  const bar = h("progress", { "aria-label": names[job.name] ?? job.name });
  const text = h("span", { class: "muted" });
  put(place, h("strong", {}, `${names[job.name] ?? job.name}…`), bar, text);
  const end = await ended(job.name, (now) => {
    if (now.total) { bar.max = now.total; bar.value = now.done; }
    text.textContent = now.total ? `${now.done} of ${now.total} ${now.text}` : now.text;
  }).catch((error) => ({ error: error.message }));
  toast(end.error ?? `${names[job.name] ?? job.name}: ${end.result ?? "done"}`, end.error ? "bad" : "");
  if (!$("view-collection").hidden) showCollection(app);
}
