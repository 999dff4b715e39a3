// A table of captions for many files: chosen in a sheet, which then says what became of its rows.

import { button, h, put } from "./dom.js";
import { t, tn } from "./i18n.js";
import { save } from "./saving.js";
import { openSheet } from "./sheets.js";

/** @import { Api, StoredCaptions } from "./types.js" */

/** @param {Pick<Api, "addCaptions">} api */
export function askCaptions(api) {
  openSheet(t("Captions from a table"), () => {
    const field = h("input", {
      type: "file", accept: ".csv,.tsv,.txt,text/csv,text/tab-separated-values", required: true,
      "aria-label": t("A CSV or TSV file"), "aria-describedby": "captions-hint",
    });
    const outcome = h("div", { role: "status", class: "captions-outcome" });
    const send = button(t("Add"), { kind: "primary", type: "submit" });
    const onsubmit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      const file = field.files?.[0];
      if (!file) return;
      send.disabled = true;
      put(outcome, t("Reading {file}…", { file: file.name }));
      await save(api.addCaptions(file), {
        done: (stored) => put(outcome, said(stored)),
        refused: (reason) => {
          put(outcome, h("p", { class: "error" }, reason));
          return reason;
        },
      });
      send.disabled = false;
    };
    return [
      h("p", { id: "captions-hint" }, [
        t("Choose a CSV or TSV file with a header and the columns path and caption."),
        t("A path is relative to a folder of the collection."),
        t("The name of a file is enough where only one has it."),
        t("Captions that came by a table before are replaced, those written in the page stay."),
      ].join(" ")),
      h("form", { class: "inline", onsubmit }, field, send), outcome,
    ];
  });
}

/** @param {StoredCaptions} stored */
function said({ rows, matched, files, unmatched, cut }) {
  const missing = rows - matched;
  return [
    h("p", { class: matched ? "good" : "bad" },
      t("Rows that matched: {matched} of {rows}. Files with captions now: {files}.",
        { matched, rows, files })),
    cut ? h("p", {}, tn(cut, "{n} file had more text than is kept.", "{n} files had more text than is kept."))
      : null,
    missing ? [
      h("p", {}, tn(missing, "{n} row has no file, such as:", "{n} rows have no file, such as:")),
      h("ul", { class: "problems", tabindex: "0", "aria-label": t("Rows without a file") },
        unmatched.map((path) => h("li", {}, path))),
    ] : null,
  ];
}
