// A player of a shot: just this part of its video.

import { file, thumbnail } from "./addresses.js";
import { h } from "./dom.js";
import { lastFrame, title } from "./format.js";

/** @import { Hit } from "./types.js" */

/** A video that plays its shot and stops; who seeks elsewhere plays on. @param {Hit} hit */
export function shotPlayer(hit) {
  const { id, start, end } = hit;
  const last = lastFrame(start, end);
  // The fragment asks for just the shot; the listeners make sure of it in every browser.
  const video = h("video", {
    src: `${file(id)}#t=${start},${last}`, poster: thumbnail(id), controls: true, autoplay: true,
    playsinline: true, "data-item": id, "aria-label": title(hit),
  });
  video.muted = true;
  // Browsers tell the time a few times a second: what was played past the end goes back to the last frame.
  const stop = () => {
    if (video.dataset.free || video.currentTime < last) return;
    video.pause();
    if (video.currentTime > last) video.currentTime = last;
  };
  for (const event of ["timeupdate", "pause"]) video.addEventListener(event, stop);
  video.addEventListener("play", () => {
    if (video.currentTime >= last - 0.05 && !video.dataset.free) video.currentTime = start;
  });
  video.addEventListener("seeking", () => {
    if (video.currentTime < start - 0.5 || video.currentTime > end + 0.5) video.dataset.free = "yes";
  });
  return video;
}
