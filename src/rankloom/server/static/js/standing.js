// Where a result stands among all items, by what each group of experts says of it: small histograms.

import { button, errorLine, h, put, s } from "./dom.js";
import { expertName } from "./format.js";
import { locale, t, tn } from "./i18n.js";
import { asked, isList } from "./query.js";

/** @import { Api, GroupStanding, Hit, Standing, State, Store } from "./types.js" */

const WIDTH = 120, HEIGHT = 28;

/** @param {number} value */
const percent = (value) => value.toLocaleString(locale, { style: "percent", maximumFractionDigits: 0 });

/** A button that shows the charts of a result, and of the next ones until it is pressed again. */
export class StandingPanel {
  /** @param {Store<State>} store @param {Pick<Api, "explain">} api */
  constructor(store, api) {
    this.store = store;
    this.api = api;
    this.open = false;
    /** @type {Hit | null} */
    this.hit = null;
    this.button = button(t("What the experts say"), {
      symbol: "why", kind: "small", "data-name": "standing", "aria-expanded": "false",
      "aria-keyshortcuts": "G", onclick: () => this.toggle(),
    });
    this.charts = h("div", {});
    this.root = h("div", { class: "standing-box" }, this.button, this.charts);
  }

  toggle() {
    this.open = !this.open;
    if (this.hit) this.show(this.hit);
  }

  /** @param {Hit} hit */
  async show(hit) {
    const { state } = this.store;
    this.hit = hit;
    this.root.hidden = isList(state.query);
    this.button.setAttribute("aria-expanded", String(this.open));
    if (!this.open || isList(state.query)) return put(this.charts);
    try {
      const { standing } = await this.api.explain({ ...asked(state), item: hit.id, standing: true });
      if (this.hit === hit && this.open && standing) put(this.charts, charts(standing));
    } catch (error) {
      if (this.hit === hit) put(this.charts, errorLine(error));
    }
  }
}

/** @param {Standing} standing */
function charts({ compared, total, groups }) {
  if (!groups.length) return h("p", { class: "hint" }, t("No expert tells this result from the others."));
  const some = t("Compared with {n} items, spread evenly over {total}.", { n: compared, total });
  return h("div", { class: "standing" },
    h("p", { class: "hint" },
      t("Each chart counts the other items: on the left those least like the search, on the right those "
        + "most like it. The coloured bar holds this one, and the number says how many of the others are "
        + "less like the search. What counts most in the score comes first."), " ",
      compared < total ? some
        : tn(compared, "Compared with the other item.", "Compared with all {n} others.")),
    h("ul", {}, groups.map(line)));
}

/** @param {GroupStanding} group */
function line(group) {
  const { group: name } = expertName(group.name);
  const words = t("more like the search than {share} of the others", { share: percent(group.below) });
  return h("li", { "data-below": group.below, class: group.weight === 0 ? "silent" : "" },
    h("span", { class: "label" }, name,
      group.weight === 0 ? h("small", {}, ` (${t("no weight now")})`) : null),
    histogram(group, `${name}: ${words}`),
    h("span", { class: "below", "aria-hidden": "true" }, percent(group.below)));
}

/** @param {GroupStanding} group @param {string} label */
function histogram({ counts, bar }, label) {
  const most = Math.sqrt(Math.max(1, ...counts)), step = WIDTH / counts.length;
  // Heights by the square root: bars of few items are seen beside those of many.
  const bars = counts.map((n, i) => {
    const height = Math.max(i === bar ? 3 : n ? 1 : 0, (Math.sqrt(n) / most) * HEIGHT);
    return s("rect", {
      x: i * step + 0.5, y: HEIGHT - height, width: step - 1, height, class: i === bar ? "own" : "",
    });
  });
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    s("line", { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT, class: "grid-line" }), bars);
}
