// The search: what is asked, what was found, what was marked. Everything else draws what this holds.

import { deliver, on, post } from "./api.js";
import { makeBox } from "./box.js";
import { makeConcepts } from "./concepts.js";
import { $, announce, button, count, h, put, toast } from "./dom.js";
import { makeExperts } from "./experts.js";
import { Grid, isRight } from "./grid.js";
import { makeMarks } from "./marks.js";
import { makePanel } from "./panel.js";
import { empty, forServer, fromAddress, inWords, isEmpty, isList, toAddress } from "./state.js";
import { makeTools } from "./tools.js";
import { makeViewer } from "./viewer.js";
import { failed, nothing, welcome } from "./welcome.js";
import { makeWhy } from "./why.js";

const FIRST = 200, MORE = 1000, MOST = 10_000, SHOWN = 500;

export class App {
  constructor(readOnly, folders) {
    this.readOnly = readOnly;
    this.folders = folders;
    this.query = empty();
    this.plain = false;
    this.marks = [];
    this.fresh = 0; // marks since the order that is shown
    this.answer = null;
    this.asked = 0;
    this.grid = new Grid($("results"), {
      open: (hit) => this.open(hit), mark: (hit, grade) => this.mark(hit, grade), why: (hit) => this.why(hit), similar: (hit) => this.similar(hit),
      more: () => this.more(), moved: (hit) => this.panel.open && this.panel.current === "why" && this.later(hit),
    });
    this.grid.readOnly = readOnly;
    const why = makeWhy(this), marks = makeMarks(this), experts = makeExperts(this), concepts = makeConcepts(this);
    this.parts = {
      why: { title: "Why here", ...why }, marks: { title: "Marks", ...marks }, experts: { title: "Experts", ...experts }, concepts: { title: "Concepts", ...concepts },
    };
    this.panel = makePanel(this.parts, (name) => this.parts[name].show(name === "why" ? this.grid.hit : undefined));
    this.viewer = makeViewer(this);
    this.tools = makeTools(this);
    this.box = makeBox(this);
    this.tools.resize();
    this.channel = new BroadcastChannel("rankloom");
    this.channel.addEventListener("message", () => this.elsewhere());
    on("back", () => this.sync());
  }

  // Searching ---------------------------------------------------------------------------------------------------------

  /** Ask, and show what comes. `push` makes a step of the history; `animate` moves results to their new places. */
  async search({ push = true, animate = false } = {}) {
    this.asked += 1;
    const mine = this.asked;
    if (push) {
      const address = toAddress({ query: this.query, tab: "search", plain: this.plain });
      if (address !== location.pathname + location.search) history.pushState(null, "", address);
    }
    this.box.show();
    this.tools.show();
    if (isEmpty(this.query)) return this.blank();
    $("view-search").classList.add("searching");
    $("results").setAttribute("aria-busy", "true");
    document.title = `${this.query.text.trim() || "Pictures"} · Rankloom`;
    try {
      const answer = await post("search", { query: forServer(this.query), k: FIRST, diffusion: !this.plain });
      if (mine !== this.asked) return undefined;
      this.found(answer, animate);
    } catch (error) {
      if (mine !== this.asked) return undefined;
      this.answer = null;
      if (!animate) this.grid.show([], { total: 0, cutoff: null });
      put($("status"));
      failed(this, error);
      announce(`The search did not work: ${error.message}`);
    } finally {
      if (mine === this.asked) { $("view-search").classList.remove("searching"); $("results").removeAttribute("aria-busy"); }
    }
    return undefined;
  }

  found(answer, animate) {
    const moved = animate ? this.moves(answer.hits) : null;
    this.answer = answer;
    this.fresh = 0;
    this.pill();
    put($("message"));
    if (!animate || scrollY > 0) scrollTo({ top: 0 });
    $("view-search").classList.toggle("by-date", isList(this.query));
    this.grid.show(answer.hits, { total: Math.min(answer.total, MOST), cutoff: answer.cutoff, animate, byDate: isList(this.query) });
    this.status();
    if (!answer.hits.length) nothing(this);
    const said = `${count(answer.total, "result")} for ${inWords(this.query)}`;
    announce(moved ? `New order. ${count(moved.up, "result")} moved up, ${moved.down} down.` : answer.hits.length ? said : "Nothing was found.");
    this.parts.marks.forget();
    this.loadMarks();
    if (this.panel.open) this.panel.show();
  }

  moves(hits) {
    const before = new Map(this.grid.hits.map((hit) => [hit.id, hit.rank]));
    const changes = hits.filter((hit) => before.has(hit.id)).map((hit) => before.get(hit.id) - hit.rank);
    return { up: changes.filter((by) => by > 0).length, down: changes.filter((by) => by < 0).length };
  }

  async more() {
    if (this.loading || !this.answer) return;
    this.loading = true;
    const mine = this.asked, offset = this.grid.hits.length;
    try {
      const answer = await post("search", { query: forServer(this.query), k: Math.min(MORE, MOST - offset), offset, diffusion: !this.plain });
      if (mine !== this.asked) return;
      this.grid.append(answer.hits);
      if (!answer.hits.length) this.grid.total = this.grid.hits.length;
      setTimeout(() => this.grid.render()); // the end may be in sight again
    } catch { /* the banner says it; scrolling tries again */ } finally {
      this.loading = false;
    }
  }

  blank() {
    this.answer = null;
    this.marks = [];
    this.fresh = 0;
    this.pill();
    document.title = "Rankloom";
    this.grid.show([], { total: 0, cutoff: null });
    put($("status"));
    $("view-search").classList.remove("searching");
    if (this.panel.open) this.panel.toggle(false);
    welcome(this);
  }

  status() {
    const { total, seconds, marks, diffused } = this.answer;
    put($("status"),
      h("span", {}, h("strong", {}, count(total, "result")), ` in ${seconds < 0.1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${seconds.toFixed(1)} s`}`),
      marks ? h("span", { class: "follows" }, `follows ${count(marks, "mark")}`) : null,
      diffused ? h("span", { class: "muted" }, "neighbours count") : null,
      isList(this.query) ? h("span", { class: "muted" }, "newest first") : null);
  }

  /** Read the address and search for what it holds. */
  fromAddress() {
    const { query, plain } = fromAddress(location.search);
    this.query = query;
    this.plain = plain;
    return this.search({ push: false });
  }

  home() { this.query = empty(); this.plain = false; this.search(); $("text").focus(); }

  searchFor(text) { this.query = { ...empty(), text }; this.search(); }

  addItem(item, alone = false) {
    if (alone) this.query = { ...empty(), examples: [{ item, weight: 1 }] };
    else if (!this.query.examples.some((one) => one.item === item)) this.query.examples.push({ item, weight: 1 });
    this.tab("search");
    this.search();
  }

  similar(hit) { if (hit) this.addItem(hit.id, true); }

  useConcept(name) { this.query = { ...empty(), concept: name }; this.search(); }

  open(hit) { if (hit) this.viewer.open(hit); }

  why(hit) {
    if (!hit || this.unranked()) return;
    this.panel.show("why");
    announce(`Why result ${hit.rank} is here: see the panel.`);
  }

  /** The panel follows the current result, but not every step of a fast walk. */
  later(hit) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.parts.why.show(hit), 150);
  }

  /** Whether items are only listed by date; says then what is missing. */
  unranked() {
    if (isList(this.query)) toast("Filters alone list items by date. Search for something, then mark results.");
    return isList(this.query);
  }

  onSearch() { return !$("view-search").hidden; }

  // Marking -----------------------------------------------------------------------------------------------------------

  markCurrent(grade) { if (this.grid.hit) { this.mark(this.grid.hit, grade); this.grid.focus(); } }

  /** Mark a result; the same mark again takes it back. */
  async mark(hit, grade) {
    if (this.unranked()) return undefined;
    if (this.readOnly) return toast("This server is read-only; nothing can be marked.", "bad");
    const before = hit.mark ?? null;
    if (before === grade) {
      const known = this.marks.find((one) => one.item === hit.id && one.over === null);
      if (known) return this.undo(known.id);
    }
    hit.mark = grade;
    this.grid.refresh();
    announce(`Result ${hit.rank} marked ${grade ? "right" : "wrong"}`);
    this.fresh += 1;
    this.pill();
    const shown = this.grid.hits.slice(0, Math.min(Math.max(this.grid.seen, hit.rank), SHOWN)).map((one) => one.id);
    try {
      await deliver("feedback", { query: forServer(this.query), marks: [{ item: hit.id, grade }], shown });
      this.afterMarks();
    } catch (error) {
      hit.mark = before;
      this.fresh = Math.max(0, this.fresh - 1);
      this.grid.refresh();
      this.pill();
      toast(`The mark was not taken: ${error.message}`, "bad");
    }
    return undefined;
  }

  /** Take back a mark by its number, or the last one of this search. */
  async undo(id = null) {
    if (this.readOnly) return;
    try {
      const { undone } = await deliver("undo", id ? { mark: id } : { query: forServer(this.query) });
      if (undone === null) return toast("There is no mark to take back in this search.");
      this.fresh += 1;
      await this.afterMarks();
      toast("The mark is taken back");
      this.pill();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  async afterMarks() {
    this.channel.postMessage("marks");
    await this.loadMarks();
    this.explainAgain();
  }

  /** Scores have changed: what is taken apart in the panel is taken apart anew. */
  explainAgain() { if (this.panel.open && this.panel.current === "why") this.parts.why.refresh(); }

  /** The marks of this search as the server has them. */
  async loadMarks() {
    if (isEmpty(this.query) || isList(this.query)) { this.marks = []; return; }
    const mine = this.asked;
    const marks = await post("marks", { query: forServer(this.query) }).catch(() => null);
    if (!marks || mine !== this.asked) return;
    this.marks = marks;
    const last = new Map();
    for (const one of marks) if (one.over === null && !last.has(one.item)) last.set(one.item, one.grade);
    for (const hit of this.grid.hits) hit.mark = last.get(hit.id) ?? null;
    this.grid.refresh();
    if (this.panel.open && ["marks", "concepts"].includes(this.panel.current)) this.parts[this.panel.current].show();
  }

  /** Another window marked something: show it here, and offer the new order. */
  async elsewhere() {
    const before = this.grid.hits.filter(isRight).length + this.marks.length;
    await this.loadMarks();
    if (this.grid.hits.filter(isRight).length + this.marks.length !== before) { this.fresh += 1; this.pill(); this.explainAgain(); }
  }

  /** The server is back: marks are sent already; search again only if there is nothing to see. */
  sync() {
    if (!this.answer && !isEmpty(this.query)) this.search({ push: false });
    else this.loadMarks();
  }

  /** Weights were changed by hand. */
  changed() { if (this.answer) { this.fresh += 1; this.pill(); } this.explainAgain(); }

  /** The offer to show the new order: nothing moves before it is asked for. */
  pill() {
    const pill = $("pill");
    const hadFocus = pill.contains(document.activeElement);
    pill.hidden = this.fresh === 0 || !this.answer;
    if (pill.hidden) { if (hadFocus) this.grid.focus(); return; }
    if (!pill.children.length) {
      put(pill, h("span", { class: "dot" }), h("span", { class: "said" }), button("Show the new order", { kind: "primary", id: "reorder", "aria-keyshortcuts": "n", onclick: () => this.reorder() }), button("Undo", { kind: "quiet", onclick: () => this.undo() }));
    }
    pill.querySelector(".said").textContent = `${count(this.fresh, "change")} since this order`;
  }

  async reorder() {
    if (!this.fresh) return toast("Nothing was marked since this order.");
    await this.search({ push: false, animate: true });
    this.grid.focus();
  }
}
