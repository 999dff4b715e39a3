// The keys, and the sheet that explains them. Single letters act only where nobody types.

import { $, button, h, put } from "./dom.js";
import { table } from "./format.js";

const KEYS = [
  ["Arrows", "move over the results"], ["R or +", "right"], ["W or −", "wrong"], ["U", "undo the last mark"],
  ["N", "show the new order"], ["S", "more like this"], ["O or Enter", "open; again, close"],
  ["E", "why here"], ["M", "marks"], ["/", "go to the search box"], ["?", "this help"],
  ["T", "in an opened result: show its text"], ["F", "and its faces"],
  ["Space", "select"], ["Shift+Arrows", "select a stretch"], ["Ctrl+A", "select everything"],
  ["0 to 5", "stars"], ["K", "tag"], ["L", "add to an album"], ["H", "hide"],
  ["Escape", "close what is open, or select nothing"],
];
const SYNTAX = "Words may be a “phrase in quotes”, begin* or -without. "
  + "A minus on a picture means: not like this.";

const lettersOff = () => localStorage.getItem("keys") === "off";

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
  const signs = (keys) =>
    keys.split(" ").map((key) => (["or", "to"].includes(key) ? ` ${key} ` : h("kbd", {}, key)));
  put(dialog,
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", { class: "keys" },
      KEYS.map(([keys, what]) => h("div", {}, h("dt", {}, signs(keys)), h("dd", {}, what)))),
    h("p", { class: "muted" }, SYNTAX),
    h("label", { class: "check" }, letters, "Single letters work as keys"),
    h("div", { class: "buttons" }, button("Close", { kind: "primary", onclick: () => dialog.close() })));
  dialog.showModal();
}
