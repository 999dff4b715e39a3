"""What a user has set by hand: weights that stay, and when the library started again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any, NamedTuple

from rankloom.collection import Collection
from rankloom.engine.library import ONLINE

__all__ = ["Set", "Settings"]

_KEY = "library"


class Set(NamedTuple):
    """The weights that learning leaves alone, the last mark that the library does not learn from, and what learns."""

    locked: dict[str, float]
    since: int
    online: str


class Settings:
    """Kept in the database; read anew each time, so that all processes see the same."""

    def __init__(self, collection: Collection):
        self._collection = collection

    def read(self) -> Set:
        """What is set now."""
        found = self._read()
        return Set(dict(found["locked"]), int(found["since"]), found.get("online", ONLINE))

    def _read(self) -> dict[str, Any]:
        row = self._collection.db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
        return {"locked": {}, "since": 0} if row is None else json.loads(row[0])

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """What is set, to be changed; nobody else changes it between the reading and the writing."""
        with self._collection.transaction() as db:
            settings = self._read()
            yield settings
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, json.dumps(settings)))

    def lock(self, name: str, value: float | None) -> None:
        """Keep a weight at a value; None lets it go."""
        if value is not None and not isfinite(value):
            raise ValueError(f"a weight must be a finite number, got {value}")
        with self._changing() as settings:
            settings["locked"].pop(name, None)
            if value is not None:
                settings["locked"][name] = float(value)

    def learn_with(self, online: str) -> None:
        """Choose the online ranker that learns from every mark."""
        with self._changing() as settings:
            settings["online"] = online

    def start_again(self) -> None:
        """Forget locks, and learn only from marks that come from now on."""
        with self._changing() as settings:
            last = self._collection.db.execute("SELECT coalesce(max(id), 0) FROM qrels").fetchone()[0]
            settings |= {"locked": {}, "since": last}
