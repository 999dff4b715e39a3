// What stands there before the first search, and when there is nothing to show: always with something to do next.

import { get } from "./api.js";
import { $, button, h, put, thumbnail } from "./dom.js";
import { isList } from "./state.js";

export async function welcome(app) {
  const place = $("message");
  const box = h("div", { class: "welcome" },
    h("h2", {}, "Find pictures by what they show"),
    h("p", {}, "Search your pictures and videos with words, with a picture, or with both. Mark results right or wrong, and the next order is better, here and in every later search. “Why here” shows what put a result in its place."));
  put(place, box);
  try {
    const { words, items } = await get("examples");
    if (place.firstChild !== box) return;
    if (!words.length && !items.length) {
      box.append(h("p", { class: "hint" }, "The collection is still empty. Fill it with: ", h("code", {}, "rankloom index PATH")));
      return;
    }
    const card = (item, text, action) => h("li", {}, h("button", { type: "button", class: "card", onclick: action, "aria-label": text ? `Search for ${text}` : `Search for pictures like item ${item}` },
      h("img", { src: thumbnail(item), alt: "", loading: "lazy" }), text ? h("span", {}, text) : null));
    if (words.length) box.append(h("h3", {}, "Try a word from this collection"), h("ul", { class: "cards" }, words.map((one) => card(one.item, one.text, () => app.searchFor(one.text)))));
    if (items.length) box.append(h("h3", {}, "Or start from a picture"), h("ul", { class: "cards" }, items.map((item) => card(item, "", () => app.addItem(item, true)))));
  } catch (error) {
    if (place.firstChild === box) box.append(h("p", { class: "error" }, error.message));
  }
}

/** Nothing was found: say what to try. */
export function nothing(app) {
  const filtered = Object.keys(app.query.filters).length > 0;
  put($("message"), h("div", { class: "notice" },
    h("h2", {}, "Nothing was found"),
    h("p", {}, isList(app.query) ? "No item passes these filters. Clear one of them, or all." : filtered ? "No item with something of this search passes the filters. Clear them, or use other words." : "No item has these words. Use fewer or other words, or drop a picture of what you look for."),
    h("div", { class: "buttons" },
      filtered ? button("Clear the filters", { kind: "primary", onclick: () => { app.query.filters = {}; app.search(); } }) : null,
      button("Start again", { onclick: () => app.home() }))));
}

/** The search failed: the reason, and a way on. */
export function failed(app, error) {
  const filter = error.status === 422 && error.message.startsWith("filters.");
  const gone = error.status === 422 && /picture/.test(error.message);
  put($("message"), h("div", { class: "notice bad", role: "alert" },
    h("h2", {}, error.status === 0 ? "The server does not answer" : "This search did not work"),
    h("p", {}, error.status === 0 ? "Start it again with “rankloom serve”; the search goes on by itself." : error.message),
    h("div", { class: "buttons" },
      filter ? button("Clear the filters", { onclick: () => { app.query.filters = {}; app.search(); } }) : null,
      gone ? button("Search without pictures", { onclick: () => { app.query.examples = []; app.search(); } }) : null,
      button("Try again", { kind: "primary", onclick: () => app.search({ push: false }) }), button("Start again", { onclick: () => app.home() }))));
}
