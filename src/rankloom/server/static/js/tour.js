// The way around the demo, in three steps that wait for what people really do: search, mark, look again.

import { $, announce, button, h, iconButton, put } from "./dom.js";
import { t, tn } from "./i18n.js";
import { isList } from "./query.js";

/** @import { State, Store } from "./types.js" */

const ENOUGH = 4; // marks after which there is something to see
const WORD = "sea"; // which the captions of the sample have, in every language of the page

export class Tour {
  /**
   * @param {Store<State>} store
   * @param {object} actions
   * @param {(text: string) => void} actions.search
   * @param {() => void} actions.reorder
   * @param {() => void} actions.why shows why a result is where it is
   * @param {() => void} actions.experts shows what the experts learned
   */
  constructor(store, { search, reorder, why, experts }) {
    this.store = store;
    this.search = search;
    this.reorder = reorder;
    this.why = why;
    this.experts = experts;
    this.root = $("tour");
    /** 0 where nobody is shown around. */
    this.step = 0;
    store.watch(["order"], (state) => this.ordered(state));
    store.watch(["grades", "pending"], (state) => { if (this.step === 2) this.draw(state); });
  }

  /** Begin, unless it was seen or skipped before. */
  begin() {
    if (localStorage.getItem("tour") !== "done") this.start();
  }

  start() {
    this.step = isList(this.store.state.query) || !this.store.state.hits.length ? 1 : 2;
    this.say();
  }

  end() {
    this.step = 0;
    this.root.hidden = true;
    localStorage.setItem("tour", "done");
  }

  /** Results have come. @param {State} state */
  ordered({ order, hits, query }) {
    const found = hits.length > 0 && !isList(query);
    const next = this.step === 1 && found ? 2 : this.step === 2 && order.animate ? 3 : this.step;
    if (next === this.step) return;
    this.step = next;
    this.say();
  }

  /** Draw the step, and say it. */
  say() {
    this.draw(this.store.state);
    announce(this.root.querySelector("p")?.textContent ?? "");
  }

  /** What a step says: its title, its text, and what can be done. @param {number} marked */
  content(marked) {
    const more = ENOUGH - marked, kind = "small primary";
    if (this.step === 1) {
      return [t("Search for something"),
        t("Type a word, or choose one of the pictures. A photo of your own works as well."),
        button(t("Search for “{word}”", { word: WORD }), { kind, onclick: () => this.search(WORD) })];
    }
    if (this.step === 2) {
      return [t("Say what is right"), more > 0
        ? tn(more, "Think of one thing, say lighthouses. Mark results: ✓ right, ✗ wrong. One more.",
          "Think of one thing, say lighthouses. Mark results: ✓ right, ✗ wrong. {n} more.")
        : t("That is enough to learn from. Nothing has moved yet: ask for the new order."),
      more > 0 ? null : button(t("Show the new order"), { kind, onclick: this.reorder })];
    }
    return [t("It has learned"),
      t("What you marked right is first, and what looks alike moved up: the arrows say how far. "
        + "Each mark also moves the weights of the experts a little, for all later searches."),
      [button(t("Why this order"), { kind, onclick: () => { this.end(); this.why(); } }),
        button(t("What the experts learned"), {
          kind: "small", onclick: () => { this.end(); this.experts(); },
        })]];
  }

  /** @param {State} state */
  draw({ grades, pending }) {
    const focused = this.root.contains(document.activeElement);
    const [title, text, actions] = this.content(new Set([...grades.keys(), ...pending.keys()]).size);
    const step = h("small", {}, t("{step} of 3", { step: this.step }));
    put(this.root,
      h("div", { class: "tour-head" }, h("h2", {}, step, " ", title),
        iconButton("wrong", t("Skip the first steps"), { onclick: () => this.end() })),
      h("p", {}, text), h("div", { class: "buttons" }, actions));
    this.root.hidden = false;
    if (focused) /** @type {HTMLElement | null} */ (this.root.querySelector("button"))?.focus();
  }
}
