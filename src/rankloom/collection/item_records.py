"""One record for each item, computed from its stored vector: files that only grow, made by whoever indexes.

There are four: what words are compared with, the shares of colors, how near pictures are to all captions, and sketches
of the semantic vectors of large collections.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection._files import AppendFile
from rankloom.collection._meta import read_fact, write_fact
from rankloom.collection.collection import Collection
from rankloom.experts.compact import CompactVectors

KEYS = ("looks", "colors", "nearness", "sketches")
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class RecordKind:
    """What is recorded.

    Parameters
    ----------
    key : one of KEYS.
    source : the descriptor whose vectors it is computed from.
    dtype : of a record.
    version : changes with what the records depend on beside the vectors.
    compute : the records of vectors, given these and the number of the first of their items, less 1.
    """

    key: str
    source: str
    dtype: np.dtype[Any]
    version: str
    compute: Callable[[NDArray[Any], int], NDArray[Any]]

    def version_in(self, collection: Collection) -> str | None:
        """All that records in a collection depend on; None where the descriptor is not."""
        versions = {descriptor.name: descriptor.version for descriptor in collection.descriptors()}
        return f"{versions[self.source]}-{self.version}" if self.source in versions else None


def stored_records(collection: Collection, kind: RecordKind) -> NDArray[Any]:
    """The records on disk, memory-mapped: row i belongs to item i + 1. Those of later items are not there yet."""
    version, rows = _stored(collection, kind.key)
    path = collection.folder / _file(kind.key, version)
    if rows == 0 or version != kind.version_in(collection) or not path.is_file():
        return np.zeros(0, kind.dtype)
    rows = min(rows, path.stat().st_size // kind.dtype.itemsize)
    return np.memmap(path, kind.dtype, mode="r", shape=(rows,)) if rows else np.zeros(0, kind.dtype)


def all_records(
    collection: Collection, kind: RecordKind, n_items: int, known: NDArray[Any] | None = None
) -> NDArray[Any]:
    """The records of all items: as stored, as known, or computed; nothing is written.

    Parameters
    ----------
    collection : of which; the vectors of all items are there.
    kind : of which.
    n_items : how many items there are.
    known : the records of the first items, of an earlier call.
    """
    stored = stored_records(collection, kind)
    if len(stored) >= n_items:
        return stored[:n_items]
    first = stored if known is None or len(known) < len(stored) else known
    vectors = collection.vectors(kind.source).take(slice(len(first), n_items))
    return np.concatenate([first[:n_items], *_computed(kind, vectors, len(first))])


def store_records(collection: Collection, kind: RecordKind) -> None:
    """Bring the file up to date, if the collection has the vectors."""
    version = kind.version_in(collection)
    if version is None or not os.access(collection.folder, os.W_OK):
        return
    vectors, stored = collection.vectors(kind.source), stored_records(collection, kind)
    if len(stored) >= len(vectors):
        return
    before, counted = _stored(collection, kind.key)
    name, blocks = _file(kind.key, version), []
    first = len(stored) if before == version and len(stored) == counted else 0  # a file that was cut is made anew
    place = first * kind.dtype.itemsize
    file = AppendFile(collection.folder / name)
    try:
        for records in _computed(kind, vectors.take(slice(first, None)), first):
            data = records.tobytes()
            blocks.append((name, place, len(data), file.write(place, data)))
            place += len(data)
        file.sync()
    finally:
        file.close()
    with collection.transaction() as db:
        write_fact(db, kind.key, [version, len(vectors)])
        db.execute("DELETE FROM blocks WHERE file = ? AND start >= ?", (name, first * kind.dtype.itemsize))
        db.executemany("INSERT INTO blocks VALUES (?, ?, ?, ?)", blocks)
        if before != version:
            db.execute("DELETE FROM blocks WHERE file = ?", (_file(kind.key, before),))
    if before and before != version:
        (collection.folder / _file(kind.key, before)).unlink(missing_ok=True)


def record_files(collection: Collection) -> list[str]:
    """The files in use, by their names inside the collection."""
    stored = ((key, _stored(collection, key)[0]) for key in KEYS)
    return [_file(key, version) for key, version in stored if version]


def forget_records(collection: Collection) -> None:
    """Take all stored records for nothing: the vectors that they were computed from have changed."""
    with collection.transaction() as db:
        for name in record_files(collection):
            db.execute("DELETE FROM blocks WHERE file = ?", (name,))
        db.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in KEYS])


def _computed(kind: RecordKind, vectors: CompactVectors, first: int) -> Iterator[NDArray[Any]]:
    """The records of vectors, in blocks; `first` is the number of items before them."""
    for start in range(0, len(vectors), _BLOCK):
        yield kind.compute(vectors[start : start + _BLOCK], first + start)


def _file(key: str, version: str) -> str:
    return f"vectors/{key}-{version}.bin"


def _stored(collection: Collection, key: str) -> tuple[str, int]:
    version, rows = read_fact(collection, key) or ("", 0)
    return str(version), int(rows)
