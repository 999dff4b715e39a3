// The tab "Models": every training is a version; compare them, use one, go back.

import { interval } from "./chart.js";
import { $, button, errorLine, h, option, put, scrolled, toast } from "./dom.js";
import { date, number, signed } from "./format.js";
import { locale, t } from "./i18n.js";
import { jobEnd } from "./jobs.js";
import { reason } from "./reasons.js";
import { save } from "./saving.js";

/** @import { Api, Model, Preference } from "./types.js" */
/**
 * @typedef {object} Parts
 * @property {Pick<Api, "models" | "preferences" | "train" | "useModel" | "work">} api
 * @property {boolean} readOnly
 * @property {() => void} changed scores are others now
 */

/** @type {Record<string, string>} */
const RANKERS = {
  rlr: t("Ranking logistic regression"), frlr: t("Logistic, all pairs"), ranksvm: "Rank SVM",
  lr: t("Logistic regression"), opar1: t("Passive-aggressive"), arow: "AROW",
  rankboost: "RankBoost", irankboost: t("Imbalanced RankBoost"),
  listnet: "ListNet", coordascent: t("Coordinate ascent"),
};
const NO_MODEL = t("The weights that follow every mark rank now. "
  + "A model is trained from all marks at once, and judged on searches it has not seen.");
const HEAD = [
  t("Model"), t("Trained"), t("Marks"), t("On unseen searches"), { unseen: t("Interval") },
  t("Against the one before"), t("Status"), { unseen: t("Use") },
];
/** @type {Record<string, string>} */
const STATUS = { "in use": t("in use"), accepted: t("accepted"), refused: t("refused") };

/** @param {Parts} parts */
export async function showModels(parts) {
  const root = $("view-models");
  try {
    const [models, preferences] = await Promise.all([parts.api.models(), parts.api.preferences()]);
    const used = models.find(({ status }) => status === "in use");
    put(root,
      h("h2", {}, t("Models")),
      h("p", { class: "lead" }, used
        ? t("Model {id} ranks now, together with what marks after it have taught.", { id: String(used.id) })
        : NO_MODEL),
      parts.readOnly ? null : tools(parts, models.length > 0),
      models.length ? modelTable(parts, models) : noModels(),
      preferences.length ? preferred(preferences) : null);
  } catch (error) {
    put(root, h("h2", {}, t("Models")), errorLine(error));
  }
}

const noModels = () => h("div", { class: "notice" }, h("h3", {}, t("There is no model yet")),
  h("p", {}, t("Mark right and wrong results in at least five searches, then train one here.")));

/** @param {Parts} parts @param {boolean} any whether there is a model */
function tools(parts, any) {
  const ranker = h("select", { "aria-label": t("What to train") },
    Object.entries(RANKERS).map(([value, name]) => option(value, name)));
  const train = button(t("Train from all marks"), {
    kind: "primary", onclick: () => start(parts, ranker.value, train),
  });
  const back = button(t("Go back one step"), { symbol: "undo", onclick: () => use(parts, null) });
  return h("div", { class: "buttons" }, ranker, train, any ? back : null);
}

/** @param {Parts} parts @param {Model[]} models */
function modelTable(parts, models) {
  const head = HEAD.map((name) => (typeof name === "string" ? h("th", { scope: "col" }, name)
    : h("td", {}, h("span", { class: "unseen" }, name.unseen))));
  const newest = [...models].reverse();
  return scrolled(t("Models"), { class: "models" },
    h("thead", {}, h("tr", {}, head)), h("tbody", {}, newest.map((model) => row(parts, model))));
}

/** @param {Parts} parts @param {Model} model */
function row(parts, model) {
  const { id, ranker, at, n_marks: marks, metric, value, low, high, gain, status } = model;
  const used = status === "in use";
  const judged = value === null ? "—" : `${metric} ${number(value, 3)}`;
  const text = value === null ? "" : t("{value}, 95 % interval {low} to {high}", {
    value: judged, low: number(low ?? value, 3), high: number(high ?? value, 3),
  });
  const choose = button(t("Use"), {
    kind: "small", "aria-label": t("Use model {id}", { id: String(id) }), onclick: () => use(parts, id),
  });
  return h("tr", { class: used ? "used" : "" },
    h("th", { scope: "row" }, `${id} · ${RANKERS[ranker] ?? ranker}`), h("td", {}, date(at)),
    h("td", {}, marks.toLocaleString(locale)), h("td", {}, judged),
    h("td", {}, value === null ? null : interval(value, low, high, text)),
    h("td", { class: (gain ?? 0) >= 0 ? "good" : "bad" }, gained(model)),
    h("td", {}, h("span", { class: `tag ${status.replace(" ", "-")}` }, STATUS[status] ?? status)),
    h("td", {}, used || parts.readOnly ? null : choose));
}

/** @param {number | null} id */
const nameOf = (id) =>
  (id === null ? t("The weights that follow marks") : t("Model {id}", { id: String(id) }));

/** What marks of mixed lists say. @param {Preference[]} preferences */
function preferred(preferences) {
  const lines = preferences.map(({ first, second, wins, losses, ties, verdict }) => {
    const values = { first: nameOf(first), second: nameOf(second), wins, losses, ties };
    const better = t("{name} is better", { name: verdict === "first" ? values.first : values.second });
    return h("li", {}, t("{first} against {second}: {wins} to {losses}, {ties} even.", values), " ",
      h("strong", {}, verdict === "undecided" ? t("Not decided yet") : better));
  });
  return [h("h3", {}, t("Compared by marks of mixed lists")), h("ul", { class: "preferences" }, lines)];
}

/** @param {Model} model */
function gained({ gain, gain_low: low, gain_high: high }) {
  if (gain === null || gain === undefined) return "—";
  return signed(gain, 3) + (low === null || high === null ? "" : ` [${signed(low, 2)}, ${signed(high, 2)}]`);
}

/** @param {Parts} parts @param {string} ranker @param {HTMLButtonElement} train */
async function start(parts, ranker, train) {
  await save(parts.api.train(ranker), {
    done: async () => {
      train.disabled = true;
      /** @type {ChildNode} */ (train.lastChild).textContent = t("Training…");
      const { error, result } = await jobEnd(parts.api, "train");
      toast(error ? reason(error) : t("{model} is trained", { model: result ?? "" }), error ? "bad" : "");
      parts.changed();
    },
  });
  showModels(parts);
}

/** @param {Parts} parts @param {number | null} id null goes back to the one before */
async function use(parts, id) {
  await save(parts.api.useModel(id), {
    done: () => {
      toast(id === null ? t("The one before is in use again")
        : t("Model {id} is in use", { id: String(id) }));
      parts.changed();
    },
  });
  showModels(parts);
}
