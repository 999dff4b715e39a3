// The tab "Places": groups of items on a map, and the same groups as a list.

import { thumbnail } from "./addresses.js";
import { $, announce, attempt, button, errorLine, h, iconButton, put } from "./dom.js";
import { coordinates } from "./format.js";
import { t, tn } from "./i18n.js";
import { WorldMap } from "./map.js";
import { boxFrom, boxText, gridOf, LARGEST, onScreen } from "./mercator.js";
import { listed } from "./query.js";
import { save } from "./saving.js";

/** @import { Api, Cluster, Places, State, Store } from "./types.js" */
/** @import { Box } from "./mercator.js" */
/** @import { Work } from "./work.js" */

const PAUSE = 150; // milliseconds that the map rests before places are asked for
const LISTED = 60; // groups in the list
const ROOM = 34; // pixels from the middle of a marker to the end of its number
const TINY = 0.0005; // degrees: a group that is no wider is one place

/**
 * @typedef {object} Parts
 * @property {Api} api
 * @property {Store<State>} store
 * @property {Work} work
 * @property {(within: string) => void} show lists the items inside a rectangle; "" takes it away
 */

export class Atlas {
  /** @param {Parts} parts */
  constructor(parts) {
    this.parts = parts;
    this.root = $("view-places");
    /** Where to look first. @type {Box | null} */
    this.wanted = null;
    this.asked = 0;
    this.seen = false;
    /** @type {Cluster[]} */
    this.clusters = [];
    this.map = new WorldMap({ moved: () => this.soon(), drawn: (box) => this.choose(box) });
    this.note = h("div", {});
    this.said = h("p", { class: "muted", role: "status" });
    this.list = h("ul", { class: "place-list", "aria-label": t("Places") });
    this.clear = button(t("Anywhere"), { kind: "small quiet", onclick: () => parts.show("") });
    this.body = this.makeBody();
    put(this.root, h("h2", {}, t("Places")), this.note, this.body);
  }

  /** A place to show when the tab is opened. @param {number} latitude @param {number} longitude */
  lookAt(latitude, longitude) {
    const near = 0.2; // degrees
    this.wanted = {
      west: longitude - near, south: latitude - near, east: longitude + near, north: latitude + near,
    };
  }

  /** The tab is seen. */
  async open() {
    const { map } = this;
    map.load();
    const { within } = this.parts.store.state.query.filters;
    map.marked = within ? boxFrom(within) : null;
    try {
      const { extent, total, items } = await this.ask();
      this.body.hidden = !total;
      put(this.note, total ? null : this.nothing(items));
      if (!total) return;
      const first = this.wanted ?? map.marked ?? (this.seen ? null : boxFrom(extent ?? ""));
      this.wanted = null;
      this.seen = true;
      if (first) map.fit(first);
      else map.show(map.view);
    } catch (error) {
      put(this.note, errorLine(error));
    }
  }

  makeBody() {
    const { map } = this;
    const drawing = button(t("Draw a rectangle"), {
      kind: "small", "aria-pressed": "false", onclick: () => {
        map.drawing = !map.drawing;
        drawing.setAttribute("aria-pressed", String(map.drawing));
        map.root.classList.toggle("drawing", map.drawing);
      },
    });
    return h("div", { class: "places" },
      h("div", { class: "map-tools" },
        iconButton("minus", t("Zoom out"), { onclick: () => map.zoom(0.5) }),
        iconButton("plus", t("Zoom in"), { onclick: () => map.zoom(2) }),
        button(t("All places"), { kind: "small", onclick: () => this.fitAll() }),
        button(t("Search in this view"), { kind: "small primary", onclick: () => this.choose(map.box) }),
        drawing, this.clear),
      map.root,
      h("p", { class: "hint", id: "map-keys" },
        matchMedia("(hover: none)").matches ? t("One finger moves the map, two zoom.")
          : [t("Arrows move the map, + and - zoom, Enter searches in this view."), " ",
            t("Shift and a drag draw a rectangle.")]),
      this.said, this.list);
  }

  /** @param {number} items */
  nothing(items) {
    const { api, work, store } = this.parts;
    const again = () => save(api.index(), { done: () => work.ask() });
    return h("div", { class: "notice" },
      h("h3", {}, items ? t("No item says where it was taken") : t("There is nothing to show on the map")),
      h("p", {}, t("Phones and cameras with GPS write the place into their pictures and videos.")),
      h("p", {}, t("Files indexed by an earlier version: look for changes once, and their places are read.")),
      store.state.readOnly ? null
        : h("div", { class: "buttons" }, button(t("Look for changes"), { kind: "primary", onclick: again })));
  }

  /** The places of a part of the map; without one those of the whole world. */
  ask(grid = { box: /** @type {Box | null} */ (null), columns: 1, rows: 1 }) {
    const view = grid.box ? boxText(grid.box) : "";
    const { columns, rows } = grid;
    return this.parts.api.places({ ...listed(this.parts.store.state), within: "", view, columns, rows });
  }

  /** Ask for what is seen, once the map rests. */
  soon() {
    this.place();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), PAUSE);
  }

  async load() {
    const { map } = this;
    if (this.root.hidden) return;
    const number = this.asked += 1;
    await attempt(async () => {
      const places = await this.ask(gridOf(map.view, map.width, map.height));
      if (number === this.asked) this.draw(places);
    });
  }

  /** @param {Places} places */
  draw({ clusters, total, items }) {
    this.clusters = clusters;
    const { map } = this;
    put(map.markers, clusters.map((cluster) => this.marker(cluster)));
    this.place();
    const here = clusters.reduce((sum, { size }) => sum + size, 0);
    const text = [
      tn(here, "{n} item here.", "{n} items here."),
      t("{total} of {items} items say where they were taken.", { total, items }),
    ].join(" ");
    if (this.said.textContent !== text) this.said.textContent = text;
    this.clear.hidden = !this.parts.store.state.query.filters.within;
    put(this.list, clusters.slice(0, LISTED).map((cluster) => this.line(cluster)));
  }

  /** Put the markers where they belong. */
  place() {
    const { map } = this;
    [...map.markers.children].forEach((element, i) => {
      const cluster = this.clusters[i];
      if (!cluster || !(element instanceof HTMLElement)) return;
      const { left: at, top } = onScreen(map.view, map.width, map.height, cluster);
      // Where the whole world is seen, what is at the date line shows whole, too.
      const left = map.view.scale > map.width ? at : Math.max(ROOM, Math.min(map.width - ROOM, at));
      element.style.left = `${left.toFixed(1)}px`;
      element.style.top = `${top.toFixed(1)}px`;
    });
  }

  /** @param {Cluster} cluster */
  marker(cluster) {
    const onclick = () => this.enter(cluster);
    return h("button", { type: "button", class: "marker", tabindex: "-1", onclick },
      h("img", { src: thumbnail(cluster.item), alt: "", draggable: "false" }),
      cluster.size > 1 ? h("span", {}, short(cluster.size)) : null);
  }

  /** @param {Cluster} cluster */
  line(cluster) {
    const { size, item, latitude, longitude } = cluster;
    const where = coordinates(latitude, longitude);
    const many = tn(size, "{n} item", "{n} items");
    return h("li", {},
      h("button", {
        type: "button", class: "place", onclick: () => this.parts.show(boxText(padded(cluster))),
        "aria-label": t("Show {items} at {where}", { items: many, where }),
      }, h("img", { src: thumbnail(item), alt: "", loading: "lazy" }),
      h("span", {}, h("strong", {}, many), h("small", {}, where))),
      this.spread(cluster) ? iconButton("plus", t("Zoom in at {where}", { where }), {
        onclick: () => { this.enter(cluster); this.map.root.focus(); },
      }) : null);
  }

  /** Whether zooming in takes a group apart. @param {Cluster} cluster */
  spread({ size, within }) {
    const box = boxFrom(within);
    const wide = box ? Math.max(box.east - box.west, box.north - box.south) : 0;
    return size > 1 && wide > TINY && this.map.view.scale < LARGEST;
  }

  /** Zoom to a group, or list it where it is one place. @param {Cluster} cluster */
  enter(cluster) {
    const box = boxFrom(cluster.within);
    if (!box || !this.spread(cluster)) this.parts.show(boxText(padded(cluster)));
    else {
      this.map.fit(box);
      announce(t("The map shows {where}.", { where: coordinates(cluster.latitude, cluster.longitude) }));
    }
  }

  fitAll() {
    return attempt(async () => {
      const { extent } = await this.ask();
      const box = boxFrom(extent ?? "");
      if (box) this.map.fit(box);
    });
  }

  /** @param {Box} box */
  choose(box) { this.parts.show(boxText(box)); }
}

/**
 * A place as a button that shows it on the map.
 * @param {{ latitude: number, longitude: number }} place
 * @param {() => void} onclick
 */
export const placeLink = ({ latitude, longitude }, onclick) => h("button", {
  type: "button", class: "link place-link", onclick, title: t("Show it on the map"),
}, coordinates(latitude, longitude));

/** The rectangle of a group with a little room for rounding. @param {Cluster} cluster */
function padded({ within, latitude, longitude }) {
  const box = boxFrom(within) ?? { west: longitude, east: longitude, south: latitude, north: latitude };
  const room = 0.00002;
  return {
    west: box.west - room, south: Math.max(-90, box.south - room), east: box.east + room,
    north: Math.min(90, box.north + room),
  };
}

/** A number that fits on a marker. @param {number} n */
const short = (n) => (n < 10_000 ? String(n) : `${Math.round(n / 1000)}k`);
