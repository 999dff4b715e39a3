// The search box: words, and chips for pictures, items and a concept; pictures are dropped, pasted or picked.

import { post } from "./api.js";
import { $, h, icon, put, thumbnail, toast } from "./dom.js";
import { WEIGHTS } from "./state.js";

const MOST_BYTES = 25_000_000;
const SIGNS = { 0.25: "¼", 0.5: "½", 1: "1", 2: "2", 4: "4" };

/** `app` has `query`, `search()` and `readOnly`. */
export function makeBox(app) {
  const text = $("text"), chips = $("chips");
  const weight = weights($("text-weight"), "words", (value) => { app.query.text_weight = value; app.search(); });

  $("box").addEventListener("submit", (event) => {
    event.preventDefault();
    app.query.text = text.value;
    app.search();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Backspace" && !text.value && app.query.examples.length) {
      app.query.examples.pop();
      app.search();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      app.grid.focus();
    }
  });
  text.addEventListener("search", () => { if (!text.value && app.query.text) { app.query.text = ""; app.search(); } });
  $("pick").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => { add([...$("file").files]); $("file").value = ""; });
  takePictures();

  /** Send pictures to the server and search with them. */
  async function add(files) {
    const pictures = files.filter((file) => file.type.startsWith("image/")).slice(0, 5);
    if (!pictures.length) return toast("That is no picture. Drop a JPEG, PNG, WebP or another picture file.", "bad");
    if (app.readOnly) return toast("This server is read-only and takes no pictures.", "bad");
    for (const file of pictures) {
      if (file.size > MOST_BYTES) { toast(`${file.name || "The picture"} is larger than 25 MB; take a smaller version.`, "bad"); continue; }
      const waiting = h("li", { class: "chip waiting" }, h("span", { class: "spinner" }), "looking at it…");
      chips.append(waiting);
      try {
        const { picture } = await post("upload", file.slice(0, file.size, file.type));
        if (!app.query.examples.some((one) => one.picture === picture)) app.query.examples.push({ picture, weight: 1 });
      } catch (error) {
        toast(error.message, "bad");
      } finally {
        waiting.remove();
      }
    }
    app.query.text = text.value;
    app.search();
  }

  function takePictures() {
    let depth = 0;
    const wanted = (event) => [...event.dataTransfer.types].some((one) => one === "Files" || one === "application/x-rankloom-item");
    const show = (on) => { $("drop").hidden = !on; };
    addEventListener("dragenter", (event) => { if (wanted(event)) { depth += 1; show(true); } });
    addEventListener("dragleave", (event) => { if (wanted(event)) { depth = Math.max(0, depth - 1); if (!depth) show(false); } });
    addEventListener("dragend", () => { depth = 0; show(false); });
    addEventListener("dragover", (event) => { if (wanted(event)) event.preventDefault(); });
    addEventListener("drop", (event) => {
      depth = 0;
      show(false);
      if (!wanted(event)) return;
      event.preventDefault();
      const item = Number(event.dataTransfer.getData("application/x-rankloom-item"));
      if (item) app.addItem(item);
      else add([...event.dataTransfer.files]);
    });
    addEventListener("paste", (event) => {
      const files = [...event.clipboardData.files];
      if (files.length) { event.preventDefault(); add(files); }
    });
  }

  function chip(one, index) {
    const name = one.item ? `item ${one.item}` : "your picture";
    const against = one.weight < 0;
    const change = (value) => { one.weight = value; app.search(); };
    const size = weights(h("select"), name, (value) => change(against ? -value : value));
    size.show(Math.abs(one.weight));
    return h("li", { class: `chip${against ? " against" : ""}` },
      h("button", { type: "button", class: "sign", "aria-label": `${against ? "Not like" : "Like"} ${name}; press to turn round`, title: against ? "Not like this" : "Like this", onclick: () => change(-one.weight) }, against ? "−" : "+"),
      h("img", { src: one.item ? thumbnail(one.item) : `/api/pictures/${one.picture}/thumbnail`, alt: name }),
      size.element,
      h("button", { type: "button", class: "remove", "aria-label": `Remove ${name}`, onclick: () => { app.query.examples.splice(index, 1); app.search(); text.focus(); } }, icon("wrong")));
  }

  return {
    /** Show what the query holds. */
    show() {
      const { query } = app;
      text.value = query.text;
      const concept = query.concept ? h("li", { class: "chip word" }, `concept: ${query.concept}`,
        h("button", { type: "button", class: "remove", "aria-label": `Remove the concept ${query.concept}`, onclick: () => { query.concept = null; app.search(); } }, icon("wrong"))) : null;
      put(chips, ...[concept, ...query.examples.map(chip)].filter(Boolean));
      chips.hidden = !chips.children.length;
      weight.element.hidden = !(query.examples.length && query.text.trim());
      weight.show(query.text_weight);
      text.placeholder = query.examples.length ? "and words" : innerWidth < 640 ? "Words or a picture" : "Words, or drop a picture here";
    },
  };
}

/** A choice of how much something counts. */
function weights(element, name, change) {
  element.setAttribute("aria-label", `How much ${name} ${name === "words" ? "count" : "counts"}`);
  element.classList.add("weight");
  put(element, ...WEIGHTS.map((value) => h("option", { value: String(value) }, `×${SIGNS[value]}`)));
  element.addEventListener("change", () => change(Number(element.value)));
  return {
    element,
    show(value) {
      if (!WEIGHTS.includes(value) && ![...element.options].some((one) => Number(one.value) === value)) element.append(h("option", { value: String(value) }, `×${value}`));
      element.value = String(value);
    },
  };
}
