// Marking: what people say about results. It changes the store and draws nothing.

import { t, tn } from "./i18n.js";
import { forServer, isList, queryKey } from "./query.js";

/** @import { Saving } from "./saving.js" */
/** @import { Api, Hit, Mark, Speech, State, Store } from "./types.js" */

const SHOWN = 500;
const LISTED = t("Items are only listed here. Search for something, then mark results.");
const AT_ONCE = 1000; // marks of a request

/** The grade of an item as people see it: marks that are on their way count. @param {State} state */
export const gradeOf = ({ grades, pending }, /** @type {number} */ item) =>
  (pending.has(item) ? pending.get(item) ?? null : grades.get(item) ?? null);
/** @param {State} state @param {number} item */
export const isRight = (state, item) => (gradeOf(state, item) ?? 0) > 0;
/** @param {State} state @param {number} item */
export const isWrong = (state, item) => gradeOf(state, item) === 0;

/** The latest grade of each item; `marks` are newest first. @param {Mark[]} marks */
export function latestGrades(marks) {
  const alone = marks.filter((mark) => mark.over === null);
  return new Map(alone.reverse().map(({ item, grade }) => [item, grade]));
}

/**
 * What is on its way to the server: grades of items in a search, null where a mark is taken back.
 * @typedef {object} Pending
 * @property {string} search the search in which they were given
 * @property {Map<number, number | null>} grades
 * @property {Map<number, number>} ids the number of each mark, once the server has given it
 */

export class Marking {
  /**
   * @param {object} parts
   * @param {Store<State>} parts.store
   * @param {Api} parts.api
   * @param {Saving["save"]} parts.save
   * @param {Speech} parts.speech
   * @param {() => number} parts.seen how many results have been on the screen
   * @param {() => void} parts.notify tells other windows that marks have changed
   */
  constructor({ store, api, save, speech, seen, notify }) {
    this.store = store;
    this.api = api;
    this.save = save;
    this.speech = speech;
    this.seen = seen;
    this.notify = notify;
    /** @type {Pending[]} in the order in which people made them */
    this.pending = [];
    /** The search whose marks are loaded. */
    this.loaded = "";
    this.turn = 0;
    store.watch(["order"], ({ answer }) => {
      this.showPending();
      if (answer) this.load();
    });
  }

  /** Whether nothing can be marked here; says why. */
  refuses() {
    const { readOnly } = this.store.state;
    if (this.refuseList()) return true;
    if (readOnly) this.speech.toast(t("This server is read-only; nothing can be marked."), "bad");
    return readOnly;
  }

  /** Whether items are only listed by date; says then what is missing. */
  refuseList() {
    const listed = isList(this.store.state.answered);
    if (listed) this.speech.toast(LISTED);
    return listed;
  }

  /** Mark a result; the same mark again takes it back. @param {Hit} hit @param {0 | 1} grade */
  async mark(hit, grade) {
    if (this.refuses()) return;
    const { state } = this.store;
    if (gradeOf(state, hit.id) === grade) return this.takeBack(hit.id);
    const { rank } = hit;
    const shown = state.hits.slice(0, Math.min(Math.max(this.seen(), rank), SHOWN))
      .flatMap((shownHit) => (shownHit ? [shownHit.id] : []));
    if (!await this.judge([hit.id], grade, { shown })) return;
    this.speech.announce(grade ? t("Result {rank} marked right", { rank })
      : t("Result {rank} marked wrong", { rank }));
  }

  /** Mark many results at once. @param {number[]} items @param {0 | 1} grade */
  async markAll(items, grade) {
    if (this.refuses()) return;
    const parts = [];
    for (let i = 0; i < items.length; i += AT_ONCE) {
      const some = items.slice(i, i + AT_ONCE);
      parts.push(this.judge(some, grade).then((taken) => (taken ? some.length : 0)));
    }
    const n = (await Promise.all(parts)).reduce((sum, taken) => sum + taken, 0);
    if (!n) return;
    this.speech.announce(grade ? tn(n, "{n} marked right", "{n} marked right")
      : tn(n, "{n} marked wrong", "{n} marked wrong"));
  }

  /** Confirm a mark of which the others say otherwise: the same mark again. @param {Mark} mark */
  async keep({ item, grade }) {
    if (await this.judge([item], grade)) this.speech.toast(t("The mark is kept: it holds its place again"));
  }

  /**
   * Give items a grade in the search that is shown; returns whether the server has it.
   * @param {number[]} items
   * @param {number} grade
   * @param {{ shown?: number[] }} [context]
   */
  judge(items, grade, context = {}) {
    const { answered, marks } = this.store.state;
    const query = forServer(answered), pending = this.expect(items, grade);
    const newest = this.loaded === pending.search ? marks[0]?.id ?? 0 : Infinity;
    const mark = this.api.mark({ query, marks: items.map((item) => ({ item, grade })), ...context });
    /** @param {number[]} ids */
    const numbered = (ids) => {
      pending.ids = new Map(items.map((item, i) => [item, ids[i]]));
      return ids;
    };
    return this.send(pending, async () => numbered((await mark()).ids), {
      refused: (reason) => (items.length > 1 ? t("The marks were not taken: {reason}", { reason })
        : t("The mark was not taken: {reason}", { reason })),
      arrived: async () => {
        const later = (await this.api.marks(query)).filter(({ id, over }) => id > newest && over === null);
        const ids = items.map((item) => later.find((one) => one.item === item && one.grade === grade)?.id);
        return ids.includes(undefined) ? null : numbered(/** @type {number[]} */ (ids));
      },
    });
  }

  /** Take back a mark by its number, or the last one of this search. @param {number | null} id */
  async undo(id = null) {
    const { readOnly, marks, pending } = this.store.state;
    if (readOnly) return;
    const last = [...pending].findLast(([, grade]) => grade !== null);
    if (id === null && last) return this.takeBack(last[0]);
    const mark = marks.find(({ id: known, item, over }) =>
      (id === null ? over !== null || !pending.has(item) : known === id));
    if (!mark) return this.speech.toast(t("There is no mark to undo in this search."));
    await this.revoke(mark.item, mark.over === null, () => mark.id);
  }

  /** Take back the last mark of an item, which may still be on its way. @param {number} item */
  takeBack(item) {
    const sent = this.ofThisSearch().filter(({ grades }) => (grades.get(item) ?? null) !== null).pop();
    const known = this.store.state.marks.find((mark) => mark.item === item && mark.over === null)?.id;
    return this.revoke(item, true, () => (sent ? sent.ids.get(item) : known));
  }

  /**
   * @param {number} item
   * @param {boolean} graded whether the mark gave the item a grade
   * @param {() => number | undefined} number of the mark, once earlier changes have arrived
   */
  async revoke(item, graded, number) {
    const { answered, marks } = this.store.state, query = forServer(answered);
    const before = marks.filter((mark) => mark.item === item && mark.over === null)[1]?.grade ?? null;
    const pending = this.expect(graded ? [item] : [], before);
    const undone = await this.send(pending, async () => {
      const mark = number();
      if (mark === undefined) return; // it was refused, and is taken back already
      await this.api.undo(mark)();
    }, {
      // A mark that is not there any more was undone before the connection broke.
      arrived: async () => ((await this.api.marks(query)).some(({ id }) => id === number()) ? null : true),
    });
    if (undone) this.speech.toast(t("The mark is undone"));
  }

  /**
   * Send marks that are expected; shown until the server has answered.
   * @param {Pending} pending
   * @param {() => Promise<any>} request
   * @param {{ refused?: (reason: string) => string, arrived: () => Promise<any> }} steps
   */
  send(pending, request, steps) {
    const n = Math.max(1, pending.grades.size);
    const settle = () => {
      this.pending = this.pending.filter((other) => other !== pending);
      this.showPending();
    };
    return this.save(request, {
      ...steps, waits: true,
      show: () => {
        this.pending.push(pending);
        this.showPending();
        this.store.update({ changes: this.store.state.changes + n });
        return () => {
          settle();
          this.store.update({ changes: Math.max(0, this.store.state.changes - n) });
        };
      },
      done: async () => {
        if (pending.search === queryKey(this.store.state.answered)) {
          const merged = new Map([...this.store.state.grades, ...pending.grades]);
          for (const [item, grade] of pending.grades) if (grade === null) merged.delete(item);
          this.store.update({ grades: /** @type {Map<number, number>} */ (merged) });
        }
        this.notify();
        await this.load();
        settle(); // now that `marks` has it: an undo must know which mark is the last
        this.rescored();
      },
    });
  }

  /** @param {number[]} items @param {number | null} grade @returns {Pending} */
  expect(items, grade) {
    const grades = new Map(items.map((item) => [item, grade]));
    return { search: queryKey(this.store.state.answered), grades, ids: new Map() };
  }

  /** What is on its way in the search that is shown. */
  ofThisSearch() {
    const search = queryKey(this.store.state.answered);
    return this.pending.filter((pending) => pending.search === search);
  }

  showPending() {
    this.store.update({ pending: new Map(this.ofThisSearch().flatMap(({ grades }) => [...grades])) });
  }

  /** Scores have changed on the server. */
  rescored() { this.store.update({ revision: this.store.state.revision + 1 }); }

  /** The marks of this search as the server has them. */
  async load() {
    const { answered } = this.store.state, search = queryKey(answered);
    this.turn += 1;
    const { turn } = this;
    if (isList(answered)) return this.store.update({ marks: [] });
    const marks = await this.api.marks(forServer(answered)).catch(() => null);
    if (!marks || this.turn !== turn || queryKey(this.store.state.answered) !== search) return;
    this.loaded = search;
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
}
