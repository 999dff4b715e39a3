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
const post = async (path, body) => (await request("POST", path, body)).json();

// What changes something is not sent by asking for it: `save` sends it, and says what became of it.
/** @param {string} path @param {unknown} [body] @returns {() => Promise<any>} */
const write = (path, body) => () => post(path, body);
/** @param {string} path @param {string} name @returns {() => Promise<any>} */
const removal = (path, name) => async () =>
  (await request("DELETE", `${path}/${encodeURIComponent(name)}`)).json();

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
  switchProfile: (profile) => () => known(post("session/profile", { profile })),
  collection: () => get("collection"),
  suggestions: () => get("examples"),
  offers: (typed) => get(`suggest?prefix=${encodeURIComponent(typed.slice(0, 1000))}`),
  errors: () => get("errors"),
  index: () => write("errors/retry"),
  places: (asked) => get(`places?${parameters(asked)}`),
  duplicates: (offset, k) => get(`duplicates?${parameters({ offset, k })}`),
  trashCopies: (groups) => write("duplicates/trash", { groups }),
  work: () => get("work"),
  pauseWork: () => write("work/pause"),
  resumeWork: () => write("work/resume"),
  cancelWork: (waiting) => write("work/cancel", waiting === undefined ? {} : { waiting }),
  upkeep: () => get("upkeep"),
  backUp: () => write("upkeep/backups"),
  backup: (name) => get(`upkeep/backups/${encodeURIComponent(name)}`),
  check: () => write("upkeep/check"),
  repair: () => write("upkeep/repair"),
  restore: (backup, merge) => write("upkeep/restore", { backup, merge }),
  roots: (folder) => get(`roots?${parameters({ folder })}`),
  addFolder: (folder) => write("roots", { folder }),
  search: (body) => post("search", body),
  interleave: (query, against, k) => post("interleave", { query, against, k }),
  browse: (listed, offset, k) => get(`browse?${parameters({ ...listed, offset, k })}`),
  months: (listed) => get(`browse/months?${parameters(listed)}`),
  browsedItems: (listed, offset, k) => get(`browse/items?${parameters({ ...listed, offset, k })}`),
  folders: () => get("folders"),
  tags: () => get("tags"),
  paths: (items) => post("items/paths", { items }),
  rate: (items, stars) => write("items/rate", { items, stars }),
  hide: (items, hidden) => write("items/hide", { items, hidden }),
  tag: (items, change) => write("items/tags", { items, ...change }),
  caption: (item, caption) => write("items/caption", { item, caption }),
  albums: () => get("albums"),
  makeAlbum: (album) => write("albums", album),
  changeAlbum: (id, change) => write(`albums/${id}`, change),
  deleteAlbum: (id) => removal("albums", String(id)),
  albumItems: (id, change) => write(`albums/${id}/items`, change),
  albumOrder: (id, items, before) => write(`albums/${id}/order`, { items, before }),
  albumSuggestions: (id) => get(`albums/${id}/suggestions`),
  download: (items, what) => post("downloads", { items, what }),
  explain: (body) => post("explain", body),
  compare: (body) => post("compare", body),
  marks: (query) => post("marks", { query }),
  mark: (judged) => write("feedback", judged),
  undo: (mark) => write("undo", { mark }),
  export: async (body) => (await request("POST", "export", body)).blob(),
  upload: (picture) => post("upload", picture),
  item: (id) => get(`items/${id}`),
  reveal: (id) => post(`items/${id}/reveal`),
  experts: () => get("experts"),
  setExperts: (body) => write("experts", body),
  curve: () => get("curve"),
  models: () => get("models"),
  preferences: () => get("models/preferences"),
  train: (ranker) => write("models/train", { ranker }),
  useModel: (id) => write("models/use", { id }),
  concepts: () => get("concepts"),
  makeConcept: (name, from) => write("concepts", { name, ...from }),
  forgetConcept: (name) => removal("concepts", name),
  addCaptions: (table) => write("captions", table),
  people: () => get("people"),
  groupFaces: (on, forget = false) => write("people", { on, delete: forget }),
  namePerson: (id, name) => write(`people/${id}/name`, { name }),
  mergePeople: (id, others) => write(`people/${id}/merge`, { others }),
  splitPerson: (id, faces) => write(`people/${id}/split`, { faces }),
  saved: () => get("saved"),
  save: (name, query) => write("saved", { name, query }),
  forgetSaved: (name) => removal("saved", name),
};
