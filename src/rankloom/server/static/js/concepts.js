// Concepts: detectors made from the marks of a search, which then rank the whole collection.

import { drop, get, post } from "./api.js";
import { button, count, h, icon, put, toast } from "./dom.js";
import { forServer } from "./state.js";

export function makeConcepts(app) {
  const root = h("div", { class: "concepts" });
  // One field for all drawings of the panel: what is typed stays when marks come in meanwhile.
  const name = h("input", { type: "text", maxlength: "60", placeholder: "Name, e.g. harbour", "aria-label": "Name of the new concept" });

  async function show() {
    try {
      draw(await get("concepts"));
    } catch (error) {
      put(root, h("p", { class: "error" }, error.message));
    }
  }

  function draw(concepts) {
    const right = app.marks.filter((one) => one.grade > 0).length;
    const typing = document.activeElement === name;
    put(root,
      h("p", { class: "hint" }, "A concept learns from your marks what something looks like. Then it ranks everything by it, words or not, and helps later searches."),
      app.readOnly ? null : h("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); make(name.value.trim()); } },
        name, h("button", { class: "small", disabled: right === 0 }, right ? `Make from ${count(right, "right mark")}` : "Mark some results first")),
      concepts.length ? h("ul", { class: "concept-list", "aria-label": "Concepts" }, concepts.map(line)) : h("p", { class: "muted" }, "There is none yet."));
    if (typing) name.focus();
  }

  function line(one) {
    const [metric, value] = Object.entries(one.quality ?? {})[0] ?? [];
    return h("li", {},
      h("button", { type: "button", class: "link", onclick: () => app.useConcept(one.name) }, one.name),
      h("span", { class: "muted" }, `${count(one.n_positive, "example")}${metric && Number.isFinite(value) ? `, ${metric} ${value.toFixed(2)}` : ""}`),
      button("Rank by it", { kind: "small", "aria-label": `Rank everything by ${one.name}`, onclick: () => app.useConcept(one.name) }),
      app.readOnly ? null : h("button", { type: "button", class: "icon-button", "aria-label": `Forget ${one.name}`, onclick: () => forget(one.name) }, icon("wrong")));
  }

  async function make(wanted) {
    if (!wanted) return toast("Give the concept a name.", "bad");
    try {
      const made = await post("concepts", { name: wanted, query: forServer(app.query) });
      name.value = "";
      toast(`The concept ${made.name} is ready`);
      show();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  async function forget(concept) {
    try {
      await drop(`concepts/${encodeURIComponent(concept)}`);
      show();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  return { root, show };
}
