// The filters below the box.

import { attempt, button, h, option, put } from "./dom.js";
import { isList } from "./query.js";

/** @import { State, Store, Tag } from "./types.js" */

const KINDS = [["", "Pictures and videos"], ["picture", "Pictures"], ["shot", "Video shots"]];
const TEXTS = [["", "Either"], ["1", "With a text"], ["0", "Without a text"]];
const STARS = [
  ["", "Any"], ["1", "★ or more"], ["2", "★★ or more"], ["3", "★★★ or more"], ["4", "★★★★ or more"],
  ["5", "★★★★★"],
];
const MARKED = [["", "All"], ["0", "Only unmarked"], ["1", "Only marked"]];
const DATES = ["today", "yesterday", "7d", "30d", "6m", "1y"];

export class Filters {
  /**
   * @param {Store<State>} store
   * @param {object} actions
   * @param {(name: string, value: unknown) => void} actions.filter
   * @param {() => void} actions.clear
   * @param {() => Promise<Tag[]>} actions.tags
   */
  constructor(store, { filter, clear, tags }) {
    this.store = store;
    this.filter = filter;
    this.tags = tags;
    this.kind = this.choice("kind", KINDS);
    this.folder = this.choice("folder", []);
    this.after = this.day("after");
    this.before = this.day("before");
    this.text = this.choice("has_text", TEXTS, (value) => value && value === "1");
    this.stars = this.choice("stars", STARS, (value) => value && Number(value));
    this.tag = this.choice("tag", [["", "Any"]]);
    this.marked = this.choice("marked", MARKED, (value) => value && value === "1");
    this.markedField = field("Marks", this.marked);
    this.hidden = h("input", {
      type: "checkbox", onchange: () => filter("hidden", this.hidden.checked || ""),
    });
    this.root = h("div", { class: "filters", id: "filters" },
      field("Kind", this.kind), field("Folder", this.folder), field("From", this.after),
      field("Before", this.before),
      h("datalist", { id: "dates" }, DATES.map((name) => option(name, name))), field("Text", this.text),
      field("Stars", this.stars), field("Tag", this.tag), this.markedField,
      h("label", { class: "check" }, this.hidden, "Hidden items"),
      button("Clear", { kind: "small quiet", onclick: clear }));
    this.toggle = button("Filters", {
      symbol: "filter", kind: "quiet", "aria-controls": "filters",
      onclick: () => this.open(Boolean(this.root.hidden)),
    });
    this.open(false);
    /** @type {string[] | null} the folders to choose from */
    this.known = null;
    store.watch(["asked", "folders"], (state) => this.draw(state));
  }

  /**
   * @param {string} name
   * @param {string[][]} choices
   * @param {(value: string) => unknown} meaning
   */
  choice(name, choices, meaning = (value) => value) {
    const select = h("select", {}, choices.map(([value, text]) => option(value, text)));
    select.addEventListener("change", () => this.filter(name, meaning(select.value)));
    return select;
  }

  /** @param {"after" | "before"} name */
  day(name) {
    const input = h("input", {
      type: "text", list: "dates", size: "14", maxlength: "40", placeholder: "2024-05 or 30d",
      autocomplete: "off", spellcheck: "false",
    });
    const apply = () => {
      const value = input.value.trim();
      if (value !== (this.store.state.query.filters[name] ?? "")) this.filter(name, value);
    };
    input.addEventListener("change", apply);
    // Enter searches even where the list of proposals is open and keeps the event "change" to itself.
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") apply(); });
    return input;
  }

  /** The tags to choose from, as they are now. */
  loadTags() {
    return attempt(async () => {
      const tags = (await this.tags()).map(({ tag }) => tag), { tag = "" } = this.store.state.query.filters;
      const known = tag && !tags.includes(tag) ? [tag, ...tags] : tags;
      put(this.tag, option("", "Any"), known.map((name) => option(name, name)));
      this.tag.value = tag;
    });
  }

  /** @param {boolean} on */
  open(on) {
    if (on && this.root.hidden && this.store.state.asked) this.loadTags();
    this.root.hidden = !on;
    this.toggle.setAttribute("aria-expanded", String(on));
  }

  /** Show what the query holds. @param {State} state */
  draw({ query, folders }) {
    const { filters } = query, { folder = "" } = filters, listed = isList(query);
    const known = !folder || folders.includes(folder) ? folders : [folder, ...folders];
    if (known.join("\n") !== this.known?.join("\n")) {
      put(this.folder, ["", ...known].map((name) => option(name, name || "All folders")));
      this.known = known;
    }
    this.kind.value = filters.kind ?? "";
    this.folder.value = folder;
    this.after.value = filters.after ?? "";
    this.before.value = filters.before ?? "";
    this.text.value = { true: "1", false: "0" }[String(filters.has_text)] ?? "";
    this.stars.value = filters.stars ? String(filters.stars) : "";
    if (filters.tag && ![...this.tag.options].some(({ value }) => value === filters.tag)) {
      this.tag.append(option(filters.tag, filters.tag));
    }
    this.tag.value = filters.tag ?? "";
    this.marked.value = { true: "1", false: "0" }[String(filters.marked)] ?? "";
    this.markedField.hidden = listed;
    this.hidden.checked = Boolean(filters.hidden);
    const active = Object.keys(filters).filter((name) => name !== "album").length;
    this.toggle.classList.toggle("active", active > 0);
    /** @type {ChildNode} */ (this.toggle.lastChild).textContent = active ? `Filters (${active})` : "Filters";
    if (active) this.open(true);
  }
}

/** @param {string} label @param {HTMLElement} element */
const field = (label, element) => h("label", { class: "field" }, h("span", {}, label), element);
