// Light, dark, or as the system has it.

import { $, announce } from "./dom.js";
import { t } from "./i18n.js";

/** @type {Record<string, string>} */
const NAMES = {
  system: t("Colours: as the system"), light: t("Colours: light"), dark: t("Colours: dark"),
};

/** The paper of base.css. @type {Record<string, string>} */
const PAPER = { light: "#faf9f7", dark: "#131316" };

/** The frame of an installed page has the colour of its paper. @param {string} name */
function colorFrame(name) {
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) {
    const own = meta.getAttribute("media")?.includes("dark") ? "dark" : "light";
    meta.setAttribute("content", PAPER[name] ?? PAPER[own]);
  }
}

export function makeTheme() {
  const toggle = $("theme");
  const current = () => {
    const stored = localStorage.getItem("theme") ?? "";
    return Object.hasOwn(NAMES, stored) ? stored : "system";
  };
  const set = (/** @type {string} */ name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    toggle.setAttribute("aria-label", NAMES[name]);
    toggle.title = NAMES[name];
    colorFrame(name);
    localStorage.setItem("theme", name);
  };
  set(current());
  toggle.addEventListener("click", () => {
    const names = Object.keys(NAMES);
    set(names[(names.indexOf(current()) + 1) % names.length]);
    announce(NAMES[current()]);
  });
}
