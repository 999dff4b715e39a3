"""Searches that people keep by a name."""

from __future__ import annotations

import json
from typing import NamedTuple

from rankloom.collection.collection import Collection
from rankloom.collection.marks import now
from rankloom.collection.names import check_name
from rankloom.collection.query import Query


class SavedSearch(NamedTuple):
    """A query with a name."""

    name: str
    query: Query
    user: str
    at: str


def saved_searches(collection: Collection, user: str = "") -> list[SavedSearch]:
    """The saved searches of a user, by name."""
    rows = collection.db.execute("SELECT name, query, user, at FROM saved WHERE user = ? ORDER BY name", (user,))
    return [SavedSearch(name, Query.from_json(json.loads(query)), who, at) for name, query, who, at in rows.fetchall()]


def save_search(collection: Collection, name: str, query: Query, user: str = "") -> None:
    """Keep a query by a name; one of the same name is replaced."""
    check_name(name, "a saved search")
    row = (user, name, json.dumps(query.to_json()), now())
    with collection.transaction() as db:
        db.execute("INSERT OR REPLACE INTO saved VALUES (?, ?, ?, ?)", row)


def forget_search(collection: Collection, name: str, user: str = "") -> None:
    """Delete a saved search."""
    with collection.transaction() as db:
        if not db.execute("DELETE FROM saved WHERE user = ? AND name = ?", (user, name)).rowcount:
            raise ValueError(f"there is no saved search {name!r}")
