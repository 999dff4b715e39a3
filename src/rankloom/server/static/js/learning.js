// The tab "Learning": how good results were with the starting weights and with the learned ones.

import { lines } from "./chart.js";
import { $, errorLine, h, put, scrolled, tableHead } from "./dom.js";
import { expertName, grouped, mean, number, signed, smooth, sum } from "./format.js";
import { t, tn } from "./i18n.js";
import { fromServer, inWords } from "./query.js";

/** @import { Api, CurvePoint, Weights } from "./types.js" */

const NONE = t("Go to Search, look for anything, and mark something right and something wrong. Then do the "
  + "same in a second search: the curve shows how much of it the first has taught.");
const ONE = t("What marks have taught shows in the searches that come after them. Each new search is ordered "
  + "twice, by the weights of the start and by what was learned before it; the curve compares how early the "
  + "results come that you then mark right. Mark something right and something wrong in a second search, and "
  + "it begins.");

/** @param {Pick<Api, "curve" | "experts">} api */
export async function showLearning(api) {
  const root = $("view-learning");
  const title = h("h2", {}, t("Learning"));
  if (!root.children.length) put(root, title, h("p", { class: "hint" }, t("Looking at all marks…")));
  try {
    const [curve, library] = await Promise.all([api.curve(), api.experts()]);
    put(root, title, curve.length > 1 ? [progress(curve), numbers(curve)] : noCurve(curve),
      h("h3", {}, t("What the marks have changed")), weightTable(library));
  } catch (error) {
    put(root, title, errorLine(error));
  }
}

/** With less than two judged searches there is nothing to compare. @param {CurvePoint[]} curve */
function noCurve([first]) {
  if (!first) {
    return h("div", { class: "notice" }, h("h3", {}, t("No search is judged yet")), h("p", {}, NONE));
  }
  const about = { search: words(first), value: number(first.start ?? 0, 2) };
  return h("div", { class: "notice" }, h("h3", {}, t("One search is judged: the next one can be compared")),
    h("p", {}, ONE),
    h("p", { class: "muted" }, t("The first was {search}: with the weights of the start its right results "
      + "came first to {value} of 1 (average precision).", about)));
}

/** What was searched for. @param {CurvePoint} point */
const words = ({ query }) => (query ? inWords(fromServer(query)) : t("somebody else’s search"));

/** A change as it is shown: none has no sign. @param {number} change @param {number} digits */
const changed = (change, digits) =>
  (Math.abs(change) < 0.5 * 10 ** -digits ? number(0, digits) : signed(change, digits));

/** @param {number} change @param {number} least what counts as a change */
const verdict = (change, least) => (Math.abs(change) < least ? "" : change > 0 ? "good" : "bad");

/** @param {CurvePoint[]} curve */
function progress(curve) {
  const before = curve.map(({ start }) => start), after = curve.map(({ learned }) => learned);
  const start = mean(before) ?? 0, learned = mean(after) ?? 0;
  const window = Math.max(1, Math.round(curve.length / 10));
  const label = t("When a search is new, the results you then call right come first: {learned} of 1 with "
    + "what was learned before it, {start} with the weights of the start. That is the mean over {n} judged "
    + "searches.",
  { learned: number(learned, 2), start: number(start, 2), n: curve.length });
  return [
    h("p", { class: "lead" }, label, " ",
      h("strong", { class: verdict(learned - start, 5e-4) }, Math.abs(learned - start) < 5e-4
        ? t("No difference yet.") : signed(learned - start, 3))),
    lines([
      { name: t("With the weights of the start"), kind: "start", values: smooth(before, window) },
      { name: t("With the learned weights"), kind: "learned", values: smooth(after, window) },
    ], {
      x: t("judged searches, in order"), label,
      y: window > 1 ? t("average precision, mean of {n} searches", { n: window }) : t("average precision"),
    }),
  ];
}

/** @param {CurvePoint[]} curve */
function numbers(curve) {
  const rows = curve.map((point) => {
    const { marks, start, learned } = point;
    const cells = [words(point), marks ?? "", number(start ?? 0, 2), number(learned ?? 0, 2)];
    return h("tr", {}, cells.map((cell) => h("td", {}, String(cell))));
  });
  return h("details", {}, h("summary", {}, t("The numbers")), scrolled(t("The numbers of the curve"), {},
    tableHead([t("Search"), t("Marks"), t("Start"), t("Learned")]), h("tbody", {}, rows)));
}

/** The weights of each group of experts. @param {Weights} library */
function weightTable({ weights, start, marks }) {
  const groups = [...grouped(Object.keys(weights), (name) => expertName(name).group)]
    .map(([group, names]) => ({
      group, before: sum(names.map((name) => start[name] ?? 0)), now: sum(names.map((name) => weights[name])),
    }))
    .sort((a, b) => Math.abs(b.now) - Math.abs(a.now));
  const most = Math.max(1e-9, ...groups.flatMap(({ before, now }) => [Math.abs(before), Math.abs(now)]));
  /** @param {string} kind @param {number} value */
  const bar = (kind, value) => h("span", { class: `weight-bar ${kind}` },
    h("i", { style: { width: `${(100 * Math.abs(value)) / most}%` } }));
  return h("div", {},
    h("p", { class: "hint" },
      tn(marks, "Weights of the experts, by what they look at; learned from {n} mark.",
        "Weights of the experts, by what they look at; learned from {n} marks.")),
    h("table", { class: "weights" }, tableHead([
      t("Expert"), t("Start and now"), t("Start"), t("Now"), t("Change"),
    ]),
      h("tbody", {}, groups.map(({ group, before, now }) => h("tr", {}, h("th", { scope: "row" }, group),
        h("td", { class: "pair" }, bar("start", before), bar("learned", now)),
        h("td", {}, number(before, 2)), h("td", {}, number(now, 2)),
        h("td", { class: verdict(now - before, 0.005) }, changed(now - before, 2)))))));
}
