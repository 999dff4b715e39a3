"""Vectors of a descriptor that came later, and rows that were damaged: read the files of the items again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from rankloom.collection._files import STORED, AppendFile, vector_file
from rankloom.collection._pool import run_in_order
from rankloom.collection.collection import Collection, StoredDescriptor
from rankloom.collection.describing import DescribedFile, Settings, as_stored, describe_file, prepare_worker

__all__ = ["backfill", "described_again"]

BATCH_ITEMS = 500


def described_again(
    collection: Collection, first: int, last: int, settings: Settings, workers: int
) -> Iterator[tuple[list[int], DescribedFile | None]]:
    """Describe the contents of items `first` to `last` again: ids, and the description or None if no file is left."""
    rows = collection.db.execute(
        "SELECT id, hash, (SELECT min(path) FROM files WHERE files.hash = items.hash) FROM items "
        "WHERE id BETWEEN ? AND ? ORDER BY id",
        (first, last),
    ).fetchall()
    contents = [(key, [row[0] for row in group]) for key, group in groupby(rows, key=lambda row: (row[1], row[2]))]
    tasks = [(path,) for (_, path), _ in contents if path is not None]
    results = run_in_order(
        describe_file, tasks, workers=min(workers, len(tasks)), prepare=prepare_worker, settings=settings,
        crashed=lambda task: None,
    )  # fmt: skip
    for (digest, path), ids in contents:
        described: DescribedFile | None = None if path is None else next(results)
        if described is not None and (described.error or described.hash != digest):
            described = None  # the file has changed since; the next index will see to it
        yield ids, described


def backfill(
    collection: Collection, settings: Settings, workers: int, progress: Callable[[int, int, str], None]
) -> None:
    """Compute the vectors that descriptors lack, item after item, so that all reach the last item."""
    total = len(collection)
    short = [one for one in collection.descriptors() if one.rows < total]
    if not short:
        return
    done = min(one.rows for one in short)
    files = {one.name: AppendFile(collection.folder / vector_file(one.name, one.version)) for one in short}
    some = replace(settings, descriptors=tuple(one.name for one in short), tags=False)
    batch: list[tuple[int, dict[str, Any] | None]] = []
    try:
        for ids, described in described_again(collection, done + 1, total, some, workers):
            items = [] if described is None or described.items is None else described.items
            # A shot detector of another version may cut differently: then nothing can be said of these items.
            known = len(items) == _shots_of(collection, ids[0])
            offset = ids[0] - _first_of(collection, ids[0])
            for place, number in enumerate(ids):
                batch.append((number, items[offset + place].vectors if known else None))
            if len(batch) >= BATCH_ITEMS:
                _append(collection, short, files, batch)
                batch = []
            progress(ids[-1], total, "adding descriptors")
        if batch:
            _append(collection, short, files, batch)
    finally:
        for file in files.values():
            file.close()


def _shots_of(collection: Collection, item: int) -> int:
    query = "SELECT count(*) FROM items WHERE hash = (SELECT hash FROM items WHERE id = ?)"
    return int(collection.db.execute(query, (item,)).fetchone()[0])


def _first_of(collection: Collection, item: int) -> int:
    query = "SELECT min(id) FROM items WHERE hash = (SELECT hash FROM items WHERE id = ?)"
    return int(collection.db.execute(query, (item,)).fetchone()[0])


def _append(
    collection: Collection,
    descriptors: list[StoredDescriptor],
    files: dict[str, AppendFile],
    batch: list[tuple[int, dict[str, Any] | None]],
) -> None:
    """Append the rows that each descriptor lacks, then count them."""
    rows = {one.name: one.rows for one in collection.descriptors()}
    blocks, counted, missing = [], [], []
    for one in descriptors:
        mine = [entry for entry in batch if entry[0] > rows[one.name]]
        if not mine:
            continue
        empty = np.zeros(one.dimension)
        data = b"".join(as_stored(empty if vectors is None else vectors[one.name]) for _, vectors in mine)
        start = rows[one.name] * one.dimension * STORED.itemsize
        crc = files[one.name].write(start, data)
        files[one.name].sync()
        blocks.append((vector_file(one.name, one.version), start, len(data), crc))
        counted.append((mine[-1][0], one.name))
        missing += [(one.name, number) for number, vectors in mine if vectors is None]
    with collection.transaction() as db:
        db.executemany("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)", blocks)
        db.executemany("UPDATE descriptors SET rows = ? WHERE name = ?", counted)
        db.executemany("INSERT OR IGNORE INTO missing VALUES (?, ?)", missing)
