"""Multimodal queries over a captioned folder of pictures: all experts of the engine, relevance from hidden captions."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rankloom.collection import Captions, Collection, Item, index
from rankloom.collection.query import Example, Query
from rankloom.core import FloatArray, IntArray
from rankloom.engine import Engine
from rankloom.experiments.papers.margin import Multimodal, Phi, caption_queries

TABLE, IMAGES = "captions.tsv", "images"


def read_captions(folder: str | os.PathLike[str]) -> dict[str, list[str]]:
    """The captions of each picture of a folder with `captions.tsv` (columns image and caption) and `images`."""
    captions: dict[str, list[str]] = {}
    with open(Path(folder) / TABLE, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if not {"image", "caption"} <= {*(rows.fieldnames or ())}:
            raise ValueError(f"{Path(folder) / TABLE} needs the columns image and caption")
        for row in rows:
            captions.setdefault(row["image"], []).append(row["caption"])
    return captions


def captioned(
    folder: str | os.PathLike[str],
    work: str | os.PathLike[str],
    *,
    n_queries: int = 25,
    preset: str | None = None,
    random_state: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> Multimodal:
    """Queries over the pictures of a captioned folder; of each the first caption is its text, the others are hidden.

    Parameters
    ----------
    folder : with `captions.tsv` and `images`.
    work : where the collection is made, or was made before.
    n_queries : how many words are asked for.
    preset : which descriptors; those of the collection, or the default ones of a new one, unless given.
    random_state : which items are developed on, and shown as examples.
    progress : called with the number of files done, of all, and a text.
    """
    captions = read_captions(folder)
    with Collection(work, create=True) as collection:
        table = Path(work) / "first-captions.tsv"
        lines = (f"{IMAGES}/{name}\t{texts[0]}\n" for name, texts in captions.items())
        table.write_text("path\ttext\n" + "".join(lines), encoding="utf-8")
        index(
            collection, [Path(folder) / IMAGES], captions=Captions(str(table), "path", "text"), preset=preset,
            ocr=False, speech=False, progress=progress,
        )  # fmt: skip
        items = collection.items()
        hidden = [captions.get(os.path.basename(item.path), ["", ""])[1:] for item in items]
        return caption_queries(
            hidden, shown_phi(collection, items), n_queries=n_queries, random_state=random_state,
            progress=lambda word: progress(0, 0, word),
        )  # fmt: skip


def shown_phi(collection: Collection, items: Sequence[Item]) -> Phi:
    """What all experts of a collection say of its items, for a word that is asked together with some of them."""
    engine = Engine(collection)
    rows = np.array([item.id - 1 for item in items])

    def phi(word: str, shown: IntArray) -> FloatArray:
        examples = tuple(Example(item=int(rows[place]) + 1) for place in shown)
        return np.asarray(np.asarray(engine.features(Query(word, examples)))[rows], dtype=np.float64)

    return phi
