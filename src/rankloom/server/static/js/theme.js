// Light, dark, or as the system has it.

import { $, announce } from "./dom.js";

const NAMES = { system: "as the system", light: "light", dark: "dark" };

export function makeTheme() {
  const set = (name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    $("theme").setAttribute("aria-label", `Colours: ${NAMES[name]}`);
    $("theme").title = `Colours: ${NAMES[name]}`;
    localStorage.setItem("theme", name);
  };
  const now = () => (localStorage.getItem("theme") in NAMES ? localStorage.getItem("theme") : "system");
  set(now());
  $("theme").addEventListener("click", () => {
    const names = Object.keys(NAMES);
    set(names[(names.indexOf(now()) + 1) % names.length]);
    announce(`Colours: ${NAMES[now()]}`);
  });
}
