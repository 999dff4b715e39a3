// What stands there before the first search, and when there is nothing to show: always with a next step.

import { thumbnail } from "./addresses.js";
import { $, button, errorLine, h, put } from "./dom.js";
import { t } from "./i18n.js";
import { isEmpty, isList } from "./query.js";

/** @import { ApiError } from "./api.js" */
/** @import { Api, Query, State, Store } from "./types.js" */
/**
 * @typedef {object} Actions
 * @property {() => void} again
 * @property {() => void} home
 * @property {() => void} clearFilters
 * @property {(patch: Partial<Query>) => void} change
 * @property {(query: Partial<Query>) => void} ask
 * @property {(item: number) => void} similar
 * @property {() => HTMLElement} empty what to do while the collection is empty
 */

const WELCOME = t("Search with words, with a picture, or with both. Mark results right or wrong, "
  + "and the next order is better, here and in every later search.");

const AWAY = t("Start it again with “rankloom serve”; the search goes on by itself.");

/**
 * Keep the place above the results as the state wants it.
 * @param {Store<State>} store
 * @param {Pick<Api, "suggestions">} api
 * @param {Actions} actions
 */
export function makeMessages(store, api, actions) {
  const place = $("message");
  store.watch(["order", "error"], ({ error, answer, hits, query, folders }) => {
    if (error) put(place, failed(/** @type {ApiError} */ (error), query, actions));
    else if (isEmpty(query)) put(place, welcome(api, actions));
    else if (hits.length) put(place);
    else if (answer) put(place, folders.length ? nothing(query, actions) : actions.empty());
  });
}

/** @param {Pick<Api, "suggestions">} api @param {Actions} actions */
function welcome(api, actions) {
  const box = h("div", { class: "welcome" },
    h("h2", {}, t("Find pictures by what they show")), h("p", {}, WELCOME));
  const waiting = Array.from({ length: 10 }, () => h("i", {}));
  const place = h("div", { class: "cards waiting", "aria-hidden": "true" }, waiting); // as high as what comes
  box.append(place);
  suggestions(api, actions).then((parts) => place.replaceWith(...parts),
    (error) => place.replaceWith(errorLine(error)));
  return box;
}

/** @param {Pick<Api, "suggestions">} api @param {Actions} actions */
async function suggestions(api, { ask, similar, empty }) {
  const { words, items } = await api.suggestions();
  const cards = [
    words.map(({ item, text }) => card(item, t("Search for {text}", { text }), () => ask({ text }), text)),
    items.map((item) => card(item, t("Search for pictures like item {item}", { item: String(item) }),
      () => similar(item))),
  ].flat();
  if (cards.length) {
    const label = t("Searches to try, by a word or by a picture");
    return [h("ul", { class: "cards", "aria-label": label }, cards)];
  }
  return [empty()];
}

/** @param {number} item @param {string} label @param {() => void} onclick */
function card(item, label, onclick, text = "") {
  return h("li", {}, h("button", { type: "button", class: "card", onclick, "aria-label": label },
    h("img", { src: thumbnail(item), alt: "", loading: "lazy" }), text ? h("span", {}, text) : null));
}

/** Nothing was found: say what to try. @param {Query} query @param {Actions} actions */
function nothing(query, { clearFilters, home }) {
  if (isList(query) && Object.keys(query.filters).join() === "album") {
    return h("div", { class: "notice" }, h("h2", {}, t("The album is empty")),
      h("p", {}, t("Select pictures anywhere, by Ctrl and a click or by holding them, and choose Album. "
        + "What a living album suggests stands above.")));
  }
  const filtered = Object.keys(query.filters).length > 0;
  const words = filtered
    ? t("No item with something of this search passes the filters. Clear them, or use other words.")
    : t("No item has these words. Use fewer or other words, or drop a picture of what you look for.");
  return h("div", { class: "notice" },
    h("h2", {}, t("Nothing was found")),
    h("p", {}, isList(query) ? t("No item passes these filters. Clear one of them, or all.") : words),
    h("div", { class: "buttons" },
      filtered ? button(t("Clear the filters"), { kind: "primary", onclick: clearFilters }) : null,
      button(t("Start again"), { onclick: home })));
}

/**
 * The search failed: the reason, and a way on.
 * @param {ApiError} error
 * @param {Query} query
 * @param {Actions} actions
 */
function failed({ status, message, line }, query, { again, home, clearFilters, change }) {
  const filter = status === 422 && (isList(query) || line.includes("filters."));
  const gone = status === 422 && line.includes("picture");
  const cure = filter || gone; // asked in the same way it would fail again
  const withoutPictures = () => change({ examples: [] });
  return h("div", { class: "notice bad", role: "alert" },
    h("h2", {}, status === 0 ? t("The server does not answer") : t("This search did not work")),
    h("p", {}, status === 0 ? AWAY : message),
    h("div", { class: "buttons" },
      filter ? button(t("Clear the filters"), { kind: "primary", onclick: clearFilters }) : null,
      gone ? button(t("Search without pictures"), { kind: "primary", onclick: withoutPictures }) : null,
      cure ? null : button(t("Try again"), { kind: "primary", onclick: again }),
      button(t("Start again"), { onclick: home })));
}
