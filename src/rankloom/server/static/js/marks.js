// The tray of marks: what was said about this search, each with its own undo; and what would be good to mark next.

import { post } from "./api.js";
import { button, count, h, icon, put, thumbnail } from "./dom.js";
import { forServer, isList } from "./state.js";

/** `app` has `query`, `marks`, `undo(id)`, `mark(hit, grade)`, `readOnly`. */
export function makeMarks(app) {
  const root = h("div", { class: "tray" });
  let suggested = [];

  function show() {
    const marks = app.marks;
    const right = marks.filter((one) => one.over === null && one.grade > 0).length;
    put(root,
      h("p", { class: "hint" }, marks.length
        ? `${count(right, "right result")} and ${count(marks.length - right, "wrong one")} in this search. They are saved, and every later search learns from them.`
        : "Nothing is marked in this search yet. Point at a result and press ✓ or ✗, or use the keys R and W."),
      h("ul", { class: "mark-list", "aria-label": "Marks of this search" }, marks.map(line)),
      app.readOnly || isList(app.query) ? null : h("div", { class: "buttons" }, button("What should I mark?", { kind: "small", onclick: suggest })),
      suggested.length ? h("div", { class: "suggested" },
        h("h3", {}, "These would teach the most"),
        suggested.map((hit) => h("div", { class: "suggestion" },
          h("img", { src: thumbnail(hit.id), alt: hit.caption || hit.name }),
          h("button", { type: "button", class: "act right", "aria-label": `Right: ${hit.caption || hit.name}`, onclick: () => answer(hit, 1) }, icon("right")),
          h("button", { type: "button", class: "act wrong", "aria-label": `Wrong: ${hit.caption || hit.name}`, onclick: () => answer(hit, 0) }, icon("wrong"))))) : null);
  }

  function line(mark) {
    const right = mark.grade > 0;
    const what = mark.over ? `preferred to item ${mark.over}` : right ? "right" : "wrong";
    return h("li", {}, h("img", { src: thumbnail(mark.item), alt: "" }),
      h("span", { class: `verdict ${right ? "right" : "wrong"}` }, icon(right ? "right" : "wrong"), what),
      h("span", { class: "name" }, mark.caption || mark.name),
      app.readOnly ? null : h("button", { type: "button", class: "icon-button", "aria-label": `Undo: ${mark.caption || mark.name} is ${what}`, onclick: () => app.undo(mark.id) }, icon("undo")));
  }

  async function suggest() {
    try {
      suggested = await post("suggest", { query: forServer(app.query), n: 5, diffusion: !app.plain });
      show();
      root.querySelector(".suggestion button")?.focus();
    } catch (error) {
      root.append(h("p", { class: "error" }, error.message));
    }
  }

  function answer(hit, grade) {
    suggested = suggested.filter((one) => one.id !== hit.id);
    app.mark(app.grid.hits.find((one) => one.id === hit.id) ?? hit, grade);
    show();
    root.querySelector(".suggestion button")?.focus();
  }

  return { root, show, forget() { suggested = []; } };
}
