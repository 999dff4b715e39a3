// A server that others can reach asks for its token once; the browser then keeps a cookie.

import { get, on, post } from "./api.js";
import { $, h, put } from "./dom.js";

/** Resolves when this browser may ask, with what the server says of itself. */
export async function begin() {
  const given = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    await post("session", { token: decodeURIComponent(given) }).catch(() => {});
  }
  const session = await reached();
  if (!session.authorized) await askToken();
  on("token", () => { if (!$("token").open) askToken().then(() => location.reload()); });
  return session;
}

async function reached() {
  for (;;) {
    try {
      return await get("session");
    } catch (error) {
      if (error.status) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function askToken() {
  return new Promise((resolve) => {
    const dialog = $("token");
    const field = h("input", { type: "password", autocomplete: "current-password", "aria-label": "Token", required: true });
    const wrong = h("p", { class: "error", role: "alert" });
    put(dialog, h("form", { onsubmit: async (event) => {
      event.preventDefault();
      try {
        await post("session", { token: field.value });
        dialog.close();
        resolve();
      } catch (error) {
        wrong.textContent = error.message;
        field.select();
      }
    } }, h("h2", { id: "token-title" }, "This server needs its token"), h("p", { class: "muted" }, "Whoever started it has the token. It is asked for once."), field, wrong, h("div", { class: "buttons" }, h("button", { class: "primary" }, "Continue"))));
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.showModal();
  });
}
