"""verify: every checksum of a collection, and what can be computed again."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from dataclasses import replace as replaced

import numpy as np

from rankloom.collection._backfill import described_again
from rankloom.collection._files import STORED, AppendFile, vector_file
from rankloom.collection.collection import THUMBNAILS, Collection, StoredDescriptor
from rankloom.collection.describing import Settings, as_stored
from rankloom.collection.settings import settings_for

__all__ = ["VerifyReport", "verify"]


@dataclass
class VerifyReport:
    """What was checked, what was wrong, and what could be repaired."""

    blocks: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)
    repaired: int = 0
    lost: int = 0  # vectors and thumbnails that need a file which is not there any more

    @property
    def sound(self) -> bool:
        """Whether nothing was wrong, or all of it is repaired."""
        return len(self.problems) == self.repaired


def verify(collection: Collection, *, repair: bool = False, workers: int | None = None) -> VerifyReport:
    """Check the database and every block of vectors and thumbnails; on request compute damaged ones again.

    Parameters
    ----------
    collection : what to check.
    repair : describe the files of damaged blocks again and write what they hold.
    workers : processes for that; None for one a core.
    """
    report = VerifyReport()
    for (text,) in collection.db.execute("PRAGMA integrity_check").fetchall():
        if text != "ok":
            report.problems.append(f"database: {text}")
    for one in collection.descriptors():
        if one.rows != len(collection):
            report.problems.append(f"{one.name} has {one.rows:,} of {len(collection):,} vectors; index again")
    damaged = _damaged(collection, report)
    if repair and damaged:
        count = os.cpu_count() or 1 if workers is None else workers
        with collection.indexing():
            settings = settings_for(collection, None, (), ())
            by_file = {vector_file(one.name, one.version): one for one in collection.descriptors()}
            for file, start, size in damaged:
                if file in by_file:
                    _repair_vectors(collection, by_file[file], start, size, settings, count, report)
                elif file == THUMBNAILS:
                    _repair_thumbnails(collection, start, size, settings, count, report)
                else:
                    _drop(collection, file)  # of a descriptor that is not there any more
                report.repaired += 1
    return report


def _damaged(collection: Collection, report: VerifyReport) -> list[tuple[str, int, int]]:
    damaged = []
    query = "SELECT file, start, bytes, crc FROM blocks ORDER BY file, start"
    for file, start, size, crc in collection.db.execute(query).fetchall():
        report.blocks += 1
        report.bytes += size
        try:
            with open(collection.folder / file, "rb") as handle:
                handle.seek(start)
                data = handle.read(size)
        except FileNotFoundError:
            data = b""
        if len(data) != size or zlib.crc32(data) != crc:
            why = "is too short" if len(data) != size else "has other content"
            report.problems.append(f"{file} {why} at byte {start:,}")
            damaged.append((file, start, size))
    return damaged


def _repair_vectors(
    collection: Collection,
    one: StoredDescriptor,
    start: int,
    size: int,
    settings: Settings,
    workers: int,
    report: VerifyReport,
) -> None:
    width = one.dimension * STORED.itemsize
    first, last = start // width + 1, (start + size) // width
    some = replaced(settings, descriptors=(one.name,), tags=False)
    found = [*described_again(collection, first, last, some, workers)]
    lost = [number for number, item in found if item is None]
    empty = np.zeros(one.dimension)
    data = b"".join(as_stored(empty if item is None else item.vectors[one.name]) for _, item in found)
    file = AppendFile(collection.folder / vector_file(one.name, one.version))
    crc = file.write(start, data)
    file.sync()
    file.close()
    with collection.transaction() as db:
        key = (crc, vector_file(one.name, one.version), start)
        db.execute("UPDATE blocks SET crc = ? WHERE file = ? AND start = ?", key)
        db.executemany("INSERT OR IGNORE INTO missing VALUES (?, ?)", [(one.name, number) for number in lost])
    report.lost += len(lost)


def _repair_thumbnails(
    collection: Collection, start: int, size: int, settings: Settings, workers: int, report: VerifyReport
) -> None:
    """New thumbnails go to the end of the file: they may be longer than the old ones."""
    query = "SELECT id FROM items WHERE thumb_start >= ? AND thumb_start < ? ORDER BY id"
    ids = [row[0] for row in collection.db.execute(query, (start, start + size)).fetchall()]
    end = int(collection.db.execute("SELECT coalesce(max(thumb_start + thumb_bytes), 0) FROM items").fetchone()[0])
    parts: list[tuple[int, bytes]] = []
    some = replaced(settings, descriptors=(), tags=False)
    for number, item in described_again(collection, ids[0], ids[-1], some, workers) if ids else ():
        parts.append((number, b"" if item is None else item.thumbnail))
    data = b"".join(part for _, part in parts)
    file = AppendFile(collection.folder / THUMBNAILS)
    crc = file.write(end, data)
    file.sync()
    file.close()
    with collection.transaction() as db:
        db.execute("DELETE FROM blocks WHERE file = ? AND start = ?", (THUMBNAILS, start))
        if data:
            db.execute("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)", (THUMBNAILS, end, len(data), crc))
        for number, part in parts:
            db.execute("UPDATE items SET thumb_start = ?, thumb_bytes = ? WHERE id = ?", (end, len(part), number))
            end += len(part)
    report.lost += sum(not part for _, part in parts)


def _drop(collection: Collection, file: str) -> None:
    with collection.transaction() as db:
        db.execute("DELETE FROM blocks WHERE file = ?", (file,))
