// People: groups of faces, which the user names, merges and splits. Shown in the tab "Collection".

import { button, h, option, put, toast } from "./dom.js";
import { t, tn } from "./i18n.js";
import { save } from "./saving.js";
import { openSheet } from "./sheets.js";

/** @import { Api, Change, People, Person } from "./types.js" */
/** @import { Work } from "./work.js" */
/**
 * @typedef {object} Parts
 * @property {Pick<Api, "people" | "groupFaces" | "namePerson" | "mergePeople" | "splitPerson">} api
 * @property {boolean} readOnly
 * @property {(text: string) => void} find searches for words
 * @property {Work} work the long jobs
 */

const SHOWN = 12; // faces of a group
const OFF = [t("Faces are not grouped by person.")];
const NONE = [t("No two faces look like the same person yet.")];
const HINT = [
  t("Faces that look like the same person. Give a group a name and its pictures are found by it."),
  t("All of it stays on this machine."),
];

let changes = 0; // that were made in this window

/**
 * The groups, asked for again if one was changed meanwhile.
 * @param {Parts["api"]} api
 * @returns {Promise<People>}
 */
export async function latestPeople(api) {
  for (;;) {
    const before = changes;
    const people = await api.people();
    if (before === changes) return people;
  }
}

/** The section with all groups. @param {People} people @param {Parts} parts */
export function peopleSection(people, parts) {
  const root = h("section", { class: "people", "aria-labelledby": "people-title" });
  draw(root, people, parts);
  return root;
}

/** @param {HTMLElement} root @param {People} people @param {Parts} parts */
function draw(root, { on, missing, people }, parts) {
  const listed = on || people.length > 0;
  const again = async (/** @type {Change<unknown>} */ change, /** @type {string} */ said) =>
    save(change, {
      done: async () => {
        changes += 1;
        toast(said);
        const now = await latestPeople(parts.api);
        draw(/** @type {HTMLElement} */ (document.querySelector(".people") ?? root), now, parts);
      },
    });
  put(root, h("h3", { id: "people-title" }, t("People")),
    h("p", { class: "muted" }, (!listed ? OFF : people.length ? HINT : NONE).join(" ")),
    parts.readOnly ? null : switching({ on, missing, people }, parts),
    h("ul", { class: "people-list" }, people.map((person) => card(person, people, parts, again))));
}

/** What switches the groups on, or off after a question. @param {People} state @param {Parts} parts */
function switching({ on, missing, people }, { api, work }) {
  if (missing) {
    return h("p", {}, t("A package is missing on this machine. Install it in the shell:"), " ",
      h("code", {}, missing));
  }
  const begin = () => save(api.groupFaces(true), { done: () => work.ask() });
  return h("div", { class: "buttons" },
    button(on ? t("Look at faces again") : t("Group faces by person"), { onclick: begin }),
    on || people.length ? button(t("Stop grouping faces…"), { onclick: () => askOff(api, work) }) : null);
}

/** @param {Parts["api"]} api @param {Work} work */
function askOff(api, work) {
  const keep = h("input", { type: "radio", name: "known", checked: true });
  const forget = h("input", { type: "radio", name: "known" });
  openSheet(t("Stop grouping faces?"), (close) => [
    h("p", {}, t("New pictures are not looked at for people any more.")),
    h("fieldset", { class: "since" }, h("legend", {}, t("What is known of people")),
      h("label", {}, keep, " ", t("keep it: groups and names stay and are found")),
      h("label", {}, forget, " ",
        t("forget it: all groups, names and pictures of faces, in the backups too; this cannot be undone"))),
    h("div", { class: "buttons" }, button(t("Stop"), {
      kind: "primary", onclick: () => {
        close();
        save(api.groupFaces(false, forget.checked), { done: () => work.ask() });
      },
    })),
  ]);
}

/** What a group is called where it is one of many. @param {Person} person */
export const label = ({ id, name }) => name ?? t("Person {id}", { id: String(id) });

/**
 * A group: its faces, its name, and what can be done with it.
 * @param {Person} person
 * @param {Person[]} people
 * @param {Parts} parts
 * @param {(change: Change<unknown>, said: string) => Promise<boolean>} again
 */
function card(person, people, { api, readOnly, find }, again) {
  const { id, name } = person;
  /** @type {Set<number>} */
  const chosen = new Set();
  const split = button(t("Not this person"), {
    kind: "small", disabled: true, title: t("Choose faces first: they become a group of their own"),
    onclick: () => again(api.splitPerson(id, [...chosen]),
      tn(chosen.size, "{n} face taken out", "{n} faces taken out")),
  });
  const choose = (/** @type {any} */ event, /** @type {number} */ box) => {
    if (!chosen.delete(box)) chosen.add(box);
    event.currentTarget.setAttribute("aria-pressed", String(chosen.has(box)));
    split.disabled = !chosen.size || chosen.size >= person.count;
  };
  const faces = person.faces.slice(0, SHOWN).map(({ box }, place) => {
    const alt = t("Face {n} of {person}", { n: place + 1, person: label(person) });
    const picture = h("img", { src: `/api/people/faces/${box}`, alt });
    const onclick = (/** @type {Event} */ event) => choose(event, box);
    return readOnly ? picture
      : h("button", { type: "button", class: "face", "aria-pressed": "false", onclick }, picture);
  });
  const more = person.count - faces.length;
  return h("li", { class: "person" },
    h("div", { class: "person-faces" }, faces,
      more > 0 ? h("span", { class: "muted" }, t("and {n} more", { n: more })) : null),
    readOnly ? h("strong", {}, label(person)) : naming(person, api, again),
    h("div", { class: "buttons" },
      name ? button(t("Search"), {
        kind: "small", "aria-label": t("Search for {name}", { name }), onclick: () => find(`"${name}"`),
      }) : null,
      readOnly ? null : [merging(person, people, api, again), split]));
}

/**
 * @param {Person} person
 * @param {Parts["api"]} api
 * @param {(change: Change<unknown>, said: string) => Promise<boolean>} again
 */
function naming(person, api, again) {
  const field = h("input", {
    type: "text", maxlength: "100", value: person.name ?? "", placeholder: t("Who is it?"),
    "aria-label": t("Name of {person}", { person: label(person) }),
  });
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const wanted = field.value.trim();
    again(api.namePerson(person.id, wanted),
      wanted ? t("This is {name}", { name: wanted }) : t("The name is taken away"));
  };
  return h("form", { class: "inline", onsubmit }, field, h("button", { class: "small" }, t("Save")));
}

/**
 * @param {Person} person
 * @param {Person[]} people
 * @param {Parts["api"]} api
 * @param {(change: Change<unknown>, said: string) => Promise<boolean>} again
 */
function merging(person, people, api, again) {
  const others = people.filter(({ id }) => id !== person.id);
  if (!others.length) return null;
  const select = h("select", { "aria-label": t("{person} is the same as", { person: label(person) }) },
    option("", t("Same as…")), others.map((other) => option(String(other.id), label(other))));
  const merge = button(t("Merge"), { kind: "small", disabled: true, onclick: () => {
    const other = others.find(({ id }) => String(id) === select.value);
    if (!other) return;
    again(api.mergePeople(other.id, [person.id]), t("Now one with {person}", { person: label(other) }));
  } });
  // Not at once: who walks over the list with the keys would merge with each.
  select.addEventListener("change", () => { merge.disabled = !select.value; });
  return [select, merge];
}
