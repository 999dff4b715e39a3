// The search with all its parts: each gets what it draws and what it may do, and none knows the others.

import { api, on, post } from "./api.js";
import { Box } from "./box.js";
import { Concepts } from "./concepts.js";
import { $, announce, toast } from "./dom.js";
import { Experts } from "./experts.js";
import { Filters } from "./filters.js";
import { Grid } from "./grid.js";
import { makeKeys } from "./keys.js";
import { Marking } from "./marking.js";
import { Marks } from "./marks.js";
import { makeMessages } from "./messages.js";
import { Outbox } from "./outbox.js";
import { Panel } from "./panel.js";
import { takePictures } from "./pictures.js";
import { isEmpty, withExample } from "./query.js";
import { Search } from "./search.js";
import { makePill, makeStatus } from "./status.js";
import { createStore, initialState } from "./store.js";
import { exportMenu, makeTools, savedMenu } from "./tools.js";
import { Viewer } from "./viewer.js";
import { Why } from "./why.js";

/** @import { Hit, Query } from "./types.js" */

const SETTLED = 150; // milliseconds until a walk over the results counts as ended

export class App {
  /**
   * @param {boolean} readOnly
   * @param {string[]} folders
   * @param {(tab: string) => void} showTab
   */
  constructor(readOnly, folders, showTab) {
    this.store = createStore(initialState(readOnly, folders));
    this.outbox = new Outbox(post);
    this.showTab = () => showTab("search");
    const speech = { announce, toast };
    this.search = new Search({ store: this.store, api, speech, visit, showTab: this.showTab });
    makeStatus(this.store);
    this.makeMessages(); // before the grid, which makes the rows that are in sight below the message
    this.grid = this.makeGrid();
    const channel = new BroadcastChannel("rankloom");
    this.marking = new Marking({
      store: this.store, api, speech, deliver: (path, body) => this.outbox.deliver(path, body),
      seen: () => this.grid.seen, notify: () => channel.postMessage("marks"),
    });
    channel.addEventListener("message", () => this.marking.elsewhere());
    this.panel = this.makePanel();
    this.viewer = new Viewer(this.store, {
      details: api.item, select: (index, focus) => this.grid.select(index, focus),
      mark: (hit, grade) => this.marking.mark(hit, grade), undo: () => this.marking.undo(),
      similar: (hit) => this.similar(hit), why: (hit) => this.why(hit),
    });
    this.makeBox();
    this.makeTools();
    makePill(this.store, {
      reorder: () => this.reorder(), undo: () => this.marking.undo(), focusResults: () => this.grid.focus(),
    });
    this.makeKeys();
    on("back", () => this.sync());
    addEventListener("beforeunload", (event) => { if (this.outbox.size) event.preventDefault(); });
  }

  makeGrid() {
    return new Grid($("results"), this.store, {
      open: (hit) => this.viewer.open(hit), mark: (hit, grade) => this.marking.mark(hit, grade),
      why: (hit) => this.why(hit), similar: (hit) => this.similar(hit), more: () => this.search.more(),
      moved: () => this.follow(),
    });
  }

  makePanel() {
    const why = new Why(this.store, api, (item) => this.search.addItem(item, true));
    const parts = {
      why: { title: why.title, root: why.root, show: () => why.show(this.grid.hit) },
      marks: new Marks(this.store, {
        mark: (hit, grade) => this.marking.mark(hit, grade), undo: (id) => this.marking.undo(id),
        suggest: () => this.marking.suggest(),
      }),
      experts: new Experts(this.store, api, () => this.marking.changed()),
      concepts: new Concepts(this.store, api, (concept) => this.search.ask({ concept })),
    };
    const panel = new Panel(parts);
    this.store.watch(["order"], ({ answer, error }) => {
      if (answer && panel.open) panel.show();
      else if (!answer && !error) panel.toggle(false);
    });
    this.store.watch(["marks"], () => { if (panel.shows("marks", "concepts")) panel.show(); });
    this.store.watch(["revision"], () => { if (panel.shows("why")) why.refresh(); });
    return panel;
  }

  makeMessages() {
    makeMessages(this.store, api, {
      again: () => this.search.run({ push: false }), home: () => this.home(),
      clearFilters: () => this.search.clearFilters(), change: (patch) => this.search.change(patch),
      ask: (query) => this.search.ask(query), similar: (item) => this.search.addItem(item, true),
    });
  }

  makeBox() {
    const change = (/** @type {Partial<Query>} */ patch) => this.search.change(patch);
    const box = new Box(this.store, { change, leave: () => this.grid.focus() });
    takePictures({
      readOnly: this.store.state.readOnly, upload: api.upload, waiting: () => box.waiting(),
      addItem: (item) => this.search.addItem(item),
      search: (pictures) => {
        const { query } = this.store.state;
        const examples = pictures.map((picture) => ({ picture, weight: 1 }));
        change({ ...examples.reduce(withExample, query), text: box.text.value });
      },
    });
  }

  makeTools() {
    const filters = new Filters(this.store, {
      filter: (name, value) => this.search.filter(name, value),
      setPlain: (plain) => this.search.change({}, { plain }),
      clear: () => this.search.change({ filters: {} }, { plain: false }),
    });
    makeTools({
      filters, saved: savedMenu(this.store, api, (query) => this.search.ask(query)),
      exports: exportMenu(this.store, api), resize: (height) => this.grid.resize(height),
      togglePanel: () => this.panel.toggle(),
    });
  }

  makeKeys() {
    /** @param {(hit: Hit) => void} action */
    const current = (action) => () => { if (this.grid.hit) action(this.grid.hit); };
    /** @param {0 | 1} grade */
    const mark = (grade) => current((hit) => {
      this.marking.mark(hit, grade);
      this.grid.focus();
    });
    makeKeys({
      active: () => !$("view-search").hidden && this.grid.hits.length > 0,
      toBox: () => { this.showTab(); $("text").focus(); },
      right: mark(1), wrong: mark(0), undo: () => this.marking.undo(), reorder: () => this.reorder(),
      similar: current((hit) => this.similar(hit)), why: current((hit) => this.why(hit)),
      open: current((hit) => this.viewer.open(hit)), marks: () => this.panel.show("marks"),
    });
  }

  /** Nothing is asked for, and the box waits for words. */
  home() {
    this.search.home();
    $("text").focus();
  }

  /** @param {Hit} hit */
  similar(hit) { this.search.addItem(hit.id, true); }

  /** @param {Hit} hit */
  why(hit) {
    if (this.marking.refuseList()) return;
    this.panel.show("why");
    announce(`Why result ${hit.rank} is here: see the panel.`);
  }

  /** The panel follows the current result, but not every step of a fast walk. */
  follow() {
    clearTimeout(this.timer);
    if (this.panel.shows("why")) this.timer = setTimeout(() => this.panel.show("why"), SETTLED);
  }

  async reorder() {
    const any = this.store.state.changes > 0;
    await this.outbox.flush(); // the order follows all marks, also those that are on their way
    await this.search.reorder();
    if (any) this.grid.focus();
  }

  /** The server is back: send the marks that wait; search again only if there is nothing to see. */
  async sync() {
    await this.outbox.flush();
    const { answer, query } = this.store.state;
    if (answer || isEmpty(query)) this.marking.load();
    else this.search.run({ push: false });
  }
}

/** Make an address a step of the history. @param {string} address */
function visit(address) {
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
}
