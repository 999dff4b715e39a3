// Concepts: detectors made from the marks of a search, which then rank the whole collection.

import { button, errorLine, h, iconButton, put, toast } from "./dom.js";
import { number } from "./format.js";
import { t, tn } from "./i18n.js";
import { forServer } from "./query.js";
import { save } from "./saving.js";

/** @import { Api, Concept, State, Store } from "./types.js" */

const HINT = t("A concept learns from your marks what something looks like. "
  + "Then it ranks everything by it, words or not, and helps later searches.");

export class Concepts {
  /**
   * @param {Store<State>} store
   * @param {Pick<Api, "concepts" | "makeConcept" | "forgetConcept">} api
   * @param {(name: string) => void} rankBy
   */
  constructor(store, api, rankBy) {
    this.title = t("Concepts");
    this.root = h("div", { class: "concepts" });
    this.store = store;
    this.api = api;
    this.rankBy = rankBy;
    // One field for all drawings of the panel: what is typed stays when marks come in meanwhile.
    this.name = h("input", {
      type: "text", maxlength: "60", placeholder: t("Name, e.g. harbour"),
      "aria-label": t("Name of the new concept"),
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
        ? h("ul", { class: "concept-list", "aria-label": t("Concepts") }, concepts.map(this.line, this))
        : h("p", { class: "muted" }, t("There is none yet.")));
    if (typing) this.name.focus();
  }

  form() {
    const right = this.store.state.marks.filter((mark) => mark.grade > 0).length;
    const onsubmit = (/** @type {Event} */ event) => { event.preventDefault(); this.make(); };
    return h("form", { class: "inline", onsubmit }, this.name,
      h("button", { class: "small", disabled: right === 0 },
        right ? tn(right, "Make from {n} right mark", "Make from {n} right marks")
          : t("Mark some results first")));
  }

  /** @param {Concept} concept */
  line({ name, n_positive: examples, quality }) {
    const [metric, value] = Object.entries(quality ?? {})[0] ?? ["", NaN];
    const judged = Number.isFinite(value) ? `, ${metric} ${number(value, 2)}` : "";
    const rank = () => this.rankBy(name);
    return h("li", {},
      h("button", { type: "button", class: "link", onclick: rank }, name),
      h("span", { class: "muted" }, `${tn(examples, "{n} example", "{n} examples")}${judged}`),
      button(t("Rank by it"), {
        kind: "small", "aria-label": t("Rank everything by {name}", { name }), onclick: rank,
      }),
      this.store.state.readOnly ? null
        : iconButton("wrong", t("Forget {name}", { name }), { onclick: () => this.forget(name) }));
  }

  async make() {
    const wanted = this.name.value.trim();
    if (!wanted) return toast(t("Give the concept a name."), "bad");
    await save(this.api.makeConcept(wanted, { query: forServer(this.store.state.answered) }), {
      done: ({ name }) => {
        this.name.value = "";
        toast(t("The concept {name} is ready", { name }));
        return this.show();
      },
    });
  }

  /** @param {string} name */
  forget(name) {
    return save(this.api.forgetConcept(name), { done: () => this.show() });
  }
}
