// Light, dark, or as the system has it.

import { $, announce } from "./dom.js";

/** @type {Record<string, string>} */
const NAMES = { system: "as the system", light: "light", dark: "dark" };

export function makeTheme() {
  const toggle = $("theme");
  const current = () => {
    const stored = localStorage.getItem("theme") ?? "";
    return Object.hasOwn(NAMES, stored) ? stored : "system";
  };
  const set = (/** @type {string} */ name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    toggle.setAttribute("aria-label", `Colours: ${NAMES[name]}`);
    toggle.title = `Colours: ${NAMES[name]}`;
    localStorage.setItem("theme", name);
  };
  set(current());
  toggle.addEventListener("click", () => {
    const names = Object.keys(NAMES);
    set(names[(names.indexOf(current()) + 1) % names.length]);
    announce(`Colours: ${NAMES[current()]}`);
  });
}
