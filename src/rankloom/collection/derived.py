"""Files and rows that are computed from items and texts; whoever changes those brings them up to date."""

from __future__ import annotations

from rankloom.collection.collection import Collection
from rankloom.collection.look_files import store_looks
from rankloom.collection.refined_map import store_refined_map
from rankloom.collection.statistics import store_statistics
from rankloom.collection.text_files import save_text_indexes


def store_derived(collection: Collection) -> None:
    """Bring corpus statistics, indexes of texts and what words are compared with up to date on disk, ready to open."""
    if len(collection):
        store_statistics(collection)
        save_text_indexes(collection)
        store_looks(collection)
        store_refined_map(collection)
