// The line that says that the server is away.

import { on } from "./api.js";
import { $, h, put } from "./dom.js";
import { t } from "./i18n.js";

/** @param {() => number} waiting how many marks the server does not have yet */
export function makeBanner(waiting) {
  const banner = $("banner");
  on("away", () => {
    put(banner, h("strong", {}, t("The server does not answer.")), " ",
      t("Start it again, and this page goes on by itself."), " ",
      waiting() ? t("Your marks are kept here until then.") : null);
    banner.hidden = false;
  });
  on("back", () => { banner.hidden = true; });
}
