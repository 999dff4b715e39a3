// One item large: the picture, or just its shot of the video; the other shots on a strip; what is known of it.

import { get } from "./api.js";
import { $, button, clock, date, h, icon, put, table, thumbnail } from "./dom.js";
import { isRight, isWrong } from "./grid.js";
import { isList } from "./state.js";

const SOURCES = table({ caption: "Caption", embedded: "In the file", sidecar: "Beside the file", subtitle: "Subtitle", tag: "Automatic", name: "File name", folder: "Folder" });

/** `app` has `grid`, `mark`, `similar`, `why`, `readOnly`. */
export function makeViewer(app) {
  const dialog = $("viewer");
  let hit = null, item = null, next = null, leaving = false;

  // The viewer is a step of the history: Back closes it, and closing it takes the step back.
  addEventListener("popstate", (event) => {
    if (!leaving && !dialog.open) return;
    event.stopImmediatePropagation(); // the search behind it stays as it is
    if (leaving) { leaving = false; goOn(); } else dialog.close();
  });
  if (history.state?.viewer) history.replaceState(null, "");

  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    put(dialog);
    item = null;
    app.grid.select(Math.max(0, app.grid.hits.findIndex((one) => one.id === hit.id))); // the browser went back to the one before
    if (history.state?.viewer) { leaving = true; history.back(); } else goOn();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, video")) return;
    const keys = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), r: () => mark(1), "+": () => mark(1), w: () => mark(0), "-": () => mark(0), u: () => app.undo().then(draw), s: similar, e: why, o: () => dialog.close() };
    const action = keys[event.key];
    if (action) { event.preventDefault(); event.stopPropagation(); action(); }
  });

  async function open(of) {
    hit = of;
    item = null;
    draw();
    if (!dialog.open) { history.pushState({ viewer: true }, ""); dialog.showModal(); (dialog.querySelector('[data-name="right"]') ?? dialog.querySelector(".shut")).focus(); }
    try {
      const found = await get(`items/${of.id}`);
      if (hit?.id === of.id) { item = found; draw(); }
    } catch (error) {
      dialog.querySelector(".about")?.append(h("p", { class: "error" }, error.message));
    }
  }

  function step(by) {
    const place = app.grid.hits.findIndex((one) => one.id === hit.id) + by;
    if (place < 0 || place >= app.grid.hits.length) return;
    app.grid.select(place, false);
    open(app.grid.hits[place]);
  }

  function mark(grade) {
    if (app.readOnly) return;
    app.mark(hit, grade);
    draw();
  }

  /** Close, and then do something with the item. */
  function leave(action) { const of = hit; next = () => action(of); dialog.close(); }

  function goOn() { const action = next; next = null; action?.(); }

  const similar = () => leave((of) => app.similar(of));
  const why = () => leave((of) => app.why(of));

  const isGone = () => item?.id === hit.id && !item.files.some((file) => file.there);

  /** In place of a picture whose file was deleted or moved. */
  function gone() {
    const paths = item.files.map((file) => `${file.folder}/${file.name}`);
    return h("div", { class: "gone", "data-item": `gone ${hit.id}` },
      h("img", { src: thumbnail(hit.id), alt: hit.caption || hit.name }),
      h("div", { role: "status" }, h("strong", {}, "This file is gone"), paths.map((path) => h("span", { class: "path" }, path)),
        h("span", {}, "It was deleted or moved. Look for changes in the tab Collection to bring the collection up to date.")));
  }

  function media() {
    if (isGone()) return gone();
    const same = dialog.querySelector(".stage > *");
    if (same?.dataset.item === String(hit.id)) return same;
    if (hit.kind === "picture") return h("img", { src: `/api/items/${hit.id}/view`, alt: hit.caption || hit.name, "data-item": hit.id });
    // The fragment asks for just the shot; the listener makes sure of it in every browser.
    const video = h("video", { src: `/api/items/${hit.id}/file#t=${hit.start},${hit.end}`, poster: thumbnail(hit.id), controls: true, autoplay: true, playsinline: true, "data-item": hit.id, "aria-label": hit.caption || hit.name });
    video.muted = true;
    const { start, end } = hit;
    // Browsers tell the time a few times a second only: what was played past the end goes back to the last frame.
    const stop = () => {
      if (video.dataset.free || video.currentTime < end) return;
      video.pause();
      if (video.currentTime > end) video.currentTime = end;
    };
    for (const event of ["timeupdate", "pause"]) video.addEventListener(event, stop);
    video.addEventListener("play", () => { if (video.currentTime >= end - 0.05 && !video.dataset.free) video.currentTime = start; });
    video.addEventListener("seeking", () => { if (video.currentTime < start - 0.5 || video.currentTime > end + 0.5) video.dataset.free = "yes"; });
    return video;
  }

  function draw() {
    if (!hit) return;
    const index = app.grid.hits.findIndex((one) => one.id === hit.id);
    const listed = isList(app.query), marking = !app.readOnly && !listed;
    const focused = dialog.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const tool = (name, text, symbol, action, extra = {}) => button(text, { symbol, "data-name": name, onclick: action, ...extra });
    dialog.setAttribute("aria-label", `Result ${hit.rank}: ${hit.caption || hit.name}`);
    put(dialog,
      h("div", { class: "stage" }, media()),
      h("button", { type: "button", class: "icon-button before", "data-name": "before", "aria-label": "Result before", disabled: index <= 0, onclick: () => step(-1) }, icon("prev")),
      h("button", { type: "button", class: "icon-button after", "data-name": "after", "aria-label": "Next result", disabled: index < 0 || index + 1 >= app.grid.hits.length, onclick: () => step(1) }, icon("next")),
      h("button", { type: "button", class: "icon-button shut", "data-name": "shut", "aria-label": "Close", onclick: () => dialog.close() }, icon("wrong")),
      h("div", { class: "about" },
        h("h2", {}, hit.caption || hit.name),
        h("div", { class: "buttons" },
          !marking ? null : tool("right", "Right", "right", () => mark(1), { kind: "right", "aria-pressed": String(isRight(hit)) }),
          !marking ? null : tool("wrong", "Wrong", "wrong", () => mark(0), { kind: "wrong", "aria-pressed": String(isWrong(hit)) }),
          tool("similar", "More like this", "similar", similar),
          listed ? null : tool("why", "Why here", "why", why)),
        facts(),
        item?.shots.length > 1 ? strip() : null));
    (dialog.querySelector(`[data-name="${focused ?? "right"}"]:not([disabled])`) ?? dialog.querySelector(".shut")).focus();
  }

  function facts() {
    const rows = [["Taken", date(hit.taken)], ["Size", `${hit.width} × ${hit.height}`], ["Folder", hit.folder], ["File", hit.name]];
    if (hit.kind === "shot") rows.push(["Shot", `${clock(hit.start)} to ${clock(hit.end)}`]);
    if (item?.faces) rows.push(["Faces", String(item.faces)]);
    for (const one of item?.texts ?? []) if (one.source !== "name" && one.source !== "folder") rows.push([SOURCES[one.source] ?? one.source, one.text]);
    if (item?.files.length > 1) rows.push(["Copies", String(item.files.length)]);
    return h("dl", {}, rows.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
      isGone() ? null : h("div", {}, h("dt", {}, "Original"), h("dd", {}, h("a", { href: `/api/items/${hit.id}/file`, target: "_blank", rel: "noreferrer" }, "open the file"))));
  }

  function strip() {
    return h("div", { class: "strip-box" }, h("h3", {}, `${item.shots.length} shots of this video`),
      h("ol", { class: "strip" }, item.shots.map((shot) => h("li", {}, h("button", {
        type: "button", "aria-current": shot.id === hit.id ? "true" : null, "aria-label": `Shot from ${clock(shot.start)} to ${clock(shot.end)}`,
        onclick: () => open(app.grid.hits.find((one) => one.id === shot.id) ?? { ...hit, id: shot.id, start: shot.start, end: shot.end, mark: null }),
      }, h("img", { src: thumbnail(shot.id), alt: "" }), h("span", {}, clock(shot.start)))))));
  }

  return { open };
}
