"""Vectors of a descriptor that came later, and rows that were damaged: read the files of the items again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from rankloom.collection._files import AppendFile, vector_file
from rankloom.collection._pool import Workers, at_most, run_in_order
from rankloom.collection.collection import Collection, StoredDescriptor
from rankloom.collection.describing import (
    DescribedFile,
    DescribedItem,
    DescriberSettings,
    as_stored,
    describe_file,
    prepare_worker,
)
from rankloom.experts.compact import row_bytes

BATCH_ITEMS = 500


def described_again(
    collection: Collection, ids: Sequence[int], settings: DescriberSettings, workers: Workers
) -> Iterator[tuple[int, DescribedItem | None]]:
    """Describe items again, in the order of their ids: the id, and the description or None if there is none.

    There is none if no file holds the item any more, or if the file has changed or was cut into other shots. A file is
    read once, if all its items follow each other.
    """
    rows = collection.db.execute(
        "WITH wanted AS (SELECT CAST(value AS BIGINT) AS id FROM json_each(?)) "
        "SELECT items.id, items.hash, whole.path, whole.first, whole.count FROM items JOIN ("
        " SELECT hash, min(id) AS first, count(*) AS count,"
        " (SELECT min(path) FROM files WHERE files.hash = items.hash) AS path FROM items"
        " WHERE hash IN (SELECT hash FROM items WHERE id IN (SELECT id FROM wanted)) GROUP BY hash"
        ") AS whole ON whole.hash = items.hash WHERE items.id IN (SELECT id FROM wanted) ORDER BY items.id",
        (json.dumps([*ids]),),
    ).fetchall()
    contents = [(key, [row[0] for row in group]) for key, group in groupby(rows, key=lambda row: row[1:])]
    tasks = [(path,) for (_, path, _, _), _ in contents if path is not None]
    results = run_in_order(
        describe_file, tasks, workers=at_most(workers, len(tasks)), prepare=prepare_worker, settings=settings,
        failed=lambda task, why: None,
    )  # fmt: skip
    for (digest, path, start, count), ids in contents:
        described: DescribedFile | None = None if path is None else next(results)
        items = described.items if described is not None and described.hash == digest and not described.error else None
        for number in ids:
            yield number, items[number - start] if items is not None and len(items) == count else None


def backfill(
    collection: Collection, settings: DescriberSettings, workers: Workers, progress: Callable[[int, int, str], None]
) -> None:
    """Compute the vectors that descriptors lack, item after item, so that all reach the last item."""
    total = len(collection)
    short = [descriptor for descriptor in collection.descriptors() if descriptor.rows < total]
    if not short:
        return
    done = min(descriptor.rows for descriptor in short)
    files = {
        descriptor.name: AppendFile(collection.folder / vector_file(descriptor.name, descriptor.version))
        for descriptor in short
    }
    chosen = replace(settings, descriptors=tuple(descriptor.name for descriptor in short), tags=False, readers=())
    batch: list[tuple[int, dict[str, Any] | None]] = []
    try:
        for number, item in described_again(collection, range(done + 1, total + 1), chosen, workers):
            batch.append((number, None if item is None else item.vectors))
            if len(batch) >= BATCH_ITEMS:
                _append(collection, short, files, batch)
                batch = []
            progress(number, total, "adding descriptors")
        if batch:
            _append(collection, short, files, batch)
    finally:
        for file in files.values():
            file.close()


def _append(
    collection: Collection,
    descriptors: list[StoredDescriptor],
    files: dict[str, AppendFile],
    batch: list[tuple[int, dict[str, Any] | None]],
) -> None:
    """Append the rows that each descriptor lacks, then count them."""
    rows = {descriptor.name: descriptor.rows for descriptor in collection.descriptors()}
    blocks, counted, missing = [], [], []
    for descriptor in descriptors:
        entries = [entry for entry in batch if entry[0] > rows[descriptor.name]]
        if not entries:
            continue
        empty = np.zeros(descriptor.dimension)
        data = b"".join(as_stored(empty if vectors is None else vectors[descriptor.name]) for _, vectors in entries)
        start = rows[descriptor.name] * row_bytes(descriptor.dimension)
        crc = files[descriptor.name].write(start, data)
        files[descriptor.name].sync()
        blocks.append((vector_file(descriptor.name, descriptor.version), start, len(data), crc))
        counted.append((entries[-1][0], descriptor.name))
        missing += [(descriptor.name, number) for number, vectors in entries if vectors is None]
    with collection.transaction() as db:
        db.executemany("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)", blocks)
        db.executemany("UPDATE descriptors SET rows = ? WHERE name = ?", counted)
        db.executemany("INSERT OR IGNORE INTO missing VALUES (?, ?)", missing)
