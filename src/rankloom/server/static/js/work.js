// The long jobs of the server, asked for again and again: often while one runs, seldom while none does.

/** @import { Api, WorkState } from "./types.js" */

const OFTEN = 700, SELDOM = 6000; // milliseconds

export class Work {
  /** @param {Pick<Api, "work">} api */
  constructor(api) {
    this.api = api;
    /** @type {WorkState | null} */
    this.state = null;
    /** @type {Set<(state: WorkState) => void>} */
    this.listeners = new Set();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** Ask from now on, as long as somebody looks at the page. */
  start() {
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.ask(); });
    return this.ask();
  }

  /** Call a listener with every state; returns what ends it. @param {(state: WorkState) => void} listener */
  watch(listener) {
    this.listeners.add(listener);
    if (this.state) listener(this.state);
    return () => { this.listeners.delete(listener); };
  }

  /**
   * The same, until an element that was in the page is taken out of it.
   * @param {HTMLElement} element
   * @param {(state: WorkState) => void} listener
   */
  watchWith(element, listener) {
    let seen = false;
    const end = this.watch((state) => {
      seen ||= element.isConnected;
      if (seen && !element.isConnected) end();
      else listener(state);
    });
  }

  async ask() {
    clearTimeout(this.timer);
    this.timer = undefined;
    try {
      this.take(await this.api.work());
    } catch { /* the banner says it */ }
    this.plan();
  }

  /** A state that the server sent. @param {WorkState} state */
  take(state) {
    this.state = state;
    for (const listener of [...this.listeners]) listener(state);
  }

  plan() {
    clearTimeout(this.timer);
    if (document.hidden) return;
    this.timer = setTimeout(() => this.ask(), this.state?.job || this.state?.waiting.length ? OFTEN : SELDOM);
  }
}
