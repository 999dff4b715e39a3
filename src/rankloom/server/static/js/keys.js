// The keys. Single letters act only where nobody types.

import { table } from "./format.js";

/** Whether single letters are no keys: some people speak to their browser. */
export const lettersOff = () => localStorage.getItem("keys") === "off";

/**
 * @param {object} actions
 * @param {() => boolean} actions.active whether there are results to act on
 * @param {() => void} actions.toBox
 * @param {() => void} actions.help
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
  const { album, tag, hide, rate, help } = actions;
  const anywhere = table({ "/": toBox, "?": help });
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
}
