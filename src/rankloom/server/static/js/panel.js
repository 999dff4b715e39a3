// The panel beside the results: why, marks, experts, concepts; on a phone a sheet from below.

import { $, h, icon, put } from "./dom.js";

/** `parts`: name -> {title, root, show}. */
export function makePanel(parts, onShow) {
  const panel = $("panel");
  let current = "why";
  const tabs = Object.entries(parts).map(([name, { title }]) => h("button", {
    type: "button", role: "tab", id: `part-${name}`, "aria-controls": `body-${name}`, onclick: () => show(name),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const names = Object.keys(parts);
      show(names[(names.indexOf(name) + step + names.length) % names.length]);
      $(`part-${current}`).focus();
    },
  }, title));
  const bodies = Object.entries(parts).map(([name, { root }]) => h("div", { role: "tabpanel", id: `body-${name}`, "aria-labelledby": `part-${name}`, tabindex: "0", class: "panel-body" }, root));
  put(panel,
    h("div", { class: "panel-head" }, h("div", { role: "tablist", class: "panel-tabs", "aria-label": "About the results" }, tabs),
      h("button", { type: "button", class: "icon-button", "aria-label": "Close the panel", onclick: () => toggle(false) }, icon("wrong"))), ...bodies);

  function show(name = current) {
    current = name;
    toggle(true);
    Object.keys(parts).forEach((one) => {
      const on = one === name;
      $(`part-${one}`).setAttribute("aria-selected", String(on));
      $(`part-${one}`).setAttribute("tabindex", on ? "0" : "-1");
      $(`body-${one}`).hidden = !on;
    });
    onShow(name);
  }

  function toggle(on = panel.hidden) {
    if (panel.hidden === !on) return;
    panel.hidden = !on;
    document.body.classList.toggle("with-panel", on);
    $("panel-toggle")?.setAttribute("aria-expanded", String(on));
    localStorage.setItem("panel", on ? current : "");
    if (on) show();
  }

  panel.addEventListener("keydown", (event) => { if (event.key === "Escape") { toggle(false); $("panel-toggle").focus(); } });
  return { show, toggle, get open() { return !panel.hidden; }, get current() { return current; } };
}
