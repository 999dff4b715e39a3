// Looking through a listing: how many items there are is known at once, what they are when they are seen.

import { listed } from "./query.js";

/** @import { Answer, Api, Group, Hit, Query, Sort, State, Store } from "./types.js" */

export const PAGE = 200;
const MOST_PAGES = 60; // that are kept; those far from what is seen are forgotten
const PAUSE = 100; // milliseconds between two looks at what is in sight; who jumps is waited for

/** The pages that hold some results. @param {number} first @param {number} end */
export function pagesOf(first, end) {
  const pages = [];
  for (let page = Math.floor(first / PAGE); page * PAGE < end; page += 1) pages.push(page);
  return pages;
}

export class Browse {
  /** @param {Store<State>} store @param {Pick<Api, "browse" | "months" | "browsedItems">} api */
  constructor(store, api) {
    this.store = store;
    this.api = api;
    /** Pages that are there or on their way. @type {Set<number>} */
    this.pages = new Set();
    this.wanted = [0, 0];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /**
   * The parts of a listing and its first page; `keep` also what is in sight now, so that nothing flashes.
   * @param {{ query: Query, sort: Sort, keep?: boolean }} asked
   * @returns {Promise<{ answer: Answer, groups: Group[], hits: (Hit | undefined)[] }>}
   */
  async open({ keep = false, ...asked }) {
    const began = performance.now();
    const pages = [...new Set([0, ...(keep ? pagesOf(this.wanted[0], this.wanted[1]) : [])])];
    const [{ total, groups }, ...found] = await Promise.all([
      this.api.months(listed(asked)),
      ...pages.map((page) => this.api.browse(listed(asked), page * PAGE, PAGE)),
    ]);
    const hits = new Array(total).fill(undefined);
    pages.forEach((page, i) => found[i].hits.forEach((hit, at) => {
      if (page * PAGE + at < total) hits[page * PAGE + at] = hit;
    }));
    this.pages = new Set(pages);
    const seconds = (performance.now() - began) / 1000;
    const answer = {
      total, cutoff: null, likely: null, diffused: false, learning: false, literal: null, in_texts: null,
      in_tags: null, marks: 0, seconds, orders: [], did_you_mean: null, hits: found[0].hits,
    };
    return { answer, groups, hits };
  }

  /** These results are in sight: fetch what is missing, soon. @param {number} first @param {number} end */
  need(first, end) {
    if (!this.store.state.groups) return;
    if (Math.abs(first - this.wanted[0]) > PAGE) {
      clearTimeout(this.timer);
      this.timer = undefined;
    }
    this.wanted = [first, end];
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const page of pagesOf(this.wanted[0], this.wanted[1])) this.load(page);
    }, PAUSE);
  }

  /** Fetch a page, if it is not there. @param {number} page */
  async load(page) {
    if (this.pages.has(page)) return;
    const { asked: number } = this.store.state;
    const { pages } = this;
    pages.add(page);
    try {
      const { hits } = await this.api.browse(listed(this.store.state), page * PAGE, PAGE);
      if (this.store.state.asked === number) this.put(page, hits);
    } catch {
      pages.delete(page); // the banner says it; scrolling tries again
    }
  }

  /** @param {number} page @param {Hit[]} found */
  put(page, found) {
    const hits = [...this.store.state.hits];
    found.forEach((hit, i) => { if (page * PAGE + i < hits.length) hits[page * PAGE + i] = hit; });
    const far = [...this.pages].sort((a, b) => Math.abs(b - page) - Math.abs(a - page));
    for (const old of far.slice(0, Math.max(0, this.pages.size - MOST_PAGES))) {
      this.pages.delete(old);
      hits.fill(undefined, old * PAGE, (old + 1) * PAGE);
    }
    this.store.update({ hits });
  }

  /** The result at a place, fetched if need be. @param {number} index @returns {Promise<Hit | undefined>} */
  async at(index) {
    if (!this.store.state.hits[index] && this.store.state.groups) await this.load(Math.floor(index / PAGE));
    return this.store.state.hits[index];
  }

  /** The numbers of the items of a stretch. @param {number} first @param {number} end */
  async items(first, end) {
    const there = this.store.state.hits.slice(first, end);
    if (there.every((hit) => hit !== undefined)) return there.map((hit) => /** @type {Hit} */ (hit).id);
    return this.api.browsedItems(listed(this.store.state), first, end - first);
  }
}
