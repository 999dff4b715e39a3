// Begin: the session, the tabs, the history.

import { get } from "./api.js";
import { App } from "./app.js";
import { showCollection } from "./collection.js";
import { $, h, put } from "./dom.js";
import { makeKeys } from "./keys.js";
import { showLearning } from "./learning.js";
import { showModels } from "./models.js";
import { begin } from "./session.js";
import { toAddress } from "./state.js";
import { makeTheme } from "./theme.js";

const TABS = ["search", "learning", "models", "collection"];

makeTheme();
try {
  const session = await begin();
  const state = await get("collection");
  run(session, state);
} catch (error) {
  put($("message"), h("div", { class: "notice bad", role: "alert" }, h("h2", {}, "The page could not start"), h("p", {}, error.message)));
}

function run(session, state) {
  const app = new App(session.read_only, state.folders);
  const shown = { learning: () => showLearning(app), models: () => showModels(app), collection: () => showCollection(app) };
  const current = () => { const tab = new URLSearchParams(location.search).get("tab"); return TABS.includes(tab) ? tab : "search"; };

  function show(tab) {
    for (const name of TABS) {
      const on = name === tab;
      $(`tab-${name}`).setAttribute("aria-selected", String(on));
      $(`tab-${name}`).setAttribute("tabindex", on ? "0" : "-1");
      $(`view-${name}`).hidden = !on;
    }
    if (tab === "search") app.grid.layout();
    else shown[tab]();
  }

  app.tab = (tab) => {
    if (current() === tab) return;
    history.pushState(null, "", toAddress({ query: app.query, tab, plain: app.plain }));
    show(tab);
  };

  TABS.forEach((name, i) => {
    $(`tab-${name}`).addEventListener("click", () => app.tab(name));
    $(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = TABS[(i + step + TABS.length) % TABS.length];
      app.tab(next);
      $(`tab-${next}`).focus();
    });
  });
  $("home").addEventListener("click", (event) => { event.preventDefault(); app.tab("search"); app.home(); });
  let asked = null;
  const restore = () => {
    show(current());
    const address = new URLSearchParams(location.search);
    address.delete("tab");
    if (address.toString() !== asked) app.fromAddress();
    asked = address.toString();
  };
  addEventListener("popstate", () => { asked = null; restore(); });
  makeKeys(app);
  restore();
  if (session.read_only) document.body.classList.add("read-only");
  document.body.dataset.ready = "yes";
  if (localStorage.getItem("panel") && innerWidth > 1100 && app.query.text) app.panel.show(localStorage.getItem("panel"));
}
