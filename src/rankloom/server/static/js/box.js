// The search box: words, and chips for pictures, items and a concept.

import { picture as pictureAddress, thumbnail, view } from "./addresses.js";
import { $, h, iconButton, put } from "./dom.js";
import { t } from "./i18n.js";
import { askPart, partPicture } from "./parts.js";
import { WEIGHTS } from "./query.js";

/** @import { Example, Query, State, Store } from "./types.js" */

/** @type {Record<number, string>} */
const SIGNS = { 0.25: "¼", 0.5: "½" };

export class Box {
  /**
   * @param {Store<State>} store
   * @param {object} actions
   * @param {(patch: Partial<Query>) => void} actions.change
   * @param {() => void} actions.leave the arrow down goes to the results
   */
  constructor(store, { change, leave }) {
    this.store = store;
    this.change = change;
    this.leave = leave;
    this.text = $("text");
    this.weight = weightChoice($("text-weight"), "words", (value) => change({ text_weight: value }));
    this.listen();
    store.watch(["asked"], ({ query }) => this.draw(query));
  }

  get query() { return this.store.state.query; }

  listen() {
    const { text } = this;
    $("box").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.change({ text: text.value });
    });
    text.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Backspace" && !text.value && this.query.examples.length) {
        this.change({ examples: this.query.examples.slice(0, -1) });
      } else if (event.key === "ArrowDown") {
        event.preventDefault();
        this.leave();
      }
    });
    text.addEventListener("search", () => { if (!text.value && this.query.text) this.change({ text: "" }); });
  }

  /** A chip that stands there while a picture is looked at; returns what takes it away. */
  waiting() {
    const chip = h("li", { class: "chip waiting" }, h("span", { class: "spinner" }), "looking at it…");
    $("chips").append(chip);
    return () => chip.remove();
  }

  /** Show what the query holds. @param {Query} query */
  draw(query) {
    const chips = $("chips");
    this.text.value = query.text;
    put(chips, query.concept ? this.conceptChip(query.concept) : null,
      query.examples.map((example, i) => this.chip(example, i)));
    chips.hidden = !chips.children.length;
    this.weight.element.hidden = !(query.examples.length && query.text.trim());
    this.weight.show(query.text_weight);
    const alone = innerWidth < 640 ? "Words or a picture" : "Words, or drop a picture here";
    this.text.placeholder = query.examples.length ? "and words" : alone;
  }

  /** @param {string} concept */
  conceptChip(concept) {
    return h("li", { class: "chip word" }, `concept: ${concept}`,
      remover(`the concept ${concept}`, () => this.change({ concept: null })));
  }

  /** @param {Example} example @param {number} index */
  chip(example, index) {
    const { item, picture, weight } = example;
    const name = item ? `item ${item}` : "your picture";
    const against = weight < 0;
    /** @param {Example[]} others */
    const replace = (...others) => {
      this.change({ examples: this.query.examples.toSpliced(index, 1, ...others) });
    };
    /** @param {number} value */
    const weigh = (value) => replace({ ...example, weight: value });
    const size = weightChoice(h("select"), name, (value) => weigh(against ? -value : value));
    size.show(Math.abs(weight));
    return h("li", { class: `chip${against ? " against" : ""}` },
      h("button", {
        type: "button", class: "sign", title: against ? "Not like this" : "Like this",
        "aria-label": `${against ? "Not like" : "Like"} ${name}; press to turn round`,
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
  return iconButton("wrong", `Remove ${name}`, { class: "remove", onclick: action });
}

/**
 * A choice of how much something counts.
 * @param {HTMLSelectElement} element
 * @param {string} name
 * @param {(value: number) => void} change
 */
function weightChoice(element, name, change) {
  /** @param {number} value */
  const option = (value) => h("option", { value: String(value) }, `×${SIGNS[value] ?? value}`);
  element.setAttribute("aria-label", `How much ${name} ${name === "words" ? "count" : "counts"}`);
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
