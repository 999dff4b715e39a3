// "Why here": what each expert, neighbour and mark added to a score; and why one item is above another.

import { thumbnail } from "./addresses.js";
import { errorLine, h, put } from "./dom.js";
import { expertName, grouped, matchedLine, number, partGroup, signed, sum, title } from "./format.js";
import { asked, isList } from "./query.js";

/** @import { Api, Comparison, Hit, Part, State, Store } from "./types.js" */

const LISTED = "Items are only listed here: there is no score to take apart.";
const MOST_NEIGHBORS = 12;

export class Why {
  /**
   * @param {Store<State>} store
   * @param {Pick<Api, "explain" | "compare">} api
   * @param {(item: number) => void} similar
   */
  constructor(store, api, similar) {
    this.title = "Why here";
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
    if (!hit) return this.instead("Choose a result: its score is taken apart here.");
    if (this.root.dataset.item !== String(hit.id)) put(this.root, head(hit), hint("One moment…"));
    this.root.dataset.item = String(hit.id);
    return this.latest(async () => {
      const { score, why, matched } = await this.api.explain({ ...asked(state), item: hit.id });
      const read = matched ? hint(matchedLine(matched)) : null;
      const added = total(why, score, "score");
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
      h("h3", {}, "Compare"),
      h("div", { class: "buttons" },
        above ? tool(`Why is ${above.rank} above it?`, above, hit) : null,
        below ? tool(`Why is it above ${below.rank}?`, hit, below) : null,
        held && !isHeld ? tool(`With result ${held.rank}`, .../** @type {[Hit, Hit]} */ (pair)) : null,
        h("button", { type: "button", class: "small quiet", "aria-pressed": String(isHeld), onclick: hold },
          isHeld ? "Held" : "Hold to compare")));
  }

  /** Why `a` is above `b`; back leads to `hit`. @param {Hit} a @param {Hit} b @param {Hit} hit */
  compare(a, b, hit) {
    this.refresh = () => this.compare(a, b, hit);
    return this.latest(async () => {
      const comparison = await this.api.compare({ ...asked(this.store.state), a: a.id, b: b.id });
      const back = h("button", { type: "button", class: "small", onclick: () => this.show(hit) }, "Back");
      return [...this.versus(a, b, comparison), back];
    }, (error) => this.root.append(errorLine(error)));
  }

  /** @param {Hit} a @param {Hit} b @param {Comparison} comparison */
  versus(a, b, { difference, why }) {
    /** @param {Hit} hit */
    const figure = (hit) => h("figure", {},
      h("img", { src: thumbnail(hit.id), alt: title(hit) }),
      h("figcaption", {}, `Result ${hit.rank}`));
    const order = h("span", {}, difference < 0 ? "now below" : "above");
    return [
      h("div", { class: "versus" }, figure(a), order, figure(b)),
      hint("Bars to the right speak for the first, bars to the left for the second."),
      bars(why, this.similar), total(why, difference, "difference"),
    ];
  }
}

/** @param {string} text */
const hint = (text) => h("p", { class: "hint" }, text);

/** `score` is of now; after a mark the order that is shown still has the one before. @param {Hit} hit */
function head(hit, score = hit.score) {
  const before = Math.abs(score - hit.score) < 5e-4 ? "" : `, ${number(hit.score)} in the order shown`;
  return h("div", { class: "why-head" },
    h("img", { src: thumbnail(hit.id), alt: "" }),
    h("div", {},
      h("div", { class: "place" }, `Result ${hit.rank}`),
      h("div", { class: "name" }, title(hit)),
      h("div", { class: "muted", "data-score": score }, `score ${number(score)}${before}`)));
}

/** Bars that open into their experts. @param {Part[]} parts @param {(item: number) => void} similar */
function bars(parts, similar) {
  const groups = [...grouped(parts, partGroup)]
    .map(([name, members]) => ({ name, members, value: sum(members.map((part) => part.value)) }))
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const largest = Math.max(1e-12, ...groups.map((group) => Math.abs(group.value)));
  const negative = [...groups, ...parts].some(({ value }) => value < 0);
  const sides = negative ? " two-sided" : "";
  return h("div", { class: `bars${sides}`, role: "list", "aria-label": "Parts of the score" },
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
    type: "button", class: value < 0 ? "less" : "more", title: `${signed(value)}: more like this`,
    "aria-label": `${name}: ${signed(value)}; search for more like it`, onclick: () => similar(id),
  }, h("img", { src: thumbnail(id), alt: "" }), h("span", {}, signed(value)));
}

/** @param {Part[]} parts @param {number} value @param {string} word */
function total(parts, value, word) {
  const added = sum(parts.map((part) => part.value));
  return h("p", { class: "sum", "data-sum": added, "data-total": value },
    `All parts together: ${number(added, 4)}`,
    h("span", { class: "muted" }, ` = the ${word}, ${number(value, 4)}`));
}
