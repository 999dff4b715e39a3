// What is said about the results: how many and how fast, and that there is a new order to be seen.

import { $, button, h, put } from "./dom.js";
import { duration, howMany, literally } from "./format.js";
import { t, tn } from "./i18n.js";
import { isEmpty, isList } from "./query.js";

/** @import { State, Store } from "./types.js" */

/** @type {Record<string, string>} */
const ORDERS = {
  newest: t("newest first"), oldest: t("oldest first"), name: t("by name"),
  uncertain: t("most uncertain first"),
};

/**
 * The line above the results, the title of the window, and the signs that a search is under way.
 * @param {Store<State>} store
 * @param {(text: string) => void} search
 */
export function makeStatus(store, search) {
  const view = $("view-search");
  store.watch(["answer", "order"], ({ answer, order, groups, sort }) => {
    view.classList.toggle("by-date", order.byDate);
    const by = groups ? ORDERS[groups[0]?.month ? sort || "newest" : sort] ?? "" : ORDERS[sort] ?? "";
    put($("status"), answer ? [
      answer.did_you_mean ? meant(answer.did_you_mean, search) : null,
      groups ? h("strong", {}, tn(answer.total, "{n} item", "{n} items"))
        : h("span", { title: tn(answer.total, "{n} item in all", "{n} items in all") },
          h("strong", {}, howMany(answer, sort))),
      ...literally(answer).map((said) => h("span", { class: "muted" }, said)),
      answer.marks ? h("span", { class: "follows" },
        tn(answer.marks, "follows {n} mark", "follows {n} marks")) : null,
      answer.learning ? h("span", { class: "muted" }, t("still learning from marks")) : null,
      answer.diffused ? h("span", { class: "muted" }, t("neighbours count")) : null,
      by ? h("span", { class: "muted" }, by) : null,
      groups ? null : h("span", { class: "muted took" }, duration(answer.seconds)),
    ] : null);
  });
  store.watch(["searching"], ({ searching }) => {
    view.classList.toggle("searching", searching);
    if (searching) $("results").setAttribute("aria-busy", "true");
    else $("results").removeAttribute("aria-busy");
  });
  store.watch(["asked"], ({ searching, query }) => {
    const asked = searching && !isEmpty(query);
    view.classList.toggle("listing", isList(query)); // at once: what lists do not have must not move others
    document.title = asked ? `${query.text.trim() || t("Pictures")} · Rankloom` : "Rankloom";
  });
}

/**
 * The offer to search for words that the collection has.
 * @param {string} text
 * @param {(text: string) => void} search
 */
function meant(text, search) {
  return h("button", { type: "button", class: "link meant", onclick: () => search(text) },
    t("Did you mean “{text}”?", { text }));
}

/**
 * The offer to show the new order: nothing moves before it is asked for.
 * @param {Store<State>} store
 * @param {{ reorder: () => void, undo: () => void, focusResults: () => void }} actions
 */
export function makePill(store, { reorder, undo, focusResults }) {
  const pill = $("pill");
  const said = h("span", { class: "said" });
  put(pill, h("span", { class: "dot" }), said,
    button(t("Show the new order"), {
      kind: "primary", id: "reorder", "aria-keyshortcuts": "n", onclick: reorder,
    }),
    button(t("Undo"), { kind: "quiet", onclick: undo }));
  store.watch(["changes", "answer"], ({ changes, answer }) => {
    const hadFocus = pill.contains(document.activeElement);
    pill.hidden = changes === 0 || !answer;
    if (!pill.hidden) {
      said.textContent = tn(changes, "{n} change since this order", "{n} changes since this order");
    } else if (hadFocus) focusResults();
  });
}
