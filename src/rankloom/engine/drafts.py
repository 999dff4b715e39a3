"""Two models in live search: their results as one list, and which of them gets the marks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from rankloom.collection import Collection
from rankloom.collection.marks import marks, now
from rankloom.core import IntArray
from rankloom.evaluation.interleaving import Preference, credit

__all__ = ["DraftResult", "draft_results", "keep_draft"]


class DraftResult(NamedTuple):
    """A comparison of two models (None: the library weights) by the marks of interleaved lists."""

    first: int | None
    second: int | None
    preference: Preference


def keep_draft(
    collection: Collection,
    qid: str,
    user: str,
    models: tuple[int | None, int | None],
    items: Sequence[int],
    teams: IntArray,
) -> int:
    """Remember whose item each was; returns the number of the list."""
    members = {str(item): int(team) for item, team in zip(items, teams, strict=True) if team}
    with collection.transaction() as db:
        cursor = db.execute(
            "INSERT INTO drafts (qid, user, first, second, teams, at) VALUES (?, ?, ?, ?, ?, ?)",
            (qid, user, *models, json.dumps(members), now()),
        )
    return int(cursor.lastrowid or 0)


def draft_results(collection: Collection) -> list[DraftResult]:
    """What the marks say of each pair of models: a win is a list in which one had more items marked right.

    Of several lists for the same query and user, the marks after a list and before the next count for it.
    """
    rows = collection.db.execute("SELECT id, qid, user, first, second, teams, at FROM drafts ORDER BY id").fetchall()
    found: dict[tuple[Any, Any], Preference] = {}
    for place, (_, qid, user, first, second, teams, at) in enumerate(rows):
        until = next((one[6] for one in rows[place + 1 :] if one[1:3] == (qid, user)), None)
        members = json.loads(teams)
        grades = {
            str(mark.item): float(mark.grade > 0)
            for mark in marks(collection, qid, user)
            if mark.over is None and mark.at >= at and (until is None or mark.at < until) and str(mark.item) in members
        }
        so_far = found.setdefault((first, second), Preference())
        if any(grades.values()):
            both = credit([members[item] for item in grades], [*grades.values()])
            found[first, second] = so_far.after(both)
    return [DraftResult(first, second, preference) for (first, second), preference in found.items()]
