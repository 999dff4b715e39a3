// What is known of an item, and what can be done with its file: copy its path, download it, show its folder.

import { file } from "./addresses.js";
import { placeLink } from "./atlas.js";
import { attempt, button, h, icon, toast } from "./dom.js";
import { clock, date, table } from "./format.js";
import { t } from "./i18n.js";

/** @import { Hit, Item } from "./types.js" */

const SOURCES = table({
  caption: t("Caption"), embedded: t("In the file"), sidecar: t("Beside the file"), subtitle: t("Subtitle"),
  ocr: t("Text in it"), speech: t("Said in it"), people: t("People"),
});
const OMITTED = ["name", "folder", "speech", "owner", "owner_tag", "tag"]; // texts that stand elsewhere

/** The path of a file: whole where the server is on this machine, else below what was indexed. */
export const pathOf = (/** @type {Item["files"][0]} */ { path, folder, name }) => path ?? `${folder}/${name}`;

/** A path that breaks between folders where it can. @param {string} text */
const path = (text) => h("span", { class: "path" },
  text.split(/(?<=[\\/])/).flatMap((part, i) => (i ? [h("wbr"), part] : [part])));

/**
 * What is known of an item, as a list.
 * @param {Hit} hit
 * @param {Item | null} item
 * @param {(place: Item["place"]) => void} showPlace
 */
export function facts(hit, item, showPlace) {
  const texts = (item?.texts ?? []).filter(({ source }) => !OMITTED.includes(source));
  const tags = item?.tags.join(", ") ?? "";
  const [first, ...copies] = (item?.files ?? [{ ...hit, there: true }]).map(pathOf);
  const shot = { start: clock(hit.start), end: clock(hit.end) };
  const rows = [
    hit.taken ? [t("Taken"), date(hit.taken)] : [t("File changed"), date(hit.changed)],
    [t("Size"), `${hit.width} × ${hit.height}`],
    [t("File"), first ? path(first) : ""],
    [t("Copies"), copies.length ? copies.map(path) : ""],
    [t("Shot"), hit.kind === "shot" ? t("{start} to {end}", shot) : ""],
    [t("Place"), item?.place ? placeLink(item.place, () => showPlace(item.place)) : ""],
    [t("Faces"), item?.faces ? String(item.faces) : ""],
    ...texts.map(({ source, text }) => [SOURCES[source] ?? source, text]),
    [t("Automatic tags"), tags ? h("span", { class: "one-line", title: tags }, tags) : ""],
  ];
  return h("dl", {}, rows.filter(([, value]) => value)
    .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/**
 * What can be done with the file.
 * @param {Hit} hit
 * @param {Item | null} item
 * @param {boolean} gone
 * @param {(item: number) => Promise<unknown>} reveal
 */
export function fileTools(hit, item, gone, reveal) {
  const [first] = item?.files ?? [];
  return h("div", { class: "buttons file-tools" },
    first ? button(t("Copy path"), {
      symbol: "copy", kind: "small", "data-name": "copy", onclick: () => copy(pathOf(first)),
    }) : null,
    gone ? null : [
      link("export", t("Download"), { href: file(hit.id), download: hit.name, "data-name": "download" }),
      link("open", t("Open the file"), { href: file(hit.id), target: "_blank", rel: "noreferrer" }),
    ],
    item?.reveal && !gone ? button(t("Show in folder"), {
      symbol: "folder", kind: "small", "data-name": "reveal", onclick: () => attempt(() => reveal(hit.id)),
    }) : null);
}

/** A link that looks like a button. @param {string} symbol @param {string} text @param {object} props */
const link = (symbol, text, props) =>
  h("a", { class: "as-button", ...props }, icon(symbol), h("span", {}, text));

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("The path is copied"));
  } catch {
    toast(t("The browser does not let this page copy. The path is: {path}", { path: text }), "bad");
  }
}
