// The keys, and the sheet that explains them. Single letters act only where nobody types.

import { $, button, h, put } from "./dom.js";
import { table } from "./format.js";
import { t } from "./i18n.js";

const KEYS = [
  ["Arrows", t("move over the results")], ["R or +", t("right")], ["W or −", t("wrong")],
  ["U", t("undo the last mark")], ["N", t("show the new order")], ["S", t("more like this")],
  ["O or Enter", t("open; again, close")], ["E", t("why here")], ["M", t("marks")],
  ["/", t("go to the search box")], ["?", t("this help")], ["Space", t("select")],
  ["Shift+Arrows", t("select a stretch")], ["Ctrl+A", t("select everything")], ["0 to 5", t("stars")],
  ["K", t("tag")], ["L", t("add to an album")], ["H", t("hide")],
  ["Escape", t("close what is open, or select nothing")],
];
const OPENED = [
  ["Left or Right", t("the result before, the next one")], ["Z or X", t("closer, farther")],
  ["Shift+Arrows", t("move over a picture that is larger than its frame")], ["C", t("the whole picture")],
  ["P", t("search a part: arrows move it, Shift+Arrows resize it, Enter searches")],
  ["V", t("full screen")], ["D", t("download the original")], ["G", t("what the experts say of it")],
  ["T", t("show its text")], ["F", t("show its faces")],
];
const SYNTAX = t("Words may be a “phrase in quotes”, begin* or -without. "
  + "A minus on a picture means: not like this.");

/** Whether single letters are no keys: some people speak to their browser. */
export const lettersOff = () => localStorage.getItem("keys") === "off";

const WORDS = table({ or: t(" or "), to: t(" to ") });
/** Keys that are called by words. */
const NAMES = table({
  Arrows: t("Arrows"), Left: "←", Right: "→", Space: t("Space"), Escape: t("Escape"), Enter: t("Enter"),
  "Shift+Arrows": t("Shift+Arrows"), "Ctrl+A": t("Ctrl+A"),
});

/**
 * @param {object} actions
 * @param {() => boolean} actions.active whether there are results to act on
 * @param {() => void} actions.toBox
 * @param {() => void} actions.right
 * @param {() => void} actions.wrong
 * @param {() => void} actions.undo
 * @param {() => void} actions.reorder
 * @param {() => void} actions.similar
 * @param {() => void} actions.why
 * @param {() => void} actions.open
 * @param {() => void} actions.marks
 * @param {() => void} actions.album
 * @param {() => void} actions.tag
 * @param {() => void} actions.hide
 * @param {(stars: number) => void} actions.rate
 */
export function makeKeys(actions) {
  const { active, toBox, right, wrong, undo, reorder, similar, why, open, marks } = actions;
  const { album, tag, hide, rate } = actions;
  const anywhere = table({ "/": toBox, "?": showHelp });
  const onResults = table({
    r: right, "+": right, w: wrong, "-": wrong, "−": wrong, u: undo, n: reorder, s: similar, e: why, o: open,
    m: marks, l: album, k: tag, h: hide,
    ...Object.fromEntries([0, 1, 2, 3, 4, 5].map((stars) => [String(stars), () => rate(stars)])),
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = /** @type {Element} */ (event.target);
    if (target.closest?.("input, select, textarea, [contenteditable]")) return;
    let action = anywhere[event.key];
    if (!action && !lettersOff() && active()) {
      action = event.key === "Enter" && target.matches(".tile") ? open : onResults[event.key.toLowerCase()];
    }
    if (!action) return;
    event.preventDefault();
    action();
  });
  $("help").addEventListener("click", showHelp);
}

function showHelp() {
  const dialog = $("keys");
  const letters = h("input", {
    type: "checkbox", checked: !lettersOff(),
    onchange: () => localStorage.setItem("keys", letters.checked ? "on" : "off"),
  });
  /** @param {string} keys */
  const signs = (keys) => keys.split(" ").map((key) => WORDS[key] ?? h("kbd", {}, NAMES[key] ?? key));
  /** @param {string[][]} keys */
  const list = (keys) => h("dl", { class: "keys" },
    keys.map(([names, what]) => h("div", {}, h("dt", {}, signs(names)), h("dd", {}, what))));
  put(dialog,
    h("h2", { id: "keys-title", tabindex: "-1", autofocus: true }, t("Keys")), list(KEYS),
    h("h3", {}, t("In an opened result")), list(OPENED),
    h("p", { class: "muted" }, SYNTAX),
    h("label", { class: "check" }, letters, t("Single letters work as keys")),
    h("div", { class: "buttons" }, button(t("Close"), { kind: "primary", onclick: () => dialog.close() })));
  dialog.showModal();
}
