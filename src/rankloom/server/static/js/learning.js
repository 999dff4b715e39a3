// The tab "Learning": how good results were with the weights of the start and with the learned ones; what moved.

import { get } from "./api.js";
import { lines, smooth } from "./chart.js";
import { $, count, expertName, h, number, put, signed } from "./dom.js";

export async function showLearning() {
  const root = $("view-learning");
  if (!root.children.length) put(root, h("h2", {}, "Learning"), h("p", { class: "hint" }, "Looking at all marks…"));
  try {
    const [curve, library] = await Promise.all([get("curve"), get("experts")]);
    put(root, h("h2", {}, "Learning"), ...(curve.length ? drawn(curve) : [empty()]), h("h3", {}, "What the marks have changed"), weights(library));
  } catch (error) {
    put(root, h("h2", {}, "Learning"), h("p", { class: "error" }, error.message));
  }
}

function empty() {
  return h("div", { class: "notice" }, h("h3", {}, "There is no curve yet"),
    h("p", {}, "It begins with the first search in which you marked something right and something wrong. Go to Search, look for anything, and mark five results."));
}

function drawn(curve) {
  const before = curve.map((one) => one.start ?? null), after = curve.map((one) => one.learned ?? null);
  const mean = (values) => { const some = values.filter((value) => value !== null); return some.length ? some.reduce((a, b) => a + b, 0) / some.length : 0; };
  const gain = mean(after) - mean(before);
  const window = Math.max(1, Math.round(curve.length / 10));
  const told = `When a search is new, the results you then call right come first: ${mean(after).toFixed(2)} of 1 with what was learned before it, ${mean(before).toFixed(2)} with the weights of the start. That is the mean over ${curve.length === 1 ? "one judged search" : `${curve.length} judged searches`}.`;
  return [
    h("p", { class: "lead" }, told, " ", h("strong", { class: Math.abs(gain) < 5e-4 ? "" : gain > 0 ? "good" : "bad" }, `${signed(gain, 3)}`)),
    lines([{ name: "With the weights of the start", kind: "start", values: smooth(before, window) }, { name: "With the learned weights", kind: "learned", values: smooth(after, window) }],
      { x: "judged searches, in order", y: window > 1 ? `average precision, mean of ${window} searches` : "average precision", label: told }),
    h("details", {}, h("summary", {}, "The numbers"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The numbers of the curve" }, h("table", {}, h("thead", {}, h("tr", {}, ["Search", "Marks", "Start", "Learned"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, curve.map((one, i) => h("tr", {}, h("td", {}, one.query ?? "somebody else’s"), h("td", {}, String(one.marks ?? "")), h("td", {}, number(one.start ?? 0, 2)), h("td", {}, number(one.learned ?? 0, 2)))))))),
  ];
}

function weights({ weights: now, start, marks }) {
  const groups = new Map();
  for (const name of Object.keys(now)) {
    const { group } = expertName(name);
    const found = groups.get(group) ?? { start: 0, now: 0 };
    groups.set(group, { start: found.start + (start[name] ?? 0), now: found.now + now[name] });
  }
  const most = Math.max(1e-9, ...[...groups.values()].flatMap((one) => [Math.abs(one.start), Math.abs(one.now)]));
  const rows = [...groups].sort((a, b) => Math.abs(b[1].now) - Math.abs(a[1].now));
  const bar = (kind, value) => h("span", { class: `weight-bar ${kind}` }, h("i", { style: { width: `${(100 * Math.abs(value)) / most}%` } }));
  return h("div", {}, h("p", { class: "hint" }, `Weights of the experts, by what they look at; learned from ${count(marks, "mark")}.`),
    h("table", { class: "weights" }, h("thead", {}, h("tr", {}, ["Expert", "Start and now", "Start", "Now", "Change"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map(([name, one]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "pair" }, bar("start", one.start), bar("learned", one.now)),
        h("td", {}, number(one.start, 2)), h("td", {}, number(one.now, 2)), h("td", { class: one.now - one.start > 0.005 ? "good" : one.now - one.start < -0.005 ? "bad" : "" }, signed(one.now - one.start, 2)))))));
}
