// Parts of pictures as examples: small ones in chips, a sheet that asks for one, a frame of a player.

import { announce, button, h, toast } from "./dom.js";
import { t } from "./i18n.js";
import { inWords, Picker } from "./picker.js";
import { openSheet } from "./sheets.js";

/** @import { Region } from "./types.js" */

const CHIP = 72; // pixels of a square, for screens with two a point
const QUALITY = 0.92; // of a JPEG

/**
 * A part of a picture as a small square.
 * @param {string} address
 * @param {Region} region
 * @param {string} label
 */
export function partPicture(address, [left, top, right, bottom], label) {
  const canvas = h("canvas", { width: CHIP, height: CHIP, role: "img", "aria-label": label });
  const image = new Image();
  image.addEventListener("load", () => {
    const width = (right - left) * image.naturalWidth, height = (bottom - top) * image.naturalHeight;
    const side = Math.min(width, height); // as object-fit: cover
    const x = left * image.naturalWidth + (width - side) / 2;
    const y = top * image.naturalHeight + (height - side) / 2;
    canvas.getContext("2d")?.drawImage(image, x, y, side, side, 0, 0, CHIP, CHIP);
  });
  image.src = address;
  return canvas;
}

/**
 * A part of the frame at which a player stands, as a JPEG.
 * @param {HTMLVideoElement} video
 * @param {Region} region
 * @returns {Promise<Blob>}
 */
export function framePart(video, [left, top, right, bottom]) {
  const { videoWidth, videoHeight } = video;
  const x = left * videoWidth, y = top * videoHeight;
  const width = Math.max(1, Math.round((right - left) * videoWidth));
  const height = Math.max(1, Math.round((bottom - top) * videoHeight));
  const canvas = h("canvas", { width, height });
  canvas.getContext("2d")?.drawImage(video, x, y, width, height, 0, 0, width, height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob) resolve(blob);
      else reject(new Error(t("This browser does not give out the frame of a video.")));
    }, "image/jpeg", QUALITY);
  });
}

/**
 * Ask for a part of a picture; null is the whole of it.
 * @param {string} address
 * @param {Region | null} region what is chosen already
 * @param {(region: Region | null) => void} done
 */
export async function askPart(address, region, done) {
  const image = h("img", { src: address, alt: "", draggable: "false" });
  if (!await image.decode().then(() => true, () => false)) {
    return toast(t("The picture is not there any more."), "bad");
  }
  const size = { width: image.naturalWidth, height: image.naturalHeight };
  openSheet(t("A part of the picture"), (close) => {
    const take = () => { if (picker.region) { close(); done(picker.region); } };
    const use = button(t("Search this part"), { kind: "primary", disabled: !region, onclick: take });
    const picker = new Picker(size, region, (chosen, settled) => {
      use.disabled = false;
      if (settled) announce(inWords(chosen));
    });
    picker.root.addEventListener("keydown", (event) => {
      if (event.key === "Enter") take();
      if (event.key === "Enter" || picker.key(event)) event.preventDefault();
    });
    requestAnimationFrame(() => picker.root.focus());
    return [
      h("p", { class: "hint" }, t("Draw a rectangle, or move it with the arrows and resize it with Shift.")),
      h("div", { class: "part-frame" }, image, picker.root),
      h("div", { class: "buttons" }, use,
        region ? button(t("The whole picture"), { onclick: () => { close(); done(null); } }) : null),
    ];
  });
}
