// The stage of an opened item: its picture or player, closer looks, boxes over it, a part to search with.

import { file, thumbnail, view as viewAddress } from "./addresses.js";
import { overlay } from "./boxes.js";
import { announce, button, focusedName, focusNamed, h, iconButton, put, toast } from "./dom.js";
import { pathOf } from "./facts.js";
import { Fingers } from "./fingers.js";
import { title } from "./format.js";
import { locale, t } from "./i18n.js";
import { inWords, Picker } from "./picker.js";
import { shotPlayer } from "./player.js";
import { wantsOriginal, WHOLE, within, zoomed } from "./zoom.js";

/** @import { Box, Hit, Item, Region } from "./types.js" */
/** @import { Point, View } from "./zoom.js" */

const CLOSER = 1.5, TWICE = 2.5; // a step of a key, and of a double click
const PAN = 80; // pixels
const HAS_FRAME = 2; // of a player's ready states
const MOST_PIXELS = 120_000_000; // of an original that a browser is asked to decode
const GONE = t("It was deleted, moved or changed since it was indexed. "
  + "Look for changes in the tab Collection to bring the collection up to date.");

export class Stage {
  /**
   * @param {object} actions
   * @param {(by: -1 | 1) => void} actions.step to the next result, or the one before
   * @param {() => void} actions.close
   * @param {(region: Region, frame: HTMLVideoElement | null) => void} actions.search with a part of it
   * @param {() => boolean} actions.searches whether a part of a frame can be searched with
   */
  constructor(actions) {
    this.actions = actions;
    /** @type {any} the hit that is shown; null before the first */
    this.hit = null;
    this.gone = false;
    /** @type {View} */
    this.view = WHOLE;
    /** @type {Picker | null} while a part is chosen */
    this.picker = null;
    /** The item whose original was asked for. */
    this.original = 0;
    this.pane = h("div", { class: "pane" });
    this.tools = h("div", { class: "tools", role: "group", "aria-label": t("View") });
    this.before = this.corner("before", "prev", t("Result before"), () => actions.step(-1));
    this.after = this.corner("after", "next", t("Next result"), () => actions.step(1));
    this.root = h("div", { class: "stage" }, this.pane, this.before, this.after, this.tools);
    this.listen();
  }

  listen() {
    const { step, close } = this.actions;
    this.fingers = new Fingers(this.root, {
      busy: () => this.picker !== null, zoomed: () => this.view.scale > 1, step, close,
      pan: (x, y) => this.pan(x, y), zoom: (factor, at) => this.zoom(factor, this.fromMiddle(at)),
      toggle: (at) => this.toggle(this.fromMiddle(at)),
      follow: ({ x, y }) => { this.pane.style.translate = x || y ? `${x}px ${y}px` : ""; },
    });
    document.addEventListener("fullscreenchange", () => this.drawTools());
    new ResizeObserver(() => { if (this.zoomable) this.set(this.view); }).observe(this.root);
  }

  /** @param {string} name @param {string} symbol @param {string} label @param {() => void} onclick */
  corner(name, symbol, label, onclick) {
    return iconButton(symbol, label, { class: `icon-button ${name}`, "data-name": name, onclick });
  }

  get zoomable() { return this.hit?.kind === "picture" && !this.gone; }

  /** @returns {HTMLVideoElement | null} */
  get video() { return this.pane.querySelector("video"); }

  /** @param {Hit} hit @param {Item | null} item @param {Box[]} boxes those that are shown */
  show(hit, item, boxes) {
    const gone = item?.id === hit.id && !item.files.some(({ there }) => there);
    const another = this.hit?.id !== hit.id || this.gone !== gone || !this.pane.children.length;
    this.hit = hit;
    this.gone = gone;
    if (another) {
      this.original = 0;
      if (this.picker) this.unpick();
      put(this.pane, this.media(item));
      this.set(WHOLE);
      this.drawTools();
    }
    this.pane.querySelector(".boxes")?.remove();
    if (boxes.length && !gone) this.pane.append(overlay(hit, boxes));
  }

  clear() {
    this.hit = null;
    this.picker = null;
    put(this.pane);
  }

  /** @param {Item | null} item */
  media(item) {
    const { hit } = this;
    if (this.gone) return goneNotice(hit, item);
    if (hit.kind === "shot") return shotPlayer(hit);
    // The small picture is there at once, and stays until the large one is.
    const background = `url("${thumbnail(hit.id)}") center / contain no-repeat`;
    const image = h("img", {
      src: viewAddress(hit.id), alt: title(hit), "data-item": hit.id, draggable: "false",
      style: { background },
      onload: () => { image.style.background = ""; this.sharpen(); },
    });
    return image;
  }

  // Closer looks ------------------------------------------------------------------------------------------

  /** @param {Point} at on the screen @returns {Point} */
  fromMiddle({ x, y }) {
    const { left, top, width, height } = this.root.getBoundingClientRect();
    return { x: x - left - width / 2, y: y - top - height / 2 };
  }

  get frame() { return { width: this.root.clientWidth || 1, height: this.root.clientHeight || 1 }; }

  /** @param {number} factor @param {Point} at */
  zoom(factor, at = { x: 0, y: 0 }) {
    if (this.zoomable) this.set(zoomed(this.view, factor, at, this.frame, this.hit));
  }

  /** @param {number} x @param {number} y */
  pan(x, y) {
    if (this.zoomable) this.set({ ...this.view, x: this.view.x + x, y: this.view.y + y });
  }

  /** The whole picture, or a closer look at a point. @param {Point} at */
  toggle(at) {
    if (this.view.scale > 1) this.set(WHOLE);
    else this.zoom(TWICE, at);
  }

  /** @param {View} wanted */
  set(wanted) {
    this.view = this.zoomable ? within(wanted, this.frame, this.hit) : WHOLE;
    const { scale, x, y } = this.view;
    this.pane.style.transform = scale > 1 ? `translate(${x}px, ${y}px) scale(${scale})` : "";
    this.pane.style.setProperty("--zoom", String(scale));
    this.root.classList.toggle("zoomed", scale > 1);
    const shown = this.tools.querySelector("output");
    if (shown) shown.textContent = times(scale);
    this.sharpen();
  }

  /** Where more is shown than the server's view has, the original takes its place, if it can be read. */
  async sharpen() {
    const { hit } = this;
    const image = this.pane.querySelector("img");
    if (!this.zoomable || !image?.naturalWidth || this.original === hit.id) return;
    if (hit.width * hit.height > MOST_PIXELS) return;
    if (!wantsOriginal(this.view, this.frame, hit, image.naturalWidth, devicePixelRatio)) return;
    this.original = hit.id;
    const original = h("img", {
      src: file(hit.id), alt: image.alt, "data-item": hit.id, "data-original": "yes", draggable: "false",
    });
    // What the browser cannot decode, e.g. HEIC or TIFF, stays as the server shows it.
    const decoded = await original.decode().then(() => true, () => false);
    if (decoded && image.isConnected && this.hit?.id === hit.id) image.replaceWith(original);
  }

  // What is below the picture -----------------------------------------------------------------------------

  drawTools() {
    const focused = this.tools.contains(document.activeElement) ? focusedName() : undefined;
    if (this.gone || !this.hit) return put(this.tools);
    if (this.picker) return this.drawPicking();
    const full = document.fullscreenElement === this.root;
    const part = this.zoomable || (this.video && this.actions.searches());
    put(this.tools,
      this.zoomable ? [
        this.tool("zoom-out", t("Zoom out"), "X", () => this.farther()),
        h("output", { "aria-label": t("Size") }, times(this.view.scale)),
        this.tool("zoom-in", t("Zoom in"), "Z", () => this.closer()),
        this.tool("whole", t("Whole picture"), "C", () => this.whole()),
      ] : null,
      part ? this.tool("part", t("Search a part"), "P", () => this.pick()) : null,
      document.fullscreenEnabled
        ? this.tool("full", full ? t("Leave full screen") : t("Full screen"), "V", () => this.fullScreen())
        : null);
    focusNamed(this.tools, focused);
  }

  /** @param {string} symbol @param {string} label @param {string} key @param {() => void} onclick */
  tool(symbol, label, key, onclick) {
    return iconButton(symbol, label, {
      "data-name": symbol, title: `${label} (${key})`, "aria-keyshortcuts": key, onclick,
    });
  }

  closer() { this.zoom(CLOSER); this.sayZoom(); }
  farther() { this.zoom(1 / CLOSER); this.sayZoom(); }
  whole() { this.set(WHOLE); this.sayZoom(); }

  sayZoom() { if (this.zoomable) announce(t("Shown {times}", { times: times(this.view.scale) })); }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.root.requestFullscreen?.().catch(() => {}); // a browser may refuse
  }

  // A part ------------------------------------------------------------------------------------------------

  /** Begin to choose a part of the picture, or of the frame at which the player stops. */
  pick() {
    if (this.picker || this.gone || !(this.zoomable || (this.video && this.actions.searches()))) return;
    if (this.video && this.video.readyState < HAS_FRAME) {
      return toast(t("The video shows no frame yet: try again in a moment."), "bad");
    }
    this.video?.pause();
    this.picker = new Picker(this.hit, null, (region, settled) => {
      this.searchPart?.toggleAttribute("disabled", false);
      if (settled) announce(inWords(region));
    });
    this.pane.append(this.picker.root);
    this.root.classList.add("picking");
    this.drawTools();
    this.picker.root.focus();
    announce(t("Draw a rectangle over the picture, or use the arrows; Enter searches, Escape ends it."));
  }

  drawPicking() {
    this.searchPart = button(t("Search this part"), {
      symbol: "search", kind: "primary small", "data-name": "search-part", disabled: !this.picker?.region,
      onclick: () => this.picked(),
    });
    put(this.tools, h("span", { class: "say" }, t("Draw a rectangle")), this.searchPart,
      button(t("Cancel"), { kind: "small", onclick: () => this.unpick() }));
  }

  unpick() {
    this.picker?.root.remove();
    this.picker = null;
    this.root.classList.remove("picking");
    this.drawTools();
    focusNamed(this.tools, "part");
  }

  picked() {
    const region = this.picker?.region;
    if (!region) return;
    this.unpick();
    this.actions.search(region, this.video);
  }

  /** Take a key; whether it was one of ours. @param {KeyboardEvent} event */
  key(event) {
    const { picker } = this;
    if (picker) {
      if (event.key === "Escape") this.unpick();
      else if (event.key === "Enter" && !(event.target instanceof HTMLButtonElement)) this.picked();
      else if (!picker.key(event)) return false;
      return true;
    }
    const by = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!by || !event.shiftKey || this.view.scale === 1) return false;
    this.pan(PAN * by[0], PAN * by[1]);
    return true;
  }
}

/** @param {number} scale */
const times = (scale) => `${scale.toLocaleString(locale, { maximumFractionDigits: 1 })}×`;

/** In place of a picture whose file is gone. @param {Hit} hit @param {Item | null} item */
function goneNotice(hit, item) {
  return h("div", { class: "gone", "data-item": `gone ${hit.id}` },
    h("img", { src: thumbnail(hit.id), alt: title(hit) }),
    h("div", { role: "status" }, h("strong", {}, t("This file is gone")),
      (item?.files ?? []).map((known) => h("span", { class: "path" }, pathOf(known))), h("span", {}, GONE)));
}
