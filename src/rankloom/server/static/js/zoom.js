// Closer looks at a picture: how it lies in its frame. Numbers alone; the stage draws them.

/** @typedef {{ width: number, height: number }} Size */
/** @typedef {{ x: number, y: number }} Point pixels right of and below the middle of the frame */
/**
 * How a picture is shown: so many times as large as it fits, and so many pixels away from the middle.
 * @typedef {{ scale: number } & Point} View
 */

/** @type {Readonly<View>} */
export const WHOLE = Object.freeze({ scale: 1, x: 0, y: 0 });
const LEAST_MOST = 4, MOST = 32; // bounds of the largest scale
const PIXELS = 4; // of the frame, that a pixel of the picture may have in each direction

/** @param {number} value @param {number} low @param {number} high */
const between = (value, low, high) => Math.max(low, Math.min(high, value));

/** The size at which a picture fits its frame. @param {Size} frame @param {Size} picture @returns {Size} */
export function fitted(frame, picture) {
  const ratio = Math.min(frame.width / picture.width, frame.height / picture.height);
  return { width: ratio * picture.width, height: ratio * picture.height };
}

/** The largest scale. @param {Size} frame @param {Size} picture */
export function largest(frame, picture) {
  return between((PIXELS * picture.width) / fitted(frame, picture).width, LEAST_MOST, MOST);
}

/**
 * The nearest view without a gap between picture and frame where the picture is larger.
 * @param {View} view
 * @param {Size} frame
 * @param {Size} picture
 * @returns {View}
 */
export function within(view, frame, picture) {
  const scale = between(view.scale, 1, largest(frame, picture));
  const { width, height } = fitted(frame, picture);
  const x = Math.max(0, (scale * width - frame.width) / 2);
  const y = Math.max(0, (scale * height - frame.height) / 2);
  return { scale, x: between(view.x, -x, x), y: between(view.y, -y, y) };
}

/**
 * Closer or farther; what is at a point stays there, as far as the bounds allow.
 * @param {View} view
 * @param {number} factor
 * @param {Point} at
 * @param {Size} frame
 * @param {Size} picture
 */
export function zoomed(view, factor, at, frame, picture) {
  const scale = between(view.scale * factor, 1, largest(frame, picture));
  const by = scale / view.scale;
  return within({ scale, x: at.x - by * (at.x - view.x), y: at.y - by * (at.y - view.y) }, frame, picture);
}

/**
 * Whether a view shows more than an image has that is smaller than the picture.
 * @param {View} view
 * @param {Size} frame
 * @param {Size} picture
 * @param {number} loaded the width of the image
 * @param {number} density pixels of the screen in one of the frame
 */
export function wantsOriginal(view, frame, picture, loaded, density) {
  const shown = view.scale * fitted(frame, picture).width * density;
  return view.scale > 1 && picture.width > loaded && shown > loaded;
}
