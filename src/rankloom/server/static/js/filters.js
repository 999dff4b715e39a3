// The filters below the box.

import { attempt, button, h, iconButton, option, put } from "./dom.js";
import { t } from "./i18n.js";
import { isList } from "./query.js";

/** @import { State, Store, Tag } from "./types.js" */

const KINDS = [["", t("Pictures and videos")], ["picture", t("Pictures")], ["shot", t("Video shots")]];
const TEXTS = [["", t("Either")], ["1", t("With a text")], ["0", t("Without a text")]];
const STARS = [
  ["", t("Any")], ...[1, 2, 3, 4].map((n) => [String(n), t("{stars} or more", { stars: "★".repeat(n) })]),
  ["5", "★★★★★"],
];
const MARKED = [["", t("All")], ["0", t("Only unmarked")], ["1", t("Only marked")]];
const DATES = ["today", "yesterday", "7d", "30d", "6m", "1y"];

export class Filters {
  /**
   * @param {Store<State>} store
   * @param {object} actions
   * @param {(name: string, value: unknown) => void} actions.filter
   * @param {() => void} actions.clear
   * @param {() => Promise<Tag[]>} actions.tags
   * @param {() => void} actions.map shows the map, to choose a rectangle
   */
  constructor(store, { filter, clear, tags, map }) {
    this.store = store;
    this.filter = filter;
    this.tags = tags;
    /** @type {Set<HTMLInputElement>} fields with a text that was not searched for yet */
    this.typed = new Set();
    this.kind = this.choice("kind", KINDS);
    this.folder = this.choice("folder", []);
    this.after = this.day("after");
    this.before = this.day("before");
    this.text = this.choice("has_text", TEXTS, (value) => value && value === "1");
    this.stars = this.choice("stars", STARS, (value) => value && Number(value));
    this.tag = this.choice("tag", [["", t("Any")]]);
    this.marked = this.choice("marked", MARKED, (value) => value && value === "1");
    this.markedField = field(t("Marks"), this.marked);
    this.hidden = h("input", {
      type: "checkbox", onchange: () => filter("hidden", this.hidden.checked || ""),
    });
    this.place = h("button", { type: "button", class: "small", onclick: map });
    this.anywhere = iconButton("wrong", t("Anywhere"), { onclick: () => filter("within", "") });
    this.root = h("div", { class: "filters", id: "filters" },
      field(t("Kind"), this.kind), field(t("Folder"), this.folder), field(t("From"), this.after),
      field(t("Before"), this.before),
      h("datalist", { id: "dates" }, DATES.map((name) => option(name, name))), field(t("Text"), this.text),
      field(t("Stars"), this.stars), field(t("Tag"), this.tag),
      h("div", { class: "field" }, h("span", {}, t("Place")), h("div", { class: "place-field" },
        this.place, this.anywhere)), this.markedField,
      h("label", { class: "check" }, this.hidden, t("Hidden items")),
      button(t("Clear"), { kind: "small quiet", onclick: clear }));
    this.toggle = button(t("Filters"), {
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
      type: "text", list: "dates", size: "14", maxlength: "40", placeholder: t("2024-05 or 30d"),
      autocomplete: "off", spellcheck: "false",
    });
    const apply = () => {
      this.typed.delete(input);
      const value = input.value.trim();
      if (value !== (this.store.state.query.filters[name] ?? "")) this.filter(name, value);
    };
    input.addEventListener("input", () => this.typed.add(input));
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
      put(this.tag, option("", t("Any")), known.map((name) => option(name, name)));
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
      put(this.folder, ["", ...known].map((name) => option(name, name || t("All folders"))));
      this.known = known;
    }
    this.kind.value = filters.kind ?? "";
    this.folder.value = folder;
    // What somebody types stays, whatever else has changed meanwhile.
    if (!this.typed.has(this.after)) this.after.value = filters.after ?? "";
    if (!this.typed.has(this.before)) this.before.value = filters.before ?? "";
    this.text.value = { true: "1", false: "0" }[String(filters.has_text)] ?? "";
    this.stars.value = filters.stars ? String(filters.stars) : "";
    if (filters.tag && ![...this.tag.options].some(({ value }) => value === filters.tag)) {
      this.tag.append(option(filters.tag, filters.tag));
    }
    this.tag.value = filters.tag ?? "";
    this.marked.value = { true: "1", false: "0" }[String(filters.marked)] ?? "";
    this.markedField.hidden = listed;
    this.place.textContent = filters.within ? t("A part of the map") : t("Anywhere: choose on the map");
    this.anywhere.hidden = !filters.within;
    this.hidden.checked = Boolean(filters.hidden);
    const active = Object.keys(filters).filter((name) => name !== "album").length;
    this.toggle.classList.toggle("active", active > 0);
    /** @type {ChildNode} */ (this.toggle.lastChild).textContent = active
      ? t("Filters ({n})", { n: active }) : t("Filters");
    if (active) this.open(true);
  }
}

/** @param {string} label @param {HTMLElement} element */
const field = (label, element) => h("label", { class: "field" }, h("span", {}, label), element);
