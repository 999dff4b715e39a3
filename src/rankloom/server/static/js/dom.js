// Small helpers around the document. Nothing here takes HTML: text is always text.

import { table } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Record<string, any>} Props */

/** An element by its id. @param {string} id @returns {any} */
export const $ = (id) => document.getElementById(id);

/**
 * Make an element: h("button", {class: "primary", onclick: f}, "Text"). Null and false are left out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props} props
 * @param {...any} children
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/**
 * The same for SVG.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Props} props
 * @param {...any} children
 */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** @template {any} E @param {E} target @param {Props} props @param {any[]} children @returns {E} */
function fill(target, props, children) {
  const element = /** @type {any} */ (target);
  for (const [name, value] of Object.entries(props)) {
    if (isNothing(value)) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const entry of Object.entries(value)) element.style.setProperty(...entry);
    else if (["value", "checked", "selected"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  put(element, ...children);
  return target;
}

/** @param {unknown} value */
const isNothing = (value) => value === null || value === undefined || value === false;

/** Replace what an element holds. @param {Element} element @param {...any} children */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => !isNothing(child)));
}

/** @type {Record<string, SVGElement>} */
const icons = table({});

/** An icon of the page's sprite. @param {string} name */
export function icon(name) {
  icons[name] ??= s("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    [...$(`i-${name}`).cloneNode(true).childNodes]);
  // Not <use>: each of those is a document of its own, and a grid has hundreds.
  return icons[name].cloneNode(true);
}

/** Say something to a screen reader. @param {string} text */
export function announce(text) {
  const live = $("live");
  live.textContent = "";
  requestAnimationFrame(() => { live.textContent = text; });
}

/** Show a short note that goes away, and say it. @param {string} text */
export function toast(text, kind = "") {
  const note = h("div", { class: `toast ${kind}` }, text);
  $("toasts").append(note);
  onTop($("toasts"));
  announce(text);
  setTimeout(() => note.remove(), 3500);
}

/** Show an element above everything, also above a dialog that is open. @param {HTMLElement} element */
export function onTop(element) {
  if (element.matches(":popover-open")) element.hidePopover();
  element.showPopover();
}

/**
 * Focus what has a name inside an element, if anything has.
 * @param {Element} root
 * @param {string | undefined} name
 */
export function focusNamed(root, name) {
  if (name) /** @type {HTMLElement | null} */ (root.querySelector(`[data-name="${name}"]`))?.focus();
}

/** The name of what has the focus. */
export const focusedName = () => /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.name;

/** The line of an error. @param {unknown} error */
export const errorLine = (error) => h("p", { class: "error" }, messageOf(error));

/** What an error says. @param {unknown} error @returns {string} */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** Do something that may fail; say why if it does. @param {() => Promise<unknown>} action */
export async function attempt(action) {
  try {
    await action();
  } catch (error) {
    toast(messageOf(error), "bad");
  }
}

/** Whether the user wants no motion. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A button with an icon and a text. @param {string} text @param {Props} options */
export function button(text, { symbol, kind = "", ...props } = {}) {
  const sign = symbol ? icon(symbol) : null;
  return h("button", { type: "button", class: kind, ...props }, sign, h("span", {}, text));
}

/** A button that is only an icon. @param {string} symbol @param {string} label @param {Props} props */
export function iconButton(symbol, label, props = {}) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, ...props }, icon(symbol));
}

/** @param {string} value @param {string} text */
export const option = (value, text) => h("option", { value }, text);

/** A table that scrolls if it must. @param {string} label @param {Props} props @param {...any} parts */
export function scrolled(label, props, ...parts) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", props, parts));
}

/** The head of a table. @param {string[]} names */
export const tableHead = (names) =>
  h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name))));

/** A row of a table. @param {any} name @param {...any} cells */
export const tableRow = (name, ...cells) =>
  h("tr", {}, h("th", { scope: "row" }, name), cells.map((cell) => h("td", {}, cell)));

/**
 * Arrow keys move over tabs, round and round.
 * @param {KeyboardEvent} event
 * @param {string[]} names
 * @param {string} name the one that has the focus
 * @returns {string | null} the one that gets it
 */
export function nextTab(event, names, name) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return null;
  event.preventDefault();
  return names[(names.indexOf(name) + step + names.length) % names.length];
}

/**
 * A menu that opens below its button and closes on Escape, on a choice and on a click elsewhere.
 * @param {string} label
 * @param {string} symbol
 * @param {(close: (refocus?: boolean) => void) => unknown} content
 */
export function menu(label, symbol, content) {
  const body = h("div", { class: "menu-body" });
  const toggle = button(label, { symbol, kind: "quiet", "aria-expanded": "false" });
  const root = h("div", { class: "menu" }, toggle, body);
  body.hidden = true;
  const close = (refocus = false) => {
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
    /** @type {HTMLElement | null} */
    const first = body.querySelector('button, input, select, a, [tabindex="0"]');
    first?.focus();
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close(true);
  });
  document.addEventListener("pointerdown", (event) => {
    if (!root.contains(/** @type {Node} */ (event.target))) close();
  });
  return root;
}
