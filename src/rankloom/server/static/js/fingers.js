// Fingers and the mouse on the stage: two pinch, one pans a zoomed picture, or swipes to the next one.

const SWIPE = 60; // pixels
const TAP = 12, TWICE = 40; // pixels that a tap may move, and a second one be away
const AGAIN = 350; // milliseconds until a second tap is one of its own
const CONTROLS = 80; // pixels at the foot of a player that are its own

/** @typedef {{ x: number, y: number }} Point */
/**
 * @typedef {object} Actions
 * @property {() => boolean} busy somebody draws: fingers are not for us
 * @property {() => boolean} zoomed
 * @property {(x: number, y: number) => void} pan by so many pixels
 * @property {(factor: number, at: Point) => void} zoom
 * @property {(at: Point) => void} toggle between the whole picture and a closer look
 * @property {(by: Point) => void} follow shows how far a swipe is
 * @property {(by: -1 | 1) => void} step
 * @property {() => void} close
 */

/**
 * What a finger meant that went so far: to the next or the one before, to close, or nothing.
 * @param {number} x
 * @param {number} y
 * @returns {"next" | "before" | "close" | null}
 */
export function swipe(x, y) {
  if (Math.abs(x) > SWIPE && Math.abs(x) > 1.5 * Math.abs(y)) return x < 0 ? "next" : "before";
  return y > SWIPE && y > 1.5 * Math.abs(x) ? "close" : null;
}

/** @param {Point} a @param {Point} b */
const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

/** Whether a press belongs to something on the stage that has uses of its own. @param {PointerEvent} event */
function taken({ target, clientY, button, pointerType }) {
  const element = /** @type {Element} */ (target);
  const own = pointerType === "touch" ? "a, .tools" : "a, button, .tools"; // a swipe may begin on an arrow
  const player = element.closest("video");
  const low = player && player.getBoundingClientRect().bottom - clientY < CONTROLS;
  return button > 0 || low || element.closest(own) !== null;
}

export class Fingers {
  /** @param {HTMLElement} root @param {Actions} actions */
  constructor(root, actions) {
    this.root = root;
    this.actions = actions;
    /** Where the fingers are. @type {Map<number, Point>} */
    this.down = new Map();
    /** Where a swipe began. @type {Point | null} */
    this.start = null;
    this.tap = { x: 0, y: 0, at: -Infinity };
    this.touched = false;
    root.addEventListener("pointerdown", (event) => this.press(event));
    root.addEventListener("pointermove", (event) => this.move(event));
    root.addEventListener("pointerup", (event) => this.lift(event));
    root.addEventListener("pointercancel", (event) => this.stop(event));
    root.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    root.addEventListener("dblclick", (event) => {
      const ours = !this.touched && !actions.busy() && !taken(/** @type {any} */ (event));
      if (ours) actions.toggle({ x: event.clientX, y: event.clientY });
    });
  }

  /** @param {PointerEvent} event */
  press(event) {
    this.touched = event.pointerType === "touch"; // of which some browsers make a double click, others none
    if (this.actions.busy() || taken(event)) return;
    const at = { x: event.clientX, y: event.clientY };
    this.down.set(event.pointerId, at);
    const alone = this.down.size === 1 && event.pointerType !== "mouse";
    this.start = alone && !this.actions.zoomed() ? at : null;
    if (this.down.size > 1) this.actions.follow({ x: 0, y: 0 });
    const element = /** @type {Element} */ (event.target);
    if (!element.closest("video, button")) this.root.setPointerCapture(event.pointerId); // clicks stay theirs
  }

  /** @param {PointerEvent} event */
  move(event) {
    const before = this.down.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const [other] = [...this.down].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    this.down.set(event.pointerId, now);
    if (other) {
      const factor = distance(now, other) / Math.max(1, distance(before, other));
      this.actions.zoom(factor, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
      this.actions.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
    } else if (this.start) {
      this.actions.follow({ x: now.x - this.start.x, y: Math.max(0, now.y - this.start.y) });
    } else if (this.actions.zoomed()) {
      this.actions.pan(now.x - before.x, now.y - before.y);
    }
  }

  /** @param {PointerEvent} event */
  lift(event) {
    const { start } = this;
    if (!this.stop(event)) return;
    const now = { x: event.clientX, y: event.clientY };
    const meant = start && swipe(now.x - start.x, now.y - start.y);
    if (meant === "close") this.actions.close();
    else if (meant) this.actions.step(meant === "next" ? 1 : -1);
    else if (event.pointerType === "touch" && (!start || distance(start, now) < TAP)) this.tapped(event, now);
  }

  /** A finger is away; whether it was one of ours. @param {PointerEvent} event */
  stop(event) {
    const known = this.down.delete(event.pointerId);
    if (known && this.start) this.actions.follow({ x: 0, y: 0 });
    this.start = null;
    return known;
  }

  /** @param {PointerEvent} event @param {Point} now */
  tapped(event, now) {
    if (/** @type {Element} */ (event.target).closest("button")) return;
    const again = event.timeStamp - this.tap.at < AGAIN && distance(this.tap, now) < TWICE;
    this.tap = { ...now, at: again ? -Infinity : event.timeStamp };
    if (again) this.actions.toggle(now);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    const strength = event.ctrlKey ? 0.01 : 0.002; // pinching a touch pad makes small steps
    this.actions.zoom(Math.exp(-strength * pixels), { x: event.clientX, y: event.clientY });
  }
}
