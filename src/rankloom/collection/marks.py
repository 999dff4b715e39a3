"""The log of marks: what people said about results. What was learned can always be rebuilt from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from rankloom.collection._database import Database
from rankloom.collection.collection import Collection
from rankloom.collection.query import Query
from rankloom.core import Qrel

_LARGEST = 1e6
_PAGE = 1000  # marks that are read at once
MOST_SHOWN = 100  # of the items that were shown, the first so many are kept


class Mark(NamedTuple):
    """What is said of an item: a grade, 0 for wrong; or that it is preferred to the item `over`."""

    item: int
    grade: float = 1.0
    over: int | None = None


class StoredMark(NamedTuple):
    """A mark in the log. `skipped` are the items that were shown above it; those without a mark were skipped.

    They are the first `MOST_SHOWN` at most.
    """

    id: int
    qid: str
    item: int
    grade: float
    over: int | None
    skipped: tuple[int, ...]
    user: str
    at: str

    @property
    def request(self) -> tuple[str, str, str]:
        """Marks of the same request have the same."""
        return self.qid, self.user, self.at


def now() -> str:
    """The time, as the collection writes it; fine enough that no two commits have the same."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


_ALL = 1 << 62  # more than there can be


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
    shown : the items in the order in which they were shown; unmarked ones above a right one were skipped. The first
        `MOST_SHOWN` are kept, once for all marks.
    """
    wanted = [
        Mark(int(item), float(grade), None if over is None else int(over)) for item, grade, over in map(_mark, given)
    ]
    for mark in wanted:
        if not (isfinite(mark.grade) and abs(mark.grade) <= _LARGEST):
            raise ValueError(f"a grade must be a finite number up to {_LARGEST:g}, got {mark.grade}")
        if mark.over == mark.item:
            raise ValueError(f"item {mark.item} cannot be preferred to itself")
    places = {int(item): place for place, item in enumerate(shown)}
    above = [
        min(places.get(mark.item, 0), MOST_SHOWN) if mark.grade > 0 and mark.over is None else 0 for mark in wanted
    ]
    named = [*places, *(item for mark in wanted for item in (mark.item, mark.over) if item is not None)]
    at = now()

    def write(db: Database) -> list[int]:
        _check_items(db, named)
        kept = _keep_shown(db, [*places][: max(above, default=0)])
        numbers = []
        for mark, place in zip(wanted, above, strict=True):
            cursor = db.execute(
                "INSERT INTO qrels (qid, item, grade, user, at, over, shown, place) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (qid, mark.item, mark.grade, user, at, mark.over, *((kept, place) if place else (None, None))),
            )
            numbers.append(int(cursor.lastrowid or 0))
        if query is not None and wanted:
            db.execute("INSERT OR IGNORE INTO queries VALUES (?, ?, ?)", (qid, query, at))
        return numbers

    return collection.write(write)


def _keep_shown(db: Database, items: list[int]) -> int | None:
    """Store what was shown; returns its number."""
    if not items:
        return None
    return int(db.execute("INSERT INTO shown (items) VALUES (?)", (json.dumps(items),)).lastrowid)


def _mark(given: Mark | tuple[Any, ...]) -> Mark:
    return Mark(*given)


def _check_items(db: Database, items: list[int]) -> None:
    last = db.execute("SELECT coalesce(max(id), 0) FROM items").fetchone()[0]
    unknown = [item for item in items if not 1 <= item <= last]
    if unknown:
        raise KeyError(f"there is no item {unknown[0]}")


def undo_mark(collection: Collection, mark: int) -> StoredMark:
    """Undo a mark; it stays in the log but counts for nothing."""
    with collection.transaction() as db:
        row = db.execute(f"{_MARKS} WHERE id = ? AND undone IS NULL", (mark,)).fetchone()
        if row is None:
            raise KeyError(f"there is no mark {mark} to undo")
        db.execute("UPDATE qrels SET undone = ? WHERE id = ?", (now(), mark))
        db.execute("INSERT INTO undos (mark) VALUES (?)", (mark,))
        db.execute("DELETE FROM checkpoints WHERE mark >= ?", (mark,))
    return _stored(row)


def undone_since(collection: Collection, undo: int) -> tuple[int, list[int]]:
    """The number of the last undo, and the marks that were undone after the undo of a number."""
    rows = collection.db.execute("SELECT id, mark FROM undos WHERE id > ? ORDER BY id", (undo,)).fetchall()
    return (rows[-1][0] if rows else undo), [mark for _, mark in rows]


def count_marks(collection: Collection, *, after: int = 0, most: int | None = None) -> int:
    """How many marks are active: given, and not undone; of those after a number; not counted beyond `most`."""
    query = "SELECT count(*) FROM (SELECT 1 FROM qrels WHERE undone IS NULL AND id > ? LIMIT ?) AS first"
    return int(collection.db.execute(query, (after, _ALL if most is None else most)).fetchone()[0])


def last_mark(collection: Collection, qid: str | None = None, user: str = "") -> int | None:
    """The number of the last active mark of a user, of one query if given."""
    rows = collection.db.execute(
        "SELECT id FROM qrels WHERE undone IS NULL AND user = ? AND (? IS NULL OR qid = ?) ORDER BY id DESC LIMIT 1",
        (user, qid, qid),
    )
    row = rows.fetchone()
    return None if row is None else int(row[0])


def mark_pages(collection: Collection, *, after: int = 0, until: int | None = None) -> Iterator[list[StoredMark]]:
    """The active marks in the order in which they came, some at a time; those of one request stay together."""
    size = _PAGE
    while page := marks(collection, after=after, until=until, limit=size):
        if len(page) == size:  # the last request may go on
            whole = [mark for mark in page if mark.request != page[-1].request]
            if not whole:
                size *= 2
                continue
            page = whole
        yield page
        after, size = page[-1].id, _PAGE


def marks(
    collection: Collection,
    qid: str | None = None,
    user: str | None = None,
    *,
    after: int = 0,
    until: int | None = None,
    limit: int | None = None,
) -> list[StoredMark]:
    """The active marks in the order in which they came; of one query, of one user, after or up to a number."""
    conditions: list[str] = ["undone IS NULL", "id > ?"]
    values: list[Any] = [after]
    for column, sign, value in (("qid", "=", qid), ("user", "=", user), ("id", "<=", until)):
        if value is not None:
            conditions.append(f"{column} {sign} ?")
            values.append(value)
    values.append(_ALL if limit is None else limit)
    rows = collection.db.execute(f"{_MARKS} WHERE {' AND '.join(conditions)} ORDER BY id LIMIT ?", values)
    return [_stored(row) for row in rows.fetchall()]


def asked(collection: Collection, qid: str) -> Query | None:
    """The query behind a name in the log, if it has marks."""
    row = collection.db.execute("SELECT query FROM queries WHERE qid = ?", (qid,)).fetchone()
    return None if row is None else Query.from_json(json.loads(row[0]))


def asked_of(collection: Collection, qids: Iterable[str]) -> dict[str, Query]:
    """The queries behind several names in the log, of those that have marks."""
    names = json.dumps([*qids])
    rows = collection.db.execute(
        "SELECT qid, query FROM queries WHERE qid IN (SELECT value FROM json_each(?))", (names,)
    )
    return {qid: Query.from_json(json.loads(query)) for qid, query in rows.fetchall()}


def marked_before(collection: Collection, qids: Iterable[str], mark: int) -> set[str]:
    """Those of some queries that have marks, active or undone, before the one of a number."""
    rows = collection.db.execute(
        "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM qrels WHERE qid = value AND id < ?)",
        (json.dumps([*qids]), mark),
    )
    return {qid for (qid,) in rows.fetchall()}


def judgements(collection: Collection, user: str | None = None) -> list[StoredMark]:
    """The marks that are grades and count, of one user or of all: of several of a query, item and user the last."""
    last = {(mark.qid, mark.item, mark.user): mark for mark in marks(collection, user=user) if mark.over is None}
    return sorted(last.values(), key=lambda mark: mark.id)


def qrels(collection: Collection, user: str | None = None) -> list[Qrel]:
    """The judgements, of one user or of all, who may have judged the same item."""
    return [Qrel(mark.qid, str(mark.item), mark.grade) for mark in judgements(collection, user)]


def _stored(row: tuple[int, str, int, float, int | None, str | None, int | None, str, str]) -> StoredMark:
    skipped = () if row[5] is None else _numbers(row[5])[: row[6]]
    return StoredMark(*row[:5], skipped, *row[7:])


@lru_cache(maxsize=64)
def _numbers(text: str) -> tuple[int, ...]:
    """A list of items; marks of one request, which are read together, have the same."""
    return tuple(json.loads(text))


# Marks of older versions have a list each.
_MARKS = (
    "SELECT id, qid, item, grade, over, coalesce(skipped, (SELECT items FROM shown WHERE shown.id = qrels.shown)),"
    " place, user, at FROM qrels"
)
