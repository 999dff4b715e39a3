"""What is measured of a whole collection once and then kept, so that a new item changes nothing for the others."""

from __future__ import annotations

import json
from math import isfinite
from typing import NamedTuple

from rankloom.collection.collection import Collection

__all__ = ["Measured", "measured"]


class Measured(NamedTuple):
    """The scale of each distance by descriptor; and how many items the statistics of texts are taken from."""

    scales: dict[str, dict[str, float]]
    counted: int


def measured(collection: Collection) -> Measured:
    """The statistics of a collection: measured when first asked for, and again when it has doubled since.

    In between they stay as they are, so that adding an item changes no score of another.
    """
    from rankloom.experts import measure_scales

    n_items = len(collection)
    row = collection.db.execute("SELECT value FROM meta WHERE key = 'counted'").fetchone()
    counted = int(row[0]) if row else 0
    grown = n_items >= 2 * max(counted, 1)
    known = {
        (name, version): _stored(text)
        for name, version, text, _ in collection.db.execute("SELECT * FROM scales").fetchall()
        if not grown
    }
    scales, fresh = {}, []
    for one in collection.descriptors():
        if one.rows < n_items or not n_items:
            continue
        found = known.get((one.name, one.version))
        if found is None:
            found = measure_scales(collection.vectors(one.name), collection.present())
            fresh.append((one.name, one.version, json.dumps(found), n_items))
        scales[one.name] = found
    if fresh or (grown and n_items):
        with collection.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO scales VALUES (?, ?, ?, ?)", fresh)
            if grown:
                counted = n_items
                db.execute("INSERT OR REPLACE INTO meta VALUES ('counted', ?)", (str(counted),))
    return Measured(scales, counted)


def _stored(text: str) -> dict[str, float] | None:
    """Scales as they were written; None if they cannot be right, and must be measured again."""
    from rankloom.experts.distances import DISTANCES

    try:
        scales = json.loads(text)
        right = scales.keys() == DISTANCES.keys() and all(isfinite(scale) and scale > 0 for scale in scales.values())
    except (ValueError, TypeError, AttributeError):
        return None
    return scales if right else None
