// Small helpers around the document. Nothing here takes HTML: text is always text.

const SVG = "http://www.w3.org/2000/svg";

/** A table without the names that every object has: what is looked up in it may come from people. */
export function table(entries) {
  return Object.assign(Object.create(null), entries);
}

/** An element by its id. */
export const $ = (id) => document.getElementById(id);

/** Make an element: h("button", {class: "primary", onclick: f}, "Text"). Unknown values null and false are left out. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...real(children));
  return element;
}

const real = (children) => children.flat(3).filter((one) => one !== null && one !== undefined && one !== false);

/** Replace what an element holds; null and false are left out. */
export function put(element, ...children) {
  element.replaceChildren(...real(children));
}

/** An icon of the page's sprite. */
export function icon(name) {
  icons[name] ??= s("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, [...$(`i-${name}`).cloneNode(true).childNodes]);
  return icons[name].cloneNode(true); // not <use>: each of those is a document of its own, and a grid has hundreds
}

const icons = table({});

/** Say something to a screen reader. */
export function announce(text) {
  const live = $("live");
  live.textContent = "";
  requestAnimationFrame(() => { live.textContent = text; });
}

/** Show a short note that goes away, and say it. */
export function toast(text, kind = "") {
  const note = h("div", { class: `toast ${kind}` }, text);
  $("toasts").append(note);
  announce(text);
  setTimeout(() => note.remove(), 3500);
}

/** Several things of a kind: "1 mark", "2 marks". */
export const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

/** A number as scores are shown. */
export const number = (value, digits = 3) => value.toFixed(Math.abs(value) >= 100 ? 0 : digits);

export const signed = (value, digits = 3) => (value < 0 ? "−" : "+") + number(Math.abs(value), digits);

/** Seconds as 1:05. */
export function clock(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** A date as people write it; the collection has "2024-05-01T10:00:00" or less. */
export function date(text) {
  if (!text) return "";
  const found = /^(\d{4})-(\d{2})-(\d{2})/.exec(text);
  if (!found) return text.slice(0, 10);
  const day = new Date(Number(found[1]), Number(found[2]) - 1, Number(found[3]));
  return day.toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
}

export const thumbnail = (item) => `/api/items/${item}/thumbnail`;

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const DESCRIPTORS = table({
  semantic: "What it shows", color_correlogram: "Colours side by side", color_layout: "Layout of colours",
  spatial_color_histogram: "Colours by place", hsv_histogram: "Colours", rgb_histogram: "Colours (RGB)", lab_histogram: "Colours (Lab)",
  color_moments: "Mean colours", edge_histogram: "Edges", hog: "Shapes", gist: "Scene layout", lbp: "Fine texture", gabor: "Texture",
  wavelet: "Wavelets", sift_words: "Local details", text: "Words of people", tags: "Automatic words", faces: "Faces",
});

/** An expert's name for people: its group, and how it compares. */
export function expertName(name) {
  if (name.startsWith("concept.")) return { group: `Concept: ${name.slice(8)}`, detail: "" };
  const [first, ...rest] = name.split(".");
  return { group: DESCRIPTORS[first] ?? first.replaceAll("_", " "), detail: rest.join(".") };
}

/** A button with an icon and a text. */
export function button(text, options = {}) {
  const { symbol, kind = "", ...props } = options;
  return h("button", { type: "button", class: kind, ...props }, symbol ? icon(symbol) : null, h("span", {}, text));
}

/** A menu that opens below its button and closes on Escape, on a choice and on a click elsewhere. */
export function menu(label, symbol, content) {
  const body = h("div", { class: "menu-body" });
  const toggle = h("button", { type: "button", class: "quiet", "aria-expanded": "false" }, icon(symbol), h("span", {}, label));
  const root = h("div", { class: "menu" }, toggle, body);
  body.hidden = true;
  const close = (refocus) => {
    if (body.hidden) return;
    body.hidden = true;
    toggle.setAttribute("aria-expanded", "false");
    if (refocus) toggle.focus();
  };
  toggle.addEventListener("click", async () => {
    if (!body.hidden) return close();
    put(body, await content(close));
    body.hidden = false;
    toggle.setAttribute("aria-expanded", "true");
    body.querySelector("button, input, select, a")?.focus();
  });
  root.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); close(true); } });
  document.addEventListener("pointerdown", (event) => { if (!root.contains(event.target)) close(); });
  return root;
}
