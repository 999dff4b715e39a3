"""Trained models as they are stored: every training is a version, and a log says which was in use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from rankloom.collection.collection import Collection
from rankloom.collection.marks import now


class Model(NamedTuple):
    """A version. `value` is its mean AP on the marks of queries that it had not seen, with a 95% interval; `gain` is
    the difference to what was in use, on the same queries."""

    id: int
    at: str
    ranker: str
    first_mark: int | None
    last_mark: int | None
    n_marks: int
    metric: str
    value: float | None
    low: float | None
    high: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    seconds: float
    status: str


_MARKS = ("first_mark", "last_mark", "n_marks")
_JUDGED = ("metric", "value", "low", "high", "gain", "gain_low", "gain_high", "seconds")


def add_model(
    collection: Collection, ranker: str, state: Mapping[str, Any], judged: Mapping[str, Any], *, accepted: bool
) -> Model:
    """Store a version that was trained on all active marks; it is put in use if it was accepted.

    Parameters
    ----------
    collection : where to.
    ranker : the short name of the ranker.
    state : what scores with it, as plain values.
    judged : `metric`, `value`, `low`, `high`, `gain`, `gain_low`, `gain_high` and `seconds`, as `Model` has them.
    accepted : whether it is put in use.
    """
    columns = ("at", "ranker", "state", *_MARKS, *_JUDGED, "status")
    at, status = now(), "accepted" if accepted else "refused"
    with collection.transaction() as db:
        marks = db.execute("SELECT min(id), max(id), count(*) FROM qrels WHERE undone IS NULL").fetchone()
        row = (at, ranker, json.dumps(state), *marks, *(judged[name] for name in _JUDGED), status)
        values = ", ".join("?" * len(row))
        cursor = db.execute(f"INSERT INTO models ({', '.join(columns)}) VALUES ({values})", row)
        number = int(cursor.lastrowid or 0)
        if accepted:
            db.execute("INSERT INTO uses (model, at) VALUES (?, ?)", (number, at))
    return next(model for model in list_models(collection) if model.id == number)


def list_models(collection: Collection) -> list[Model]:
    """All versions, oldest first; the status says which is in use, and which were refused."""
    used = model_in_use(collection)
    rows = collection.db.execute(f"SELECT {', '.join(Model._fields)} FROM models ORDER BY id").fetchall()
    models = [Model(*row) for row in rows]
    return [model._replace(status="in use") if model.id == used else model for model in models]


def model_in_use(collection: Collection) -> int | None:
    """The version in use; None for the online weights."""
    row = collection.db.execute("SELECT model FROM uses ORDER BY id DESC LIMIT 1").fetchone()
    return None if row is None else row[0]


def use_model(collection: Collection, number: int | None) -> None:
    """Put a version in use; None for the online weights."""
    if number is not None:
        model_state(collection, number)  # an error if there is none
    with collection.transaction() as db:
        db.execute("INSERT INTO uses (model, at) VALUES (?, ?)", (number, now()))


def roll_back(collection: Collection) -> int | None:
    """Return to what was in use before; returns its number."""
    with collection.transaction() as db:
        row = db.execute("SELECT id FROM uses ORDER BY id DESC LIMIT 1").fetchone()
        if row is None:
            raise ValueError("no model was ever put in use: there is nothing to go back to")
        db.execute("DELETE FROM uses WHERE id = ?", row)
    return model_in_use(collection)


def last_learned_mark(collection: Collection, number: int | None) -> int:
    """The last mark that a version has learned from; 0 for none."""
    row = collection.db.execute("SELECT last_mark FROM models WHERE id = ?", (number,)).fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def model_state(collection: Collection, number: int) -> dict[str, Any]:
    """What scores with a version, as plain values."""
    row = collection.db.execute("SELECT state FROM models WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise ValueError(f"there is no model {number}; 'rankloom models list' shows them")
    return dict(json.loads(row[0]))
