// A server that others can reach asks for its token once; the browser then keeps a cookie.

import { api, on } from "./api.js";
import { $, h, messageOf, put } from "./dom.js";
import { t } from "./i18n.js";
import { saving } from "./saving.js";

/** @import { ApiError } from "./api.js" */

/** Resolves when this browser may ask, with what the server says of itself. */
export async function begin() {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    await api.signIn(decodeURIComponent(token)).catch(() => {});
  }
  const session = await reached();
  if (!session.authorized) await askToken();
  on("token", () => { if (!$("token").open) askToken().then(goOn); });
  return session;
}

/** Send what waited for the token, then show what this user may see. */
async function goOn() {
  await saving.flush();
  location.reload();
}

async function reached() {
  for (;;) {
    try {
      return await api.session();
    } catch (error) {
      if (/** @type {ApiError} */ (error).status) throw error;
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
  }
}

/** Ask until the token is right. @returns {Promise<void>} */
function askToken() {
  const dialog = $("token");
  const field = h("input", {
    type: "password", autocomplete: "current-password", "aria-label": t("Token"), required: true,
  });
  const wrong = h("p", { class: "error", role: "alert" });
  return new Promise((resolve) => {
    const onsubmit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      try {
        await api.signIn(field.value);
        dialog.close();
        resolve();
      } catch (error) {
        wrong.textContent = messageOf(error);
        field.select();
      }
    };
    put(dialog, h("form", { onsubmit },
      h("h2", { id: "token-title" }, t("This server needs its token")),
      h("p", { class: "muted" }, t("Whoever started it has the token. It is asked for once.")),
      field, wrong,
      h("div", { class: "buttons" }, h("button", { class: "primary" }, t("Continue")))));
    dialog.addEventListener("cancel", (/** @type {Event} */ event) => event.preventDefault());
    dialog.showModal();
  });
}
