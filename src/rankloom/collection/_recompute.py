"""Damaged vectors, thumbnails and items, computed again from the files that they were made from."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from dataclasses import replace as replaced

import numpy as np

from rankloom.collection._backfill import described_again
from rankloom.collection._files import AppendFile, vector_file
from rankloom.collection._pool import Workers
from rankloom.collection._readings import store_boxes
from rankloom.collection.collection import THUMBNAILS, Collection, StoredDescriptor
from rankloom.collection.describing import DescribedItem, DescriberSettings, as_stored
from rankloom.experts.compact import row_bytes

DamagedBlock = tuple[str, int, int]  # the file, where the block starts, its bytes


def describe_blocks(
    collection: Collection, blocks: Sequence[DamagedBlock], settings: DescriberSettings, workers: Workers
) -> int:
    """Describe the items of damaged blocks again, each file once, and write what they hold; then its checksums.

    Returns how many vectors and thumbnails have no file any more. Killed before the checksums are stored, the blocks
    are still damaged, and can be described again.

    Parameters
    ----------
    collection : of which.
    blocks : of vectors and thumbnails.
    settings : how items are described.
    workers : processes; 0 for none.
    """
    stretches = [_stretch(collection, block) for block in blocks]
    by_item: dict[int, list[_Stretch]] = {}
    for stretch in stretches:
        for number in stretch.ids:
            by_item.setdefault(number, []).append(stretch)
    names = dict.fromkeys(stretch.stored.name for stretch in stretches if stretch.stored is not None)
    chosen = replaced(settings, descriptors=tuple(names), tags=False, readers=())
    with ExitStack() as opened:
        files = {}
        for file in {stretch.file for stretch in stretches}:
            files[file] = AppendFile(collection.folder / file)
            opened.callback(files[file].close)
        for number, item in described_again(collection, sorted(by_item), chosen, workers):
            for stretch in by_item[number]:
                stretch.take(files[stretch.file], number, item)
        for stretch in stretches:
            stretch.finish(files[stretch.file], collection)
    return sum(len(stretch.lost) for stretch in stretches)


@dataclass
class _Stretch:
    """A damaged block: its items, and those of them that have no file any more. `stored` is None for thumbnails."""

    file: str
    start: int
    size: int
    ids: Sequence[int]
    stored: StoredDescriptor | None
    lost: list[int] = field(default_factory=list)
    thumbnails: list[tuple[int, bytes]] = field(default_factory=list)

    def take(self, file: AppendFile, number: int, item: DescribedItem | None) -> None:
        """Write the vector of an item, or keep its thumbnail for the end."""
        if item is None:
            self.lost.append(number)
        if self.stored is None:
            self.thumbnails.append((number, b"" if item is None else item.thumbnail))
            return
        vector = np.zeros(self.stored.dimension) if item is None else item.vectors[self.stored.name]
        file.write((number - 1) * row_bytes(self.stored.dimension), as_stored(vector))

    def finish(self, file: AppendFile, collection: Collection) -> None:
        """Store the checksum of what is there now."""
        if self.stored is None:
            self._append(file, collection)
            return
        file.sync()
        with open(collection.folder / self.file, "rb") as written:
            written.seek(self.start)
            crc = zlib.crc32(written.read(self.size))
        with collection.transaction() as db:
            db.execute("UPDATE blocks SET crc = ? WHERE file = ? AND start = ?", (crc, self.file, self.start))
            missing = [(self.stored.name, number) for number in self.lost]
            db.executemany("INSERT OR IGNORE INTO missing VALUES (?, ?)", missing)

    def _append(self, file: AppendFile, collection: Collection) -> None:
        """Thumbnails go to the end of the file: they may be longer than the old ones."""
        end = _end_of_thumbnails(collection)
        data = b"".join(thumbnail for _, thumbnail in self.thumbnails)
        crc = file.write(end, data)
        file.sync()
        with collection.transaction() as db:
            db.execute("DELETE FROM blocks WHERE file = ? AND start = ?", (THUMBNAILS, self.start))
            if data:
                db.execute("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)", (THUMBNAILS, end, len(data), crc))
            for number, part in self.thumbnails:
                db.execute("UPDATE items SET thumb_start = ?, thumb_bytes = ? WHERE id = ?", (end, len(part), number))
                end += len(part)


def _stretch(collection: Collection, block: DamagedBlock) -> _Stretch:
    """The items of a block: those of its rows, or those whose thumbnails begin in it."""
    file, start, size = block
    for stored in collection.descriptors():
        if file == vector_file(stored.name, stored.version):
            width = row_bytes(stored.dimension)
            return _Stretch(file, start, size, range(start // width + 1, (start + size) // width + 1), stored)
    query = "SELECT id FROM items WHERE thumb_start >= ? AND thumb_start < ? ORDER BY id"
    ids = [row[0] for row in collection.db.execute(query, (start, start + size)).fetchall()]
    return _Stretch(file, start, size, ids, None)


def _end_of_thumbnails(collection: Collection) -> int:
    row = collection.db.execute("SELECT coalesce(max(thumb_start + thumb_bytes), 0) FROM items").fetchone()
    return int(row[0])


def unknown_items(collection: Collection) -> list[int]:
    """The items of which only the number, and maybe the content, is known: their rows were lost."""
    return [number for (number,) in collection.db.execute("SELECT id FROM items WHERE width <= 0 ORDER BY id")]


def incomplete_items(collection: Collection) -> list[int]:
    """Those, and items that have a file but no thumbnail."""
    query = (
        "SELECT id FROM items WHERE width <= 0 OR (thumb_bytes = 0 AND hash IN (SELECT hash FROM files)) ORDER BY id"
    )
    return [number for (number,) in collection.db.execute(query)]


def describe_items(collection: Collection, settings: DescriberSettings, workers: Workers) -> int:
    """Describe items again whose rows were lost; returns how many have no file any more: they stay hidden."""
    chosen, lost = replaced(settings, descriptors=()), 0
    for number, item in described_again(collection, incomplete_items(collection), chosen, workers):
        lost += item is None
        _store_item(collection, number, item)
    return lost


def _store_item(collection: Collection, number: int, item: DescribedItem | None) -> None:
    thumbnail = b"" if item is None else item.thumbnail
    end = _end_of_thumbnails(collection)
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
        if not db.execute("SELECT 1 FROM boxes WHERE item = ?", (number,)).fetchone():
            store_boxes(db, number, item.boxes, item.people)
