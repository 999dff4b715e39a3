// The tray of marks: what was said about this search, and which marks the others contradict.

import { thumbnail } from "./addresses.js";
import { button, h, icon, iconButton, put } from "./dom.js";
import { t, tn } from "./i18n.js";

/** @import { Mark, State, Store } from "./types.js" */

export class Marks {
  /**
   * @param {Store<State>} store
   * @param {object} actions
   * @param {(id: number) => void} actions.undo
   * @param {(mark: Mark) => void} actions.keep
   */
  constructor(store, { undo, keep }) {
    this.title = t("Marks");
    this.root = h("div", { class: "tray" });
    this.store = store;
    this.undo = undo;
    this.keep = keep;
  }

  show() {
    const marks = latest(this.store.state.marks);
    put(this.root,
      h("p", { class: "hint" }, marks.length ? counted(marks)
        : t("Nothing is marked in this search yet. "
          + "Point at a result and press ✓ or ✗, or use the keys R and W.")),
      h("ul", { class: "mark-list", "aria-label": t("Marks of this search") },
        [...marks.filter(isOdd), ...marks.filter((mark) => !isOdd(mark))].map(this.line, this)));
  }

  /** @param {Mark} mark */
  line(mark) {
    const verdict = mark.grade > 0 ? "right" : "wrong";
    const judged = mark.grade > 0 ? t("right") : t("wrong");
    const said = mark.over ? t("preferred to item {item}", { item: String(mark.over) }) : judged;
    const name = mark.caption || mark.name;
    const { readOnly } = this.store.state;
    return h("li", {}, h("img", { src: thumbnail(mark.item), alt: "" }),
      h("span", { class: `verdict ${verdict}` }, icon(verdict), said),
      h("span", { class: "name" }, name),
      readOnly ? null : iconButton("undo", t("Undo: {name} is {verdict}", { name, verdict: said }), {
        onclick: () => this.undo(mark.id),
      }),
      isOdd(mark) ? this.doubt(mark, name) : null);
  }

  /** @param {Mark} mark @param {string} name */
  doubt(mark, name) {
    const keep = button(t("Keep"), { kind: "small", onclick: () => this.keep(mark) });
    keep.setAttribute("aria-label", t("Keep the mark of {name}", { name }));
    return h("div", { class: "doubt" }, h("span", {}, t("The other marks say otherwise: look again")),
      this.store.state.readOnly ? null : keep);
  }
}

/** @param {Mark} mark */
const isOdd = (mark) => mark.contradicted;

/** The last mark of each item: one that was kept has two. `marks` are newest first. @param {Mark[]} marks */
export function latest(marks) {
  const seen = new Set();
  return marks.filter(({ item, over }) => {
    if (over !== null) return true;
    const known = seen.has(item);
    seen.add(item);
    return !known;
  });
}

/** @param {Mark[]} marks */
function counted(marks) {
  const right = marks.filter((mark) => mark.over === null && mark.grade > 0).length;
  const wrong = marks.length - right;
  return t("{right} and {wrong} in this search. They are saved, and every later search learns from them.", {
    right: tn(right, "{n} right result", "{n} right results"),
    wrong: tn(wrong, "{n} wrong one", "{n} wrong ones"),
  });
}
