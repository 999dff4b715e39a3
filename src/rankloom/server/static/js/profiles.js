// Profiles of a browser: whose marks and saved searches these are. Their names stay in this browser.

import { button, h, option } from "./dom.js";
import { t } from "./i18n.js";
import { save } from "./saving.js";
import { askName } from "./sheets.js";

/** @import { Api, Session } from "./types.js" */

const KEY = "profiles";
const LONGEST = 40;

/** What profiles are called. @returns {Record<string, string>} */
function names() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

/** @param {string} profile @param {string} name */
function call(profile, name) {
  localStorage.setItem(KEY, JSON.stringify({ ...names(), [profile]: name }));
}

/**
 * The choice of a profile; with another one everything is loaded anew.
 * @param {Session} session
 * @param {Api["switchProfile"]} change
 * @param {() => void} close closes what holds the choice
 */
export function profileChoice({ profile, profiles }, change, close) {
  const known = names();
  const select = h("select", { id: "profile" }, profiles.map((one) =>
    option(one, Object.hasOwn(known, one) ? known[one] : t("Profile {name}", { name: one }))));
  select.value = profile ?? "";
  select.addEventListener("change", () => save(change(select.value), {
    show: () => () => { select.value = profile ?? ""; },
    done: () => location.reload(),
  }));
  const make = () => {
    close();
    const done = (/** @type {string} */ name) => save(change(null), {
      done: ({ profile: made }) => {
        if (made) call(made, name);
        location.reload();
      },
    });
    askName(t("New profile"), { label: t("Name"), action: t("Make"), longest: LONGEST, done });
  };
  const rename = () => {
    close();
    askName(t("Name of this profile"), {
      label: t("Name"), action: t("Rename"), longest: LONGEST, value: known[profile ?? ""] ?? "",
      done: (name) => { if (profile) call(profile, name); },
    });
  };
  return h("div", { class: "settings profile" },
    h("label", { class: "field" }, h("span", {}, t("Profile")), select),
    h("div", { class: "buttons" }, button(t("New profile…"), { kind: "small", onclick: make }),
      button(t("Rename…"), { kind: "small", onclick: rename })),
    h("p", { class: "hint" },
      t("Each profile has marks and saved searches of its own. Only this browser has these profiles.")));
}
