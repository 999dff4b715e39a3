"""What words are compared with, item by item: a file that only grows, derived from the semantic vectors."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection._files import AppendFile
from rankloom.collection.collection import Collection
from rankloom.experts.looks import RECORD, word_map

SOURCE = "semantic"
_KEY = "looks"
_BLOCK = 8192


def look_file(version: str) -> str:
    """The name of the file for a version of the semantic vectors and of the map, inside the collection."""
    return f"vectors/looks-{version}.bin"


def look_file_in_use(collection: Collection) -> str:
    """The file that was stored last."""
    return look_file(_stored(collection)[0])


def stored_looks(collection: Collection) -> NDArray[Any]:
    """The records on disk, memory-mapped: row i belongs to item i + 1. Those of later items are not there yet."""
    version, rows = _stored(collection)
    path = collection.folder / look_file(version)
    if rows == 0 or version != _version(collection) or not path.is_file():
        return np.zeros(0, RECORD)
    rows = min(rows, path.stat().st_size // RECORD.itemsize)
    return np.memmap(path, RECORD, mode="r", shape=(rows,)) if rows else np.zeros(0, RECORD)


def all_looks(collection: Collection, n_items: int, known: NDArray[Any] | None = None) -> NDArray[Any]:
    """The records of all items: as stored, as known, or computed; nothing is written.

    Parameters
    ----------
    collection : of which; the semantic vectors of all items are there.
    n_items : how many items there are.
    known : the records of the first items, of an earlier call.
    """
    stored = stored_looks(collection)
    if len(stored) >= n_items:
        return stored[:n_items]
    first = stored if known is None or len(known) < len(stored) else known
    vectors = collection.vectors(SOURCE)[len(first) : n_items]
    return np.concatenate([first[:n_items], word_map().looks(vectors)])


def store_looks(collection: Collection) -> None:
    """Bring the file up to date, if the collection has semantic vectors."""
    version = _version(collection)
    if version is None or not os.access(collection.folder, os.W_OK):
        return
    vectors, stored = collection.vectors(SOURCE), stored_looks(collection)
    if len(stored) >= len(vectors):
        return
    before, counted = _stored(collection)
    name, blocks = look_file(version), []
    first = len(stored) if before == version and len(stored) == counted else 0  # a file that was cut is made anew
    file = AppendFile(collection.folder / name)
    try:
        for start in range(first, len(vectors), _BLOCK):
            data = word_map().looks(vectors[start : start + _BLOCK]).tobytes()
            place = start * RECORD.itemsize
            blocks.append((name, place, len(data), file.write(place, data)))
        file.sync()
    finally:
        file.close()
    with collection.transaction() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, json.dumps([version, len(vectors)])))
        db.execute("DELETE FROM blocks WHERE file = ? AND start >= ?", (name, first * RECORD.itemsize))
        db.executemany("INSERT INTO blocks VALUES (?, ?, ?, ?)", blocks)
        if before != version:
            db.execute("DELETE FROM blocks WHERE file = ?", (look_file(before),))
    if before and before != version:
        (collection.folder / look_file(before)).unlink(missing_ok=True)


def forget_looks(collection: Collection) -> None:
    """Take the stored records for nothing: the vectors that they were computed from have changed."""
    version, _ = _stored(collection)
    with collection.transaction() as db:
        db.execute("DELETE FROM meta WHERE key = ?", (_KEY,))
        db.execute("DELETE FROM blocks WHERE file = ?", (look_file(version),))


def _version(collection: Collection) -> str | None:
    """The versions that records depend on; None without semantic vectors."""
    versions = {descriptor.name: descriptor.version for descriptor in collection.descriptors()}
    return f"{versions[SOURCE]}-{word_map().version}" if SOURCE in versions else None


def _stored(collection: Collection) -> tuple[str, int]:
    row = collection.db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    version, rows = json.loads(row[0]) if row else ("", 0)
    return str(version), int(rows)
