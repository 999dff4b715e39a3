// Below the box: filters, saved searches, export, and how the results are shown.

import { drop, get, post } from "./api.js";
import { $, button, h, icon, menu, put, toast } from "./dom.js";
import { forServer, fromServer, inWords, isEmpty, isList } from "./state.js";

const DATES = ["today", "yesterday", "7d", "30d", "6m", "1y"];
const SIZES = { Small: 130, Medium: 190, Large: 280 };

/** `app` has `query`, `plain`, `search()`, `grid`, `folders`. */
export function makeTools(app) {
  const field = (label, element) => h("label", { class: "field" }, h("span", {}, label), element);
  const kind = h("select", {}, option("", "Pictures and videos"), option("picture", "Pictures"), option("shot", "Video shots"));
  const folder = h("select", {}, option("", "All folders"));
  const dates = h("datalist", { id: "dates" }, DATES.map((name) => option(name, name)));
  const day = () => h("input", { type: "text", list: "dates", size: "14", maxlength: "40", placeholder: "2024-05 or 30d", autocomplete: "off", spellcheck: "false" });
  const after = day(), before = day();
  const text = h("select", {}, option("", "Either"), option("1", "With a text"), option("0", "Without a text"));
  const plain = h("input", { type: "checkbox" });
  const set = (name, value) => { if (value) app.query.filters[name] = value; else delete app.query.filters[name]; app.search(); };
  kind.addEventListener("change", () => set("kind", kind.value));
  folder.addEventListener("change", () => set("folder", folder.value));
  // Enter searches even where the list of proposals is open and keeps the event "change" to itself.
  for (const [name, input] of [["after", after], ["before", before]]) {
    const apply = () => { if (input.value.trim() !== (app.query.filters[name] ?? "")) set(name, input.value.trim()); };
    input.addEventListener("change", apply);
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") apply(); });
  }
  text.addEventListener("change", () => { if (text.value) app.query.filters.has_text = text.value === "1"; else delete app.query.filters.has_text; app.search(); });
  plain.addEventListener("change", () => { app.plain = plain.checked; app.search(); });

  const filters = h("div", { class: "filters", id: "filters" },
    field("Kind", kind), field("Folder", folder), field("From", after), field("Before", before), dates, field("Text", text),
    h("label", { class: "check" }, plain, "Each result by itself, without its neighbours"),
    button("Clear", { kind: "small quiet", onclick: () => { app.query.filters = {}; app.plain = false; app.search(); } }));
  const toggle = h("button", { type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": "filters", onclick: () => open(filters.hidden) }, icon("filter"), h("span", {}, "Filters"));
  const open = (on) => { filters.hidden = !on; toggle.setAttribute("aria-expanded", String(on)); };
  open(false);

  const size = h("select", { "aria-label": "Size of the pictures" }, Object.keys(SIZES).map((name) => option(name, name)));
  size.value = localStorage.getItem("size") ?? "Medium";
  const resize = () => { app.grid.size = SIZES[size.value] ?? 190; localStorage.setItem("size", size.value); app.grid.layout(); };
  size.addEventListener("change", resize);

  const panel = h("button", { type: "button", class: "quiet", id: "panel-toggle", "aria-controls": "panel", "aria-expanded": "false", onclick: () => app.panel.toggle() }, icon("panel"), h("span", {}, "Why & marks"));
  put($("tools"),
    h("div", { class: "tool-row" }, toggle, menu("Saved", "save", saved), menu("Export", "export", exports), h("span", { class: "spring" }), size, panel), filters);

  async function saved(close) {
    const list = await get("saved").catch((error) => { toast(error.message, "bad"); return []; });
    const name = h("input", { type: "text", maxlength: "60", placeholder: "Name", "aria-label": "Name for this search", value: app.query.text.replace(/[^\p{L}\p{M}\p{N} _-]/gu, "").trim() });
    const form = h("form", { class: "inline", onsubmit: async (event) => {
      event.preventDefault();
      try {
        await post("saved", { name: name.value.trim(), query: forServer(app.query) });
        toast("The search is saved");
        close(true);
      } catch (error) { toast(error.message, "bad"); }
    } }, name, h("button", { class: "small" }, "Save this"));
    const line = (one) => h("li", {},
      h("button", { type: "button", class: "link", onclick: () => { app.query = fromServer(one.query); close(); app.search(); } }, one.name, h("small", {}, inWords(fromServer(one.query)))),
      app.readOnly ? null : h("button", { type: "button", class: "icon-button", "aria-label": `Forget ${one.name}`, onclick: async (event) => { await drop(`saved/${encodeURIComponent(one.name)}`).catch((error) => toast(error.message, "bad")); event.target.closest("li")?.remove(); } }, icon("wrong")));
    return [isEmpty(app.query) || app.readOnly ? null : form, list.length ? h("ul", { class: "choices" }, list.map(line)) : h("p", { class: "muted" }, "No search is saved yet.")].filter(Boolean);
  }

  function exports(close) {
    const choice = (what, format, name) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => { save(what, format); close(true); } }, name));
    const results = isEmpty(app.query) ? null : [h("h3", {}, "These results"), h("ul", { class: "choices" }, choice("results", "json", "JSON"), choice("results", "csv", "CSV"), isList(app.query) ? null : choice("results", "trec", "TREC run"))];
    return [results, h("h3", {}, "All my marks"), h("ul", { class: "choices" }, choice("marks", "json", "JSON"), choice("marks", "csv", "CSV"), choice("marks", "trec", "TREC qrels"))].flat().filter(Boolean);
  }

  async function save(what, format) {
    try {
      const body = { what, format, ...(what === "results" ? { query: forServer(app.query), k: 10000, diffusion: !app.plain } : {}) };
      const response = await post("export", body, { raw: true });
      const address = URL.createObjectURL(await response.blob());
      const link = h("a", { href: address, download: `rankloom-${what}.${format === "trec" ? "txt" : format}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  return {
    resize,
    /** Show what the query holds. */
    show() {
      const { filters: of } = app.query;
      if (folder.options.length - 1 !== app.folders.length || (of.folder && !app.folders.includes(of.folder))) {
        const known = of.folder && !app.folders.includes(of.folder) ? [of.folder, ...app.folders] : app.folders;
        put(folder, option("", "All folders"), ...known.map((name) => option(name, name)));
      }
      kind.value = of.kind ?? "";
      folder.value = of.folder ?? "";
      after.value = of.after ?? "";
      before.value = of.before ?? "";
      text.value = of.has_text === undefined || of.has_text === null ? "" : of.has_text ? "1" : "0";
      plain.checked = app.plain;
      const active = Object.keys(of).length + (app.plain ? 1 : 0);
      toggle.classList.toggle("active", active > 0);
      toggle.lastChild.textContent = active ? `Filters (${active})` : "Filters";
      if (active) open(true);
      $("panel-toggle").setAttribute("aria-expanded", String(!$("panel").hidden));
    },
  };
}

const option = (value, text) => h("option", { value }, text);
