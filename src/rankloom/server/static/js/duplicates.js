// Duplicates side by side: which of them is kept, and the others to the bin. Shown in the tab "Collection".

import { thumbnail } from "./addresses.js";
import { announce, attempt, button, h, put, toast } from "./dom.js";
import { date, fileSize } from "./format.js";
import { locale, t, tn } from "./i18n.js";
import { reason as said } from "./reasons.js";
import { save } from "./saving.js";
import { openSheet } from "./sheets.js";

/** @import { Api, CopiedFile, CopyGroup, Copies } from "./types.js" */
/** @typedef {{ keep: CopiedFile, trash: CopiedFile[] }} Choice */

const PAGE = 30; // groups
const MOST = 1000; // groups and files that are moved at once

/** What a group is. @param {CopyGroup} group */
function kindOf({ kind }) {
  if (kind === "equal") return t("Equal files");
  return kind === "resized" ? t("The same picture in other sizes") : t("The same picture, encoded again");
}

/** Why the first is the best. @param {CopyGroup} group */
function reason({ why }) {
  /** @type {Record<string, string>} */
  const reasons = {
    pixels: t("proposed: it has the most pixels"), bytes: t("proposed: it is the largest file"),
    older: t("proposed: it is the oldest"), name: t("proposed: its path is the shortest"),
  };
  return Object.hasOwn(reasons, why) ? reasons[why] : "";
}

/**
 * The section; groups are looked for when somebody asks for them.
 * @param {Api} api
 * @param {() => void} changed files are gone
 */
export function duplicatesSection(api, changed) {
  const body = h("div", { class: "duplicates" });
  const look = () => attempt(async () => {
    put(body, h("p", { class: "muted", role: "status" }, t("Looking for duplicates…")));
    await load(body, api, changed);
  });
  put(body, button(t("Look for duplicates"), { onclick: look }));
  return h("section", { class: "copies", "aria-labelledby": "copies-title" },
    h("h3", { id: "copies-title" }, t("Duplicates")), body);
}

/** @param {HTMLElement} body @param {Api} api @param {() => void} changed */
async function load(body, api, changed) {
  const found = await api.duplicates(0, PAGE);
  const again = async () => { changed(); await load(body, api, changed); };
  const list = h("ol", { class: "copy-groups" });
  const summary = found.total ? `${tn(found.total, "{n} group", "{n} groups")}: ${
    tn(found.files, "{n} file is a copy of a better one", "{n} files are copies of better ones")}, ${
    fileSize(found.bytes)}` : t("There are no duplicates.");
  const more = button(t("Show more"), { onclick: () => attempt(async () => {
    const next = await api.duplicates(list.children.length, PAGE);
    add(next);
  }) });
  const add = (/** @type {Copies} */ { groups, total }) => {
    list.append(...groups.map((group) => card(group, found.bin, api, again)));
    more.hidden = list.children.length >= total;
  };
  const equal = found.groups.filter(({ kind }) => kind === "equal");
  put(body, h("p", {}, summary),
    found.total && !found.bin ? h("p", { class: "muted" },
      t("This server moves no files. In the shell: rankloom duplicates --trash")) : null,
    found.bin && equal.length > 1 ? button(
      t("Keep the best of these {n} groups of equal files…", { n: equal.length }),
      { onclick: () => confirm(equal.map(proposal), api, again) }) : null,
    list, more);
  add(found);
  announce(summary);
}

/** The first is kept. @param {CopyGroup} group @returns {Choice} */
const proposal = ({ files: [keep, ...trash] }) => ({ keep, trash });

/** @param {CopyGroup} group @param {boolean} bin @param {Api} api @param {() => Promise<void>} again */
function card(group, bin, api, again) {
  let [keep] = group.files;
  const name = `keep-${keep.key}`;
  const files = group.files.map((file, place) => h("li", {}, h("label", { class: "copy" },
    h("img", { src: thumbnail(file.item), alt: "", loading: "lazy" }),
    h("span", { class: "copy-name" },
      bin ? h("input", {
        type: "radio", name, checked: !place, onchange: () => { keep = file; },
      }) : null, h("strong", {}, file.name)),
    h("small", {}, file.folder),
    h("small", {}, [
      `${file.width} × ${file.height}`, fileSize(file.bytes), date(file.modified, locale),
    ].join(" · ")),
    place ? null : h("small", { class: "good" }, reason(group)))));
  const move = () => confirm([{ keep, trash: group.files.filter((file) => file !== keep) }], api, again);
  const title = kindOf(group);
  const action = t("Keep the chosen one, bin the others…");
  return h("li", {}, h("fieldset", { class: "copy-group" }, h("legend", {}, title),
    h("ul", { class: "copy-files" }, files),
    bin ? button(action, { kind: "small", onclick: move }) : null));
}

/**
 * Ask, with the names of all files, before they are moved.
 * @param {Choice[]} choices
 * @param {Api} api
 * @param {() => Promise<void>} again
 */
function confirm(choices, api, again) {
  const files = choices.flatMap(({ trash }) => trash);
  const known = files.length <= MOST && choices.length <= MOST;
  openSheet(tn(files.length, "Move {n} file to the bin?", "Move {n} files to the bin?"), (close) => [
    h("ul", { class: "to-bin", tabindex: "0", "aria-label": t("Files that are moved") },
      files.map(({ folder, name }) => h("li", {}, `${folder}/${name}`))),
    h("p", { class: "muted" }, [
      t("Of each group one file stays."),
      t("Captions, tags, stars and albums go over to it where it has none; marks go on teaching."),
      t("Who restores a file from the bin and looks for changes has it back."),
    ].join(" ")),
    known ? h("div", { class: "buttons" }, button(t("Move them to the bin"), {
      kind: "primary", onclick: () => { close(); trash(choices, api, again); },
    })) : h("p", { class: "bad" }, t("These are too many at once; choose fewer.")),
  ]);
}

/** @param {Choice[]} choices @param {Api} api @param {() => Promise<void>} again */
function trash(choices, api, again) {
  const groups = choices.map(({ keep, trash: others }) => ({
    keep: keep.key, trash: others.map(({ key }) => key),
  }));
  return save(api.trashCopies(groups), {
    done: async ({ moved, left }) => {
      toast(tn(moved.length, "{n} file is in the bin", "{n} files are in the bin"));
      await again();
      if (!left.length) return;
      openSheet(tn(left.length, "{n} file was not moved", "{n} files were not moved"), () =>
        h("ul", { class: "to-bin", tabindex: "0", "aria-label": t("Files that were not moved") },
          left.map(({ file, reason: why }) => h("li", {}, `${file}: ${said(why)}`))));
    },
  });
}
