"""How the weights have learned: judged queries, ranked by what was known before their marks came."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloom.collection import Collection
from rankloom.collection.marks import asked, mark_pages
from rankloom.engine.online_weights import OnlineWeights, Phi

MOST_QUERIES = 1000  # the curve shows the latest


def learning_curve(collection: Collection, phi: Phi, online: OnlineWeights) -> list[dict[str, Any]]:
    """Average precision of the marked items of each query: by the starting weights, and by what was learned before.

    Of the last `MOST_QUERIES` queries that anybody began to judge.

    Parameters
    ----------
    collection : whose marks.
    phi : the experts.
    online : what learns; it is replayed, not changed.
    """
    from rankloom.evaluation import evaluate  # takes long, and a search does without it

    first: dict[tuple[str, str], int] = {}
    for page in mark_pages(collection):
        for mark in page:
            if mark.over is None:
                first.setdefault((mark.qid, mark.user), mark.id)
    latest = dict([*first.items()][-MOST_QUERIES:])
    if not latest:
        return []
    grades: dict[tuple[str, str], dict[int, float]] = {key: {} for key in latest}
    for page in mark_pages(collection, after=min(latest.values()) - 1):
        for mark in page:
            if mark.over is None and mark.item <= phi.n_items and (mark.qid, mark.user) in latest:
                grades[mark.qid, mark.user][mark.item] = mark.grade
    replay = online.before(min(latest.values()))
    curve = []
    for (qid, user), mark_id in latest.items():
        replay.catch_up(mark_id - 1)
        items = grades[qid, user]
        query = asked(collection, qid)
        if query is None or len({grade > 0 for grade in items.values()}) < 2:
            continue
        X = phi.rows(query, np.array([*items]) - 1)
        if X is None:
            continue
        y = np.array([*items.values()])
        values = {}
        for kind, weights in (("start", replay.start), ("learned", replay.weights)):
            values[kind] = evaluate(y, X @ np.array([*weights.values()]), None, ["AP"])["AP"]
        curve.append({"mark": mark_id, "query": qid, "user": user, "marks": len(items), **values})
    return curve
