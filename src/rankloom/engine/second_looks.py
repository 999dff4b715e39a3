"""Which marks of the log deserve a second look: those that the other marks of their search contradict."""

from __future__ import annotations

from collections.abc import Iterable

from rankloom.collection import StoredMark
from rankloom.collection.query import Query
from rankloom.engine.contradictions import FEWEST
from rankloom.engine.engine import Engine


def second_looks(engine: Engine, marks: Iterable[StoredMark], query: Query | None = None) -> frozenset[int]:
    """The numbers of the marks that others of the same query and user contradict; of several of an item the last.

    Parameters
    ----------
    engine : what ranks their searches: those with enough marks, each once.
    marks : active marks in the order in which they came.
    query : that of all these marks; unless given, the log says what was asked.
    """
    latest: dict[tuple[str, str], dict[int, int]] = {}
    for mark in marks:
        if mark.over is None:
            latest.setdefault((mark.qid, mark.user), {})[mark.item] = mark.id
    odd: set[int] = set()
    for (qid, user), numbers in latest.items():
        asked = query or engine.asked(qid)
        if asked is not None and len(numbers) > FEWEST:
            odd.update(numbers[item] for item in engine.contradicted(asked, user) if item in numbers)
    return frozenset(odd)
