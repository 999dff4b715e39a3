"""What people set by hand about learning: locked weights, the online ranker, and where learning starts again.

It is read anew each time, so that all processes see the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any, NamedTuple

from rankloom.collection.collection import Collection

_KEY = "library"


class LearningSettings(NamedTuple):
    """The weights that learning leaves alone, the last mark that is not learned from, and the online ranker if set."""

    locked: dict[str, float]
    since: int
    online: str | None


class LearningState(NamedTuple):
    """All that the weights depend on beside phi: the settings, the model in use, the last mark and the last undo."""

    settings: LearningSettings
    model: int | None
    last_mark: int
    last_undo: int


def learning_state(collection: Collection) -> LearningState:
    """The state of this moment; reading it costs the same however many marks there are."""
    text, model, mark, undo = collection.db.execute(
        "SELECT (SELECT value FROM meta WHERE key = ?), (SELECT model FROM uses ORDER BY id DESC LIMIT 1), "
        "(SELECT coalesce(max(id), 0) FROM qrels), (SELECT coalesce(max(id), 0) FROM undos)",
        (_KEY,),
    ).fetchone()
    return LearningState(_settings(text), model, mark, undo)


def _settings(text: str | None) -> LearningSettings:
    settings = _plain(text)
    return LearningSettings(dict(settings["locked"]), int(settings["since"]), settings.get("online"))


def lock_weight(collection: Collection, name: str, weight: float | None) -> None:
    """Keep the weight of an expert; None lets it follow the marks again."""
    if weight is not None and not isfinite(weight):
        raise ValueError(f"a weight must be a finite number, got {weight}")
    with _changing(collection) as settings:
        settings["locked"].pop(name, None)
        if weight is not None:
            settings["locked"][name] = float(weight)


def set_online_ranker(collection: Collection, name: str) -> None:
    """Choose the online ranker that learns from every mark."""
    with _changing(collection) as settings:
        settings["online"] = name


def restart_learning(collection: Collection) -> None:
    """Drop all locks, and learn only from marks that come from now on."""
    with _changing(collection) as settings:
        last = collection.db.execute("SELECT coalesce(max(id), 0) FROM qrels").fetchone()[0]
        settings |= {"locked": {}, "since": last}


def _plain(text: str | None) -> dict[str, Any]:
    return {"locked": {}, "since": 0} if text is None else json.loads(text)


@contextmanager
def _changing(collection: Collection) -> Iterator[dict[str, Any]]:
    """The settings, to be changed; nobody else changes them between the reading and the writing."""
    with collection.transaction() as db:
        row = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
        settings = _plain(None if row is None else row[0])
        yield settings
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, json.dumps(settings)))
