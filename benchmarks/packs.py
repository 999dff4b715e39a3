"""The labelled packs of pictures, indexed once and kept in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.harness import SHARED
from rankloom.experiments import LabeledCollection, load_labeled

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


def pack(name: str) -> LabeledCollection:
    """A pack with all descriptors."""
    folder, table, column = PACKS[name]
    return load_labeled(collection_of(name), SHARED / folder / table, column)
