// The search box: words, and chips for pictures, items and a concept.

import { picture as pictureAddress, thumbnail, view } from "./addresses.js";
import { $, h, iconButton, put } from "./dom.js";
import { t } from "./i18n.js";
import { askPart, partPicture } from "./parts.js";
import { fromServer, WEIGHTS, withFilter, withLastWord, withoutName } from "./query.js";
import { remember } from "./recent.js";
import { Suggest } from "./suggest.js";

/** @import { Example, Offer, Query, State, Store } from "./types.js" */

/** @type {Record<number, string>} */
const SIGNS = { 0.25: "¼", 0.5: "½" };

export class Box {
  /**
   * @param {Store<State>} store
   * @param {object} actions
   * @param {(patch: Partial<Query>) => void} actions.change
   * @param {(query: Partial<Query>) => void} actions.ask
   * @param {() => void} actions.leave the arrow down goes to the results
   * @param {(typed: string) => Promise<Offer[]>} actions.offers
   * @param {() => void} actions.help
   */
  constructor(store, { change, ask, leave, offers, help }) {
    this.store = store;
    this.change = change;
    this.ask = ask;
    this.leave = leave;
    this.text = $("text");
    this.clear = $("clear");
    this.suggest = new Suggest({
      input: this.text, list: $("offers"), offers, take: (offer) => this.take(offer),
      search: (text) => this.search(text), help, leave,
    });
    this.weight = weightChoice($("text-weight"), t("How much the words count"),
      (value) => change({ text_weight: value }));
    this.listen();
    store.watch(["asked"], ({ query }) => this.draw(query));
  }

  get query() { return this.store.state.query; }

  listen() {
    const { text } = this;
    $("box").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.search(text.value);
    });
    text.addEventListener("input", () => { this.clear.hidden = !text.value; });
    this.clear.addEventListener("click", () => this.empty());
    text.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.defaultPrevented) return; // the list of suggestions had it
      if (event.key === "Backspace" && !text.value && this.query.examples.length) {
        this.change({ examples: this.query.examples.slice(0, -1) });
      } else if (event.key === "ArrowDown") {
        event.preventDefault();
        this.leave();
      } else if (event.key === "Escape" && text.value) {
        this.empty();
      }
    });
  }

  /** Search for words. @param {string} text */
  search(text) {
    this.suggest.close();
    remember(text);
    this.change({ text });
  }

  /** No words any more. */
  empty() {
    this.text.value = "";
    this.clear.hidden = true;
    this.text.focus();
    if (this.query.text) this.change({ text: "" });
  }

  /** Search for what was chosen from the suggestions. @param {Offer} offer */
  take({ kind, text, id, query }) {
    const typed = this.text.value, rest = withoutName(typed, text);
    if (kind === "tag" || kind === "folder") {
      this.change({ ...withFilter(this.query, kind, text), text: rest });
    } else if (kind === "concept") this.change({ concept: text, text: rest });
    else if (kind === "album") this.ask({ filters: { album: id } });
    else if (kind === "saved") this.ask(fromServer(query ?? {}));
    else if (kind === "word") this.search(withLastWord(typed, text));
    else this.search(`${rest} ${text.includes(" ") ? `"${text}"` : text}`.trim());
  }

  /** A chip that stands there while a picture is looked at; returns what takes it away. */
  waiting() {
    const chip = h("li", { class: "chip waiting" }, h("span", { class: "spinner" }), t("looking at it…"));
    $("chips").append(chip);
    return () => chip.remove();
  }

  /** Show what the query holds. @param {Query} query */
  draw(query) {
    const chips = $("chips");
    this.text.value = query.text;
    this.clear.hidden = !query.text;
    put(chips, query.concept ? this.conceptChip(query.concept) : null,
      query.examples.map((example, i) => this.chip(example, i)));
    chips.hidden = !chips.children.length;
    this.weight.element.hidden = !(query.examples.length && query.text.trim());
    this.weight.show(query.text_weight);
    const alone = innerWidth < 640 ? t("Words or a picture") : t("Words, or drop a picture here");
    this.text.placeholder = query.examples.length ? t("and words") : alone;
  }

  /** @param {string} concept */
  conceptChip(concept) {
    return h("li", { class: "chip word" }, t("concept: {name}", { name: concept }),
      remover(t("the concept {name}", { name: concept }), () => this.change({ concept: null })));
  }

  /** @param {Example} example @param {number} index */
  chip(example, index) {
    const { item, picture, weight } = example;
    const name = item ? t("item {item}", { item: String(item) }) : t("your picture");
    const against = weight < 0;
    /** @param {Example[]} others */
    const replace = (...others) => {
      this.change({ examples: this.query.examples.toSpliced(index, 1, ...others) });
    };
    /** @param {number} value */
    const weigh = (value) => replace({ ...example, weight: value });
    const size = weightChoice(h("select"), t("How much {name} counts", { name }),
      (value) => weigh(against ? -value : value));
    size.show(Math.abs(weight));
    return h("li", { class: `chip${against ? " against" : ""}` },
      h("button", {
        type: "button", class: "sign", title: against ? t("Not like this") : t("Like this"),
        "aria-label": against ? t("Not like {name}; press to turn round", { name })
          : t("Like {name}; press to turn round", { name }),
        onclick: () => weigh(-weight),
      }, against ? "−" : "+"),
      partOf(example, item ? thumbnail(item) : pictureAddress(picture ?? ""), name, replace),
      size.element,
      remover(name, () => { replace(); this.text.focus(); }));
  }
}

/**
 * The picture of a chip, or the part of it that counts; a press asks for another part.
 * @param {Example} example
 * @param {string} address
 * @param {string} name
 * @param {(example: Example) => void} replace
 */
function partOf({ region, ...whole }, address, name, replace) {
  const label = region ? t("a part of {name}", { name }) : name;
  return h("button", {
    type: "button", class: "part", title: t("Search a part"),
    "aria-label": t("{name}: search with a part of it", { name: label }),
    onclick: () => askPart(whole.item ? view(whole.item) : address, region ?? null,
      (chosen) => replace(chosen ? { ...whole, region: chosen } : whole)),
  }, region ? partPicture(address, region, label) : h("img", { src: address, alt: label }));
}

/** @param {string} name @param {() => void} action */
function remover(name, action) {
  return iconButton("wrong", t("Remove {name}", { name }), { class: "remove", onclick: action });
}

/**
 * A choice of how much something counts.
 * @param {HTMLSelectElement} element
 * @param {string} label
 * @param {(value: number) => void} change
 */
function weightChoice(element, label, change) {
  /** @param {number} value */
  const option = (value) => h("option", { value: String(value) }, `×${SIGNS[value] ?? value}`);
  element.setAttribute("aria-label", label);
  element.classList.add("weight");
  put(element, WEIGHTS.map(option));
  element.addEventListener("change", () => change(Number(element.value)));
  return {
    element,
    /** @param {number} value */
    show(value) {
      if (![...element.options].some((known) => Number(known.value) === value)) element.append(option(value));
      element.value = String(value);
    },
  };
}
