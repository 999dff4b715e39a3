// One item large: the picture, or just its shot of the video; its other shots; what is known of it.

import { placeLink } from "./atlas.js";
import { file, thumbnail, view } from "./addresses.js";
import { $, button, errorLine, h, iconButton, put } from "./dom.js";
import { clock, date, table, title } from "./format.js";
import { isRight, isWrong } from "./marking.js";
import { KINDS, overlay, transcript } from "./places.js";
import { shotPlayer } from "./player.js";
import { isList } from "./query.js";
import { t } from "./i18n.js";

/** @import { NotesEditor } from "./notes.js" */
/** @import { Hit, Item, State, Store } from "./types.js" */

const SOURCES = table({
  caption: "Caption", embedded: "In the file", sidecar: "Beside the file", subtitle: "Subtitle",
  ocr: "Text in it", speech: "Said in it", people: "People",
});
const OMITTED = ["name", "folder", "speech", "owner", "owner_tag"]; // texts that stand elsewhere
const TYPED = "input, select, textarea, video"; // what has keys of its own
const GONE = "It was deleted, moved or changed since it was indexed. "
  + "Look for changes in the tab Collection to bring the collection up to date.";

export class Viewer {
  /**
   * @param {Store<State>} store
   * @param {NotesEditor} notes
   * @param {object} actions
   * @param {(id: number) => Promise<Item>} actions.details
   * @param {(index: number, focus?: boolean) => void} actions.select makes a result the current one
   * @param {(hit: Hit, grade: 0 | 1) => void} actions.mark
   * @param {() => void} actions.undo
   * @param {(hit: Hit) => void} actions.similar
   * @param {(hit: Hit) => void} actions.why
   * @param {(hit: Hit, stars: number) => Promise<void>} actions.rate
   * @param {(hit: Hit) => void} actions.hide
   * @param {(place: Item["place"]) => void} actions.showPlace shows a place on the map
   * @param {(index: number) => Promise<Hit | undefined>} actions.at the result at a place, fetched if need be
   */
  constructor(store, notes, actions) {
    this.store = store;
    this.notes = notes;
    this.actions = actions;
    this.dialog = $("viewer");
    /** @type {any} the hit that is shown; null before the first */
    this.hit = null;
    /** @type {Item | null} */
    this.item = null;
    /** What is done once the viewer is closed. @type {(() => void) | null} */
    this.next = null;
    this.leaving = false;
    /** The kinds of boxes that are shown. @type {Set<string>} */
    this.kinds = new Set();
    this.listen();
    store.watch(["grades"], ({ grades }, before) => {
      const id = this.hit?.id;
      if (this.dialog.open && grades.get(id) !== before.grades.get(id)) this.draw();
    });
  }

  /** What is shown of the hit may have changed: its caption. @param {State} state */
  follow({ hits }) {
    const hit = this.dialog.open ? hits.find((other) => other?.id === this.hit.id) : undefined;
    if (!hit || hit === this.hit) return;
    this.hit = hit;
    put(this.dialog.querySelector("h2"), title(hit));
  }

  listen() {
    this.store.watch(["hits"], (state) => this.follow(state));
    // The viewer is a step of the history: Back closes it, and closing it takes the step back.
    addEventListener("popstate", (event) => {
      if (!this.leaving && !this.dialog.open) return;
      event.stopImmediatePropagation(); // the search behind it stays as it is
      if (!this.leaving) return this.dialog.close();
      this.leaving = false;
      this.goOn();
    });
    if (history.state?.viewer) history.replaceState(null, "");
    this.dialog.addEventListener("click", (/** @type {Event} */ event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
    this.dialog.addEventListener("close", () => this.closed());
    this.dialog.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
  }

  closed() {
    put(this.dialog);
    this.item = null;
    this.actions.select(Math.max(0, this.place())); // the browser went back to the one before
    if (!history.state?.viewer) return this.goOn();
    this.leaving = true;
    history.back();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || target.matches(TYPED)) return;
    const right = () => this.mark(1), wrong = () => this.mark(0);
    const action = table({
      ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), r: right, "+": right, w: wrong,
      "-": wrong, u: () => this.actions.undo(), s: () => this.leave(this.actions.similar),
      e: () => this.leave(this.actions.why), o: () => this.dialog.close(),
      t: () => this.toggle("ocr"), f: () => this.toggle("face"), h: () => this.hide(),
      ...Object.fromEntries([0, 1, 2, 3, 4, 5].map((stars) => [String(stars), () => this.rate(stars)])),
    })[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  /** @param {Hit} hit */
  async open(hit) {
    this.hit = hit;
    this.item = null;
    this.draw();
    if (!this.dialog.open) {
      history.pushState({ viewer: true }, "");
      this.dialog.showModal();
      this.focus("right");
    }
    try {
      const item = await this.actions.details(hit.id);
      if (this.hit.id !== hit.id) return;
      this.item = item;
      this.draw();
    } catch (error) {
      this.dialog.querySelector(".about")?.append(errorLine(error));
    }
  }

  /** The place of what is shown among the results; -1 for a shot that is none of them. */
  place() { return this.store.state.hits.findIndex((hit) => hit?.id === this.hit.id); }

  /** @param {-1 | 1} by */
  async step(by) {
    const place = this.place() + by, before = this.hit;
    const hit = this.place() < 0 ? undefined : await this.actions.at(place);
    if (!hit || this.hit !== before || !this.dialog.open) return;
    this.actions.select(place, false);
    this.open(hit);
  }

  /** @param {0 | 1} grade */
  mark(grade) { if (!this.store.state.readOnly) this.actions.mark(this.hit, grade); }

  /** @param {number} stars */
  async rate(stars) {
    const { item, hit } = this;
    if (this.store.state.readOnly || !item) return;
    await this.actions.rate(hit, stars);
    item.notes.stars = stars;
    if (this.item === item) this.notes.draw(hit, item);
  }

  hide() { if (!this.store.state.readOnly) this.leave(this.actions.hide); }

  /** Close, and then do something with the item. @param {(hit: Hit) => void} action */
  leave(action) {
    const { hit } = this;
    this.next = () => action(hit);
    this.dialog.close();
  }

  goOn() {
    const action = this.next;
    this.next = null;
    action?.();
  }

  isGone() { return this.item?.id === this.hit.id && !this.item?.files.some((file) => file.there); }

  /** The button with this name, or the one that closes. @param {string} name */
  focus(name) {
    const named = this.dialog.querySelector(`[data-name="${name}"]:not([disabled])`);
    (named ?? this.dialog.querySelector(".shut")).focus();
  }

  draw() {
    const { hit, item, dialog } = this;
    if (!hit) return;
    const index = this.place(), atEnd = index < 0 || index + 1 >= this.store.state.hits.length;
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focused = dialog.contains(active) ? active.dataset.name : null;
    /** @param {string} name @param {string} symbol @param {string} label @param {object} props */
    const corner = (name, symbol, label, props) =>
      iconButton(symbol, label, { class: `icon-button ${name}`, "data-name": name, ...props });
    const what = isList(this.store.state.query) ? "Item" : "Result";
    dialog.setAttribute("aria-label", `${what} ${hit.rank}: ${title(hit)}`);
    const media = this.media(), boxes = this.isGone() ? [] : this.boxes(...this.kinds);
    const said = item?.speech.length && !this.isGone()
      ? transcript(item.speech, hit, () => dialog.querySelector("video")) : null;
    dialog.classList.toggle("with-transcript", Boolean(said));
    put(dialog,
      h("div", { class: "stage" }, media, boxes.length ? overlay(hit, boxes) : null), said,
      corner("before", "prev", "Result before", { disabled: index <= 0, onclick: () => this.step(-1) }),
      corner("after", "next", "Next result", { disabled: atEnd, onclick: () => this.step(1) }),
      corner("shut", "wrong", "Close", { onclick: () => dialog.close() }),
      h("div", { class: "about" },
        h("h2", {}, title(hit)), this.tools(), item ? this.notes.show(hit, item) : null,
        this.facts(),
        item && item.shots.length > 1 ? this.strip(item.shots) : null));
    if (this.notes.root.contains(active)) active.focus();
    else this.focus(focused ?? "right");
  }

  tools() {
    const { state } = this.store;
    const listed = isList(state.query), marking = !state.readOnly && !listed;
    /** @param {string} name @param {string} text @param {() => void} onclick @param {object} props */
    const tool = (name, text, onclick, props = {}) =>
      button(text, { symbol: name, "data-name": name, onclick, ...props });
    const right = String(isRight(state, this.hit.id)), wrong = String(isWrong(state, this.hit.id));
    return h("div", { class: "buttons" },
      marking ? tool("right", "Right", () => this.mark(1), { kind: "right", "aria-pressed": right }) : null,
      marking ? tool("wrong", "Wrong", () => this.mark(0), { kind: "wrong", "aria-pressed": wrong }) : null,
      tool("similar", "More like this", () => this.leave(this.actions.similar)),
      listed ? null : tool("why", "Why here", () => this.leave(this.actions.why)),
      state.readOnly ? null : tool("hide", this.hit.hidden ? "Show again" : "Hide", () => this.hide()),
      this.isGone() ? null : KINDS.map((shown) => this.switch(shown)));
  }

  /**
   * The button that shows where things of a kind are; none if there are none.
   * @param {typeof KINDS[0]} shown
   */
  switch({ kind, symbol, title, words }) {
    const n = this.boxes(kind).length;
    return n ? button(`${title} ${n}`, {
      symbol, kind: "show", "data-name": symbol, "aria-pressed": String(this.kinds.has(kind)),
      title: `Show where the ${words} are`, onclick: () => this.toggle(kind),
    }) : null;
  }

  /** The places of some kinds of things. @param {...string} kinds */
  boxes(...kinds) { return (this.item?.boxes ?? []).filter(({ kind }) => kinds.includes(kind)); }

  /**
   * Show or hide where things are; in a video this is known of one frame, at which it stops.
   * @param {string} kind
   */
  toggle(kind) {
    const places = this.boxes(kind), video = this.dialog.querySelector("video");
    if (!places.length) return;
    if (!this.kinds.delete(kind)) this.kinds.add(kind);
    if (video && this.kinds.has(kind)) {
      video.pause();
      video.currentTime = places[0].time;
      video.addEventListener("play", () => { this.kinds.clear(); this.draw(); }, { once: true });
    }
    this.draw();
  }

  media() {
    const { hit } = this;
    if (this.isGone()) return this.gone();
    const same = this.dialog.querySelector(".stage > *");
    if (same?.dataset.item === String(hit.id)) return same;
    if (hit.kind === "shot") return shotPlayer(hit);
    return h("img", { src: view(hit.id), alt: title(hit), "data-item": hit.id });
  }

  /** In place of a picture whose file was deleted, moved or changed. */
  gone() {
    const { hit, item } = this;
    const paths = (item?.files ?? []).map(({ folder, name }) => `${folder}/${name}`);
    return h("div", { class: "gone", "data-item": `gone ${hit.id}` },
      h("img", { src: thumbnail(hit.id), alt: title(hit) }),
      h("div", { role: "status" }, h("strong", {}, "This file is gone"),
        paths.map((path) => h("span", { class: "path" }, path)), h("span", {}, GONE)));
  }

  facts() {
    const { hit, item } = this;
    const texts = (item?.texts ?? []).filter(({ source }) => !OMITTED.includes(source));
    const written = texts.filter(({ source }) => source !== "tag");
    const tags = texts.filter(({ source }) => source === "tag");
    const copies = item?.files.length ?? 1;
    const rows = [
      ["Taken", date(hit.taken)], ["Size", `${hit.width} × ${hit.height}`], ["Folder", hit.folder],
      ["File", hit.name],
      ["Shot", hit.kind === "shot" ? `${clock(hit.start)} to ${clock(hit.end)}` : ""],
      [t("Place"), item?.place
        ? placeLink(item.place, () => this.leave(() => this.actions.showPlace(item.place))) : ""],
      ["Faces", item?.faces ? String(item.faces) : ""],
      ...written.map(({ source, text }) => [SOURCES[source] ?? source, text]),
      ["Automatic", tags.map(({ text }) => text).join(", ")],
      ["Copies", copies > 1 ? String(copies) : ""],
      ["Original", this.isGone() ? "" : h("a", {
        href: file(hit.id), target: "_blank", rel: "noreferrer",
      }, "open the file")],
    ];
    return h("dl", {}, rows.filter(([, value]) => value)
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  /** @param {Item["shots"]} shots */
  strip(shots) {
    const { hits } = this.store.state;
    /** @param {Item["shots"][0]} shot */
    const hitOf = (shot) => hits.find((hit) => hit?.id === shot.id) ?? { ...this.hit, ...shot, mark: null };
    return h("div", { class: "strip-box" }, h("h3", {}, `${shots.length} shots of this video`),
      h("ol", { class: "strip" }, shots.map((shot) => h("li", {}, h("button", {
        type: "button", "aria-current": shot.id === this.hit.id ? "true" : null,
        "aria-label": `Shot from ${clock(shot.start)} to ${clock(shot.end)}`,
        onclick: () => this.open(hitOf(shot)),
      }, h("img", { src: thumbnail(shot.id), alt: "" }), h("span", {}, clock(shot.start)))))));
  }
}
