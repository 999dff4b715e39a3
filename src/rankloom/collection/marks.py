"""The log of marks: what people said about results. What was learned can always be rebuilt from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NamedTuple

from rankloom.collection.collection import Collection
from rankloom.core import Qrel

__all__ = ["Mark", "StoredMark", "add_marks", "marks", "now", "qrels", "take_back"]


class Mark(NamedTuple):
    """What is said of an item: a grade, 0 for wrong; or that it is preferred to the item `over`."""

    item: int
    grade: float = 1.0
    over: int | None = None


class StoredMark(NamedTuple):
    """A mark in the log. `skipped` are the items that were shown above it and passed over."""

    id: int
    qid: str
    item: int
    grade: float
    over: int | None
    skipped: tuple[int, ...]
    user: str
    at: str


def now() -> str:
    """The time, as the collection writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def add_marks(
    collection: Collection,
    qid: str,
    given: Iterable[Mark],
    user: str = "",
    *,
    query: str | None = None,
    shown: Sequence[int] = (),
) -> list[int]:
    """Append marks to the log; they are on disk, all of them, when this returns their numbers.

    Parameters
    ----------
    collection : where to.
    qid : the query.
    given : the marks.
    user : who marks.
    query : what was asked, as JSON; kept so that the marks can be learned from later.
    shown : the items in the order in which they were shown; unmarked ones above a right one were passed over.
    """
    given = list(given)
    marked = {mark.item for mark in given} | {mark.over for mark in given if mark.over is not None}
    marked |= {one.item for one in marks(collection, qid, user)}
    numbers = []
    at = now()
    with collection.transaction() as db:
        for mark in given:
            if not isfinite(mark.grade):
                raise ValueError(f"a grade must be a finite number, got {mark.grade}")
            if mark.over == mark.item:
                raise ValueError(f"item {mark.item} cannot be preferred to itself")
            for item in (mark.item, mark.over):
                if item is not None and db.execute("SELECT 1 FROM items WHERE id = ?", (item,)).fetchone() is None:
                    raise KeyError(f"there is no item {item}")
            above = list(shown[: shown.index(mark.item)]) if mark.grade > 0 and mark.item in shown else []
            skipped = [item for item in above if item not in marked]
            cursor = db.execute(
                "INSERT INTO qrels (qid, item, grade, user, at, over, skipped) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (qid, mark.item, float(mark.grade), user, at, mark.over, json.dumps(skipped) if skipped else None),
            )
            numbers.append(int(cursor.lastrowid or 0))
        if query is not None and given:
            db.execute("INSERT OR IGNORE INTO queries VALUES (?, ?, ?)", (qid, query, at))
    return numbers


def take_back(collection: Collection, mark: int) -> StoredMark:
    """Take a mark back; it stays in the log but counts for nothing."""
    with collection.transaction() as db:
        row = db.execute(f"{_MARKS} WHERE id = ? AND undone IS NULL", (mark,)).fetchone()
        if row is None:
            raise KeyError(f"there is no mark {mark} to take back")
        db.execute("UPDATE qrels SET undone = ? WHERE id = ?", (now(), mark))
        db.execute("DELETE FROM library WHERE mark >= ?", (mark,))
    return _stored(row)


def marks(
    collection: Collection, qid: str | None = None, user: str | None = None, *, after: int = 0, until: int | None = None
) -> list[StoredMark]:
    """All marks that stand, in the order in which they came; of one query, of one user, after or up to a number."""
    conditions: list[str] = ["undone IS NULL", "id > ?"]
    values: list[Any] = [after]
    for column, sign, value in (("qid", "=", qid), ("user", "=", user), ("id", "<=", until)):
        if value is not None:
            conditions.append(f"{column} {sign} ?")
            values.append(value)
    rows = collection.db.execute(f"{_MARKS} WHERE {' AND '.join(conditions)} ORDER BY id", values)
    return [_stored(row) for row in rows.fetchall()]


def qrels(collection: Collection) -> list[Qrel]:
    """The judgements as they stand: of several of a query, item and user the last."""
    last = {(one.qid, one.item, one.user): one for one in marks(collection) if one.over is None}
    standing = sorted(last.values(), key=lambda one: one.id)
    return [Qrel(one.qid, str(one.item), one.grade) for one in standing]


def _stored(row: tuple[int, str, int, float, int | None, str | None, str, str]) -> StoredMark:
    return StoredMark(*row[:5], tuple(json.loads(row[5])) if row[5] else (), *row[6:])


_MARKS = "SELECT id, qid, item, grade, over, skipped, user, at FROM qrels"
