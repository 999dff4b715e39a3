// The strip of a video: all its shots, each with what is said in it; a line plays the video from there.

import { thumbnail } from "./addresses.js";
import { calm, h } from "./dom.js";
import { clock } from "./format.js";
import { t, tn } from "./i18n.js";

/** @import { Cue, Item } from "./types.js" */
/** @typedef {Item["shots"][0]} Shot */

/**
 * The last of some stretches that has begun at a time; -1 before the first.
 * @param {{ start: number }[]} stretches in their order
 * @param {number} time
 */
export function begunAt(stretches, time) {
  const after = stretches.findIndex(({ start }) => start > time + 0.05);
  return (after < 0 ? stretches.length : after) - 1;
}

/** What is said in each shot: a line stands where it begins. @param {Shot[]} shots @param {Cue[]} cues */
export function linesOf(shots, cues) {
  /** @type {Cue[][]} */
  const lines = shots.map(() => []);
  for (const cue of cues) lines[Math.max(0, begunAt(shots, cue.start))]?.push(cue);
  return lines;
}

export class Strip {
  /**
   * @param {Item} item
   * @param {number} shown the shot that is open
   * @param {{ open: (shot: Shot) => void, player: () => HTMLVideoElement | null }} actions
   */
  constructor({ shots, speech }, shown, { open, player }) {
    this.shots = shots;
    this.speech = speech;
    this.shown = shown;
    /** The place of the shot that is marked. @type {number | undefined} */
    this.current = undefined;
    this.player = player;
    /** @type {Map<Cue, HTMLElement>} */
    this.lines = new Map();
    const said = linesOf(shots, speech);
    this.tiles = shots.map((shot, i) => h("li", { class: said[i].length ? "shot told" : "shot" },
      h("button", {
        type: "button", class: "cut", "data-name": `shot-${shot.id}`,
        "aria-label": t("Shot from {start} to {end}", { start: clock(shot.start), end: clock(shot.end) }),
        onclick: () => open(shot),
      }, h("img", { src: thumbnail(shot.id), alt: "", loading: "lazy" }), h("span", {}, clock(shot.start))),
      said[i].length ? h("ol", { class: "lines" }, said[i].map((cue) => this.line(cue))) : null));
    const title = [
      tn(shots.length, "{n} shot", "{n} shots"), tn(speech.length, "{n} line is said", "{n} lines are said"),
    ];
    this.root = h("section", { class: "strip-box", "aria-label": t("Shots of this video, and what is said") },
      h("h3", {}, speech.length ? title.join(", ") : title[0]), h("ol", { class: "strip" }, this.tiles));
    player()?.addEventListener("timeupdate", () => this.follow());
    this.mark(shots.findIndex(({ id }) => id === shown));
  }

  /** @param {Cue} cue */
  line(cue) {
    const line = h("button", {
      type: "button", class: "cue", onclick: () => playFrom(this.player(), cue.start),
    }, h("span", { class: "when" }, clock(cue.start)), h("span", {}, cue.text));
    this.lines.set(cue, line);
    return h("li", {}, line);
  }

  /** The player is somewhere: in its own shot, or, if it plays on, in another. */
  follow() {
    const video = this.player();
    if (!video) return;
    const own = this.shots.findIndex(({ id }) => id === this.shown);
    this.mark(video.dataset.free ? begunAt(this.shots, video.currentTime) : own);
    const said = this.speech[begunAt(this.speech, video.currentTime)];
    for (const [cue, line] of this.lines) {
      if (cue === said) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  }

  /** Mark a shot as the current one, and bring it into view. @param {number} index */
  mark(index) {
    if (index === this.current) return;
    this.current = index;
    for (const [i, tile] of this.tiles.entries()) {
      const button = /** @type {HTMLElement} */ (tile.firstChild);
      if (i === index) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    this.reveal();
  }

  /** Bring the current shot into view. */
  reveal() {
    const tile = this.tiles[this.current ?? -1], row = tile?.parentElement;
    if (!tile || !row) return;
    const left = tile.offsetLeft - row.offsetLeft - (row.clientWidth - tile.offsetWidth) / 2;
    row.scrollTo({ left, behavior: calm() ? "auto" : "smooth" });
  }
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
