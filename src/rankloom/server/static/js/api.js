// The server's API: it answers with data or throws; and it says when the server goes away, is back,
// or wants its token.

import { currentCollection, setCollection } from "./addresses.js";
import { t } from "./i18n.js";
import { reason } from "./reasons.js";

/** @import { Api, Session } from "./types.js" */

/** An answer that is no success; `status` is 0 if there was none, `line` what the server said of it. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message @param {string} [line] */
  constructor(status, message, line = "") {
    super(message);
    this.status = status;
    this.line = line;
  }
}

/** @type {Record<"away" | "back" | "token", (() => void)[]>} */
const listeners = { away: [], back: [], token: [] };
let away = false;

/** @param {"away" | "back" | "token"} event @param {() => void} listener */
export const on = (event, listener) => listeners[event].push(listener);

/** @param {"away" | "back" | "token"} event */
const emit = (event) => { for (const listener of listeners[event]) listener(); };

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body] a blob is sent as it is, anything else as JSON
 * @returns {Promise<Response>}
 */
async function request(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = { "X-Rankloom": "1" };
  // A page that was loaded before the server got another collection must not mark the items of that one.
  if (currentCollection()) headers["X-Rankloom-Collection"] = currentCollection();
  let data = body;
  if (body !== undefined && !(body instanceof Blob)) {
    headers["Content-Type"] = "application/json";
    data = JSON.stringify(body);
  }
  let response;
  try {
    const sent = /** @type {BodyInit | undefined} */ (data);
    response = await fetch(`/api/${path}`, { method, headers, body: sent, credentials: "same-origin" });
  } catch {
    lost();
    throw new ApiError(0, t("The server does not answer. It is tried again every second."));
  }
  reached();
  if (response.status === 401) emit("token");
  if (!response.ok) {
    const line = await response.json().then((answer) => answer.error, () => "");
    const { status } = response;
    const said = line ? reason(line) : t("The server answered {status}.", { status: String(status) });
    throw new ApiError(status, said, line);
  }
  return response;
}

function lost() {
  if (away) return;
  away = true;
  emit("away");
  const timer = setInterval(async () => {
    const answer = await fetch("/api/health", { cache: "no-store" }).catch(() => null);
    if (!answer?.ok) return;
    clearInterval(timer);
    reached();
  }, 1000);
}

function reached() {
  if (!away) return;
  away = false;
  emit("back");
}

/** @param {string} path */
const get = async (path) => (await request("GET", path)).json();
/** @param {string} path @param {unknown} [body] */
export const post = async (path, body) => (await request("POST", path, body)).json();
/** @param {string} path @param {string} name */
const remove = async (path, name) => (await request("DELETE", `${path}/${encodeURIComponent(name)}`)).json();

/** Parameters of an address; what is left open is left out. @param {Record<string, unknown>} values */
function parameters(values) {
  const known = Object.entries(values).filter(([, value]) => (value ?? "") !== "");
  return new URLSearchParams(known.map(([name, value]) => [name, String(value)])).toString();
}

/** The session; what the page shows from now on is of its collection. @param {Promise<Session>} asked */
async function known(asked) {
  const session = await asked;
  setCollection(session.collection);
  return session;
}

/** @type {Api} */
export const api = {
  session: () => known(get("session")),
  signIn: (token) => known(post("session", { token })),
  switchProfile: (profile) => known(post("session/profile", { profile })),
  collection: () => get("collection"),
  suggestions: () => get("examples"),
  offers: (typed) => get(`suggest?prefix=${encodeURIComponent(typed.slice(0, 1000))}`),
  errors: () => get("errors"),
  index: () => post("errors/retry"),
  places: (asked) => get(`places?${parameters(asked)}`),
  duplicates: (offset, k) => get(`duplicates?${parameters({ offset, k })}`),
  trashCopies: (groups) => post("duplicates/trash", { groups }),
  work: () => get("work"),
  pauseWork: () => post("work/pause"),
  resumeWork: () => post("work/resume"),
  cancelWork: (waiting) => post("work/cancel", waiting === undefined ? {} : { waiting }),
  upkeep: () => get("upkeep"),
  backUp: () => post("upkeep/backups"),
  backup: (name) => get(`upkeep/backups/${encodeURIComponent(name)}`),
  check: () => post("upkeep/check"),
  repair: () => post("upkeep/repair"),
  restore: (backup, merge) => post("upkeep/restore", { backup, merge }),
  roots: (folder) => get(`roots?${parameters({ folder })}`),
  addFolder: (folder) => post("roots", { folder }),
  search: (body) => post("search", body),
  interleave: (query, against, k) => post("interleave", { query, against, k }),
  browse: (listed, offset, k) => get(`browse?${parameters({ ...listed, offset, k })}`),
  months: (listed) => get(`browse/months?${parameters(listed)}`),
  browsedItems: (listed, offset, k) => get(`browse/items?${parameters({ ...listed, offset, k })}`),
  folders: () => get("folders"),
  tags: () => get("tags"),
  paths: (items) => post("items/paths", { items }),
  rate: (items, stars) => post("items/rate", { items, stars }),
  hide: (items, hidden) => post("items/hide", { items, hidden }),
  tag: (items, change) => post("items/tags", { items, ...change }),
  caption: (item, caption) => post("items/caption", { item, caption }),
  albums: () => get("albums"),
  makeAlbum: (album) => post("albums", album),
  changeAlbum: (id, change) => post(`albums/${id}`, change),
  deleteAlbum: (id) => remove("albums", String(id)),
  albumItems: (id, change) => post(`albums/${id}/items`, change),
  albumOrder: (id, items, before) => post(`albums/${id}/order`, { items, before }),
  albumSuggestions: (id) => get(`albums/${id}/suggestions`),
  download: (items, what) => post("downloads", { items, what }),
  explain: (body) => post("explain", body),
  compare: (body) => post("compare", body),
  marks: (query) => post("marks", { query }),
  export: async (body) => (await request("POST", "export", body)).blob(),
  upload: (picture) => post("upload", picture),
  item: (id) => get(`items/${id}`),
  reveal: (id) => post(`items/${id}/reveal`),
  experts: () => get("experts"),
  setExperts: (body) => post("experts", body),
  curve: () => get("curve"),
  models: () => get("models"),
  preferences: () => get("models/preferences"),
  train: (ranker) => post("models/train", { ranker }),
  useModel: (id) => post("models/use", { id }),
  concepts: () => get("concepts"),
  makeConcept: (name, from) => post("concepts", { name, ...from }),
  forgetConcept: (name) => remove("concepts", name),
  addCaptions: (table) => post("captions", table),
  people: () => get("people"),
  groupFaces: (on, forget = false) => post("people", { on, delete: forget }),
  namePerson: (id, name) => post(`people/${id}/name`, { name }),
  mergePeople: (id, others) => post(`people/${id}/merge`, { others }),
  splitPerson: (id, faces) => post(`people/${id}/split`, { faces }),
  saved: () => get("saved"),
  save: (name, query) => post("saved", { name, query }),
  forgetSaved: (name) => remove("saved", name),
};
