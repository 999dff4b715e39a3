// Searching: what is asked, and what comes back. It changes the store and draws nothing.

import { Browse } from "./browse.js";
import { howMany } from "./format.js";
import { t, tn } from "./i18n.js";
import {
  arranged, empty, forServer, fromAddress, inWords, isList, queryKey, rankedBy, toAddress, withExample,
  withFilter,
} from "./query.js";
import { moves } from "./rows.js";

/** @import { Answer, Api, Group, Hit, Options, Query, Region, Sort, Speech } from "./types.js" */
/** @import { State, Store } from "./types.js" */

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
    this.browse = new Browse(store, api);
  }

  /**
   * Ask, and show what comes: `push` as a step of the history, `animate` with results that move, `keep` where
   * the page is scrolled to.
   */
  async run({ push = true, animate = false, keep = false } = {}) {
    const { query, plain, sort } = this.store.state;
    const number = this.store.state.asked + 1, { changes } = this.store.state;
    if (push) this.visit(toAddress({ query, tab: "search", plain, sort }));
    this.store.update({ asked: number, searching: true });
    try {
      if (isList(query)) {
        const { answer, groups, hits } = await this.browse.open({ query, sort, keep });
        if (this.isCurrent(number)) this.show(answer, { animate, keep, groups, hits, changes });
      } else {
        const answer = await this.first();
        if (this.isCurrent(number)) {
          this.show(answer, { animate, keep, groups: null, hits: answer.hits, changes });
        }
      }
    } catch (error) {
      if (this.isCurrent(number)) this.fail(/** @type {Error} */ (error), animate);
    }
  }

  /** What a ranked search asks for. */
  ranked() { return { ...arranged(this.store.state), order: rankedBy(this.store.state.sort) }; }

  /** The first results; or those of two models in one list, which is all there is of it. */
  first() {
    const { query, options: { against } } = this.store.state;
    if (against === null) return this.api.search({ ...this.ranked(), k: FIRST });
    return this.api.interleave(forServer(query), against || null, FIRST);
  }

  /** The same again, as something about items has changed; the page stays where it is scrolled to. */
  refresh() { return this.run({ push: false, keep: true }); }

  /** @param {number} number */
  isCurrent(number) { return this.store.state.asked === number; }

  /**
   * @param {Answer} answer
   * @param {{ animate: boolean, keep: boolean, groups: Group[] | null, hits: (Hit | undefined)[],
   *   changes: number }} order `changes` are those that it follows
   */
  show(answer, { animate, keep, groups, hits, changes }) {
    const { hits: before, query, answered, selected } = this.store.state;
    const same = queryKey(query) === queryKey(answered);
    const later = same ? Math.max(0, this.store.state.changes - changes) : 0;
    this.store.update({
      answer, answered: query, hits, groups, total: groups ? answer.total : Math.min(answer.total, MOST),
      grades: gradesOf(answer.hits), changes: later, error: null, searching: false,
      order: { animate, keep, byDate: isList(query) }, selected: animate || keep ? selected : new Set(),
    });
    if (keep) return;
    const { up, down } = moves(before, answer.hits);
    const values = { query: inWords(query), found: howMany(answer, this.store.state.sort) };
    if (animate) {
      this.speech.announce(tn(up, "New order. {n} result moved up, {down} down.",
        "New order. {n} results moved up, {down} down.", { down }));
    } else if (!hits.length) this.speech.announce(t("Nothing was found."));
    else if (groups) {
      this.speech.announce(tn(answer.total, "{n} item, {query}", "{n} items, {query}", values));
    } else this.speech.announce(t("{query}: {found}", values));
  }

  /** @param {Error} error @param {boolean} animate an order that was shown stays */
  fail(error, animate) {
    const order = { animate, keep: false, byDate: false };
    const cleared = animate ? {} : { hits: [], groups: null, total: 0, order };
    this.store.update({ answer: null, error, searching: false, ...cleared });
    this.speech.announce(t("The search did not work: {reason}", { reason: error.message }));
  }

  /** The next results of the same order. */
  async more() {
    const { answer, asked: number, hits } = this.store.state;
    if (this.loading || !answer || this.store.state.groups) return;
    this.loading = true;
    try {
      const k = Math.min(MORE, MOST - hits.length);
      const next = await this.api.search({ ...this.ranked(), k, offset: hits.length });
      if (this.isCurrent(number)) this.append(next.hits);
    } catch { /* the banner says it; scrolling tries again */ } finally {
      this.loading = false;
    }
  }

  /** @param {Hit[]} next */
  append(next) {
    const { hits, total, grades } = this.store.state;
    const known = new Set(hits.map((hit) => hit?.id));
    const added = next.filter((hit) => !known.has(hit.id));
    this.store.update({
      hits: [...hits, ...added],
      grades: new Map([...gradesOf(added), ...grades]),
      total: next.length ? total : hits.length,
    });
  }

  /**
   * Change the query, and search. Ranked results and lists have orders of their own; what is uncertain in one
   * search need not be known of another.
   * @param {Partial<Query>} patch
   * @param {{ plain?: boolean, sort?: Sort, options?: Options }} [choice]
   */
  change(patch, { plain = this.store.state.plain, options = this.store.state.options, sort } = {}) {
    const { query: before, sort: kept } = this.store.state;
    const query = { ...before, ...patch };
    const stays = isList(query) === isList(before) && kept !== "uncertain";
    this.store.update({ query, plain, options, sort: sort ?? (stays ? kept : "") });
    return this.run();
  }

  /** Search for something else. @param {Partial<Query>} query */
  ask(query) { return this.change({ ...empty(), ...query }, { sort: "" }); }

  /** @param {string} name @param {unknown} value */
  filter(name, value) { return this.change(withFilter(this.store.state.query, name, value)); }

  /** Without filters; an album stays open. @param {{ plain?: boolean }} [options] */
  clearFilters(options = {}) {
    const { album } = this.store.state.query.filters;
    return this.change({ filters: album ? { album } : {} }, options);
  }

  /** Nothing is asked for. */
  home() { return this.change(empty(), { plain: false, sort: "" }); }

  /**
   * Search with an item, or a part of it: with it alone, or with what is asked already.
   * @param {number} item
   * @param {boolean} alone
   * @param {Region | null} region
   */
  addItem(item, alone = false, region = null) {
    const example = region ? { item, weight: 1, region } : { item, weight: 1 };
    const query = withExample(alone ? empty() : this.store.state.query, example);
    this.store.update({ query, sort: "" });
    this.showTab();
    return this.run();
  }

  /** Search for what an address holds. @param {string} address */
  fromAddress(address) {
    const { query, plain, sort } = fromAddress(address);
    this.store.update({ query, plain, sort });
    return this.run({ push: false });
  }

  /** Show the order that marks have made since. */
  async reorder() {
    if (this.store.state.changes) await this.run({ push: false, animate: true });
    else this.speech.toast(t("Nothing was marked since this order."));
  }
}
