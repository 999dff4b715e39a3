"""How the library has learned: every judged query, ranked by what was known before its marks came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankloom.collection import Collection
from rankloom.collection.marks import asked, marks
from rankloom.engine.library import Library
from rankloom.features import Features
from rankloom.metrics import evaluate
from rankloom.queries import Query

__all__ = ["learning_curve"]


def learning_curve(
    collection: Collection, features_of: Callable[[Query], Features | None], library: Library
) -> list[dict[str, Any]]:
    """Average precision of the marked items of each query: by the starting weights, and by what was learned before.

    Parameters
    ----------
    collection : whose marks.
    features_of : phi of a stored query.
    library : the library; it is replayed, not changed.
    """
    grades: dict[tuple[str, str], dict[int, float]] = {}
    first: dict[tuple[str, str], int] = {}
    for mark in marks(collection):
        if mark.over is None:
            grades.setdefault((mark.qid, mark.user), {})[mark.item] = mark.grade
            first.setdefault((mark.qid, mark.user), mark.id)
    replay = library.again()
    found = []
    for (qid, user), items in sorted(grades.items(), key=lambda one: first[one[0]]):
        replay.catch_up(first[qid, user] - 1)
        query = asked(collection, qid)
        phi = None if query is None else features_of(query)
        if phi is None or len({grade > 0 for grade in items.values()}) < 2:
            continue
        rows = np.array([*items]) - 1
        X = np.asarray(phi.take(rows))
        y = np.array([*items.values()])
        values = {}
        for kind, weights in (("start", replay.start), ("learned", replay.weights)):
            scores = X @ np.array([weights.get(name, 0.0) for name in phi.names])
            values[kind] = evaluate(y, scores, None, ["AP"])["AP"]
        found.append({"mark": first[qid, user], "query": qid, "user": user, "marks": len(items), **values})
    return found
