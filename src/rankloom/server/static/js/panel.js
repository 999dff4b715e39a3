// The panel beside the results: why, marks, experts, concepts; on a phone a sheet from below.

import { $, h, iconButton, nextTab, put } from "./dom.js";
import { t } from "./i18n.js";

/** @typedef {{ title: string, root: HTMLElement, show: () => void }} Part */

export class Panel {
  /** @param {Record<string, Part>} parts */
  constructor(parts) {
    this.parts = parts;
    this.root = $("panel");
    this.current = Object.keys(parts)[0];
    put(this.root,
      h("div", { class: "panel-head" },
        h("div", { role: "tablist", class: "panel-tabs", "aria-label": t("About the results") },
          Object.keys(parts).map((name) => this.tab(name))),
        iconButton("wrong", t("Close the panel"), { onclick: () => this.toggle(false) })),
      Object.keys(parts).map((name) => h("div", {
        role: "tabpanel", id: `body-${name}`, "aria-labelledby": `part-${name}`, tabindex: "0",
        class: "panel-body",
      }, parts[name].root)));
    this.root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return;
      this.toggle(false);
      $("panel-toggle").focus();
    });
    // A sheet would cover what the tools open.
    $("tools").addEventListener("click", (/** @type {any} */ event) => {
      const covers = this.open && getComputedStyle(this.root).position === "fixed";
      if (covers && !event.target.closest("#panel-toggle")) this.toggle(false);
    }, { capture: true });
  }

  /** @param {string} name */
  tab(name) {
    return h("button", {
      type: "button", role: "tab", id: `part-${name}`, "aria-controls": `body-${name}`,
      onclick: () => this.show(name),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const next = nextTab(event, Object.keys(this.parts), name);
        if (!next) return;
        this.show(next);
        $(`part-${next}`).focus();
      },
    }, this.parts[name].title);
  }

  get open() { return !this.root.hidden; }

  /** Whether one of these parts is seen. @param {...string} names */
  shows(...names) { return this.open && names.includes(this.current); }

  /** Open the panel with one of its parts, drawn anew. */
  show(name = this.current) {
    this.current = name;
    if (!this.open) this.setOpen(true);
    for (const part of Object.keys(this.parts)) {
      const on = part === name;
      $(`part-${part}`).setAttribute("aria-selected", String(on));
      $(`part-${part}`).setAttribute("tabindex", on ? "0" : "-1");
      $(`body-${part}`).hidden = !on;
    }
    this.parts[name].show();
  }

  toggle(on = !this.open) {
    if (on && !this.open) this.show();
    else if (!on && this.open) this.setOpen(false);
  }

  /** @param {boolean} on */
  setOpen(on) {
    this.root.hidden = !on;
    document.body.classList.toggle("with-panel", on);
    $("panel-toggle").setAttribute("aria-expanded", String(on));
    localStorage.setItem("panel", on ? this.current : "");
  }
}
