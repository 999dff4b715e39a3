"""What a collection holds at a moment, as a search needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from rankloom.collection.collection import Collection
from rankloom.core import FloatArray


class State(NamedTuple):
    """Counts that change when there is something new to search; equal states hold equal things.

    Parameters
    ----------
    n_items : how many items were ever added.
    n_texts, last_text : how many texts there are, and the number of the last.
    n_files : how many files there are.
    concepts : how many concepts there are, and when the last was made.
    descriptors : name and version of each, and whether all items have a vector.
    """

    n_items: int
    n_texts: int
    last_text: int
    n_files: int
    concepts: tuple[int, str]
    descriptors: tuple[tuple[str, str, bool], ...]


class StoredText(NamedTuple):
    """A text of an item, and where it is from."""

    item: int
    source: str
    text: str


def state_of(collection: Collection) -> State:
    """The state of a collection now."""
    db, n_items = collection.db, len(collection)
    n_texts, last_text = db.execute("SELECT count(*), coalesce(max(rowid), 0) FROM texts").fetchone()
    return State(
        n_items=n_items,
        n_texts=n_texts,
        last_text=last_text,
        n_files=db.execute("SELECT count(*) FROM files").fetchone()[0],
        concepts=db.execute("SELECT count(*), coalesce(max(at), '') FROM concepts").fetchone(),
        descriptors=tuple((stored.name, stored.version, stored.rows >= n_items) for stored in collection.descriptors()),
    )


def change_counter(collection: Collection) -> tuple[int, ...]:
    """Another value after each change of the database, by this thread's connection or by others."""
    db = collection.db
    return db.execute("PRAGMA data_version").fetchone()[0], db.total_changes, id(db)


@contextmanager
def reading(collection: Collection) -> Iterator[None]:
    """All that is read inside is of one moment."""
    collection.db.execute("BEGIN")
    try:
        yield
    finally:
        collection.db.execute("COMMIT")


def texts_after(collection: Collection, number: int) -> list[StoredText]:
    """The texts that came after the one with a number, in the order in which they came."""
    query = "SELECT item, source, text FROM texts WHERE rowid > ? ORDER BY rowid"
    return [StoredText(*row) for row in collection.db.execute(query, (number,)).fetchall()]


def face_counts(collection: Collection) -> FloatArray:
    """The number of faces of every item, NaN where it is not known."""
    rows = collection.db.execute("SELECT faces FROM items ORDER BY id").fetchall()
    return np.array([np.nan if count is None else count for (count,) in rows], dtype=np.float64)
