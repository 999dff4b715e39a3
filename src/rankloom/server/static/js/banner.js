// The lines that say that the server is away, and that it does not have something yet.

import { on } from "./api.js";
import { $, h, onTop, put } from "./dom.js";
import { t, tn } from "./i18n.js";
import { saving } from "./saving.js";

const SOON = 1000; // milliseconds in which the server usually has a change

export function makeBanner() {
  const banner = $("banner");
  on("away", () => {
    put(banner, h("strong", {}, t("The server does not answer.")), " ",
      t("Start it again, and this page goes on by itself."));
    banner.hidden = false;
  });
  on("back", () => { banner.hidden = true; });
}

/** Say what the server does not have yet, unless that is over in a moment. */
export function sayUnsent() {
  const line = $("unsent");
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const draw = () => {
    const n = saving.unsent;
    line.textContent = n ? tn(n, "{n} change not saved yet", "{n} changes not saved yet") : "";
    if (n) onTop(line);
    else line.hidePopover();
  };
  saving.changed = (unsent) => {
    if (!unsent || line.textContent) draw();
    if (unsent) timer ??= setTimeout(draw, SOON);
    else timer = clearTimeout(timer) ?? undefined;
  };
  document.addEventListener("toggle", ({ target }) => { // of a dialog, which opens above it
    if (target instanceof HTMLDialogElement && target.open && line.textContent) onTop(line);
  }, { capture: true });
}
