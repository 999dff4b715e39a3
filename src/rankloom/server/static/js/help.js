// The sheet of help and settings: how to search, which keys there are, the language.

import { $, button, h, option, put } from "./dom.js";
import { table } from "./format.js";
import { chosenLanguage, LANGUAGES, speak, t } from "./i18n.js";
import { lettersOff } from "./keys.js";
import { profileChoice } from "./profiles.js";

/** @import { Api, Session } from "./types.js" */

const WAYS = [
  [t("red boat"), t("pictures of either; those of both come first")],
  [t("“old town”"), t("these words, in this order")],
  [t("sun*"), t("words that begin so")],
  [t("-dog"), t("nothing that has this word")],
];
const KEYS = [
  ["Arrows", t("move over the results")], ["R or +", t("right")], ["W or −", t("wrong")],
  ["U", t("undo the last mark")], ["N", t("show the new order")], ["S", t("more like this")],
  ["O or Enter", t("open; again, close")], ["E", t("why here")], ["M", t("marks")],
  ["/", t("go to the search box")], ["Alt+Down", t("in the box: suggestions")], ["?", t("this help")],
  ["Space", t("select")], ["Shift+Arrows", t("select a stretch")], ["Ctrl+A", t("select everything")],
  ["0 to 5", t("stars")], ["K", t("tag")], ["L", t("add to an album")], ["H", t("hide")],
  ["Escape", t("close what is open, or select nothing")],
];
const OPENED = [
  ["Left or Right", t("the result before, the next one")], ["Z or X", t("closer, farther")],
  ["Shift+Arrows", t("move over a picture that is larger than its frame")], ["C", t("the whole picture")],
  ["P", t("search a part: arrows move it, Shift+Arrows resize it, Enter searches")],
  ["V", t("full screen")], ["D", t("download the original")], ["G", t("what the experts say of it")],
  ["T", t("show its text")], ["F", t("show its faces")],
];
const WORDS = table({ or: t(" or "), to: t(" to ") });
/** Keys that are called by words. */
const NAMES = table({
  Arrows: t("Arrows"), Left: "←", Right: "→", Space: t("Space"), Escape: t("Escape"), Enter: t("Enter"),
  "Alt+Down": t("Alt+Down"), "Shift+Arrows": t("Shift+Arrows"), "Ctrl+A": t("Ctrl+A"),
});

export class Help {
  /**
   * @param {Session} session
   * @param {Pick<Api, "switchProfile">} api
   * @param {{ tour: () => void }} actions
   */
  constructor(session, api, { tour }) {
    this.session = session;
    this.api = api;
    this.tour = tour;
    this.dialog = $("keys");
    $("help").addEventListener("click", () => this.show());
  }

  show() {
    const { dialog, session } = this;
    const close = () => dialog.close();
    put(dialog,
      h("h2", { id: "keys-title", tabindex: "-1", autofocus: true }, t("Help and settings")),
      settings(),
      session.profile ? profileChoice(session, this.api.switchProfile, close) : null,
      h("h3", {}, t("Ways to search")),
      list("ways", WAYS.map(([example, what]) => [h("kbd", {}, example), what])),
      h("p", { class: "muted" }, t("A minus on a picture means: not like this.")),
      h("h3", {}, t("Keys")), list("keys", KEYS.map(named)),
      h("h3", {}, t("In an opened result")), list("keys", OPENED.map(named)),
      h("div", { class: "buttons" }, button(t("Close"), { kind: "primary", onclick: close }),
        session.demo ? button(t("Show me around"), { onclick: () => { close(); this.tour(); } }) : null));
    dialog.showModal();
  }
}

function settings() {
  const language = h("select", { id: "language" }, option("", t("As the browser has it")),
    Object.entries(LANGUAGES).map(([name, own]) => h("option", { value: name, lang: name }, own)));
  language.value = chosenLanguage();
  language.addEventListener("change", () => speak(language.value));
  const letters = h("input", {
    type: "checkbox", checked: !lettersOff(),
    onchange: () => localStorage.setItem("keys", letters.checked ? "on" : "off"),
  });
  return h("div", { class: "settings" },
    h("label", { class: "field" }, h("span", {}, t("Language")), language),
    h("label", { class: "check" }, letters, t("Single letters work as keys")));
}

/** Keys by their names. @param {string[]} entry */
const named = ([keys, what]) =>
  [keys.split(" ").map((key) => WORDS[key] ?? h("kbd", {}, NAMES[key] ?? key)), what];

/** @param {string} kind @param {any[][]} entries */
function list(kind, entries) {
  return h("dl", { class: kind },
    entries.map(([sign, what]) => h("div", {}, h("dt", {}, sign), h("dd", {}, what))));
}
