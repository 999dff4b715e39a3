"""Corpus statistics, measured once for many items, so that a new item changes no score of another."""

from __future__ import annotations

import json
from math import isfinite
from typing import NamedTuple

from rankloom.collection.collection import Collection

__all__ = ["CorpusStatistics", "corpus_statistics", "store_statistics"]


class CorpusStatistics(NamedTuple):
    """The scale of each distance by descriptor; and how many items the statistics of texts are taken from."""

    scales: dict[str, dict[str, float]]
    counted: int


def corpus_statistics(collection: Collection) -> CorpusStatistics:
    """The statistics of a collection: as stored, or measured where they are not there or the collection has doubled.

    Nothing is written: `store_statistics` does that, when items are added.
    """
    return _statistics(collection)[0]


def store_statistics(collection: Collection) -> None:
    """Measure what is missing, or everything if the collection has doubled since, and store it."""
    statistics, fresh = _statistics(collection)
    if not fresh:
        return
    n_items = len(collection)
    versions = {descriptor.name: descriptor.version for descriptor in collection.descriptors()}
    rows = [(name, versions[name], json.dumps(statistics.scales[name]), n_items) for name in fresh if name in versions]
    with collection.transaction() as db:
        db.executemany("INSERT OR REPLACE INTO scales VALUES (?, ?, ?, ?)", rows)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('counted', ?)", (str(statistics.counted),))


def _statistics(collection: Collection) -> tuple[CorpusStatistics, list[str]]:
    """The statistics, and the descriptors whose scales were measured just now ("" if none, but the count is new)."""
    from rankloom.experts import measure_scales

    n_items = len(collection)
    row = collection.db.execute("SELECT value FROM meta WHERE key = 'counted'").fetchone()
    counted = int(row[0]) if row else 0
    doubled = n_items >= 2 * max(counted, 1)
    stored = {} if doubled else _stored_scales(collection)
    scales: dict[str, dict[str, float]] = {}
    fresh = [""] if doubled and n_items else []
    for descriptor in collection.descriptors():
        if descriptor.rows < n_items or not n_items:
            continue
        known = stored.get((descriptor.name, descriptor.version))
        if known is None:
            known = measure_scales(collection.vectors(descriptor.name)[:n_items], collection.present()[:n_items])
            fresh.append(descriptor.name)
        scales[descriptor.name] = known
    return CorpusStatistics(scales, n_items if doubled else counted), fresh


def _stored_scales(collection: Collection) -> dict[tuple[str, str], dict[str, float]]:
    """Scales by name and version of the descriptor; those that cannot be right are left out."""
    from rankloom.experts.distances import DISTANCES

    scales = {}
    for name, version, text, _ in collection.db.execute("SELECT * FROM scales").fetchall():
        try:
            values = json.loads(text)
            if values.keys() == DISTANCES.keys() and all(isfinite(value) and value > 0 for value in values.values()):
                scales[name, version] = values
        except (ValueError, TypeError, AttributeError):
            continue
    return scales
