"""What a collection holds at a moment, as a search needs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from rankloom.collection._texts import OWN_SOURCES
from rankloom.collection.collection import Collection
from rankloom.collection.concepts import stored_concepts
from rankloom.core import FloatArray


class Counters(NamedTuple):
    """How often a collection was changed: what is searched, what is learned from (marks, models, settings), its files,
    and how they are organized (albums, stars, what is hidden).

    Every row that is added, changed or deleted counts, whatever the clock says. They tell changes of an open collection
    apart; a restored backup counts on from where it was.
    """

    contents: int
    learning: int
    files: int
    organizing: int


class State(NamedTuple):
    """What there is to search; equal states hold equal things.

    Parameters
    ----------
    changes : how often the contents were changed.
    n_items : how many items were ever added.
    n_texts, last_text : how many texts there are, and the number of the last.
    concepts : the name of each, and a hash of its detector.
    descriptors : name and version of each, and whether all items have a vector.
    """

    changes: int
    n_items: int
    n_texts: int
    last_text: int
    concepts: tuple[tuple[str, str], ...]
    descriptors: tuple[tuple[str, str, bool], ...]


class StoredText(NamedTuple):
    """A text of an item, and where it is from."""

    item: int
    source: str
    text: str


def counters(collection: Collection) -> Counters:
    """The counters now; four rows are read, however much the collection holds."""
    return Counters(**dict(collection.db.execute("SELECT name, value FROM counters").fetchall()))


def count_on(collection: Collection, before: Counters) -> None:
    """Let the counters go on from beyond others: after its database was replaced, nothing read before is taken for
    what is there now."""
    with collection.transaction() as db:
        rows = [(value + 1, value + 1, name) for name, value in before._asdict().items()]
        db.executemany("UPDATE counters SET value = CASE WHEN value < ? THEN ? ELSE value END + 1 WHERE name = ?", rows)


def state_of(collection: Collection) -> State:
    """The state of a collection now; to be read in one transaction with what it stands for."""
    db, n_items = collection.db, len(collection)
    n_texts, last_text = db.execute("SELECT count(*), coalesce(max(number), 0) FROM texts").fetchone()
    return State(
        changes=counters(collection).contents,
        n_items=n_items,
        n_texts=n_texts,
        last_text=last_text,
        concepts=tuple(
            (concept.name, sha256(concept.detector.encode()).hexdigest()) for concept in stored_concepts(collection)
        ),
        descriptors=tuple((stored.name, stored.version, stored.rows >= n_items) for stored in collection.descriptors()),
    )


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
    query = "SELECT item, source, text FROM texts WHERE number > ? ORDER BY number"
    return [StoredText(*row) for row in collection.db.execute(query, (number,)).fetchall()]


def texts_up_to(collection: Collection, number: int, items: Iterable[int]) -> list[StoredText]:
    """The texts of some items up to the one with a number, in the order in which they came."""
    query = "SELECT item, source, text FROM texts WHERE item = ? AND number <= ? ORDER BY number"
    found = (collection.db.execute(query, (item, number)).fetchall() for item in sorted(items))
    return [StoredText(*row) for rows in found for row in rows]


def texts_of_owner(collection: Collection) -> dict[int, int]:
    """The item of each caption and tag that the owner wrote, by its number."""
    query = "SELECT number, item FROM texts WHERE source IN (?, ?)"
    return dict(collection.db.execute(query, OWN_SOURCES).fetchall())


def face_counts(collection: Collection) -> FloatArray:
    """The number of faces of every item, NaN where it is not known."""
    rows = collection.db.execute("SELECT faces FROM items ORDER BY id").fetchall()
    return np.array([np.nan if count is None else count for (count,) in rows], dtype=np.float64)
