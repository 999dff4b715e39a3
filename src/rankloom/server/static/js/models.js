// The tab "Models": every training is a version; compare them, use one, go back.

import { get, post } from "./api.js";
import { interval } from "./chart.js";
import { $, button, date, h, number, put, signed, toast } from "./dom.js";

const RANKERS = {
  rlr: "Ranking logistic regression", frlr: "Logistic, all pairs", ranksvm: "Rank SVM", lr: "Logistic regression", opar1: "Passive-aggressive", arow: "AROW",
  rankboost: "RankBoost", irankboost: "Imbalanced RankBoost", listnet: "ListNet", coordascent: "Coordinate ascent",
};

export async function showModels(app) {
  const root = $("view-models");
  try {
    draw(root, app, await get("models"));
  } catch (error) {
    put(root, h("h2", {}, "Models"), h("p", { class: "error" }, error.message));
  }
}

function draw(root, app, models) {
  const ranker = h("select", { "aria-label": "What to train" }, Object.entries(RANKERS).map(([value, name]) => h("option", { value }, name)));
  const used = models.find((one) => one.status === "in use");
  const train = button("Train from all marks", { kind: "primary", onclick: () => start(app, ranker.value, train) });
  put(root,
    h("h2", {}, "Models"),
    h("p", { class: "lead" }, used ? `Model ${used.id} ranks now, together with what marks after it have taught.` : "The weights that follow every mark rank now. A model is trained from all marks at once, and judged on searches it has not seen."),
    app.readOnly ? null : h("div", { class: "buttons" }, ranker, train, models.length ? button("Go back one step", { symbol: "undo", onclick: () => use(app, null) }) : null),
    models.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Models" }, h("table", { class: "models" },
      h("thead", {}, h("tr", {}, ["Model", "Trained", "Marks", "On unseen searches", "", "Against the one before", "Status", ""].map((name, i) => (name ? h("th", { scope: "col" }, name) : h("td", {}, h("span", { class: "unseen" }, i === 4 ? "Interval" : "Use")))))),
      h("tbody", {}, [...models].reverse().map((one) => row(app, one)))))
      : h("div", { class: "notice" }, h("h3", {}, "There is no model yet"), h("p", {}, "Mark right and wrong results in at least five searches, then train one here.")));
}

function row(app, one) {
  const known = one.value !== null;
  const text = known ? `${one.metric} ${number(one.value, 3)}, 95 % interval ${number(one.low ?? one.value, 3)} to ${number(one.high ?? one.value, 3)}` : "not judged";
  return h("tr", { class: one.status === "in use" ? "used" : "" },
    h("th", { scope: "row" }, `${one.id} · ${RANKERS[one.ranker] ?? one.ranker}`), h("td", {}, date(one.at)), h("td", {}, one.n_marks.toLocaleString("en")),
    h("td", {}, known ? `${one.metric} ${number(one.value, 3)}` : "—"), h("td", {}, known ? interval(one.value, one.low, one.high, text) : null),
    h("td", { class: (one.gain ?? 0) >= 0 ? "good" : "bad" }, one.gain === null || one.gain === undefined ? "—" : `${signed(one.gain, 3)}${one.gain_low === null ? "" : ` [${signed(one.gain_low, 2)}, ${signed(one.gain_high, 2)}]`}`),
    h("td", {}, h("span", { class: `tag ${one.status.replace(" ", "-")}` }, one.status)),
    h("td", {}, one.status === "in use" || app.readOnly ? null : button("Use", { kind: "small", "aria-label": `Use model ${one.id}`, onclick: () => use(app, one.id) })));
}

async function start(app, ranker, train) {
  try {
    await post("models/train", { ranker });
    train.disabled = true;
    train.lastChild.textContent = "Training…";
    const job = await ended("train");
    toast(job.error ?? `${job.result} is trained`, job.error ? "bad" : "");
    app.changed();
  } catch (error) {
    toast(error.message, "bad");
  }
  showModels(app);
}

async function use(app, id) {
  try {
    await post("models/use", { id });
    toast(id === null ? "The one before is in use again" : `Model ${id} is in use`);
    app.changed();
  } catch (error) {
    toast(error.message, "bad");
  }
  showModels(app);
}

/** Wait until the job of a name has ended. */
export async function ended(name, onStep = () => {}) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 400));
    const state = await get("collection");
    if (state.job?.name !== name) return state.jobs.find((one) => one.name === name) ?? { error: "it did not run" };
    onStep(state.job);
  }
}

