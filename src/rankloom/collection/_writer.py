"""Storing described files: vectors first, then the rows of the database that make them count."""

from __future__ import annotations

from datetime import UTC, datetime
from time import monotonic

import numpy as np

from rankloom.collection._files import AppendFile, vector_file
from rankloom.collection._positions import store_positions
from rankloom.collection._readings import store_boxes, store_readings
from rankloom.collection._texts import shared_texts
from rankloom.collection.collection import THUMBNAILS, Collection
from rankloom.collection.describing import DescribedFile, DescribedItem, as_stored
from rankloom.experts.compact import row_bytes
from rankloom.media import spread_cues

BATCH_ITEMS = 200
BATCH_SECONDS = 1.0  # of work that a kill may cost, and that a described file waits for others


class Writer:
    """Collects described files and commits them in batches; a file counts from the commit on.

    Blocks of vectors and thumbnails are on disk before the transaction that counts them begins. After a crash they are
    beyond the committed length and are overwritten.
    """

    def __init__(self, collection: Collection):
        self._collection = collection
        self._files: dict[str, AppendFile] = {}
        self._waiting: list[DescribedFile] = []
        self._since = monotonic()
        self.items = 0
        self.stored = 0  # contents that were new
        self.followed = 0  # files with a content that was known: renamed, copied, touched
        self.failed = 0
        self.video_seconds = self.video_work = 0.0  # how long new videos are, and how long they took
        self.warnings: list[tuple[str, str]] = []  # paths, and what was left out

    def add(self, described: DescribedFile) -> None:
        """Take a file; commit if enough have come together, took long, or the first has waited long."""
        if not self._waiting:
            self._since = monotonic()
        self._waiting.append(described)
        count = sum(len(file.items or ()) for file in self._waiting)
        work = sum(file.seconds for file in self._waiting)
        if count >= BATCH_ITEMS or max(work, monotonic() - self._since) > BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Commit what was taken."""
        if self._waiting:
            self._commit(self._waiting)
            self._waiting = []

    def close(self) -> None:
        """Close the files; what was not flushed is not stored."""
        for file in self._files.values():
            file.close()

    def _file(self, name: str) -> AppendFile:
        if name not in self._files:
            self._files[name] = AppendFile(self._collection.folder / name)
        return self._files[name]

    def _commit(self, described: list[DescribedFile]) -> None:
        db = self._collection.db
        fresh: dict[str, DescribedFile] = {}
        for file in described:
            known = db.execute("SELECT 1 FROM contents WHERE hash = ?", (file.hash,)).fetchone()
            if file.error is None and file.items is not None and known is None:
                fresh.setdefault(file.hash, file)
        items = [(file, item) for file in fresh.values() for item in file.items or ()]
        first = len(self._collection) + 1
        blocks = self._append_vectors([item for _, item in items])
        thumbs = self._append_thumbnails([item for _, item in items])
        blocks += thumbs[1]
        for name in {block[0] for block in blocks}:
            self._file(name).sync()
        with self._collection.transaction():
            for file in fresh.values():
                db.execute("INSERT INTO contents VALUES (?, ?, ?)", (file.hash, file.kind, file.size))
                store_readings(db, file)
            store_positions(db, [(file.hash, file.position) for file in fresh.values()])
            for number, ((file, item), place) in enumerate(zip(items, thumbs[0], strict=True), first):
                db.execute(
                    "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        number, file.hash, item.shot, item.start, item.end, item.width, item.height, item.taken,
                        item.faces, item.phash, *place,
                    ),
                )  # fmt: skip
                db.executemany(
                    "INSERT INTO texts (item, path, source, text) VALUES (?, '', ?, ?)",
                    [(number, source, text) for text, source in item.texts],
                )
                store_boxes(db, number, item.boxes, item.people)
            db.execute("UPDATE descriptors SET rows = ?", (first + len(items) - 1,))
            db.executemany("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?)", blocks)
            for file in described:
                self._store_file(file)
        self.items += len(items)
        self.stored += len(fresh)
        videos = [file for file in fresh.values() if file.kind == "video"]
        self.video_seconds += sum(max((item.end or 0.0 for item in file.items or ()), default=0.0) for file in videos)
        self.video_work += sum(file.seconds for file in videos)

    def _append_vectors(self, items: list[DescribedItem]) -> list[tuple[str, int, int, int]]:
        blocks = []
        for stored in self._collection.descriptors() if items else ():
            vectors = [item.vectors[stored.name] for item in items]
            wrong = next((vector.shape for vector in vectors if vector.shape != (stored.dimension,)), None)
            if wrong is not None:
                raise ValueError(f"a vector of {stored.name} has the shape {wrong} instead of ({stored.dimension},)")
            data = as_stored(np.stack(vectors))
            name = vector_file(stored.name, stored.version)
            start = stored.rows * row_bytes(stored.dimension)
            blocks.append((name, start, len(data), self._file(name).write(start, data)))
        return blocks

    def _append_thumbnails(
        self, items: list[DescribedItem]
    ) -> tuple[list[tuple[int, int]], list[tuple[str, int, int, int]]]:
        if not items:
            return [], []
        row = self._collection.db.execute("SELECT coalesce(max(thumb_start + thumb_bytes), 0) FROM items").fetchone()
        start = end = int(row[0])
        places = []
        for item in items:
            places.append((end, len(item.thumbnail)))
            end += len(item.thumbnail)
        data = b"".join(item.thumbnail for item in items)
        return places, [(THUMBNAILS, start, len(data), self._file(THUMBNAILS).write(start, data))]

    def _store_file(self, file: DescribedFile) -> None:
        """The row of a file: which content it holds now, its texts, or why it could not be read."""
        db = self._collection.db
        db.execute("DELETE FROM errors WHERE path = ?", (file.path,))
        db.execute("DELETE FROM texts WHERE path = ? AND source != 'caption'", (file.path,))
        if file.error is not None:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            db.execute("DELETE FROM files WHERE path = ?", (file.path,))
            db.execute(
                "INSERT INTO errors VALUES (?, ?, ?, ?, ?)", (file.path, file.size, file.mtime_ns, file.error, now)
            )
            self.failed += 1
            return
        if file.items is None:
            self.followed += 1
        db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", (file.path, file.hash, file.size, file.mtime_ns))
        items = db.execute('SELECT id, start, "end" FROM items WHERE hash = ? ORDER BY id', (file.hash,)).fetchall()
        texts = shared_texts(file.texts, len(items), file.warnings.append)
        rows = [(item, file.path, source, text) for item, _, _ in items for text, source in texts]
        if file.subtitles:
            shots = [(start or 0.0, end or 0.0) for _, start, end in items]
            subtitles = spread_cues(file.subtitles, shots, file.warnings.append)
            rows += [
                (item[0], file.path, "subtitle", text) for item, text in zip(items, subtitles, strict=True) if text
            ]
        self.warnings += [(file.path, line) for line in file.warnings]
        db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, ?, ?, ?)", rows)
