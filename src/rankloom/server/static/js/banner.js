// The line that says that the server is away.

import { on } from "./api.js";
import { $, h, put } from "./dom.js";

/** @param {() => number} waiting how many marks the server does not have yet */
export function makeBanner(waiting) {
  const banner = $("banner");
  on("away", () => {
    const kept = waiting() ? " Your marks are kept here until then." : "";
    put(banner, h("strong", {}, "The server does not answer."),
      ` Start it again, and this page goes on by itself.${kept}`);
    banner.hidden = false;
  });
  on("back", () => { banner.hidden = true; });
}
