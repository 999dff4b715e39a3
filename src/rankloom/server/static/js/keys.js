// The keys, and the sheet that explains them. Single letters act only where nobody types, and may be turned off.

import { $, button, h, put } from "./dom.js";

const KEYS = [
  ["Arrows", "move over the results"], ["R or +", "right"], ["W or −", "wrong"], ["U", "undo the last mark"], ["N", "show the new order"],
  ["S", "more like this"], ["O or Enter", "open; again, close"], ["E", "why here"], ["M", "marks"], ["/", "go to the search box"], ["?", "this help"], ["Escape", "close what is open"],
];

/** `app` has the actions. */
export function makeKeys(app) {
  const dialog = $("keys");
  const off = () => localStorage.getItem("keys") === "off";
  const actions = {
    r: () => app.markCurrent(1), "+": () => app.markCurrent(1), w: () => app.markCurrent(0), "-": () => app.markCurrent(0), "−": () => app.markCurrent(0),
    u: () => app.undo(), n: () => app.reorder(), s: () => app.similar(app.grid.hit), e: () => app.why(app.grid.hit), o: () => app.open(app.grid.hit), m: () => app.panel.show("marks"),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (event.key === "/" && !typing) { event.preventDefault(); app.tab("search"); $("text").focus(); return; }
    if (event.key === "?" && !typing) { event.preventDefault(); show(); return; }
    if (typing || off() || !app.onSearch()) return;
    const tile = event.target.closest?.(".tile");
    if (event.key === "Enter" && tile && event.target === tile) { event.preventDefault(); app.open(app.grid.hit); return; }
    const action = actions[event.key.toLowerCase()];
    if (!action || !app.grid.hits.length) return;
    if (event.target.closest?.("button, a, summary") && event.key === "Enter") return;
    event.preventDefault();
    action();
  });

  function show() {
    const letters = h("input", { type: "checkbox", checked: !off(), onchange: (event) => localStorage.setItem("keys", event.target.checked ? "on" : "off") });
    put(dialog,
      h("h2", { id: "keys-title" }, "Keys"),
      h("dl", { class: "keys" }, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, key.split(" ").map((one) => (one === "or" ? " or " : h("kbd", {}, one)))), h("dd", {}, what)))),
      h("p", { class: "muted" }, "Words may be a “phrase in quotes”, begin* or -without. A minus on a picture means: not like this."),
      h("label", { class: "check" }, letters, "Single letters work as keys"),
      h("div", { class: "buttons" }, button("Close", { kind: "primary", onclick: () => dialog.close() })));
    dialog.showModal();
  }

  $("help").addEventListener("click", show);
}
