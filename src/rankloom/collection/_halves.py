"""Vectors that earlier versions stored in half precision become those of one byte a component."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from rankloom.collection._files import AppendFile, vector_file
from rankloom.experts.compact import row_bytes

_ROWS = 4096  # that are converted at once
_BYTES = 2**24  # that are read at once


class _Descriptor(NamedTuple):
    """A descriptor whose vectors were stored in half precision."""

    name: str
    version: str
    dimension: int

    @property
    def old(self) -> str:
        return f"vectors/{self.name}-{self.version}.f16"

    @property
    def new(self) -> str:
        return vector_file(self.name, self.version)


def compact_halves(db: sqlite3.Connection, folder: Path) -> None:
    """Convert what is stored in half precision; killed at any moment, it begins again when the collection is opened.

    A block that was damaged before is so afterwards: its checksum is wrong, and `rankloom repair` computes it again.

    Parameters
    ----------
    db : the database, with the tables of this version.
    folder : that of the collection.
    """
    if not any(_to_convert(db, folder)):
        return
    db.execute("BEGIN IMMEDIATE")  # another process may be converting
    try:
        descriptors = [*_to_convert(db, folder)]
        for descriptor in descriptors:
            blocks = [*_converted(db, folder, descriptor)]
            db.execute("DELETE FROM blocks WHERE file IN (?, ?)", (descriptor.old, descriptor.new))
            db.executemany("INSERT INTO blocks VALUES (?, ?, ?, ?)", blocks)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
    for descriptor in descriptors:
        (folder / descriptor.old).unlink(missing_ok=True)


def _to_convert(db: sqlite3.Connection, folder: Path) -> Iterator[_Descriptor]:
    """The descriptors with a block or a file of the old kind."""
    rows = db.execute("SELECT name, version, dimension FROM descriptors WHERE dimension > 0 ORDER BY name").fetchall()
    for descriptor in (_Descriptor(*row) for row in rows):
        known = db.execute("SELECT 1 FROM blocks WHERE file = ? LIMIT 1", (descriptor.old,)).fetchone()
        if known or (folder / descriptor.old).is_file():
            yield descriptor


def _converted(db: sqlite3.Connection, folder: Path, descriptor: _Descriptor) -> Iterator[tuple[str, int, int, int]]:
    """Write the rows of a descriptor anew, and yield the blocks that the old ones become.

    Where the old file is gone, a backup of before has come back: what was converted then is there.
    """
    old, new = folder / descriptor.old, folder / descriptor.new
    there = old.is_file()
    if there:
        _write(old, new, descriptor.dimension)
    width, new_width = 2 * descriptor.dimension, row_bytes(descriptor.dimension)
    query = "SELECT start, bytes, crc FROM blocks WHERE file = ? ORDER BY start"
    for start, size, crc in db.execute(query, (descriptor.old,)).fetchall():
        if start % width or size % width:
            continue  # what no block covers is computed again by a repair
        block = start // width * new_width, size // width * new_width
        found = _checksum(new, *block)
        if found is not None:
            sound = not there or _checksum(old, start, size) == crc
            yield descriptor.new, *block, found if sound else found ^ 1


def _write(old: Path, new: Path, dimension: int) -> None:
    """Convert all whole rows of a file."""
    import numpy as np

    from rankloom.experts.compact import CompactVectors

    place = 0
    with open(old, "rb") as halves, closing(AppendFile(new)) as file:
        while rows := len(data := halves.read(_ROWS * 2 * dimension)) // (2 * dimension):
            vectors = np.frombuffer(data, "<f2", rows * dimension).reshape(rows, dimension)
            coded = CompactVectors.of(vectors).rows.tobytes()
            file.write(place, coded)
            place += len(coded)
        file.sync()


def _checksum(path: Path, start: int, size: int) -> int | None:
    """That of a stretch of a file; None if it is not there as a whole."""
    if not path.is_file() or path.stat().st_size < start + size:
        return None
    checksum = 0
    with open(path, "rb") as file:
        file.seek(start)
        while size > 0:
            data = file.read(min(size, _BYTES))
            checksum, size = zlib.crc32(data, checksum), size - len(data)
    return checksum
