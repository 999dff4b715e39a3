// The tray of marks: what was said about this search, and what would be good to mark next.

import { thumbnail } from "./addresses.js";
import { button, errorLine, h, icon, iconButton, put } from "./dom.js";
import { t, tn } from "./i18n.js";
import { isList } from "./query.js";

/** @import { Hit, Mark, State, Store } from "./types.js" */

const NONE = t("Nothing is marked in this search yet. "
  + "Point at a result and press ✓ or ✗, or use the keys R and W.");

export class Marks {
  /**
   * @param {Store<State>} store
   * @param {object} actions
   * @param {(hit: Hit, grade: 0 | 1) => void} actions.mark
   * @param {(id: number) => void} actions.undo
   * @param {() => Promise<Hit[]>} actions.suggest
   */
  constructor(store, { mark, undo, suggest }) {
    this.title = t("Marks");
    this.root = h("div", { class: "tray" });
    this.store = store;
    this.mark = mark;
    this.undo = undo;
    this.suggest = suggest;
    /** @type {Hit[]} */
    this.suggested = [];
    store.watch(["order"], () => { this.suggested = []; });
  }

  show() {
    const { marks, readOnly, query } = this.store.state;
    const ask = button(t("What should I mark?"), { kind: "small", onclick: () => this.askForMore() });
    put(this.root,
      h("p", { class: "hint" }, marks.length ? counted(marks) : NONE),
      h("ul", { class: "mark-list", "aria-label": t("Marks of this search") }, marks.map(this.line, this)),
      readOnly || isList(query) ? null : h("div", { class: "buttons" }, ask),
      this.suggested.length ? h("div", { class: "suggested" }, h("h3", {}, t("These would teach the most")),
        this.suggested.map((hit) => this.suggestion(hit))) : null);
  }

  /** @param {Mark} mark */
  line(mark) {
    const verdict = mark.grade > 0 ? "right" : "wrong";
    const judged = mark.grade > 0 ? t("right") : t("wrong");
    const said = mark.over ? t("preferred to item {item}", { item: String(mark.over) }) : judged;
    const name = mark.caption || mark.name;
    return h("li", {}, h("img", { src: thumbnail(mark.item), alt: "" }),
      h("span", { class: `verdict ${verdict}` }, icon(verdict), said),
      h("span", { class: "name" }, name),
      this.store.state.readOnly ? null
        : iconButton("undo", t("Undo: {name} is {verdict}", { name, verdict: said }), {
          onclick: () => this.undo(mark.id),
        }));
  }

  /** @param {Hit} hit */
  suggestion(hit) {
    const name = hit.caption || hit.name;
    /** @param {"right" | "wrong"} verdict @param {string} word @param {0 | 1} grade */
    const act = (verdict, word, grade) => h("button", {
      type: "button", class: `act ${verdict}`, "aria-label": t("{action}: {name}", { action: word, name }),
      onclick: () => this.answer(hit, grade),
    }, icon(verdict));
    return h("div", { class: "suggestion" }, h("img", { src: thumbnail(hit.id), alt: name }),
      act("right", t("Right"), 1), act("wrong", t("Wrong"), 0));
  }

  async askForMore() {
    try {
      this.suggested = await this.suggest();
      this.show();
      this.focus();
    } catch (error) {
      this.root.append(errorLine(error));
    }
  }

  /** @param {Hit} hit @param {0 | 1} grade */
  answer(hit, grade) {
    this.suggested = this.suggested.filter(({ id }) => id !== hit.id);
    this.mark(this.store.state.hits.find((other) => other?.id === hit.id) ?? hit, grade);
    this.show();
    this.focus();
  }

  focus() {
    /** @type {HTMLElement | null} */ (this.root.querySelector(".suggestion button"))?.focus();
  }
}

/** @param {Mark[]} marks */
function counted(marks) {
  const right = marks.filter((mark) => mark.over === null && mark.grade > 0).length;
  return t("{right} and {wrong} in this search. They are saved, and every later search learns from them.", {
    right: tn(right, "{n} right result", "{n} right results"),
    wrong: tn(marks.length - right, "{n} wrong one", "{n} wrong ones"),
  });
}
