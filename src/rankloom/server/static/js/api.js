// The server's API: one function a call, errors with the server's own line, and marks that wait while it is away.

import { $, h, put } from "./dom.js";

/** An answer that is no success; `status` is 0 if there was none. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const listeners = { back: [], token: [] };
let away = false;

/** Call when the server is back ("back"), or when it wants its token ("token"). */
export const on = (event, listener) => listeners[event].push(listener);

async function ask(method, path, body, options = {}) {
  const headers = { "X-Rankloom": "1", ...(options.headers ?? {}) };
  let data = body;
  if (body !== undefined && !(body instanceof Blob)) {
    headers["Content-Type"] = "application/json";
    data = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(`/api/${path}`, { method, headers, body: data, signal: options.signal, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    lost();
    throw new ApiError(0, "The server does not answer. It is tried again every second.");
  }
  found();
  if (response.status === 401) for (const listener of listeners.token) listener();
  if (!response.ok) {
    const line = await response.json().then((one) => one.error, () => "");
    throw new ApiError(response.status, line || `The server answered ${response.status}.`);
  }
  return options.raw ? response : response.json();
}

export const get = (path, options) => ask("GET", path, undefined, options);
export const post = (path, body, options) => ask("POST", path, body, options);
export const drop = (path) => ask("DELETE", path);

function lost() {
  if (away) return;
  away = true;
  const waiting = outbox.length ? " Your marks are kept here until then." : "";
  put($("banner"), h("strong", {}, "The server does not answer."), ` Start it again, and this page goes on by itself.${waiting}`);
  $("banner").hidden = false;
  const timer = setInterval(async () => {
    const answer = await fetch("/api/health", { cache: "no-store" }).catch(() => null);
    if (!answer?.ok) return;
    clearInterval(timer);
    found();
  }, 1000);
}

async function found() {
  if (!away) return;
  away = false;
  $("banner").hidden = true;
  await flush();
  for (const listener of listeners.back) listener();
}

// Marks are sent one after another, in the order in which they were made; what the server did not take waits.
const outbox = [];
let sending = false;

/** Send a mark (or take one back); resolves when the server has it on disk. */
export function deliver(path, body) {
  return new Promise((resolve, reject) => {
    outbox.push({ path, body, resolve, reject });
    flush();
  });
}

/** How many marks the server does not have yet. */
export const undelivered = () => outbox.length;

async function flush() {
  if (sending) return;
  sending = true;
  while (outbox.length) {
    const { path, body, resolve, reject } = outbox[0];
    try {
      const answer = await post(path, body);
      outbox.shift();
      resolve(answer);
    } catch (error) {
      if (error.status === 0) break;
      if (error.status === 503 || error.status === 429) {
        await new Promise((wait) => setTimeout(wait, 1000));
        continue;
      }
      outbox.shift();
      reject(error);
    }
  }
  sending = false;
}

addEventListener("beforeunload", (event) => { if (outbox.length) event.preventDefault(); });
