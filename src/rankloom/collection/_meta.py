"""Small facts about a collection, each JSON under a key of its own; a trigger tells searches that one has changed."""

from __future__ import annotations

import json
from typing import Any

from rankloom.collection._database import Database
from rankloom.collection.collection import Collection


def read_fact(collection: Collection, key: str) -> Any:
    """What is kept under a key; None if nothing is."""
    row = collection.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return json.loads(row[0]) if row else None


def write_fact(db: Database, key: str, value: Any) -> None:
    """Keep something under a key, in a transaction of the caller."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))
