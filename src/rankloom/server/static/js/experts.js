// The panel of experts: how much each counts, what marks have taught, and sliders for those who know better.

import { button, errorLine, h, iconButton, put, toast } from "./dom.js";
import { expertName, grouped, number, sum } from "./format.js";
import { t, tn } from "./i18n.js";
import { save } from "./saving.js";

/** @import { Api, ExpertsChange, State, Store, Weights } from "./types.js" */

const START = t("These are the weights a new collection starts with. "
  + "Each mark moves them a little, for every search.");

export class Experts {
  /**
   * @param {Store<State>} store
   * @param {Pick<Api, "experts" | "setExperts">} api
   * @param {() => void} changed scores are others now
   */
  constructor(store, api, changed) {
    this.title = t("Experts");
    this.root = h("div", { class: "experts" });
    this.readOnly = store.state.readOnly;
    this.api = api;
    this.changed = changed;
    /** The groups that are open. @type {Set<string>} */
    this.open = new Set();
  }

  async show() {
    try {
      this.draw(await this.api.experts());
    } catch (error) {
      put(this.root, errorLine(error));
    }
  }

  /** @param {ExpertsChange} body @param {string} said */
  change(body, said) {
    return save(this.api.setExperts(body), {
      show: () => () => { this.show(); }, // a slider stands where it was moved to until then
      done: (weights) => {
        this.draw(weights);
        toast(said);
        this.changed();
      },
    });
  }

  /** @param {Weights} library */
  draw(library) {
    const { weights, start, marks, moved } = library;
    const groups = [...grouped(Object.keys(weights), (name) => expertName(name).group)]
      .map(([group, names]) => ({ group, names, size: sum(names.map((name) => Math.abs(weights[name]))) }))
      .sort((a, b) => b.size - a.size);
    const largest = Math.max(1e-9, ...groups.map(({ size }) => size));
    const most = 1.5 * Math.max(0.1, ...[...Object.values(weights), ...Object.values(start)].map(Math.abs));
    const share = 100 * Math.min(1, moved);
    const turned = share > 0 && share < 0.1 ? `< ${number(0.1, 1)}` : number(Math.abs(share), 1);
    const reset = () => this.change({ reset: true }, t("All weights are as they were at the start"));
    put(this.root,
      h("p", { class: "hint" }, marks ? tn(marks,
        "Learned from {n} mark. The weights have turned by {share} % from where they started.",
        "Learned from {n} marks. The weights have turned by {share} % from where they started.",
        { share: turned }) : START),
      groups.map(({ group, names, size }) => {
        const details = h("details", { open: this.open.has(group) },
          h("summary", {}, bar(group, size, largest)), names.map((name) => this.slider(name, library, most)));
        details.addEventListener("toggle", () => {
          if (details.open) this.open.add(group);
          else this.open.delete(group);
        });
        return details;
      }),
      this.readOnly ? null : h("div", { class: "buttons" },
        button(t("Back to the start"), { kind: "small", symbol: "undo", onclick: reset })));
  }

  /** @param {string} name @param {Weights} library @param {number} most */
  slider(name, { weights, start, locked }, most) {
    const { group, detail } = expertName(name);
    const label = detail ? `${group}, ${detail}` : group;
    const out = h("output", {}, number(weights[name]));
    const chosen = () => Number(input.value);
    const input = h("input", {
      type: "range", min: String(-most), max: String(most), step: String(most / 200),
      value: String(weights[name]), disabled: this.readOnly,
      "aria-label": t("Weight of {name}", { name: label }),
      oninput: () => { out.textContent = number(chosen()); },
      onchange: () => this.change({ weights: { [name]: chosen() } }, `${label}: ${number(chosen())}`),
    });
    return h("div", { class: "slider" },
      h("label", {}, h("span", {}, detail || group), input, out),
      h("span", { class: "muted start", title: t("Where it started") },
        t("from {value}", { value: number(start[name] ?? 0, 2) })),
      this.readOnly ? null : this.lock(name, label, locked.includes(name)));
  }

  /** @param {string} name @param {string} label @param {boolean} locked */
  lock(name, label, locked) {
    const values = { name: label };
    return iconButton("lock", locked ? t("Unlock {name}", values) : t("Lock {name}", values), {
      class: "icon-button lock", "aria-pressed": String(locked),
      title: locked ? t("Locked: marks do not move it") : t("Lock it"),
      onclick: () => this.change({ lock: { [name]: !locked } },
        locked ? t("{name} is free", values) : t("{name} is locked", values)),
    });
  }
}

/** @param {string} group @param {number} size @param {number} largest */
function bar(group, size, largest) {
  return h("span", { class: "bar more" }, h("span", { class: "label" }, group),
    h("span", { class: "track" }, h("i", { style: { width: `${(100 * size) / largest}%` } })),
    h("span", { class: "value" }, number(size, 2)));
}
