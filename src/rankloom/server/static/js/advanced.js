// The row "Advanced": how results are arranged and reranked. What is chosen is kept.

import { button, h, option, put } from "./dom.js";
import { number } from "./format.js";
import { t, tn } from "./i18n.js";

/** @import { Model, Options, State, Store } from "./types.js" */

const KEY = "advanced";

/** @returns {Options} */
export const usual = () => ({ diversity: 0, collapse: false, method: "experts", against: null });

const METHODS = [
  ["experts", t("None: the order of the experts")],
  ["visual_rank", t("VisualRank: what looks like many others")],
  ["bayesian", t("Bayesian: alike pictures get alike scores")], ["smooth", t("Smooth: content-aware")],
  ["prf", t("By the first results, as if they were right")],
];

/** The options that were chosen before, as far as they make sense. @returns {Options} */
export function keptOptions() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    const known = METHODS.some(([name]) => name === kept.method);
    return {
      ...usual(), collapse: kept.collapse === true, method: known ? kept.method : "experts",
      diversity: kept.diversity > 0 && kept.diversity <= 1 ? kept.diversity : 0,
    };
  } catch {
    return usual();
  }
}

/** How many of them are not as usual. @param {Options} options */
const changed = ({ diversity, collapse, method, against }) =>
  [diversity > 0, collapse, method !== "experts", against !== null].filter(Boolean).length;

export class Advanced {
  /**
   * @param {Store<State>} store
   * @param {object} actions
   * @param {(change: { options?: Options, plain?: boolean }) => void} actions.change
   * @param {() => Promise<Model[]>} actions.models
   */
  constructor(store, { change, models }) {
    this.store = store;
    this.change = change;
    this.models = models;
    this.shown = h("span", { "aria-hidden": "true" }); // the slider says it, too
    this.diversity = this.slider();
    this.collapse = h("input", {
      type: "checkbox", onchange: () => this.set({ collapse: this.collapse.checked }),
    });
    this.method = h("select", {}, METHODS.map(([value, text]) => option(value, text)));
    this.method.addEventListener("change", () => this.set({ method: this.method.value }));
    this.neighbours = h("input", {
      type: "checkbox", onchange: () => this.change({ plain: !this.neighbours.checked }),
    });
    this.against = h("select", {});
    this.against.addEventListener("change", () => {
      this.set({ against: this.against.value === "" ? null : Number(this.against.value) });
    });
    this.againstField = field(t("Mixed with, to compare by marks"), this.against);
    this.againstField.hidden = true; // until there is a model
    this.root = h("div", { class: "advanced", id: "advanced" },
      field(t("Variety"), h("span", { class: "variety" }, this.diversity, this.shown)),
      field(t("Reranking by looks"), this.method),
      h("label", { class: "check" }, this.neighbours, t("Neighbours count")),
      h("label", { class: "check" }, this.collapse, t("Only the best of near copies")), this.againstField,
      button(t("As usual"), {
        kind: "small quiet", onclick: () => this.change({ options: this.keep(usual()), plain: false }),
      }));
    this.toggle = button(t("Advanced"), {
      symbol: "tune", kind: "quiet", id: "advanced-toggle", "aria-controls": "advanced",
      onclick: () => this.open(Boolean(this.root.hidden)),
    });
    /** How many options are not as usual. */
    this.active = 0;
    this.open(false);
    store.watch(["asked"], (state) => this.draw(state));
  }

  slider() {
    const input = h("input", {
      type: "range", min: "0", max: "1", step: "0.1", value: "0", "aria-label": t("Variety"),
      oninput: () => { this.shown.textContent = number(Number(input.value), 1); },
      onchange: () => this.set({ diversity: Number(input.value) }),
    });
    return input;
  }

  /** @param {Partial<Options>} patch */
  set(patch) { this.change({ options: this.keep({ ...this.store.state.options, ...patch }) }); }

  /** Keep what was chosen for the next visit, except a comparison. @param {Options} options */
  keep(options) {
    localStorage.setItem(KEY, JSON.stringify({ ...options, against: null }));
    return options;
  }

  /** @param {boolean} on */
  open(on) {
    if (on && this.root.hidden) this.load();
    this.root.hidden = !on;
    this.toggle.setAttribute("aria-expanded", String(on));
  }

  /** The models that the one in use can be compared with. */
  async load() {
    const models = this.store.state.readOnly ? [] : await this.models().catch(() => []);
    const used = models.find(({ status }) => status === "in use");
    const others = models.filter(({ id }) => id !== used?.id);
    put(this.against, option("", t("Nothing")), used ? option("0", t("The weights that follow marks")) : null,
      others.map(({ id }) => option(String(id), t("Model {id}", { id: String(id) }))));
    this.againstField.hidden = this.against.options.length < 2;
    this.draw(this.store.state);
  }

  /** Show what is chosen. @param {State} state */
  draw({ options, plain }) {
    this.diversity.value = String(options.diversity);
    this.shown.textContent = number(options.diversity, 1);
    this.collapse.checked = options.collapse;
    this.method.value = options.method;
    this.neighbours.checked = !plain;
    this.against.value = options.against === null ? "" : String(options.against);
    const active = changed(options) + (plain ? 1 : 0);
    this.toggle.classList.toggle("active", active > 0);
    /** @type {ChildNode} */ (this.toggle.lastChild).textContent = active
      ? tn(active, "Advanced ({n})", "Advanced ({n})") : t("Advanced");
    if (active > this.active && this.root.hidden) this.open(true);
    this.active = active;
  }
}

/** @param {string} label @param {HTMLElement} element */
const field = (label, element) => h("label", { class: "field" }, h("span", {}, label), element);
