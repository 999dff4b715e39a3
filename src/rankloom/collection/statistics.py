"""Corpus statistics, measured once for many items, so that a new item changes no score of another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

from rankloom.collection.collection import Collection


class CorpusStatistics(NamedTuple):
    """The scale of each distance and the version by descriptor, and how many items statistics are taken from."""

    scales: dict[str, dict[str, float]]
    counted: int
    versions: dict[str, str]


def corpus_statistics(collection: Collection, known: CorpusStatistics | None = None) -> CorpusStatistics:
    """The statistics of a collection: as stored, or measured where they are not there or it has doubled since.

    Nothing is written: `index` does that at its end. In between they stay as they are, so that adding an item changes
    no score of another.

    Parameters
    ----------
    collection : of which.
    known : earlier ones, which hold until the collection has doubled, or others are stored.
    """
    n_items, counted = len(collection), _stored_count(collection)
    if n_items < 2 * max(counted, 1):
        return _measured(collection, counted, n_items, _stored_scales(collection))
    if known is None or not counted < known.counted <= n_items < 2 * known.counted:
        return _measured(collection, n_items, n_items, {})
    scales = {(name, version): known.scales[name] for name, version in known.versions.items()}
    return _measured(collection, known.counted, n_items, scales)


def store_statistics(collection: Collection) -> None:
    """Measure what is missing, or everything if the collection has doubled since, and store it."""
    n_items, counted = len(collection), _stored_count(collection)
    doubled = n_items >= 2 * max(counted, 1)
    stored = {} if doubled else _stored_scales(collection)
    statistics = _measured(collection, n_items if doubled else counted, n_items, stored)
    rows = [
        (name, version, json.dumps(statistics.scales[name]), n_items)
        for name, version in statistics.versions.items()
        if (name, version) not in stored
    ]
    if rows or doubled:
        with collection.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO scales VALUES (?, ?, ?, ?)", rows)
            db.execute("INSERT OR REPLACE INTO meta VALUES ('counted', ?)", (str(statistics.counted),))


def _measured(
    collection: Collection, counted: int, n_items: int, stored: Mapping[tuple[str, str], dict[str, float]]
) -> CorpusStatistics:
    """Statistics with the stored scales; those of other descriptors are measured on the first `counted` items."""
    from rankloom.experts import measure_scales

    scales, versions = {}, {}
    for descriptor in collection.descriptors() if n_items else ():
        if descriptor.rows >= n_items:
            versions[descriptor.name] = descriptor.version
            known = stored.get((descriptor.name, descriptor.version))
            if known is None:
                known = measure_scales(
                    collection.vectors(descriptor.name).take(slice(counted)), collection.present()[:counted]
                )
            scales[descriptor.name] = known
    return CorpusStatistics(scales, counted, versions)


def _stored_count(collection: Collection) -> int:
    row = collection.db.execute("SELECT value FROM meta WHERE key = 'counted'").fetchone()
    return int(row[0]) if row else 0


def _stored_scales(collection: Collection) -> dict[tuple[str, str], dict[str, float]]:
    """Scales by name and version of the descriptor; those that cannot be right are left out."""
    from rankloom.experts.distances import DISTANCES

    scales = {}
    for name, version, text, _ in collection.db.execute("SELECT * FROM scales").fetchall():
        try:
            values = json.loads(text)
            known = {distance: values[distance] for distance in DISTANCES}  # others may be stored from before
            if all(isfinite(value) and value > 0 for value in known.values()):
                scales[name, version] = known
        except (ValueError, TypeError, KeyError):
            continue
    return scales
