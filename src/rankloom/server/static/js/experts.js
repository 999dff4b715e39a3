// The panel of experts: how much each counts, what marks have taught, and sliders for those who know better.

import { get, post } from "./api.js";
import { button, count, expertName, h, icon, number, put, toast } from "./dom.js";

export function makeExperts(app) {
  const root = h("div", { class: "experts" });
  const open = new Set();

  async function show() {
    try {
      draw(await get("experts"));
    } catch (error) {
      put(root, h("p", { class: "error" }, error.message));
    }
  }

  async function change(body, said) {
    try {
      draw(await post("experts", body));
      toast(said);
      app.changed();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  function draw({ weights, start, locked, marks, moved }) {
    const groups = new Map();
    for (const name of Object.keys(weights)) {
      const { group } = expertName(name);
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(name);
    }
    const size = (names) => names.reduce((sum, name) => sum + Math.abs(weights[name]), 0);
    const sorted = [...groups].sort((a, b) => size(b[1]) - size(a[1]));
    const most = Math.max(0.1, ...Object.values(weights).map(Math.abs), ...Object.values(start).map(Math.abs)) * 1.5;
    const largest = Math.max(1e-9, ...sorted.map(([, names]) => size(names)));
    put(root,
      h("p", { class: "hint" }, marks ? `Learned from ${count(marks, "mark")}. The weights have turned by ${(100 * Math.min(1, moved)).toFixed(1)} % from where they started.`
        : "These are the weights a new collection starts with. Each mark moves them a little, for every search."),
      sorted.map(([group, names]) => {
        const details = h("details", { open: open.has(group) },
          h("summary", {}, h("span", { class: "bar more" }, h("span", { class: "label" }, group), h("span", { class: "track" }, h("i", { style: { width: `${(100 * size(names)) / largest}%` } })), h("span", { class: "value" }, number(size(names), 2)))),
          names.map((name) => slider(name, weights[name], start[name] ?? 0, locked.includes(name), most)));
        details.addEventListener("toggle", () => (details.open ? open.add(group) : open.delete(group)));
        return details;
      }),
      app.readOnly ? null : h("div", { class: "buttons" }, button("Back to the start", { kind: "small", symbol: "undo", onclick: () => change({ reset: true }, "All weights are as they were at the start") })));
  }

  function slider(name, value, start, locked, most) {
    const { group, detail } = expertName(name);
    const label = detail ? `${group}, ${detail}` : group;
    const out = h("output", {}, number(value));
    return h("div", { class: "slider" },
      h("label", {}, h("span", {}, detail || group), h("input", {
        type: "range", min: String(-most), max: String(most), step: String(most / 200), value: String(value), disabled: app.readOnly, "aria-label": `Weight of ${label}`,
        oninput: (event) => { out.textContent = number(Number(event.target.value)); },
        onchange: (event) => change({ weights: { [name]: Number(event.target.value) } }, `${label}: ${number(Number(event.target.value))}`),
      }), out),
      h("span", { class: "muted start", title: "Where it started" }, `from ${number(start, 2)}`),
      app.readOnly ? null : h("button", { type: "button", class: "icon-button lock", "aria-pressed": String(locked), "aria-label": `${locked ? "Unlock" : "Lock"} ${label}`, title: locked ? "Locked: marks do not move it" : "Lock it", onclick: () => change({ lock: { [name]: !locked } }, `${label} is ${locked ? "free" : "locked"}`) }, icon("lock")));
  }

  return { root, show };
}
