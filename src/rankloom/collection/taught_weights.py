"""Starting weights that a collection without the semantic descriptor has taught itself, as a fact of the collection.

Whoever indexes shows a sample of the thumbnails to the network once, and again when there are twice as many items.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankloom.collection._meta import read_fact, write_fact
from rankloom.collection.collection import Collection
from rankloom.collection.settings import encoders_of
from rankloom.collection.statistics import corpus_statistics
from rankloom.core import IntArray
from rankloom.experts.starting_weights import TEACHER

Progress = Callable[[int, int, str], None]
_KEY = "taught weights"
_BATCH = 64  # thumbnails in memory


def stored_weights(collection: Collection) -> dict[str, float] | None:
    """What was taught, if it is of the descriptors that all items have now; else None."""
    state = read_fact(collection, _KEY)
    if state is None or state["descriptors"] != _taught_descriptors(collection):
        return None
    return dict(state["weights"])


def store_weights(collection: Collection, progress: Progress) -> None:
    """Teach the experts if it is time to: there are enough items, and they know no better.

    It takes some seconds, however large the collection is.

    Parameters
    ----------
    collection : of which.
    progress : called with the number of items seen, of all to see, and a text.
    """
    names = _taught_descriptors(collection)
    if not names:
        return
    state, n_items = read_fact(collection, _KEY), len(collection)
    if state is not None and state["descriptors"] == names and n_items < 2 * state["items"]:
        return
    from rankloom.experts.teaching import LEAST, sampled_rows, taught_weights

    rows, teacher = teacher_of(collection, sampled_rows(collection.present()), progress)
    if len(rows) < LEAST:
        return
    vectors = {name: collection.vectors(name) for name in names}
    weights = taught_weights(vectors, corpus_statistics(collection).scales, rows, teacher)
    with collection.transaction() as db:
        write_fact(db, _KEY, {"descriptors": names, "items": n_items, "weights": weights})


def teacher_of(
    collection: Collection, rows: IntArray, progress: Progress = lambda done, total, text: None
) -> tuple[IntArray, NDArray[np.float32]]:
    """What the semantic network says of items, as stored or else by their thumbnails; and which of them have one."""
    from rankloom.descriptors.semantic import SemanticNetwork

    if TEACHER in _complete(collection):
        return rows, np.asarray(collection.vectors(TEACHER)[rows], dtype=np.float32)
    network = SemanticNetwork(threads=os.cpu_count() or 1)
    known, parts = [], []
    for begin in range(0, len(rows), _BATCH):
        progress(begin, len(rows), "learning what looks alike")
        seen = {
            row: image
            for row in rows[begin : begin + _BATCH].tolist()
            if (image := _shown(collection, row + 1)) is not None
        }
        known += [*seen]
        parts.append(network.describe([*seen.values()]).embeddings)
    return np.array(known, dtype=np.int64), np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)


def _shown(collection: Collection, item: int) -> NDArray[np.uint8] | None:
    """The thumbnail of an item; None if it has none, or a damaged one, which `verify` reports."""
    from rankloom.media import MediaError, read_image

    try:
        return read_image(collection.thumbnail(item))
    except MediaError:
        return None


def _taught_descriptors(collection: Collection) -> dict[str, str]:
    """Name and version of the descriptors that are taught: those of all items, where the semantic one is not there."""
    complete, own = _complete(collection), encoders_of(collection)
    return {} if TEACHER in complete else {name: complete[name] for name in sorted(complete) if name not in own}


def _complete(collection: Collection) -> dict[str, str]:
    return {stored.name: stored.version for stored in collection.descriptors() if stored.rows >= len(collection)}
