"""The labelled packs of pictures, indexed once and kept in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.harness import SHARED
from rankloom.experiments import LabeledCollection, load_labeled
from rankloom.experiments.captioned import CaptionedCollection, load_captioned
from rankloom.experiments.papers.margin_captions import IMAGES, read_captions

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankloom-benchmarks"
PACKS = {
    "caltech101": ("images-caltech101", "labels.csv", "class"),
    "tuxpaint": ("imagetext-tuxpaint", "items.csv", "subcategory"),
    "openclipart": ("imagetext-openclipart", "items.csv", "subcategory"),
}


def collection_of(name: str) -> Path:
    """The collection of a pack with all descriptors; indexing is incremental, so a second call costs little."""
    from rankloom.collection import Collection, index

    folder, _, _ = PACKS[name]
    place = CACHE / name
    with Collection(place, create=True) as collection:
        index(collection, [SHARED / folder], preset="full", ocr=False, speech=False)
    return place


def captioned_pack() -> CaptionedCollection:
    """The captioned photographs that may be learned from, with all descriptors."""
    from rankloom.collection import Captions, Collection, index

    folder, place = SHARED / "imagetext-flickr8k-train", CACHE / "flickr8k-train"
    with Collection(place, create=True) as collection:
        table = place / "captions.tsv"
        lines = (
            f"{folder / IMAGES / name}\t{text}\n" for name, texts in read_captions(folder).items() for text in texts
        )
        table.write_text("path\tcaption\n" + "".join(lines), encoding="utf-8")
        captions = Captions(str(table), "path", "caption")
        index(collection, [folder / IMAGES], captions=captions, preset="full", ocr=False, speech=False)
    return load_captioned(place)


def pack(name: str) -> LabeledCollection:
    """A pack with all descriptors."""
    folder, table, column = PACKS[name]
    return load_labeled(collection_of(name), SHARED / folder / table, column)
