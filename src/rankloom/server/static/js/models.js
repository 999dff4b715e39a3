// The tab "Models": every training is a version; compare them, use one, go back.

import { interval } from "./chart.js";
import { $, attempt, button, errorLine, h, option, put, scrolled, toast } from "./dom.js";
import { date, number, signed } from "./format.js";
import { jobEnd } from "./jobs.js";

/** @import { Api, Model } from "./types.js" */
/**
 * @typedef {object} Parts
 * @property {Pick<Api, "models" | "train" | "useModel" | "work">} api
 * @property {boolean} readOnly
 * @property {() => void} changed scores are others now
 */

/** @type {Record<string, string>} */
const RANKERS = {
  rlr: "Ranking logistic regression", frlr: "Logistic, all pairs", ranksvm: "Rank SVM",
  lr: "Logistic regression", opar1: "Passive-aggressive", arow: "AROW",
  rankboost: "RankBoost", irankboost: "Imbalanced RankBoost",
  listnet: "ListNet", coordascent: "Coordinate ascent",
};
const NO_MODEL = "The weights that follow every mark rank now. "
  + "A model is trained from all marks at once, and judged on searches it has not seen.";
const HEAD = [
  "Model", "Trained", "Marks", "On unseen searches", { unseen: "Interval" }, "Against the one before",
  "Status", { unseen: "Use" },
];

/** @param {Parts} parts */
export async function showModels(parts) {
  const root = $("view-models");
  try {
    const models = await parts.api.models();
    const used = models.find(({ status }) => status === "in use");
    put(root,
      h("h2", {}, "Models"),
      h("p", { class: "lead" },
        used ? `Model ${used.id} ranks now, together with what marks after it have taught.` : NO_MODEL),
      parts.readOnly ? null : tools(parts, models.length > 0),
      models.length ? modelTable(parts, models) : noModels());
  } catch (error) {
    put(root, h("h2", {}, "Models"), errorLine(error));
  }
}

const noModels = () => h("div", { class: "notice" }, h("h3", {}, "There is no model yet"),
  h("p", {}, "Mark right and wrong results in at least five searches, then train one here."));

/** @param {Parts} parts @param {boolean} any whether there is a model */
function tools(parts, any) {
  const ranker = h("select", { "aria-label": "What to train" },
    Object.entries(RANKERS).map(([value, name]) => option(value, name)));
  const train = button("Train from all marks", {
    kind: "primary", onclick: () => start(parts, ranker.value, train),
  });
  const back = button("Go back one step", { symbol: "undo", onclick: () => use(parts, null) });
  return h("div", { class: "buttons" }, ranker, train, any ? back : null);
}

/** @param {Parts} parts @param {Model[]} models */
function modelTable(parts, models) {
  const head = HEAD.map((name) => (typeof name === "string" ? h("th", { scope: "col" }, name)
    : h("td", {}, h("span", { class: "unseen" }, name.unseen))));
  const newest = [...models].reverse();
  return scrolled("Models", { class: "models" },
    h("thead", {}, h("tr", {}, head)), h("tbody", {}, newest.map((model) => row(parts, model))));
}

/** @param {Parts} parts @param {Model} model */
function row(parts, model) {
  const { id, ranker, at, n_marks: marks, metric, value, low, high, gain, status } = model;
  const used = status === "in use";
  const judged = value === null ? "—" : `${metric} ${number(value, 3)}`;
  const text = value === null ? ""
    : `${judged}, 95 % interval ${number(low ?? value, 3)} to ${number(high ?? value, 3)}`;
  const choose = button("Use", {
    kind: "small", "aria-label": `Use model ${id}`, onclick: () => use(parts, id),
  });
  return h("tr", { class: used ? "used" : "" },
    h("th", { scope: "row" }, `${id} · ${RANKERS[ranker] ?? ranker}`), h("td", {}, date(at)),
    h("td", {}, marks.toLocaleString("en")), h("td", {}, judged),
    h("td", {}, value === null ? null : interval(value, low, high, text)),
    h("td", { class: (gain ?? 0) >= 0 ? "good" : "bad" }, gained(model)),
    h("td", {}, h("span", { class: `tag ${status.replace(" ", "-")}` }, status)),
    h("td", {}, used || parts.readOnly ? null : choose));
}

/** @param {Model} model */
function gained({ gain, gain_low: low, gain_high: high }) {
  if (gain === null || gain === undefined) return "—";
  return signed(gain, 3) + (low === null || high === null ? "" : ` [${signed(low, 2)}, ${signed(high, 2)}]`);
}

/** @param {Parts} parts @param {string} ranker @param {HTMLButtonElement} train */
async function start(parts, ranker, train) {
  await attempt(async () => {
    await parts.api.train(ranker);
    train.disabled = true;
    /** @type {ChildNode} */ (train.lastChild).textContent = "Training…";
    const { error, result } = await jobEnd(parts.api, "train");
    toast(error ?? `${result} is trained`, error ? "bad" : "");
    parts.changed();
  });
  showModels(parts);
}

/** @param {Parts} parts @param {number | null} id null goes back to the one before */
async function use(parts, id) {
  await attempt(async () => {
    await parts.api.useModel(id);
    toast(id === null ? "The one before is in use again" : `Model ${id} is in use`);
    parts.changed();
  });
  showModels(parts);
}
