// Pictures to search with: dropped, pasted or picked.

import { $, messageOf, toast } from "./dom.js";
import { t } from "./i18n.js";

const MOST_BYTES = 25_000_000;
const MOST_AT_ONCE = 5;
const NO_PICTURE = t("That is no picture. Drop a JPEG, PNG, WebP or another picture file.");
const ITEM = "application/x-rankloom-item";

/**
 * Take pictures from wherever they come.
 * @param {object} parts
 * @param {boolean} parts.readOnly
 * @param {(picture: Blob) => Promise<{ picture: string }>} parts.upload
 * @param {() => () => void} parts.waiting shows that a picture is looked at; returns what ends it
 * @param {(pictures: string[]) => void} parts.search
 * @param {(item: number) => void} parts.addItem
 */
export function takePictures({ readOnly, upload, waiting, search, addItem }) {
  /** @param {File[]} files */
  async function add(files) {
    const pictures = files.filter((file) => file.type.startsWith("image/")).slice(0, MOST_AT_ONCE);
    if (!pictures.length) return toast(NO_PICTURE, "bad");
    if (readOnly) return toast(t("This server is read-only and takes no pictures."), "bad");
    const taken = [];
    for (const file of pictures) taken.push(...await send(file, upload, waiting));
    search(taken);
  }

  $("pick").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => { add([...$("file").files]); $("file").value = ""; });
  addEventListener("paste", (event) => {
    const files = [...event.clipboardData?.files ?? []];
    if (!files.length) return;
    event.preventDefault();
    add(files);
  });
  takeDrops((transfer) => {
    const item = Number(transfer.getData(ITEM));
    if (item) addItem(item);
    else add([...transfer.files]);
  });
}

/**
 * Send one picture; the key that the server gives it, or nothing.
 * @param {File} file
 * @param {(picture: Blob) => Promise<{ picture: string }>} upload
 * @param {() => () => void} waiting
 */
async function send(file, upload, waiting) {
  if (file.size > MOST_BYTES) {
    const name = file.name || t("The picture");
    toast(t("{name} is larger than 25 MB; take a smaller version.", { name }), "bad");
    return [];
  }
  const done = waiting();
  try {
    return [(await upload(file.slice(0, file.size, file.type))).picture];
  } catch (error) {
    toast(messageOf(error), "bad");
    return [];
  } finally {
    done();
  }
}

/** @param {(transfer: DataTransfer) => void} take */
function takeDrops(take) {
  let depth = 0; // the window and what is in it each tell when something enters and leaves
  /** @param {DragEvent} event */
  const wanted = ({ dataTransfer }) => ["Files", ITEM].some((type) => dataTransfer?.types.includes(type));
  /** @param {number} now */
  const show = (now) => { depth = Math.max(0, now); $("drop").hidden = !depth; };
  addEventListener("dragenter", (event) => { if (wanted(event)) show(depth + 1); });
  addEventListener("dragleave", (event) => { if (wanted(event)) show(depth - 1); });
  addEventListener("dragend", () => show(0));
  addEventListener("dragover", (event) => { if (wanted(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    show(0);
    if (!wanted(event) || !event.dataTransfer) return;
    event.preventDefault();
    take(event.dataTransfer);
  });
}
