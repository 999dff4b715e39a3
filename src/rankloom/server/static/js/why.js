// "Why here": what each expert, neighbour and mark added to a score; and why one item is above another.

import { thumbnail } from "./addresses.js";
import { errorLine, h, put } from "./dom.js";
import { expertName, grouped, matchedLine, number, partGroup, signed, sum, title } from "./format.js";
import { t } from "./i18n.js";
import { asked, isList } from "./query.js";

/** @import { Api, Comparison, Hit, Part, State, Store } from "./types.js" */

const LISTED = t("Items are only listed here: there is no score to take apart.");
const MOST_NEIGHBORS = 12;

export class Why {
  /**
   * @param {Store<State>} store
   * @param {Pick<Api, "explain" | "compare">} api
   * @param {(item: number) => void} similar
   */
  constructor(store, api, similar) {
    this.title = t("Why here");
    this.root = h("div", { class: "why" });
    this.store = store;
    this.api = api;
    this.similar = similar;
    /** @type {Hit | null} */
    this.held = null;
    this.asked = 0;
    /** What is shown, asked for again. @type {() => void} */
    this.refresh = () => {};
  }

  /** Draw what `ask` resolves to, unless something else was asked meanwhile. */
  async latest(/** @type {() => Promise<any[]>} */ ask, /** @type {(error: unknown) => void} */ failed) {
    this.asked += 1;
    const request = this.asked;
    try {
      const drawn = await ask();
      if (request === this.asked) put(this.root, ...drawn);
    } catch (error) {
      if (request === this.asked) failed(error);
    }
  }

  /** There is nothing to take apart. @param {string} text */
  instead(text) { return this.latest(async () => [hint(text)], () => {}); }

  /** Take the score of a result apart. @param {Hit | undefined} hit */
  show(hit) {
    this.refresh = () => this.show(hit);
    const { state } = this.store;
    if (isList(state.query)) return this.instead(LISTED);
    if (!hit) return this.instead(t("Choose a result: its score is taken apart here."));
    if (this.root.dataset.item !== String(hit.id)) put(this.root, head(hit), hint(t("One moment…")));
    this.root.dataset.item = String(hit.id);
    return this.latest(async () => {
      const { score, why, matched } = await this.api.explain({ ...asked(state), item: hit.id });
      const read = matched ? hint(matchedLine(matched)) : null;
      const added = total(why, t("the score"), score);
      return [head(hit, score), read, bars(why, this.similar), added, this.tools(hit)];
    }, (error) => put(this.root, head(hit), errorLine(error)));
  }

  /** What a result can be compared with. @param {Hit} hit */
  tools(hit) {
    const { held } = this;
    const { hits } = this.store.state;
    const index = hits.findIndex((other) => other?.id === hit.id);
    const above = hits[index - 1], below = hits[index + 1];
    /** @param {string} text @param {Hit} a @param {Hit} b */
    const tool = (text, a, b) =>
      h("button", { type: "button", class: "small", onclick: () => this.compare(a, b, hit) }, text);
    const isHeld = held?.id === hit.id;
    const hold = () => { this.held = isHeld ? null : hit; this.show(hit); };
    const pair = held && held.rank < hit.rank ? [held, hit] : [hit, held];
    return h("div", { class: "compare-tools" },
      h("h3", {}, t("Compare")),
      h("div", { class: "buttons" },
        above ? tool(t("Why is {rank} above it?", { rank: above.rank }), above, hit) : null,
        below ? tool(t("Why is it above {rank}?", { rank: below.rank }), hit, below) : null,
        held && !isHeld
          ? tool(t("With result {rank}", { rank: held.rank }), .../** @type {[Hit, Hit]} */ (pair)) : null,
        h("button", { type: "button", class: "small quiet", "aria-pressed": String(isHeld), onclick: hold },
          isHeld ? t("Held") : t("Hold to compare"))));
  }

  /** Why `a` is above `b`; back leads to `hit`. @param {Hit} a @param {Hit} b @param {Hit} hit */
  compare(a, b, hit) {
    this.refresh = () => this.compare(a, b, hit);
    return this.latest(async () => {
      const comparison = await this.api.compare({ ...asked(this.store.state), a: a.id, b: b.id });
      const show = () => this.show(hit);
      const back = h("button", { type: "button", class: "small", onclick: show }, t("Back"));
      return [...this.versus(a, b, comparison), back];
    }, (error) => this.root.append(errorLine(error)));
  }

  /** @param {Hit} a @param {Hit} b @param {Comparison} comparison */
  versus(a, b, { difference, why }) {
    /** @param {Hit} hit */
    const figure = (hit) => h("figure", {},
      h("img", { src: thumbnail(hit.id), alt: title(hit) }),
      h("figcaption", {}, t("Result {rank}", { rank: hit.rank })));
    const order = h("span", {}, difference < 0 ? t("now below") : t("above"));
    return [
      h("div", { class: "versus" }, figure(a), order, figure(b)),
      hint(t("Bars to the right speak for the first, bars to the left for the second.")),
      bars(why, this.similar), total(why, t("the difference"), difference),
    ];
  }
}

/** @param {string} text */
const hint = (text) => h("p", { class: "hint" }, text);

/**
 * `score` is of now: after a mark the order that is shown still has the one before. Until it is known with
 * its parts there is none.
 * @param {Hit} hit
 * @param {number | null} score
 */
function head(hit, score = null) {
  const known = score !== null && {
    score: number(score), before: Math.abs(score - hit.score) < 5e-4 ? "" : number(hit.score),
  };
  return h("div", { class: "why-head" },
    h("img", { src: thumbnail(hit.id), alt: "" }),
    h("div", {},
      h("div", { class: "place" }, t("Result {rank}", { rank: hit.rank })),
      h("div", { class: "name" }, title(hit)),
      known ? h("div", { class: "muted", "data-score": score }, known.before
        ? t("score {score}, {before} in the order shown", known) : t("score {score}", known)) : null));
}

/** Bars that open into their experts. @param {Part[]} parts @param {(item: number) => void} similar */
function bars(parts, similar) {
  const groups = [...grouped(parts, partGroup)]
    .map(([name, members]) => ({ name, members, value: sum(members.map((part) => part.value)) }))
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const largest = Math.max(1e-12, ...groups.map((group) => Math.abs(group.value)));
  const negative = [...groups, ...parts].some(({ value }) => value < 0);
  const sides = negative ? " two-sided" : "";
  return h("div", { class: `bars${sides}`, role: "list", "aria-label": t("Parts of the score") },
    groups.map(({ name, members, value }) => {
      const line = bar(name, value, largest);
      const single = members.length === 1 && !members[0].item;
      return h("div", { role: "listitem" }, single ? line : opened(line, members, largest, similar));
    }));
}

/**
 * A group that opens into its parts.
 * @param {HTMLElement} line
 * @param {Part[]} members
 * @param {number} largest
 * @param {(item: number) => void} similar
 */
function opened(line, members, largest, similar) {
  const pictures = members.filter((part) => part.item).slice(0, MOST_NEIGHBORS);
  const others = members.filter((part) => !part.item);
  return h("details", { open: members[0].kind === "neighbour" },
    h("summary", {}, line),
    pictures.length
      ? h("div", { class: "neighbours" }, pictures.map((part) => neighbor(part, similar))) : null,
    others.map(({ kind, name, value }) =>
      bar(kind === "mark" ? name : partName(name), value, largest, "part")));
}

/** An expert below the name of its group. @param {string} name */
function partName(name) {
  const { group, detail } = expertName(name);
  return detail || group;
}

/** @param {string} name @param {number} value @param {number} largest */
function bar(name, value, largest, kind = "") {
  return h("span", { class: `bar ${kind} ${value < 0 ? "less" : "more"}` },
    h("span", { class: "label", title: name }, name),
    h("span", { class: "track" }, h("i", { style: { width: `${(100 * Math.abs(value)) / largest}%` } })),
    h("span", { class: "value", "data-value": value }, signed(value)));
}

/** @param {Part} part @param {(item: number) => void} similar */
function neighbor({ name, value, item }, similar) {
  const id = Number(item);
  return h("button", {
    type: "button", class: value < 0 ? "less" : "more",
    title: t("{value}: more like this", { value: signed(value) }),
    "aria-label": t("{name}: {value}; search for more like it", { name, value: signed(value) }),
    onclick: () => similar(id),
  }, h("img", { src: thumbnail(id), alt: "" }), h("span", {}, signed(value)));
}

/** @param {Part[]} parts @param {string} what they sum to @param {number} value */
function total(parts, what, value) {
  const added = sum(parts.map((part) => part.value));
  return h("p", { class: "sum", "data-sum": added, "data-total": value },
    t("All parts together: {sum}", { sum: number(added, 4) }), " ",
    h("span", { class: "muted" }, t("= {what}, {value}", { what, value: number(value, 4) })));
}
