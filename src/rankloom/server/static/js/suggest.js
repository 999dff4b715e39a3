// What the search box offers while somebody types: a list below it, by the pattern of a combobox. The focus
// stays in the box; the arrows move over the list.

import { announce, h, icon, put } from "./dom.js";
import { grouped, table } from "./format.js";
import { t, tn } from "./i18n.js";
import { lastWord } from "./query.js";
import { forgetRecent, recent } from "./recent.js";

/** @import { Offer } from "./types.js" */
/** @typedef {{ kind: string, text: string, detail?: string, symbol: string, run: () => void }} Choice */

const PAUSE = 60; // milliseconds in which the next letter may come

const KINDS = table({
  recent: t("Recent searches"), word: t("Words"), tag: t("Tags"), person: t("People"), place: t("Places"),
  concept: t("Concepts"), folder: t("Folders"), album: t("Albums"), saved: t("Saved searches"), help: "",
});
const SYMBOLS = table({
  word: "search", tag: "tag", person: "face", place: "pin", concept: "similar", folder: "folder",
  album: "album", saved: "save",
});

export class Suggest {
  /**
   * @param {object} parts
   * @param {HTMLInputElement} parts.input
   * @param {HTMLElement} parts.list
   * @param {(typed: string) => Promise<Offer[]>} parts.offers
   * @param {(offer: Offer) => void} parts.take
   * @param {(text: string) => void} parts.search
   * @param {() => void} parts.help
   * @param {() => void} parts.leave the arrow down after the last choice goes on to the results
   */
  constructor({ input, list, offers, take, search, help, leave }) {
    this.input = input;
    this.list = list;
    this.offers = offers;
    this.take = take;
    this.search = search;
    this.help = help;
    this.leave = leave;
    /** @type {Choice[]} */
    this.choices = [];
    this.current = -1;
    this.asked = 0;
    this.warm = false;
    this.listen();
  }

  get open() { return !this.list.hidden; }

  listen() {
    const { input, list } = this;
    input.addEventListener("input", () => this.ask());
    input.addEventListener("pointerdown", () => { if (!this.open) this.ask(0); });
    input.addEventListener("focus", () => {
      if (!this.warm) this.offers("").catch(() => {}); // the server reads its words before the first letter
      this.warm = true;
    });
    input.addEventListener("blur", () => this.close());
    input.addEventListener("keydown", (event) => { if (this.key(event)) event.preventDefault(); });
    // The box keeps the focus while somebody points at the list.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = /** @type {HTMLElement} */ (event.target).closest("[role=option]");
      if (option) this.choose(Number(option.id.slice("offer-".length)));
    });
  }

  /** Whether a key was for the list. @param {KeyboardEvent} event */
  key(event) {
    const { key } = event;
    if (key === "ArrowDown" && event.altKey) this.ask(0);
    else if (!this.open) return false;
    else if (key === "ArrowDown" && this.current === this.choices.length - 1) {
      this.close();
      this.leave();
    } else if (key === "ArrowDown") this.mark(this.current + 1);
    else if (key === "ArrowUp") this.mark(this.current < 0 ? this.choices.length - 1 : this.current - 1);
    else if (key === "Escape") this.close();
    else if (key === "Enter" && this.current >= 0) this.choose(this.current);
    else return false;
    return true;
  }

  /** Offer what fits what is typed, soon. */
  ask(pause = PAUSE) {
    const typed = this.input.value;
    this.asked += 1;
    const { asked } = this;
    clearTimeout(this.timer);
    if (!typed.trim()) return this.show(this.recent());
    this.timer = setTimeout(async () => {
      const offers = await this.offers(typed).catch(() => []);
      if (asked !== this.asked || document.activeElement !== this.input) return;
      this.show(offers.map(this.choice, this));
    }, pause);
  }

  /** @returns {Choice[]} */
  recent() {
    const searches = recent().map((text) => ({
      kind: "recent", text, symbol: "recent", run: () => this.search(text),
    }));
    if (!searches.length) return [];
    const forget = { kind: "recent", text: t("Forget these searches"), symbol: "wrong", run: forgetRecent };
    return [...searches, forget];
  }

  /** @param {Offer} offer @returns {Choice} */
  choice(offer) {
    const { kind, text, items } = offer;
    const detail = items === undefined || kind === "word" ? "" : tn(items, "{n} item", "{n} items");
    return { kind, text, detail, symbol: SYMBOLS[kind] ?? "search", run: () => this.take(offer) };
  }

  /** @param {Choice[]} found */
  show(found) {
    const help = {
      kind: "help", text: t("Ways to search: “a phrase”, -without, begin*"), symbol: "help", run: this.help,
    };
    this.choices = found.length ? [...found, help] : this.input.value ? [] : [help];
    this.current = -1;
    if (!this.choices.length) return this.close();
    let number = 0;
    const groups = grouped(this.choices, ({ kind }) => kind);
    put(this.list, [...groups].map(([kind, choices]) => {
      const name = KINDS[kind] || null;
      return h("div", { role: "group", "aria-label": name },
        name ? h("div", { class: "offer-kind", "aria-hidden": "true" }, name) : null,
        choices.map((choice) => this.option(choice, number++)));
    }));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.input.removeAttribute("aria-activedescendant");
    if (found.length) announce(tn(found.length, "{n} suggestion", "{n} suggestions"));
  }

  /** @param {Choice} choice @param {number} number */
  option({ text, detail, symbol, kind }, number) {
    const typed = kind === "word" ? lastWord(this.input.value).word : "";
    const begins = typed && text.toLowerCase().startsWith(typed.toLowerCase());
    const props = { role: "option", id: `offer-${number}`, class: "offer", "aria-selected": "false" };
    return h("div", props, icon(symbol), h("span", { class: "offer-text" },
      begins ? [text.slice(0, typed.length), h("b", {}, text.slice(typed.length))] : text),
      detail ? h("small", {}, detail) : null);
  }

  /** Make a choice the current one; none below 0. @param {number} number */
  mark(number) {
    this.forget(); // a list in which somebody moves stays as it is
    this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    this.current = number;
    const option = this.list.querySelector(`#offer-${number}`);
    if (!option) return this.input.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", option.id);
  }

  /** @param {number} number */
  choose(number) {
    const choice = this.choices[number];
    this.close();
    choice?.run();
  }

  /** What is on its way comes too late. */
  forget() {
    this.asked += 1;
    clearTimeout(this.timer);
  }

  close() {
    this.forget();
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}
