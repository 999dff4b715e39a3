// Begin: the session, the tabs, the history.

import { api, ApiError } from "./api.js";
import { showAlbums } from "./albums.js";
import { App } from "./app.js";
import { makeBanner, sayUnsent } from "./banner.js";
import { showCollection } from "./collection.js";
import { $, h, messageOf, nextTab, put } from "./dom.js";
import { Elsewhere } from "./elsewhere.js";
import { t } from "./i18n.js";
import { showLearning } from "./learning.js";
import { showModels } from "./models.js";
import { toAddress } from "./query.js";
import { begin } from "./session.js";
import { makeTheme } from "./theme.js";

/** @import { Session } from "./types.js" */

const TABS = ["search", "albums", "places", "learning", "models", "collection"];
const WIDE = 1100; // pixels from which the panel has a column of its own

makeTheme();
makeBanner();
sayUnsent();
try {
  const session = await begin();
  run(session, await knownFolders());
} catch (error) {
  put($("message"), h("div", { class: "notice bad", role: "alert" },
    h("h2", {}, t("The page could not start")), h("p", {}, messageOf(error))));
}

/** None where the collection is damaged or being repaired: its tab says so, and helps. */
async function knownFolders() {
  try {
    return (await api.collection()).folders;
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return [];
    throw error;
  }
}

/** The tab of the address. */
function currentTab() {
  const tab = new URLSearchParams(location.search).get("tab") ?? "";
  return TABS.includes(tab) ? tab : "search";
}

/** @param {Session} session @param {string[]} folders */
function run(session, folders) {
  const readOnly = session.read_only;
  const started = new App(session, folders, openTab);
  const { store, search, marking, grid, panel } = started;
  const setFolders = (/** @type {string[]} */ names) => store.update({ folders: names });
  const find = (/** @type {string} */ text) => { openTab("search"); search.ask({ text }); };
  /** @type {Record<string, () => void>} */
  const views = {
    search: () => grid.layout(),
    albums: () => showAlbums({ api, store, openAlbum: (album) => started.openAlbum(album) }),
    places: () => started.atlas.open(),
    learning: () => showLearning(api),
    models: () => showModels({ api, readOnly, changed: () => marking.changed() }),
    collection: () => showCollection({ api, readOnly, setFolders, find, work: started.work }),
  };

  started.showCollection = views.collection;
  const refresh = () => search.refresh();
  new Elsewhere({ store, work: started.work, refresh, showAlbums: views.albums });

  /** @param {string} tab */
  function show(tab) {
    for (const name of TABS) {
      const on = name === tab;
      $(`tab-${name}`).setAttribute("aria-selected", String(on));
      $(`tab-${name}`).setAttribute("tabindex", on ? "0" : "-1");
      $(`view-${name}`).hidden = !on;
    }
    views[tab]();
  }

  /** @param {string} tab */
  function openTab(tab) {
    if (currentTab() === tab) return;
    const { query, plain, sort } = store.state;
    history.pushState(null, "", toAddress({ query, tab, plain, sort }));
    show(tab);
  }

  const restore = () => {
    show(currentTab());
    search.fromAddress(location.search);
  };
  listenToTabs(openTab);
  $("home").addEventListener("click", (/** @type {Event} */ event) => {
    event.preventDefault();
    openTab("search");
    started.home();
  });
  addEventListener("popstate", restore);
  restore();
  document.body.classList.toggle("read-only", readOnly);
  document.body.dataset.ready = "yes";
  const part = localStorage.getItem("panel");
  if (part && innerWidth > WIDE && store.state.query.text) panel.show(part);
  if (session.demo && !readOnly) started.tour.begin();
}

/** @param {(tab: string) => void} openTab */
function listenToTabs(openTab) {
  for (const name of TABS) {
    $(`tab-${name}`).addEventListener("click", () => openTab(name));
    $(`tab-${name}`).addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const next = nextTab(event, TABS, name);
      if (!next) return;
      openTab(next);
      $(`tab-${next}`).focus();
    });
  }
}
