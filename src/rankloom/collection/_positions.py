"""Storing where contents were taken; for those that were described before this was read, from their metadata alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from rankloom.collection._database import Database
from rankloom.collection._pool import Workers, at_most, run_in_order
from rankloom.collection.collection import Collection
from rankloom.media.positions import Position, read_position

BATCH = 500


def store_positions(db: Database, positions: Iterable[tuple[str, Position | None]]) -> None:
    """Keep where contents, by their hashes, were taken; also that it is not known, as it is not looked for again."""
    rows = [(digest, *(place or (None, None))) for digest, place in positions]
    db.executemany("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", rows)


def look_for_positions(collection: Collection, workers: Workers, progress: Callable[[int, int, str], None]) -> None:
    """Read the positions of contents for which that was not done yet. Files are not decoded, nor described again."""
    rows = collection.db.execute(
        "SELECT hash, path, size, mtime_ns FROM files WHERE path IN (SELECT min(path) FROM files"
        " WHERE hash IN (SELECT hash FROM contents EXCEPT SELECT hash FROM positions) GROUP BY hash)"
    ).fetchall()
    todo = [(digest, path) for digest, path, *stamp in rows if _stamp(path) == tuple(stamp)]
    if not todo:
        return
    results = run_in_order(
        _position, [(path,) for _, path in todo], workers=at_most(workers, 1 + len(todo) // BATCH), prepare=_nothing,
        settings=None, failed=lambda task, why: None,
    )  # fmt: skip
    batch: list[tuple[str, Position | None]] = []
    for done, ((digest, _), place) in enumerate(zip(todo, results, strict=True), 1):
        batch.append((digest, place))
        if len(batch) == BATCH or done == len(todo):
            with collection.transaction() as db:
                store_positions(db, batch)
            batch = []
        progress(done, len(todo), "looking for places")


def _stamp(path: str) -> tuple[int, int] | None:
    """Size and time of a file; one that has changed is described again, with its position."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _nothing(settings: None) -> None:
    """Prepare nothing."""


def _position(path: str, *, alive: Callable[[str], None]) -> Position | None:
    alive("looking for places")
    return read_position(path)
