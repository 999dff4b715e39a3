"""Damaged vectors, thumbnails and items, computed again from the files that they were made from."""

from __future__ import annotations

from dataclasses import replace as replaced
from itertools import groupby

import numpy as np

from rankloom.collection._backfill import described_again
from rankloom.collection._files import STORED, AppendFile, vector_file
from rankloom.collection.collection import THUMBNAILS, Collection, StoredDescriptor
from rankloom.collection.describing import DescribedItem, DescriberSettings, as_stored


def describe_vectors(
    collection: Collection,
    stored: StoredDescriptor,
    start: int,
    size: int,
    settings: DescriberSettings,
    workers: int,
) -> int:
    """Describe the items of a block again and write their vectors; returns how many have no file any more."""
    width = stored.dimension * STORED.itemsize
    first, last = start // width + 1, (start + size) // width
    chosen = replaced(settings, descriptors=(stored.name,), tags=False)
    described = [*described_again(collection, first, last, chosen, workers)]
    lost = [number for number, item in described if item is None]
    empty = np.zeros(stored.dimension)
    data = b"".join(as_stored(empty if item is None else item.vectors[stored.name]) for _, item in described)
    file = AppendFile(collection.folder / vector_file(stored.name, stored.version))
    crc = file.write(start, data)
    file.sync()
    file.close()
    with collection.transaction() as db:
        key = (crc, vector_file(stored.name, stored.version), start)
        db.execute("UPDATE blocks SET crc = ? WHERE file = ? AND start = ?", key)
        db.executemany("INSERT OR IGNORE INTO missing VALUES (?, ?)", [(stored.name, number) for number in lost])
    return len(lost)


def describe_thumbnails(
    collection: Collection, start: int, size: int, settings: DescriberSettings, workers: int
) -> int:
    """Make the thumbnails of a block again; returns how many have no file any more.

    They go to the end of the file: they may be longer than the old ones.
    """
    query = "SELECT id FROM items WHERE thumb_start >= ? AND thumb_start < ? ORDER BY id"
    ids = [row[0] for row in collection.db.execute(query, (start, start + size)).fetchall()]
    end = int(collection.db.execute("SELECT coalesce(max(thumb_start + thumb_bytes), 0) FROM items").fetchone()[0])
    parts: list[tuple[int, bytes]] = []
    chosen = replaced(settings, descriptors=(), tags=False)
    for number, item in described_again(collection, ids[0], ids[-1], chosen, workers) if ids else ():
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
    return sum(not part for _, part in parts)


def unknown_items(collection: Collection) -> list[int]:
    """The items of which only the number, and maybe the content, is known: their rows were lost."""
    return [number for (number,) in collection.db.execute("SELECT id FROM items WHERE width <= 0 ORDER BY id")]


def incomplete_items(collection: Collection) -> list[int]:
    """Those, and items that have a file but no thumbnail."""
    query = (
        "SELECT id FROM items WHERE width <= 0 OR (thumb_bytes = 0 AND hash IN (SELECT hash FROM files)) ORDER BY id"
    )
    return [number for (number,) in collection.db.execute(query)]


def describe_items(collection: Collection, settings: DescriberSettings, workers: int) -> int:
    """Describe items again whose rows were lost; returns how many have no file any more: they stay hidden."""
    chosen, lost = replaced(settings, descriptors=()), 0
    runs = groupby(enumerate(incomplete_items(collection)), key=lambda pair: pair[1] - pair[0])
    for _, run in runs:
        numbers = [number for _, number in run]
        for number, item in described_again(collection, numbers[0], numbers[-1], chosen, workers):
            lost += item is None
            _store_item(collection, number, item)
    return lost


def _store_item(collection: Collection, number: int, item: DescribedItem | None) -> None:
    thumbnail = b"" if item is None else item.thumbnail
    end = int(collection.db.execute("SELECT coalesce(max(thumb_start + thumb_bytes), 0) FROM items").fetchone()[0])
    file = AppendFile(collection.folder / THUMBNAILS)
    crc = file.write(end, thumbnail)
    file.sync()
    file.close()
    with collection.transaction() as db:
        if item is None:
            db.execute("UPDATE items SET width = 1, height = 1 WHERE id = ? AND width <= 0", (number,))
            return
        db.execute(
            'UPDATE items SET shot = ?, start = ?, "end" = ?, width = ?, height = ?, taken = ?, faces = ?, phash = ?,'
            " thumb_start = ?, thumb_bytes = ? WHERE id = ?",
            (
                item.shot, item.start, item.end, item.width, item.height, item.taken, item.faces, item.phash,
                end, len(thumbnail), number,
            ),
        )  # fmt: skip
        db.execute("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)", (THUMBNAILS, end, len(thumbnail), crc))
        if not db.execute("SELECT 1 FROM texts WHERE item = ? AND path = ''", (number,)).fetchone():
            rows = [(number, source, text) for text, source in item.texts]
            db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, '', ?, ?)", rows)
