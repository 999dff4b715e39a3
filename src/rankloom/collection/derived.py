"""Files and rows that are computed from items and texts; whoever changes those brings them up to date."""

from __future__ import annotations

from rankloom.collection.collection import Collection
from rankloom.collection.statistics import store_statistics
from rankloom.collection.text_files import save_text_indexes


def store_derived(collection: Collection) -> None:
    """Bring the corpus statistics and the indexes of texts up to date on disk, so that opening finds them ready."""
    if len(collection):
        store_statistics(collection)
        save_text_indexes(collection)
