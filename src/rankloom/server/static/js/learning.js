// The tab "Learning": how good results were with the starting weights and with the learned ones.

import { lines } from "./chart.js";
import { $, errorLine, h, put, scrolled, tableHead } from "./dom.js";
import { count, expertName, grouped, mean, number, signed, smooth, sum } from "./format.js";

/** @import { Api, CurvePoint, Weights } from "./types.js" */

const NONE = "It begins with the first search in which you marked something right and something wrong. "
  + "Go to Search, look for anything, and mark five results.";

/** @param {Pick<Api, "curve" | "experts">} api */
export async function showLearning(api) {
  const root = $("view-learning");
  const title = h("h2", {}, "Learning");
  if (!root.children.length) put(root, title, h("p", { class: "hint" }, "Looking at all marks…"));
  try {
    const [curve, library] = await Promise.all([api.curve(), api.experts()]);
    put(root, title, curve.length ? [progress(curve), numbers(curve)] : noCurve(),
      h("h3", {}, "What the marks have changed"), weightTable(library));
  } catch (error) {
    put(root, title, errorLine(error));
  }
}

const noCurve = () => h("div", { class: "notice" }, h("h3", {}, "There is no curve yet"), h("p", {}, NONE));

/** @param {number} change @param {number} least what counts as a change */
const verdict = (change, least) => (Math.abs(change) < least ? "" : change > 0 ? "good" : "bad");

/** @param {CurvePoint[]} curve */
function progress(curve) {
  const before = curve.map(({ start }) => start), after = curve.map(({ learned }) => learned);
  const start = mean(before) ?? 0, learned = mean(after) ?? 0;
  const window = Math.max(1, Math.round(curve.length / 10));
  const searches = curve.length === 1 ? "one judged search" : `${curve.length} judged searches`;
  const label = "When a search is new, the results you then call right come first: "
    + `${learned.toFixed(2)} of 1 with what was learned before it, ${start.toFixed(2)} with the weights `
    + `of the start. That is the mean over ${searches}.`;
  return [
    h("p", { class: "lead" }, label, " ",
      h("strong", { class: verdict(learned - start, 5e-4) }, signed(learned - start, 3))),
    lines([
      { name: "With the weights of the start", kind: "start", values: smooth(before, window) },
      { name: "With the learned weights", kind: "learned", values: smooth(after, window) },
    ], {
      x: "judged searches, in order", label,
      y: window > 1 ? `average precision, mean of ${window} searches` : "average precision",
    }),
  ];
}

/** @param {CurvePoint[]} curve */
function numbers(curve) {
  const rows = curve.map(({ query, marks, start, learned }) => {
    const cells = [query ?? "somebody else’s", marks ?? "", number(start ?? 0, 2), number(learned ?? 0, 2)];
    return h("tr", {}, cells.map((cell) => h("td", {}, String(cell))));
  });
  return h("details", {}, h("summary", {}, "The numbers"), scrolled("The numbers of the curve", {},
    tableHead(["Search", "Marks", "Start", "Learned"]), h("tbody", {}, rows)));
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
      `Weights of the experts, by what they look at; learned from ${count(marks, "mark")}.`),
    h("table", { class: "weights" }, tableHead(["Expert", "Start and now", "Start", "Now", "Change"]),
      h("tbody", {}, groups.map(({ group, before, now }) => h("tr", {}, h("th", { scope: "row" }, group),
        h("td", { class: "pair" }, bar("start", before), bar("learned", now)),
        h("td", {}, number(before, 2)), h("td", {}, number(now, 2)),
        h("td", { class: verdict(now - before, 0.005) }, signed(now - before, 2)))))));
}
