"""Make a database fit itself and the files beside it: item i has row i - 1 in every file of vectors."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median_high

from rankloom.collection._checks import THUMBNAILS, blocks_of, thumbnails_outside, uncovered
from rankloom.collection._files import vector_file
from rankloom.collection._halves import compact_halves
from rankloom.collection._schema import DATABASE_ERRORS
from rankloom.experts.compact import row_bytes

_BLOCK_BYTES = 1 << 22
_LOST = "lost-"  # the hash of a content of which nothing is known


@dataclass
class Changes:
    """What had to be changed."""

    unknown_items: int = 0  # only their number is known, and maybe their content
    dropped_marks: int = 0  # of items that are not there
    unchecked_bytes: int = 0  # whose checksums were lost: they are taken as they are
    short_descriptors: int = 0  # whose vectors are not all there


def hashes_by_index(old: sqlite3.Connection) -> dict[int, str]:
    """The contents of items by the index of the table, which may be readable where the table is not."""
    hashes: dict[int, str] = {}
    for direction in ("ASC", "DESC"):
        try:
            for number, digest in old.execute(
                f"SELECT id, hash FROM items INDEXED BY items_hash ORDER BY hash {direction}"
            ):
                if isinstance(digest, str):
                    hashes[number] = digest
            break
        except DATABASE_ERRORS:
            continue
    return hashes


def make_consistent(db: sqlite3.Connection, folder: Path, hashes: Mapping[int, str] | None = None) -> Changes:
    """Bring the rows of a database in line with each other and with the files of its collection.

    Parameters
    ----------
    db : the database; not yet that of the collection.
    folder : the collection.
    hashes : the contents of items whose rows are lost.
    """
    changes = Changes()
    compact_halves(db, folder)
    db.execute("BEGIN")
    _known_dimensions(db, folder)
    changes.unknown_items = _number_items(db, folder, hashes or {})
    changes.dropped_marks = _references(db)
    n_items = db.execute("SELECT coalesce(max(id), 0) FROM items").fetchone()[0]
    for name, version, dimension in db.execute("SELECT name, version, dimension FROM descriptors").fetchall():
        rows = _vectors(db, folder, name, version, dimension, n_items, changes)
        changes.short_descriptors += rows < n_items
    _thumbnails(db, folder, changes)
    db.execute("COMMIT")
    return changes


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _known_dimensions(db: sqlite3.Connection, folder: Path) -> None:
    """Descriptors of our own as they are, also those of which only the file is left."""
    from rankloom.descriptors import DESCRIPTORS

    for name, descriptor in DESCRIPTORS.items():
        if descriptor.dimension and (folder / vector_file(name, descriptor.version)).is_file():
            values = (name, descriptor.version, descriptor.dimension, descriptor.kind)
            db.execute("INSERT OR IGNORE INTO descriptors VALUES (?, ?, ?, ?, 0)", values)
            query = "UPDATE descriptors SET dimension = ?, kind = ? WHERE name = ? AND version = ?"
            db.execute(query, (descriptor.dimension, descriptor.kind, name, descriptor.version))
    db.execute("DELETE FROM descriptors WHERE dimension < 1")


def _number_items(db: sqlite3.Connection, folder: Path, hashes: Mapping[int, str]) -> int:
    """Items from 1 without gaps: lost ones are entered by their number, and with their content if that is known."""
    rows = db.execute("SELECT name, version, dimension, rows FROM descriptors").fetchall()
    stored = [
        _size(folder / vector_file(name, version)) // row_bytes(dimension) for name, version, dimension, _ in rows
    ]
    count = db.execute("SELECT count(*) FROM items").fetchone()[0]
    # A damaged number may be anything: none can be beyond what the files hold or the descriptors count.
    largest = max([count, *stored, median_high([row[3] for row in rows]) if rows else 0])
    db.execute("DELETE FROM items WHERE id > ? OR id < 1", (largest,))
    known = {number for (number,) in db.execute("SELECT id FROM items")}
    last = max(known, default=0)
    numbers = [number for number in range(1, last) if number not in known]
    while last < largest and last + 1 in hashes:
        last += 1
        numbers.append(last)
    for number in numbers:
        digest = hashes.get(number, f"{_LOST}{number}")
        db.execute("INSERT INTO items VALUES (?, ?, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, 0, 0)", (number, digest))
    # A content without items would be taken for one that is stored; so it is described again.
    db.execute("DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM items)")
    db.execute(
        "INSERT OR IGNORE INTO contents SELECT hash, CASE WHEN max(shot) IS NULL THEN 'picture' ELSE 'video' END,"
        " coalesce((SELECT max(size) FROM files WHERE files.hash = items.hash), 0) FROM items GROUP BY hash"
    )
    return len(numbers)


def _references(db: sqlite3.Connection) -> int:
    """Nothing names what is not there; returns the number of marks that did."""
    db.execute("DELETE FROM files WHERE hash NOT IN (SELECT hash FROM contents)")
    dropped = db.execute(
        "DELETE FROM qrels WHERE item NOT IN (SELECT id FROM items) OR over NOT IN (SELECT id FROM items)"
    ).rowcount
    db.execute("UPDATE qrels SET shown = NULL, place = NULL WHERE shown NOT IN (SELECT id FROM shown)")
    for table in ("texts", "missing", "boxes", "ratings", "hidden", "album_items"):
        db.execute(f"DELETE FROM {table} WHERE item NOT IN (SELECT id FROM items)")
    db.execute("DELETE FROM album_items WHERE album NOT IN (SELECT id FROM albums)")
    db.execute("DELETE FROM known_faces WHERE box NOT IN (SELECT number FROM boxes)")
    db.execute("UPDATE known_faces SET person = NULL WHERE person NOT IN (SELECT id FROM people)")
    for table in ("cues", "readings", "positions"):
        db.execute(f"DELETE FROM {table} WHERE hash NOT IN (SELECT hash FROM contents)")
    db.execute("DELETE FROM uses WHERE model NOT IN (SELECT id FROM models) AND model != 0")
    db.execute("DELETE FROM checkpoints")  # made again from the log
    return int(dropped)


def _vectors(
    db: sqlite3.Connection, folder: Path, name: str, version: str, dimension: int, n_items: int, changes: Changes
) -> int:
    """How many vectors of a descriptor are there, with checksums of all of them."""
    file, width = vector_file(name, version), row_bytes(dimension)
    available = min(n_items, _size(folder / file) // width)
    blocks = [
        (start, size)
        for start, size in blocks_of(db, file)
        if start >= 0 and size > 0 and start % width == size % width == 0
    ]
    counted = db.execute("SELECT rows FROM descriptors WHERE name = ?", (name,)).fetchone()[0]
    holes = uncovered(blocks, available * width)
    covered = (holes[0][0] if holes else available * width) // width
    rows = min(available, max(counted, covered)) if blocks else available
    kept, end = [], 0
    for start, size in blocks:
        if start >= end and start + size <= rows * width:
            kept.append((start, size))
            end = start + size
    sums = dict(db.execute("SELECT start, crc FROM blocks WHERE file = ?", (file,)))
    db.execute("DELETE FROM blocks WHERE file = ?", (file,))
    db.executemany("INSERT INTO blocks VALUES (?, ?, ?, ?)", [(file, start, size, sums[start]) for start, size in kept])
    for start, stop in uncovered(kept, rows * width):
        changes.unchecked_bytes += stop - start
        step = max(1, _BLOCK_BYTES // width) * width
        for first in range(start, stop, step):
            _add_block(db, folder, file, first, min(step, stop - first))
    db.execute("UPDATE descriptors SET rows = ? WHERE name = ?", (rows, name))
    db.execute("DELETE FROM missing WHERE descriptor = ? AND item > ?", (name, rows))
    return rows


def _add_block(db: sqlite3.Connection, folder: Path, file: str, start: int, size: int) -> None:
    with open(folder / file, "rb") as handle:
        handle.seek(start)
        data = handle.read(size)
    db.execute("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)", (file, start, size, zlib.crc32(data)))


def _thumbnails(db: sqlite3.Connection, folder: Path, changes: Changes) -> None:
    """Thumbnails that the file does not hold are none; if blocks and items do not fit, blocks are made from items."""
    end = _size(folder / THUMBNAILS)
    db.execute(
        "UPDATE items SET thumb_start = 0, thumb_bytes = 0"
        " WHERE thumb_start < 0 OR thumb_bytes < 0 OR thumb_start + thumb_bytes > ?",
        (end,),
    )
    db.execute(
        "DELETE FROM blocks WHERE file = ? AND (start < 0 OR bytes <= 0 OR start + bytes > ?)", (THUMBNAILS, end)
    )
    if not thumbnails_outside(db):
        return
    db.execute("DELETE FROM blocks WHERE file = ?", (THUMBNAILS,))
    query = "SELECT thumb_start, thumb_bytes FROM items WHERE thumb_bytes > 0 ORDER BY thumb_start"
    start = stop = 0
    for first, size in db.execute(query).fetchall():
        if stop > start and (first > stop or first + size - start > _BLOCK_BYTES):
            _add_block(db, folder, THUMBNAILS, start, stop - start)
            changes.unchecked_bytes += stop - start
            start = stop = first
        if stop == start:
            start = stop = first
        stop = max(stop, first + size)
    if stop > start:
        _add_block(db, folder, THUMBNAILS, start, stop - start)
        changes.unchecked_bytes += stop - start
