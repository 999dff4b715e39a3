// The state of the search, in one place: read by every view, changed by named actions only.

import { keptOptions } from "./advanced.js";
import { empty } from "./query.js";

/** @import { State, Store } from "./types.js" */

/**
 * A state that tells its listeners what has changed. It is replaced, never changed in place.
 * @template {object} S
 * @param {S} initial
 * @returns {Store<S>}
 */
export function createStore(initial) {
  let state = Object.freeze({ ...initial });
  /** @type {Set<(state: S, before: S) => void>} */
  const listeners = new Set();

  /** @param {(state: S, before: S) => void} listener */
  function subscribe(listener) {
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }

  return {
    get state() { return state; },
    update(patch) {
      const before = state;
      state = Object.freeze({ ...state, ...patch });
      for (const listener of listeners) listener(state, before);
    },
    subscribe,
    watch(names, listener) {
      return subscribe((now, before) => {
        if (names.some((name) => now[name] !== before[name])) listener(now, before);
      });
    },
  };
}

/**
 * @param {boolean} readOnly
 * @param {string[]} folders
 * @returns {State}
 */
export function initialState(readOnly, folders) {
  return {
    readOnly, folders, query: empty(), plain: false, options: keptOptions(), sort: "", asked: 0,
    searching: false, answered: empty(), answer: null, error: null,
    order: { animate: false, keep: false, byDate: false }, hits: [], groups: null,
    selected: new Set(), gone: new Set(), total: 0, grades: new Map(), pending: new Map(),
    marks: [], changes: 0, revision: 0,
  };
}
