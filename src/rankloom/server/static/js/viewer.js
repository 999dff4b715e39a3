// One item large: the picture, or just its shot of the video; its other shots; what is known of it.

import { KINDS } from "./boxes.js";
import { $, announce, button, errorLine, h, iconButton, put } from "./dom.js";
import { facts, fileTools } from "./facts.js";
import { table, title } from "./format.js";
import { t } from "./i18n.js";
import { lettersOff } from "./keys.js";
import { Layer } from "./layer.js";
import { gradeOf, isRight, isWrong } from "./marking.js";
import { isList } from "./query.js";
import { Stage } from "./stage.js";
import { StandingPanel } from "./standing.js";
import { Strip } from "./strip.js";

/** @import { NotesEditor } from "./notes.js" */
/** @import { Api, Hit, Item, Region, State, Store } from "./types.js" */

const TYPED = "input, select, textarea, video"; // what has keys of its own

export class Viewer {
  /**
   * @param {Store<State>} store
   * @param {NotesEditor} notes
   * @param {Pick<Api, "item" | "explain" | "reveal">} api
   * @param {object} actions
   * @param {(index: number, focus?: boolean) => void} actions.select makes a result the current one
   * @param {(hit: Hit, grade: 0 | 1) => void} actions.mark
   * @param {() => void} actions.undo
   * @param {(hit: Hit) => void} actions.similar
   * @param {(hit: Hit, region: Region, frame: HTMLVideoElement | null) => () => void} actions.part
   * prepares a search with a part of an item, or of a frame of its video
   * @param {(hit: Hit) => void} actions.why
   * @param {(hit: Hit) => void} actions.hide
   * @param {(place: Item["place"]) => void} actions.showPlace shows a place on the map
   * @param {(index: number) => Promise<Hit | undefined>} actions.at the result at a place, fetched if need be
   */
  constructor(store, notes, api, actions) {
    this.store = store;
    this.notes = notes;
    this.api = api;
    this.actions = actions;
    this.dialog = $("viewer");
    this.layer = new Layer(this.dialog, () => this.closed());
    /** @type {any} the hit that is shown; null before the first */
    this.hit = null;
    /** @type {Item | null} */
    this.item = null;
    /** The kinds of boxes that are shown. @type {Set<string>} */
    this.kinds = new Set();
    /** @type {Strip | null} */
    this.strip = null;
    this.standing = new StandingPanel(store, api);
    this.stage = new Stage({
      step: (by) => this.step(by), close: () => this.dialog.close(), searches: () => !store.state.readOnly,
      search: (region, frame) => {
        const search = actions.part(this.hit, region, frame); // while the frame is still there
        this.leave(search);
      },
    });
    this.about = h("div", { class: "about" });
    this.listen();
    store.watch(["grades", "pending"], (state, before) => {
      const id = this.hit?.id;
      if (this.dialog.open && gradeOf(state, id) !== gradeOf(before, id)) this.draw();
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
    this.store.watch(["revision"], () => { if (this.dialog.open) this.standing.show(this.hit); });
    this.dialog.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
  }

  closed() {
    if (document.fullscreenElement) document.exitFullscreen();
    this.stage.clear();
    put(this.dialog);
    this.strip = null;
    this.item = null;
    this.actions.select(Math.max(0, this.place())); // the browser went back to the one before
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || target.matches(TYPED)) return;
    const right = () => this.mark(1), wrong = () => this.mark(0), { stage } = this;
    const action = stage.key(event) ? () => {} : table({
      ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), r: right, "+": right, w: wrong,
      "-": wrong, u: () => this.actions.undo(), s: () => this.leave(this.actions.similar),
      e: () => this.leave(this.actions.why), o: () => this.dialog.close(),
      t: () => this.toggle("ocr"), f: () => this.toggle("face"), h: () => this.hide(),
      z: () => stage.closer(), x: () => stage.farther(), c: () => stage.whole(), p: () => stage.pick(),
      v: () => stage.fullScreen(), g: () => this.standing.toggle(),
      d: () => this.dialog.querySelector('[data-name="download"]')?.click(),
      ...Object.fromEntries([0, 1, 2, 3, 4, 5].map((stars) => [String(stars), () => this.rate(stars)])),
    })[event.key];
    if (!action || (/^[a-z]$/.test(event.key) && lettersOff())) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  /** @param {Hit} hit */
  async open(hit) {
    this.hit = hit;
    this.item = null;
    const opening = !this.dialog.open;
    if (opening) {
      put(this.dialog, this.stage.root, this.about,
        iconButton("wrong", t("Close"), {
          class: "icon-button shut", "data-name": "shut", onclick: () => this.dialog.close(),
        }));
      this.layer.open();
    }
    this.draw();
    if (opening) this.focus("right"); // not what the browser takes for the first control
    this.standing.show(hit);
    try {
      const item = await this.api.item(hit.id);
      if (this.hit.id !== hit.id || !this.dialog.open) return;
      this.item = item;
      this.draw();
      this.note(item);
    } catch (error) {
      this.about.append(errorLine(error));
    }
  }

  /** What was learned of an item while it was looked at: whether its file is gone. @param {Item} item */
  note(item) {
    const { gone } = this.store.state, there = item.files.some((file) => file.there);
    if (gone.has(item.id) !== there) return;
    const others = [...gone].filter((id) => id !== item.id);
    this.store.update({ gone: new Set(there ? others : [...others, item.id]) });
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
    announce(title(hit));
  }

  /** @param {0 | 1} grade */
  mark(grade) { if (!this.store.state.readOnly) this.actions.mark(this.hit, grade); }

  /** @param {number} stars */
  async rate(stars) {
    const { item, hit } = this;
    if (this.store.state.readOnly || !item) return;
    await this.notes.rate(hit, item, stars);
  }

  hide() { if (!this.store.state.readOnly) this.leave(this.actions.hide); }

  /** Close, and then do something with the item. @param {(hit: Hit) => void} action */
  leave(action) {
    const { hit } = this;
    this.layer.leave(() => action(hit));
  }

  /** The button with this name, or the one that closes. @param {string} name */
  focus(name) {
    const named = this.dialog.querySelector(`[data-name="${name}"]:not([disabled])`);
    (named ?? this.dialog.querySelector(".shut")).focus();
  }

  draw() {
    const { hit, item, dialog, stage } = this;
    if (!hit) return;
    const index = this.place();
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const inside = dialog.contains(active) && active !== dialog, focused = active.dataset.name;
    const place = { rank: hit.rank, title: title(hit) };
    dialog.setAttribute("aria-label", isList(this.store.state.query)
      ? t("Item {rank}: {title}", place) : t("Result {rank}: {title}", place));
    stage.show(hit, item, this.boxes(...this.kinds));
    stage.before.disabled = index <= 0;
    stage.after.disabled = index < 0 || index + 1 >= this.store.state.hits.length;
    this.drawStrip();
    put(this.about, h("h2", {}, title(hit)), this.tools(), item ? this.notes.show(hit, item) : null,
      facts(hit, item, (place) => this.leave(() => this.actions.showPlace(place))),
      fileTools(hit, item, stage.gone, this.api.reveal), this.standing.root);
    if (inside && active.isConnected && !/** @type {any} */ (active).disabled) active.focus();
    else this.focus(inside && focused ? focused : "right");
  }

  tools() {
    const { state } = this.store;
    const listed = isList(state.query), marking = !state.readOnly && !listed;
    /** @param {string} name @param {string} text @param {() => void} onclick @param {object} props */
    const tool = (name, text, onclick, props = {}) =>
      button(text, { symbol: name, "data-name": name, onclick, ...props });
    const right = { kind: "right", "aria-pressed": String(isRight(state, this.hit.id)) };
    const wrong = { kind: "wrong", "aria-pressed": String(isWrong(state, this.hit.id)) };
    return h("div", { class: "buttons" },
      marking ? tool("right", t("Right"), () => this.mark(1), right) : null,
      marking ? tool("wrong", t("Wrong"), () => this.mark(0), wrong) : null,
      tool("similar", t("More like this"), () => this.leave(this.actions.similar)),
      listed ? null : tool("why", t("Why here"), () => this.leave(this.actions.why)),
      state.readOnly ? null
        : tool("hide", this.hit.hidden ? t("Show again") : t("Hide"), () => this.hide()),
      this.stage.gone ? null : KINDS.map((shown) => this.switch(shown)));
  }

  /**
   * The button that shows where things of a kind are; none if there are none.
   * @param {typeof KINDS[0]} shown
   */
  switch({ kind, symbol, key, button: text, help }) {
    const n = this.boxes(kind).length;
    return n ? button(text(n), {
      symbol, kind: "show", "data-name": symbol, "aria-pressed": String(this.kinds.has(kind)),
      "aria-keyshortcuts": key, title: help, onclick: () => this.toggle(kind),
    }) : null;
  }

  /** The places of some kinds of things. @param {...string} kinds */
  boxes(...kinds) { return (this.item?.boxes ?? []).filter(({ kind }) => kinds.includes(kind)); }

  /**
   * Show or hide where things are; in a video this is known of one frame, at which it stops.
   * @param {string} kind
   */
  toggle(kind) {
    const places = this.boxes(kind), { video } = this.stage;
    if (!places.length) return;
    if (!this.kinds.delete(kind)) this.kinds.add(kind);
    if (video && this.kinds.has(kind)) {
      video.pause();
      video.currentTime = places[0].time ?? video.currentTime;
      video.addEventListener("play", () => { this.kinds.clear(); this.draw(); }, { once: true });
    }
    this.draw();
  }

  /** The shots of a video; drawn again only for another one. */
  drawStrip() {
    const { hit, item } = this;
    const shots = item?.shots ?? [], shown = !this.stage.gone && (shots.length > 1 || item?.speech.length);
    if (this.strip && item && this.strip.shown === hit.id) return;
    if (!item && this.strip?.shots.some(({ id }) => id === hit.id)) return; // its details are on their way
    this.strip?.root.remove();
    this.strip = null;
    this.dialog.classList.toggle("with-strip", Boolean(shown && item));
    if (!shown || !item) return;
    const { hits } = this.store.state;
    /** @param {Item["shots"][0]} shot */
    const hitOf = (shot) => hits.find((other) => other?.id === shot.id) ?? { ...hit, ...shot, mark: null };
    this.strip = new Strip(item, hit.id, {
      open: (shot) => this.open(hitOf(shot)), player: () => this.stage.video,
    });
    this.stage.root.after(this.strip.root);
    this.strip.reveal();
  }
}
