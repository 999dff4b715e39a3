// What was read, seen and heard in an item: boxes over the picture, and the lines of speech under the player.

import { h, s } from "./dom.js";
import { clock, count } from "./format.js";

/** @import { Box, Cue, Hit } from "./types.js" */

/** The kinds of boxes: their buttons, and how many of them are named. */
export const KINDS = [
  { kind: "ocr", symbol: "text", title: "Text", word: "line of text", words: "lines of text" },
  { kind: "face", symbol: "face", title: "Faces", word: "face", words: "faces" },
];

/** How many boxes there are, in words: "2 lines of text, 1 face". @param {Box[]} boxes */
export function tally(boxes) {
  return KINDS.map(({ kind, word, words }) => {
    const n = boxes.filter((box) => box.kind === kind).length;
    return n > 1 ? `${n.toLocaleString("en")} ${words}` : n ? `1 ${word}` : "";
  }).filter(Boolean).join(", ");
}

/**
 * Boxes as a drawing that fits the picture as the picture fits its frame.
 * @param {Hit} hit
 * @param {Box[]} boxes
 */
export function overlay({ width, height }, boxes) {
  const rects = boxes.map((box) => s("rect", {
    class: box.kind, x: box.left * width, y: box.top * height, width: box.width * width,
    height: box.height * height, rx: Math.min(width, height) / 150,
  }, box.text ? s("title", {}, box.text) : null));
  return s("svg", {
    class: "boxes", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Marked: ${tally(boxes)}`,
  }, rects);
}

/**
 * The cue that is said at a time, or the last before it; -1 before the first.
 * @param {Cue[]} cues
 * @param {number} time
 */
export function cueAt(cues, time) {
  const after = cues.findIndex(({ start }) => start > time + 0.05);
  return (after < 0 ? cues.length : after) - 1;
}

/**
 * What is said, each line a button that plays the video from there.
 * @param {Cue[]} cues
 * @param {Hit} hit the shot that is shown
 * @param {() => HTMLVideoElement | null} player
 */
export function transcript(cues, hit, player) {
  const lines = cues.map((cue) => h("button", {
    type: "button", class: cue.end > hit.start && cue.start < hit.end ? "inside" : "",
    onclick: () => playFrom(player(), cue.start),
  }, h("span", { class: "when" }, clock(cue.start)), h("span", {}, cue.text)));
  const root = h("section", { class: "transcript", "aria-label": "What is said" },
    h("h3", {}, `What is said, in ${count(cues.length, "line")}`),
    h("ol", {}, lines.map((line) => h("li", {}, line))));
  const first = lines.find((line) => line.classList.contains("inside")) ?? lines[cueAt(cues, hit.start)];
  requestAnimationFrame(() => { if (first) root.scrollTop = first.offsetTop - root.offsetTop; });
  let now = -1;
  player()?.addEventListener("timeupdate", (event) => {
    const at = cueAt(cues, /** @type {HTMLVideoElement} */ (event.target).currentTime);
    if (at === now) return;
    lines[now]?.removeAttribute("aria-current");
    lines[at]?.setAttribute("aria-current", "true");
    now = at;
  });
  return root;
}

/**
 * Play on from a time, with its sound, past the end of the shot.
 * @param {HTMLVideoElement | null} video
 * @param {number} time
 */
function playFrom(video, time) {
  if (!video) return;
  video.dataset.free = "yes";
  video.muted = false;
  video.currentTime = time;
  video.play().catch(() => {}); // a browser may want a click on the player itself first
}
