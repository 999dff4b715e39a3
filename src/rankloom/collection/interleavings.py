"""Interleaving sessions as they are stored: the results of two models as one list, and which of them gave each item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from rankloom.collection.collection import Collection
from rankloom.collection.marks import now


class InterleavingSession(NamedTuple):
    """A list that was shown: query and user, the two models (None: the online weights), and the team of each item."""

    id: int
    qid: str
    user: str
    first: int | None
    second: int | None
    teams: dict[int, int]
    at: str


def add_session(
    collection: Collection,
    qid: str,
    user: str,
    models: tuple[int | None, int | None],
    teams: Mapping[int, int],
) -> int:
    """Store a session; returns its number."""
    with collection.transaction() as db:
        cursor = db.execute(
            "INSERT INTO drafts (qid, user, first, second, teams, at) VALUES (?, ?, ?, ?, ?, ?)",
            (qid, user, *models, json.dumps({str(item): team for item, team in teams.items()}), now()),
        )
    return int(cursor.lastrowid or 0)


def sessions(collection: Collection) -> list[InterleavingSession]:
    """All sessions, oldest first."""
    rows = collection.db.execute("SELECT id, qid, user, first, second, teams, at FROM drafts ORDER BY id").fetchall()
    return [
        InterleavingSession(
            number, qid, user, first, second, {int(item): team for item, team in json.loads(teams).items()}, at
        )
        for number, qid, user, first, second, teams, at in rows
    ]
