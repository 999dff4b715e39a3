// Searching: what is asked, and what comes back. It changes the store and draws nothing.

import { count } from "./format.js";
import {
  asked, empty, fromAddress, inWords, isEmpty, isList, toAddress, withExample, withFilter,
} from "./query.js";
import { moves } from "./rows.js";

/** @import { Answer, Api, Hit, Query, Speech, State, Store } from "./types.js" */

const FIRST = 200, MORE = 1000;
const MOST = 10_000;

/** The grades that the server sent with results. @param {Hit[]} hits */
const gradesOf = (hits) => new Map(hits.flatMap(({ id, mark }) => (mark === null ? [] : [[id, mark]])));

export class Search {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Api} parts.api
   * @param {Speech} parts.speech
   * @param {(address: string) => void} parts.visit makes an address a step of the history
   * @param {() => void} parts.showTab shows the tab of the search
   */
  constructor({ store, api, speech, visit, showTab }) {
    this.store = store;
    this.api = api;
    this.speech = speech;
    this.visit = visit;
    this.showTab = showTab;
    this.loading = false;
  }

  /** Ask, and show what comes: `push` as a step of the history, `animate` with results that move. */
  async run({ push = true, animate = false } = {}) {
    const { query, plain } = this.store.state;
    const number = this.store.state.asked + 1;
    if (push) this.visit(toAddress({ query, tab: "search", plain }));
    if (isEmpty(query)) return this.blank(number);
    this.store.update({ asked: number, searching: true });
    try {
      const answer = await this.api.search({ ...asked({ query, plain }), k: FIRST });
      if (this.isCurrent(number)) this.show(answer, animate);
    } catch (error) {
      if (this.isCurrent(number)) this.fail(/** @type {Error} */ (error), animate);
    }
  }

  /** @param {number} number */
  isCurrent(number) { return this.store.state.asked === number; }

  /** @param {Answer} answer @param {boolean} animate */
  show(answer, animate) {
    const { hits: before, query } = this.store.state;
    const { hits } = answer;
    this.store.update({
      answer, hits, total: Math.min(answer.total, MOST), grades: gradesOf(hits), changes: 0,
      order: { animate, byDate: isList(query) }, error: null, searching: false,
    });
    const { up, down } = moves(before, hits);
    if (animate) this.speech.announce(`New order. ${count(up, "result")} moved up, ${down} down.`);
    else if (!hits.length) this.speech.announce("Nothing was found.");
    else this.speech.announce(`${count(answer.total, "result")} for ${inWords(query)}`);
  }

  /** @param {Error} error @param {boolean} animate an order that was shown stays */
  fail(error, animate) {
    const cleared = animate ? {} : { hits: [], total: 0, order: { animate, byDate: false } };
    this.store.update({ answer: null, error, searching: false, ...cleared });
    this.speech.announce(`The search did not work: ${error.message}`);
  }

  /** @param {number} number */
  blank(number) {
    this.store.update({
      asked: number, answer: null, error: null, searching: false, hits: [], total: 0,
      order: { animate: false, byDate: false }, grades: new Map(), marks: [], changes: 0,
    });
  }

  /** The next results of the same order. */
  async more() {
    const { answer, asked: number, hits } = this.store.state;
    if (this.loading || !answer) return;
    this.loading = true;
    try {
      const k = Math.min(MORE, MOST - hits.length);
      const next = await this.api.search({ ...asked(this.store.state), k, offset: hits.length });
      if (this.isCurrent(number)) this.append(next.hits);
    } catch { /* the banner says it; scrolling tries again */ } finally {
      this.loading = false;
    }
  }

  /** @param {Hit[]} next */
  append(next) {
    const { hits, total, grades } = this.store.state;
    const known = new Set(hits.map((hit) => hit.id));
    const added = next.filter((hit) => !known.has(hit.id));
    this.store.update({
      hits: [...hits, ...added],
      grades: new Map([...gradesOf(added), ...grades]),
      total: next.length ? total : hits.length,
    });
  }

  /** Change the query, and search. @param {Partial<Query>} patch @param {{ plain?: boolean }} [options] */
  change(patch, { plain = this.store.state.plain } = {}) {
    this.store.update({ query: { ...this.store.state.query, ...patch }, plain });
    return this.run();
  }

  /** Search for something else. @param {Partial<Query>} query */
  ask(query) { return this.change({ ...empty(), ...query }); }

  /** @param {string} name @param {unknown} value */
  filter(name, value) { return this.change(withFilter(this.store.state.query, name, value)); }

  clearFilters() { return this.change({ filters: {} }); }

  /** Nothing is asked for. */
  home() { return this.change(empty(), { plain: false }); }

  /** Search with an item: with it alone, or with what is asked already. @param {number} item */
  addItem(item, alone = false) {
    const query = withExample(alone ? empty() : this.store.state.query, { item, weight: 1 });
    this.store.update({ query });
    this.showTab();
    return this.run();
  }

  /** Search for what an address holds. @param {string} address */
  fromAddress(address) {
    const { query, plain } = fromAddress(address);
    this.store.update({ query, plain });
    return this.run({ push: false });
  }

  /** Show the order that marks have made since. */
  async reorder() {
    if (this.store.state.changes) await this.run({ push: false, animate: true });
    else this.speech.toast("Nothing was marked since this order.");
  }
}
