"""Profiles: people who mark apart from the owner of a collection, and how the owner takes over what is theirs.

The owner has no name: the user "" of marks and saved searches.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from rankloom.collection._database import Database
from rankloom.collection.collection import Collection
from rankloom.collection.marks import now
from rankloom.collection.names import LONGEST

OWNER = ""


class Profile(NamedTuple):
    """A user with a name, and how many active marks and saved searches are theirs."""

    name: str
    marks: int
    saved: int


class Adopted(NamedTuple):
    """How many marks and saved searches the owner took over, and how many marks the owner's own later ones replace."""

    marks: int
    replaced: int
    saved: int


def profiles(collection: Collection) -> list[Profile]:
    """All who marked or saved something under a name, by name."""
    rows = collection.db.execute(
        "SELECT user, sum(mark), sum(1 - mark) FROM ("
        " SELECT user, 1 AS mark FROM qrels WHERE undone IS NULL UNION ALL SELECT user, 0 AS mark FROM saved"
        ") AS kept WHERE user != ? GROUP BY user ORDER BY user",
        (OWNER,),
    )
    return [Profile(*row) for row in rows.fetchall()]


def adopt(collection: Collection, name: str) -> Adopted:
    """Make all marks and saved searches of a profile the owner's.

    The marks are appended to the log in their order and with their times, and undone for the profile, so that learning
    counts each once. Where the owner graded the same item of the same query later, that grade stays. A saved search
    whose name the owner has for another query gets a new name.
    """
    with collection.transaction() as db:
        known = [profile.name for profile in profiles(collection)]
        if name not in known:
            raise ValueError(f"no profile {name!r} has marks or saved searches; known are {', '.join(known) or 'none'}")
        marks, replaced = _adopt_marks(db, name)
        db.execute("UPDATE drafts SET user = ? WHERE user = ?", (OWNER, name))
        return Adopted(marks, replaced, _adopt_saved(db, name))


def _adopt_marks(db: Database, name: str) -> tuple[int, int]:
    """Copy the marks of a profile and undo its own; how many were copied, and how many were not."""
    theirs = "user = ? AND undone IS NULL"
    total, first = db.execute(f"SELECT count(*), min(id) FROM qrels WHERE {theirs}", (name,)).fetchone()
    copied = db.execute(
        "INSERT INTO qrels (qid, item, grade, user, at, over, skipped, shown, place)"
        " SELECT qid, item, grade, ?, at, over, skipped, shown, place FROM qrels AS mark"
        f" WHERE {theirs} AND NOT (over IS NULL AND EXISTS ("
        "  SELECT 1 FROM qrels AS own WHERE own.qid = mark.qid AND own.item = mark.item AND own.user = ?"
        "  AND own.undone IS NULL AND own.over IS NULL AND own.at > mark.at"
        " )) ORDER BY id",
        (OWNER, name, OWNER),
    ).rowcount
    db.execute(f"INSERT INTO undos (mark) SELECT id FROM qrels WHERE {theirs} ORDER BY id", (name,))
    db.execute(f"UPDATE qrels SET undone = ? WHERE {theirs}", (now(), name))
    db.execute("DELETE FROM checkpoints WHERE mark >= ?", (first,))
    return copied, total - copied


def _adopt_saved(db: Database, name: str) -> int:
    """Give saved searches to the owner; how many."""
    theirs = db.execute("SELECT name, query FROM saved WHERE user = ? ORDER BY name", (name,)).fetchall()
    own = dict(db.execute("SELECT name, query FROM saved WHERE user = ?", (OWNER,)).fetchall())
    for title, query in theirs:
        free = next(other for other in _names(title) if own.get(other, query) == query)
        if free in own:
            db.execute("DELETE FROM saved WHERE user = ? AND name = ?", (name, title))
        else:
            db.execute("UPDATE saved SET user = ?, name = ? WHERE user = ? AND name = ?", (OWNER, free, name, title))
        own[free] = query
    return len(theirs)


def _names(title: str) -> Iterator[str]:
    """A name, and others like it."""
    yield title
    for number in count(2):
        yield f"{title[: LONGEST - 10]} {number}"
