"""Files and rows that are computed from items and texts; whoever changes those brings them up to date."""

from __future__ import annotations

from collections.abc import Callable

from rankloom.collection.collection import Collection
from rankloom.collection.item_records import store_records
from rankloom.collection.record_kinds import colors_kind, looks_kind
from rankloom.collection.refined_map import store_nearness, store_refined_map
from rankloom.collection.sketches import store_sketches
from rankloom.collection.statistics import store_statistics
from rankloom.collection.taught_weights import store_weights
from rankloom.collection.text_files import save_text_indexes


def store_derived(collection: Collection) -> None:
    """Bring corpus statistics, indexes of texts and what words are compared with up to date on disk, ready to open."""
    if len(collection):
        store_statistics(collection)
        save_text_indexes(collection)
        store_records(collection, looks_kind())
        store_records(collection, colors_kind())
        store_nearness(collection)
        store_sketches(collection)


def store_learned(
    collection: Collection, progress: Callable[[int, int, str], None] = lambda done, total, text: None
) -> None:
    """Learn what captions and marks add to the map of words, and starting weights, if enough has changed.

    It takes seconds: it is for whoever indexes or works in the background, not for a request.

    Parameters
    ----------
    collection : of which.
    progress : called with the number of items done, of all to do, and a text.
    """
    if len(collection):
        store_weights(collection, progress)
        store_refined_map(collection)
        store_nearness(collection)
