// Concepts: detectors made from the marks of a search, which then rank the whole collection.

import { attempt, button, errorLine, h, iconButton, put, toast } from "./dom.js";
import { count } from "./format.js";
import { forServer } from "./query.js";

/** @import { Api, Concept, State, Store } from "./types.js" */

const HINT = "A concept learns from your marks what something looks like. "
  + "Then it ranks everything by it, words or not, and helps later searches.";

export class Concepts {
  /**
   * @param {Store<State>} store
   * @param {Pick<Api, "concepts" | "makeConcept" | "forgetConcept">} api
   * @param {(name: string) => void} rankBy
   */
  constructor(store, api, rankBy) {
    this.title = "Concepts";
    this.root = h("div", { class: "concepts" });
    this.store = store;
    this.api = api;
    this.rankBy = rankBy;
    // One field for all drawings of the panel: what is typed stays when marks come in meanwhile.
    this.name = h("input", {
      type: "text", maxlength: "60", placeholder: "Name, e.g. harbour",
      "aria-label": "Name of the new concept",
    });
  }

  async show() {
    try {
      this.draw(await this.api.concepts());
    } catch (error) {
      put(this.root, errorLine(error));
    }
  }

  /** @param {Concept[]} concepts */
  draw(concepts) {
    const typing = document.activeElement === this.name;
    put(this.root,
      h("p", { class: "hint" }, HINT),
      this.store.state.readOnly ? null : this.form(),
      concepts.length
        ? h("ul", { class: "concept-list", "aria-label": "Concepts" }, concepts.map(this.line, this))
        : h("p", { class: "muted" }, "There is none yet."));
    if (typing) this.name.focus();
  }

  form() {
    const right = this.store.state.marks.filter((mark) => mark.grade > 0).length;
    const onsubmit = (/** @type {Event} */ event) => { event.preventDefault(); this.make(); };
    return h("form", { class: "inline", onsubmit }, this.name,
      h("button", { class: "small", disabled: right === 0 },
        right ? `Make from ${count(right, "right mark")}` : "Mark some results first"));
  }

  /** @param {Concept} concept */
  line({ name, n_positive: examples, quality }) {
    const [metric, value] = Object.entries(quality ?? {})[0] ?? ["", NaN];
    const judged = Number.isFinite(value) ? `, ${metric} ${value.toFixed(2)}` : "";
    const rank = () => this.rankBy(name);
    return h("li", {},
      h("button", { type: "button", class: "link", onclick: rank }, name),
      h("span", { class: "muted" }, `${count(examples, "example")}${judged}`),
      button("Rank by it", { kind: "small", "aria-label": `Rank everything by ${name}`, onclick: rank }),
      this.store.state.readOnly ? null
        : iconButton("wrong", `Forget ${name}`, { onclick: () => this.forget(name) }));
  }

  async make() {
    const wanted = this.name.value.trim();
    if (!wanted) return toast("Give the concept a name.", "bad");
    await attempt(async () => {
      const { name } = await this.api.makeConcept(wanted, { query: forServer(this.store.state.query) });
      this.name.value = "";
      toast(`The concept ${name} is ready`);
      this.show();
    });
  }

  /** @param {string} name */
  forget(name) {
    return attempt(async () => {
      await this.api.forgetConcept(name);
      this.show();
    });
  }
}
