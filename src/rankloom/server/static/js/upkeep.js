// Upkeep, in the tab "Collection": a check, a repair where something is wrong, backups with a way back.

import { attempt, button, errorLine, h, put, scrolled, tableHead, tableRow, toast } from "./dom.js";
import { fileSize } from "./format.js";
import { locale, t, tn } from "./i18n.js";
import { save } from "./saving.js";
import { askSure, openSheet } from "./sheets.js";

/** @import { Api, Backup, BackupContents, UpkeepState } from "./types.js" */
/** @import { Work } from "./work.js" */

/** @param {string} at */
const moment = (at) => new Date(at).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });

/**
 * The section; it is drawn anew when a job has ended.
 * @param {Api} api
 * @param {Work} work
 */
export function upkeepSection(api, work) {
  const body = h("div", { class: "upkeep" });
  /** @param {UpkeepState} state */
  const draw = (state) => put(body, checked(state, api, work), copies(state, api, work),
    h("div", { class: "buttons" }, button(t("Back up now"), {
      onclick: () => save(api.backUp(), {
        done: (state) => {
          draw(state);
          toast(t("The backup is made"));
        },
      }),
    })));
  api.upkeep().then(draw, (error) => put(body, errorLine(error)));
  return h("section", { class: "upkeep", "aria-labelledby": "upkeep-title" },
    h("h3", { id: "upkeep-title" }, t("Upkeep")), body);
}

/** @param {UpkeepState} state @param {Api} api @param {Work} work */
function checked({ checked: last }, api, work) {
  const check = () => save(api.check(), { done: () => work.ask() });
  return [
    !last ? h("p", { class: "muted" },
      t("A check reads all that is stored and compares it with its checksums. Search goes on meanwhile."))
      : last.total ? h("p", { class: "bad" },
        tn(last.total, "{n} thing is damaged.", "{n} things are damaged."))
        : h("p", { class: "good" }, t("Everything was in order on {date}: {size} were checked.",
          { date: moment(last.at), size: fileSize(last.bytes) })),
    last?.total ? h("ul", { class: "problems", tabindex: "0", "aria-label": t("What is damaged") },
      last.problems.map((problem) => h("li", {}, problem))) : null,
    h("div", { class: "buttons" },
      last?.total ? button(t("Repair…"), { kind: "primary", onclick: () => askRepair(api, work) }) : null,
      button(last ? t("Check again") : t("Check the collection"), { onclick: check })),
  ];
}

/** @param {Api} api @param {Work} work */
function askRepair(api, work) {
  askSure(t("Repair the collection?"), [
    t("What can be read is kept, what cannot comes from the newest backup if that has it,"),
    t("and damaged vectors and thumbnails are computed again from your files."),
    t("A damaged database is kept in the folder “replaced” of the collection."),
    t("Nobody can search or mark until that is done. Your pictures and videos stay as they are."),
  ].join(" "), t("Repair"), () => save(api.repair(), { done: () => work.ask() }));
}

/** @param {UpkeepState} state @param {Api} api @param {Work} work */
function copies({ backups }, api, work) {
  /** @type {Record<string, string>} */
  const kinds = { daily: t("daily"), migration: t("before an upgrade"), manual: t("asked for") };
  /** @param {Backup} backup */
  const line = (backup) => tableRow(moment(backup.at), kinds[backup.kind] ?? backup.kind,
    fileSize(backup.bytes), button(t("Restore…"), {
      kind: "small", "aria-label": t("Restore the backup of {date}…", { date: moment(backup.at) }),
      onclick: () => attempt(async () => askRestore(await api.backup(backup.name), api, work)),
    }));
  return [
    h("h4", {}, t("Backups")),
    backups.length ? scrolled(t("Backups"), { class: "backups" },
      tableHead([t("Made"), t("Kind"), t("Size"), t("Way back")]), h("tbody", {}, backups.map(line)))
      : h("p", { class: "muted" }, t("There is none yet: one is made on every day with changes.")),
  ];
}

/** How many more there are now than in a backup, in words. @param {BackupContents} backup */
function since({ has, now }) {
  /** @param {string} name */
  const more = (name) => Math.max(0, (now?.[name] ?? 0) - has[name]);
  const [items, marks, albums, captions] = [more("items"), more("marks"), more("albums"), more("captions")];
  const [tags, stars, concepts] = [more("tags"), more("stars"), more("concepts")];
  const [searches, models] = [more("searches"), more("models")];
  return [
    marks ? tn(marks, "{n} mark", "{n} marks") : "", albums ? tn(albums, "{n} album", "{n} albums") : "",
    captions ? tn(captions, "{n} caption", "{n} captions") : "", tags ? tn(tags, "{n} tag", "{n} tags") : "",
    stars ? tn(stars, "{n} rating", "{n} ratings") : "",
    concepts ? tn(concepts, "{n} concept", "{n} concepts") : "",
    searches ? tn(searches, "{n} saved search", "{n} saved searches") : "",
    models ? tn(models, "{n} model", "{n} models") : "", items ? tn(items, "{n} item", "{n} items") : "",
  ].filter(Boolean).join(", ");
}

/** @param {BackupContents} backup @param {Api} api @param {Work} work */
function askRestore(backup, api, work) {
  const came = backup.now ? since(backup) : null;
  const keep = h("input", { type: "radio", name: "since", checked: true });
  const lose = h("input", { type: "radio", name: "since" });
  openSheet(t("Go back to the backup of {date}?", { date: moment(backup.at) }), (close) => [
    h("p", {}, came === null ? t("What is there now cannot be counted.")
      : came ? t("More than in the backup: {list}.", { list: came })
        : t("There is no more now than in the backup.")),
    h("fieldset", { class: "since" }, h("legend", {}, t("What came since then")),
      h("label", {}, keep, " ", t("keep it, as far as it can be read")),
      h("label", {}, lose, " ", t("lose it: marks, captions, tags, stars and albums"))),
    h("p", { class: "muted" }, [
      t("The database of now is kept in the folder “replaced” of the collection."),
      t("Files that the backup does not know are described again."),
      t("Nobody can search or mark until that is done. Your pictures and videos stay as they are."),
    ].join(" ")),
    h("div", { class: "buttons" }, button(t("Restore"), {
      kind: "primary", onclick: () => {
        close();
        save(api.restore(backup.name, keep.checked), { done: () => work.ask() });
      },
    })),
  ]);
}
