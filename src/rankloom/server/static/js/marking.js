// Marking: what people say about results. It changes the store and draws nothing.

import { t, tn } from "./i18n.js";
import { forServer, isList } from "./query.js";

/** @import { Api, Hit, Mark, Speech, State, Store } from "./types.js" */

const SHOWN = 500;
const LISTED = t("Items are only listed here. Search for something, then mark results.");
const AT_ONCE = 1000; // marks of a request

/** @param {State} state @param {number} item */
export const isRight = (state, item) => (state.grades.get(item) ?? 0) > 0;
/** @param {State} state @param {number} item */
export const isWrong = (state, item) => state.grades.get(item) === 0;

/** The grades with another one for an item; null takes it away. @param {Map<number, number>} grades */
function withGrade(grades, /** @type {number} */ item, /** @type {number | null} */ grade) {
  const others = [...grades].filter(([known]) => known !== item);
  return new Map(grade === null ? others : [...others, [item, grade]]);
}

/** The latest grade of each item; `marks` are newest first. @param {Mark[]} marks */
export function latestGrades(marks) {
  const alone = marks.filter((mark) => mark.over === null);
  return new Map(alone.reverse().map(({ item, grade }) => [item, grade]));
}

export class Marking {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Api} parts.api
   * @param {(path: string, body: unknown) => Promise<any>} parts.deliver
   * @param {Speech} parts.speech
   * @param {() => number} parts.seen how many results have been on the screen
   * @param {() => void} parts.notify tells other windows that marks have changed
   */
  constructor({ store, api, deliver, speech, seen, notify }) {
    this.store = store;
    this.api = api;
    this.deliver = deliver;
    this.speech = speech;
    this.seen = seen;
    this.notify = notify;
    store.watch(["order"], ({ answer }) => { if (answer) this.load(); });
  }

  /** Whether items are only listed by date; says then what is missing. */
  refuseList() {
    const listed = isList(this.store.state.query);
    if (listed) this.speech.toast(LISTED);
    return listed;
  }

  /** Mark a result; the same mark again takes it back. @param {Hit} hit @param {0 | 1} grade */
  async mark(hit, grade) {
    const { state } = this.store;
    if (this.refuseList()) return;
    if (state.readOnly) {
      return this.speech.toast(t("This server is read-only; nothing can be marked."), "bad");
    }
    const before = state.grades.get(hit.id) ?? null;
    const same = before === grade && state.marks.find(({ item, over }) => item === hit.id && over === null);
    if (same) return this.undo(same.id);
    this.store.update({ grades: withGrade(state.grades, hit.id, grade), changes: state.changes + 1 });
    const { rank } = hit;
    this.speech.announce(grade ? t("Result {rank} marked right", { rank })
      : t("Result {rank} marked wrong", { rank }));
    const shown = state.hits.slice(0, Math.min(Math.max(this.seen(), hit.rank), SHOWN))
      .flatMap((shownHit) => (shownHit ? [shownHit.id] : []));
    const body = { query: forServer(state.query), marks: [{ item: hit.id, grade }], shown };
    try {
      await this.deliver("feedback", body);
    } catch (error) {
      const { grades, changes } = this.store.state;
      this.store.update({ grades: withGrade(grades, hit.id, before), changes: Math.max(0, changes - 1) });
      const reason = /** @type {Error} */ (error).message;
      this.speech.toast(t("The mark was not taken: {reason}", { reason }), "bad");
      return;
    }
    await this.afterMarks();
  }

  /** Mark many results at once. @param {number[]} items @param {0 | 1} grade */
  async markAll(items, grade) {
    if (this.refuseList() || this.store.state.readOnly) return;
    const query = forServer(this.store.state.query);
    try {
      for (let i = 0; i < items.length; i += AT_ONCE) {
        const marks = items.slice(i, i + AT_ONCE).map((item) => ({ item, grade }));
        await this.deliver("feedback", { query, marks });
      }
    } catch (error) {
      const reason = /** @type {Error} */ (error).message;
      this.speech.toast(t("The marks were not taken: {reason}", { reason }), "bad");
    }
    const { grades, changes } = this.store.state;
    this.store.update({
      grades: new Map([...grades, ...items.map((item) => /** @type {[number, number]} */ ([item, grade]))]),
      changes: changes + items.length,
    });
    const n = items.length;
    this.speech.announce(grade ? tn(n, "{n} marked right", "{n} marked right")
      : tn(n, "{n} marked wrong", "{n} marked wrong"));
    await this.afterMarks();
  }

  /** Take back a mark by its number, or the last one of this search. @param {number | null} id */
  async undo(id = null) {
    const { readOnly, query } = this.store.state;
    if (readOnly) return;
    try {
      const { undone } = await this.deliver("undo", id ? { mark: id } : { query: forServer(query) });
      if (undone === null) return this.speech.toast(t("There is no mark to undo in this search."));
      this.store.update({ changes: this.store.state.changes + 1 });
      await this.afterMarks();
      this.speech.toast(t("The mark is undone"));
    } catch (error) {
      this.speech.toast(/** @type {Error} */ (error).message, "bad");
    }
  }

  async afterMarks() {
    this.notify();
    await this.load();
    this.rescored();
  }

  /** Scores have changed on the server. */
  rescored() { this.store.update({ revision: this.store.state.revision + 1 }); }

  /** The marks of this search as the server has them. */
  async load() {
    const { query, asked: number } = this.store.state;
    if (isList(query)) return this.store.update({ marks: [] });
    const marks = await this.api.marks(forServer(query)).catch(() => null);
    if (!marks || this.store.state.asked !== number) return;
    this.store.update({ marks, grades: latestGrades(marks) });
  }

  /** Another window marked something: show it here, and offer the new order. */
  async elsewhere() {
    const ids = () => this.store.state.marks.map((mark) => mark.id).join();
    const before = ids();
    await this.load();
    if (ids() !== before) this.changed();
  }

  /** Weights were changed by hand, or marks elsewhere. */
  changed() {
    const { answer, changes } = this.store.state;
    if (answer) this.store.update({ changes: changes + 1 });
    this.rescored();
  }

  /** Confirm a mark of which the others say otherwise: the same mark again. @param {Mark} mark */
  async keep({ item, grade }) {
    try {
      await this.deliver("feedback", { query: forServer(this.store.state.query), marks: [{ item, grade }] });
      this.store.update({ changes: this.store.state.changes + 1 });
      await this.afterMarks();
      this.speech.toast(t("The mark is kept: it holds its place again"));
    } catch (error) {
      this.speech.toast(/** @type {Error} */ (error).message, "bad");
    }
  }
}
