// The search with all its parts: each gets what it draws and what it may do, and none knows the others.

import { emptyCollection } from "./adding.js";
import { Advanced } from "./advanced.js";
import { AlbumBar } from "./albumbar.js";
import { api, on } from "./api.js";
import { Atlas } from "./atlas.js";
import { Box } from "./box.js";
import { Concepts } from "./concepts.js";
import { $, announce, attempt, toast } from "./dom.js";
import { Experts } from "./experts.js";
import { Filters } from "./filters.js";
import { Grid } from "./grid.js";
import { Help } from "./help.js";
import { t } from "./i18n.js";
import { sayEnds } from "./jobs.js";
import { makeKeys } from "./keys.js";
import { gradeOf, Marking } from "./marking.js";
import { Marks } from "./marks.js";
import { makeMessages } from "./messages.js";
import { News } from "./news.js";
import { NotesEditor } from "./notes.js";
import { Organizing } from "./organizing.js";
import { Panel } from "./panel.js";
import { framePart } from "./parts.js";
import { takePictures } from "./pictures.js";
import { drawToSelect } from "./gestures.js";
import { withExample } from "./query.js";
import { HandOrder } from "./reordering.js";
import { save, saving } from "./saving.js";
import { Scrubber } from "./scrubber.js";
import { Search } from "./search.js";
import { Selection } from "./selection.js";
import { chosen, SelectionBar } from "./selectionbar.js";
import { offerUndo } from "./sheets.js";
import { makePill, makeStatus } from "./status.js";
import { createStore, initialState } from "./store.js";
import { folderMenu } from "./folders.js";
import { exportMenu, makeTools, savedMenu, sortChoice } from "./tools.js";
import { Tour } from "./tour.js";
import { Viewer } from "./viewer.js";
import { Why } from "./why.js";
import { Work } from "./work.js";

/** @import { Hit, Item, Job, Query, Region, Session } from "./types.js" */

const SETTLED = 150; // milliseconds until a walk over the results counts as ended

export class App {
  /**
   * @param {Session} session
   * @param {string[]} folders
   * @param {(tab: string) => void} showTab
   */
  constructor(session, folders, showTab) {
    this.store = createStore(initialState(session.read_only, folders));
    this.showTab = () => showTab("search");
    this.showAlbums = () => showTab("albums");
    this.showCollection = () => {};
    this.showPlaces = () => showTab("places");
    const speech = { announce, toast };
    this.search = new Search({ store: this.store, api, speech, visit, showTab: this.showTab });
    this.work = new Work(api);
    makeStatus(this.store, (text) => this.search.change({ text }));
    this.selection = new Selection({
      store: this.store, speech, items: (first, end) => this.search.browse.items(first, end),
    });
    this.makeMessages(); // before the grid, which makes the rows that are in sight below the message
    this.grid = this.makeGrid();
    const channel = new BroadcastChannel("rankloom");
    this.marking = new Marking({
      store: this.store, api, save, speech,
      seen: () => this.grid.seen, notify: () => channel.postMessage("marks"),
    });
    channel.addEventListener("message", () => this.marking.elsewhere());
    this.panel = this.makePanel();
    const refresh = () => this.search.refresh();
    this.organizing = new Organizing({ store: this.store, api, save, speech, refresh, offerUndo });
    this.albumBar = new AlbumBar({ store: this.store, api, refresh, showAlbums: this.showAlbums });
    this.selectionBar = this.makeSelectionBar();
    this.notes = this.makeNotes();
    this.viewer = new Viewer(this.store, this.notes, api, {
      select: (index, focus) => this.grid.select(index, focus),
      mark: (hit, grade) => this.marking.mark(hit, grade), undo: () => this.marking.undo(),
      similar: (hit) => this.similar(hit), why: (hit) => this.why(hit),
      part: (hit, region, frame) => this.part(hit, region, frame),
      at: (index) => this.search.browse.at(index),
      hide: (hit) => this.organizing.hide([hit.id], !hit.hidden),
      showPlace: (place) => this.showPlace(place),
    });
    this.tour = new Tour(this.store, {
      search: (text) => { this.showTab(); this.search.ask({ text }); }, reorder: () => this.reorder(),
      why: () => this.whyFirst(), experts: () => this.panel.show("experts"),
    });
    this.help = new Help(session, api, { tour: () => { this.showTab(); this.tour.start(); } });
    this.makeBox();
    this.makeTools();
    makePill(this.store, {
      reorder: () => this.reorder(), undo: () => this.marking.undo(), focusResults: () => this.grid.focus(),
    });
    this.makeKeys();
    this.atlas = new Atlas({
      api, store: this.store, work: this.work,
      show: (within) => { this.showTab(); this.search.filter("within", within); },
    });
    new News({ store: this.store, work: this.work, refresh });
    sayEnds(this.work, (jobs) => this.workEnded(jobs));
    this.work.start();
    on("back", () => this.sync());
    addEventListener("beforeunload", askBeforeLeaving);
  }

  makeGrid() {
    const grid = new Grid($("results"), this.store, this.selection, {
      open: (hit) => this.viewer.open(hit), mark: (hit, grade) => this.marking.mark(hit, grade),
      why: (hit) => this.why(hit), similar: (hit) => this.similar(hit), more: () => this.search.more(),
      moved: () => this.follow(), need: (first, end) => this.search.browse.need(first, end),
    });
    this.scrubber = new Scrubber($("scrubber"), grid);
    const results = () => !$("view-search").hidden && grid.hits.length > 0;
    drawToSelect($("main"), results, () => grid.tiles(), this.selection, (item) => grid.take(item));
    return grid;
  }

  makeSelectionBar() {
    const { store, grid, albumBar, selection } = this;
    const order = new HandOrder({ store, grid, albumBar, browse: this.search.browse, selection });
    albumBar.drawn = () => order.listen();
    return new SelectionBar({
      store: this.store, api, selection: this.selection, organizing: this.organizing,
      mark: (items, grade) => this.marking.markAll(items, grade), cover: (item) => albumBar.cover(item),
      order, focusResults: () => this.grid.focus(),
    });
  }

  makeNotes() {
    return new NotesEditor({
      organizing: this.organizing, tags: api.tags, readOnly: this.store.state.readOnly,
      openAlbum: (album) => this.viewer.leave(() => this.openAlbum(album)),
      askAlbum: (hit) => this.selectionBar.askAlbum([hit.id]),
    });
  }

  /** @param {number} album */
  openAlbum(album) {
    this.showTab();
    this.search.ask({ filters: { album } });
  }

  makePanel() {
    const why = new Why(this.store, api, (item) => this.search.addItem(item, true));
    const parts = {
      why: { title: why.title, root: why.root, show: () => why.show(this.grid.hit) },
      marks: new Marks(this.store, {
        undo: (id) => this.marking.undo(id), keep: (mark) => this.marking.keep(mark),
      }),
      experts: new Experts(this.store, api, () => this.marking.changed()),
      concepts: new Concepts(this.store, api, (concept) => this.search.ask({ concept })),
    };
    const panel = new Panel(parts);
    this.store.watch(["order"], ({ answer, groups }) => {
      if (groups) panel.toggle(false); // there is nothing to say about a list
      else if (answer && panel.open) panel.show();
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
      empty: () => emptyCollection(api, this.work, this.store.state.readOnly),
    });
  }

  /** Folders may have come, and other marks with a backup. @param {Job[]} jobs */
  async workEnded(jobs) {
    if (jobs.some(({ name }) => name === "restore" || name === "repair")) this.search.refresh();
    try {
      this.store.update({ folders: (await api.collection()).folders });
    } catch { /* the banner says it */ }
    if (!$("view-collection").hidden) this.showCollection();
  }

  /** @param {Item["place"]} place */
  showPlace(place) {
    if (!place) return;
    this.atlas?.lookAt(place.latitude, place.longitude);
    this.showPlaces();
  }

  makeBox() {
    const change = (/** @type {Partial<Query>} */ patch) => this.search.change(patch);
    const box = new Box(this.store, {
      change, leave: () => this.grid.focus(), offers: api.offers, help: () => this.help.show(),
      ask: (query) => this.search.ask(query),
    });
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
      clear: () => this.search.clearFilters(), tags: api.tags,
      map: () => this.showPlaces(),
    });
    const advanced = new Advanced(this.store, {
      change: (choice) => this.search.change({}, choice), models: api.models,
    });
    makeTools({
      filters, advanced,
      folders: folderMenu(this.store, api, (folder) => this.search.filter("folder", folder)),
      sort: sortChoice(this.store, (sort) => this.search.change({}, { sort })),
      saved: savedMenu(this.store, api, (query) => this.search.ask(query)),
      exports: exportMenu(this.store, api, () => this.organizing.download(null, "xmp")),
      resize: (height) => this.grid.resize(height),
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
    /** @param {(items: number[]) => void} action */
    const these = (action) => () => {
      const items = chosen(this.store.state, this.grid.hit?.id);
      if (items.length && !this.store.state.readOnly) action(items);
    };
    makeKeys({
      active: () => !$("view-search").hidden && this.grid.hits.length > 0,
      toBox: () => { this.showTab(); $("text").focus(); }, help: () => this.help.show(),
      right: mark(1), wrong: mark(0), undo: () => this.marking.undo(), reorder: () => this.reorder(),
      similar: current((hit) => this.similar(hit)), why: current((hit) => this.why(hit)),
      open: current((hit) => this.viewer.open(hit)), marks: () => this.panel.show("marks"),
      album: these((items) => this.selectionBar.askAlbum(items)),
      tag: these((items) => this.selectionBar.askTag(items)),
      hide: these((items) => this.organizing.hide(items, !this.store.state.query.filters.hidden)),
      rate: (stars) => these((items) => this.organizing.rate(items, stars))(),
    });
  }

  /** Nothing is asked for, and the box waits for words. */
  home() {
    this.search.home();
    $("text").focus();
  }

  /** @param {Hit} hit */
  similar(hit) { this.search.addItem(hit.id, true); }

  /**
   * A search with a part of an item, or of the frame at which its player stands.
   * @param {Hit} hit
   * @param {Region} region
   * @param {HTMLVideoElement | null} frame
   */
  part(hit, region, frame) {
    if (!frame) return () => { this.search.addItem(hit.id, true, region); };
    const sent = framePart(frame, region).then(api.upload);
    return () => attempt(async () => {
      const { picture } = await sent;
      await this.search.ask({ examples: [{ picture, weight: 1 }] });
    });
  }

  /** @param {Hit} hit */
  why(hit) {
    if (this.marking.refuseList()) return;
    this.panel.show("why");
    announce(t("Why result {rank} is here: see the panel.", { rank: hit.rank }));
  }

  /** Why the first result is there that nobody marked. */
  whyFirst() {
    const { state, state: { hits } } = this.store;
    this.grid.select(Math.max(0, hits.findIndex((hit) => hit && gradeOf(state, hit.id) === null)));
    if (this.grid.hit) this.why(this.grid.hit);
  }

  /** The panel follows the current result, but not every step of a fast walk. */
  follow() {
    clearTimeout(this.timer);
    if (this.panel.shows("why")) this.timer = setTimeout(() => this.panel.show("why"), SETTLED);
  }

  async reorder() {
    const any = this.store.state.changes > 0;
    await saving.flush(); // the order follows all marks, also those that are on their way
    await this.search.reorder();
    if (any) this.grid.focus();
  }

  /** The server is back: send the changes that wait; search again only if there is nothing to see. */
  async sync() {
    await saving.flush();
    if (this.store.state.answer) this.marking.load();
    else this.search.run({ push: false });
  }
}

/** Ask whoever leaves the page while the server does not have everything. @param {Event} event */
function askBeforeLeaving(event) {
  // A caption that is being written is saved when its field loses the focus.
  /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
  if (saving.unsent) event.preventDefault();
}

/** Make an address a step of the history. @param {string} address */
function visit(address) {
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
}
