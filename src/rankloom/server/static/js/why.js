// "Why here": what each expert, neighbour and mark added to a score; and why one item is above another.

import { post } from "./api.js";
import { expertName, h, number, put, signed, table, thumbnail } from "./dom.js";
import { forServer, isList } from "./state.js";

const KINDS = table({ neighbour: "Its neighbours", mark: "Your marks", example: "Like your pictures", method: "Reranking by looks" });
const OTHERS = table({ "nearer than the rest": "What others have too", start: "Start of the model" });

/** Draws into the panel. `app` has `query`, `plain`, `grid`. */
export function makeWhy(app) {
  const root = h("div", { class: "why" });
  let held = null, asked = 0, again = null;

  async function show(hit) {
    again = () => show(hit);
    asked += 1;
    const mine = asked;
    if (isList(app.query)) return put(root, h("p", { class: "hint" }, "Filters alone list items by date: there is no score to take apart."));
    if (!hit) return put(root, h("p", { class: "hint" }, "Choose a result: its score is taken apart here."));
    if (root.dataset.item !== String(hit.id)) put(root, head(hit), h("p", { class: "hint" }, "One moment…"));
    root.dataset.item = hit.id;
    try {
      const found = await post("explain", { query: forServer(app.query), item: hit.id, diffusion: !app.plain });
      if (mine !== asked) return;
      put(root, head(hit, found.score), bars(found.why, app), sum(found.why, found.score, "score"), compareTools(hit));
    } catch (error) {
      if (mine === asked) put(root, head(hit), h("p", { class: "error" }, error.message));
    }
  }

  /** `score` is of now; after a mark the order that is shown still has the one before. */
  function head(hit, score = hit.score) {
    const before = Math.abs(score - hit.score) < 5e-4 ? "" : `, ${number(hit.score)} in the order shown`;
    return h("div", { class: "why-head" },
      h("img", { src: thumbnail(hit.id), alt: "" }),
      h("div", {}, h("div", { class: "place" }, `Result ${hit.rank}`), h("div", { class: "name" }, hit.caption || hit.name), h("div", { class: "muted", "data-score": score }, `score ${number(score)}${before}`)));
  }

  function compareTools(hit) {
    const index = app.grid.hits.findIndex((one) => one.id === hit.id);
    const above = app.grid.hits[index - 1], below = app.grid.hits[index + 1];
    const tool = (text, a, b) => h("button", { type: "button", class: "small", onclick: () => compare(a, b) }, text);
    return h("div", { class: "compare-tools" },
      h("h3", {}, "Compare"),
      h("div", { class: "buttons" },
        above ? tool(`Why is ${above.rank} above it?`, above, hit) : null,
        below ? tool(`Why is it above ${below.rank}?`, hit, below) : null,
        held && held.id !== hit.id ? tool(`With result ${held.rank}`, held.rank < hit.rank ? held : hit, held.rank < hit.rank ? hit : held) : null,
        h("button", { type: "button", class: "small quiet", "aria-pressed": String(held?.id === hit.id), onclick: () => { held = held?.id === hit.id ? null : hit; show(hit); } }, held?.id === hit.id ? "Held" : "Hold to compare")));
  }

  async function compare(a, b) {
    again = () => compare(a, b);
    asked += 1;
    const mine = asked;
    try {
      const found = await post("compare", { query: forServer(app.query), a: a.id, b: b.id, diffusion: !app.plain });
      if (mine !== asked) return;
      put(root,
        h("div", { class: "versus" },
          h("figure", {}, h("img", { src: thumbnail(a.id), alt: a.caption || a.name }), h("figcaption", {}, `Result ${a.rank}`)),
          h("span", {}, found.difference < 0 ? "now below" : "above"),
          h("figure", {}, h("img", { src: thumbnail(b.id), alt: b.caption || b.name }), h("figcaption", {}, `Result ${b.rank}`))),
        h("p", { class: "hint" }, "Bars to the right speak for the first, bars to the left for the second."),
        bars(found.why, app), sum(found.why, found.difference, "difference"),
        h("button", { type: "button", class: "small", onclick: () => show(app.grid.hit) }, "Back"));
    } catch (error) {
      root.append(h("p", { class: "error" }, error.message));
    }
  }

  return { root, show, refresh: () => again?.() };
}

/** Bars in groups; a group opens into its experts. */
export function bars(parts, app) {
  const groups = new Map();
  for (const part of parts) {
    const key = part.kind === "other" ? OTHERS[part.name] ?? part.name : KINDS[part.kind] ?? expertName(part.name).group;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(part);
  }
  const sums = [...groups].map(([name, members]) => ({ name, members, value: members.reduce((total, part) => total + part.value, 0) }));
  sums.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const largest = Math.max(1e-12, ...sums.map((one) => Math.abs(one.value)));
  const negative = sums.some((one) => one.value < 0) || parts.some((one) => one.value < 0);
  return h("div", { class: `bars${negative ? " two-sided" : ""}`, role: "list", "aria-label": "Parts of the score" }, sums.map(({ name, members, value }) => {
    const line = bar(name, value, largest);
    if (members.length === 1 && !members[0].item) return h("div", { role: "listitem" }, line);
    const pictures = members.filter((part) => part.item), rest = members.filter((part) => !part.item);
    const inside = [
      pictures.length ? h("div", { class: "neighbours" }, pictures.slice(0, 12).map((part) => neighbour(part, app))) : null,
      rest.map((part) => bar(part.kind === "mark" ? part.name : expertName(part.name).detail || part.name, part.value, largest, "part")),
    ];
    return h("div", { role: "listitem" }, h("details", { open: members[0].kind === "neighbour" }, h("summary", {}, line), inside));
  }));
}

function bar(name, value, largest, kind = "") {
  const share = `${(100 * Math.abs(value)) / largest}%`;
  return h("span", { class: `bar ${kind} ${value < 0 ? "less" : "more"}` },
    h("span", { class: "label", title: name }, name), h("span", { class: "track" }, h("i", { style: { width: share } })), h("span", { class: "value", "data-value": value }, signed(value)));
}

function neighbour(part, app) {
  return h("button", { type: "button", class: part.value < 0 ? "less" : "more", "aria-label": `${part.name}: ${signed(part.value)}; search for more like it`, title: `${signed(part.value)}: more like this`, onclick: () => app.addItem(part.item, true) },
    h("img", { src: thumbnail(part.item), alt: "" }), h("span", {}, signed(part.value)));
}

function sum(parts, total, word) {
  const added = parts.reduce((all, part) => all + part.value, 0);
  return h("p", { class: "sum", "data-sum": added, "data-total": total }, `All parts together: ${number(added, 4)}`, h("span", { class: "muted" }, ` = the ${word}, ${number(total, 4)}`));
}
