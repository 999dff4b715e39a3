// The sheet of help and settings: how to search, which keys there are, the language.

import { $, button, h, option, put } from "./dom.js";
import { chosenLanguage, LANGUAGES, speak, t } from "./i18n.js";

/** @import { Session } from "./types.js" */

const WAYS = [
  [t("red boat"), t("pictures of either; those of both come first")],
  [t("“old town”"), t("these words, in this order")],
  [t("sun*"), t("words that begin so")],
  [t("-dog"), t("nothing that has this word")],
];
const KEYS = [
  [t("Arrows"), t("move over the results")], ["R +", t("right")], ["W −", t("wrong")],
  ["U", t("undo the last mark")], ["N", t("show the new order")], ["S", t("more like this")],
  [t("O Enter"), t("open; again, close")], ["E", t("why here")], ["M", t("marks")],
  ["/", t("go to the search box")], [t("Alt+Down"), t("in the box: suggestions")], ["?", t("this help")],
  ["T", t("in an opened result: show its text")], ["F", t("and its faces")],
  [t("Space"), t("select")], [t("Shift+Arrows"), t("select a stretch")],
  [t("Ctrl+A"), t("select everything")],
  ["0 … 5", t("stars")], ["K", t("tag")], ["L", t("add to an album")], ["H", t("hide")],
  [t("Escape"), t("close what is open, or select nothing")],
];

/** Whether single letters are no keys. */
export const lettersOff = () => localStorage.getItem("keys") === "off";

export class Help {
  /** @param {Session} session @param {{ tour: () => void }} actions */
  constructor(session, { tour }) {
    this.session = session;
    this.tour = tour;
    this.dialog = $("keys");
    $("help").addEventListener("click", () => this.show());
  }

  show() {
    const { dialog, session } = this;
    const close = () => dialog.close();
    put(dialog,
      h("h2", { id: "keys-title" }, t("Help and settings")),
      settings(),
      session.profile ? h("p", { class: "hint" },
        t("This browser has marks and saved searches of its own: profile {name}.",
          { name: session.profile })) : null,
      h("h3", {}, t("Ways to search")), list("ways", WAYS),
      h("p", { class: "muted" }, t("A minus on a picture means: not like this.")),
      h("h3", {}, t("Keys")), list("keys", KEYS),
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

/** @param {string} kind @param {string[][]} entries */
function list(kind, entries) {
  /** @param {string} keys */
  const signs = (keys) => (kind === "keys" ? keys.split(" ") : [keys]).map((key) => h("kbd", {}, key));
  return h("dl", { class: kind },
    entries.map(([keys, what]) => h("div", {}, h("dt", {}, signs(keys)), h("dd", {}, what))));
}
