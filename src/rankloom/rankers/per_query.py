"""One ranker a query, as in section 5 of Yan & Hauptmann (2006)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankloom.core import FloatArray
from rankloom.groups import check_grades, group_rows
from rankloom.rankers.base import Ranker


@dataclass(frozen=True)
class PerQueryRankers:
    """The ranker of each query, and the queries that had too little to learn from."""

    rankers: dict[Hashable, Ranker]
    skipped: tuple[Hashable, ...]

    def predict(self, X: ArrayLike, qid: Any) -> FloatArray:
        """Score each row by the ranker of its query; a query without one is an error that names it."""
        rows = np.asarray(X, dtype=np.float64)
        groups = group_rows(qid, len(rows))
        scores = np.empty(len(rows))
        for key, numbers in zip(groups.keys, groups, strict=True):
            if key not in self.rankers:
                why = "was skipped in training" if key in self.skipped else "was not in the training data"
                raise ValueError(f"no ranker for the query {key!r}: it {why}")
            scores[numbers] = self.rankers[key].predict(rows[numbers])
        return scores


def fit_per_query(
    ranker: Ranker, X: ArrayLike, y: ArrayLike, qid: Any, *, min_positives: int = 10, relevant: float = 1.0
) -> PerQueryRankers:
    """Fit a copy of a ranker to each query alone.

    Parameters
    ----------
    ranker : what to copy.
    X, y, qid : as in `Ranker.fit`.
    min_positives : queries with fewer rows of grade `relevant` or more, or with no other row, are skipped.
    relevant : the lowest grade that counts as positive.

    Examples
    --------
    >>> from rankloom.rankers import RankingLogisticRegression
    >>> X, y, qid = [[0.0], [1.0], [2.0], [5.0], [4.0]], [0, 1, 1, 0, 1], ["a", "a", "a", "b", "b"]
    >>> fitted = fit_per_query(RankingLogisticRegression(), X, y, qid, min_positives=2)
    >>> list(fitted.rankers), fitted.skipped
    (['a'], ('b',))
    """
    rows = np.asarray(X, dtype=np.float64)
    grades = check_grades(y, len(rows))
    groups = group_rows(qid, len(rows))
    rankers: dict[Hashable, Ranker] = {}
    skipped: list[Hashable] = []
    for key, numbers in zip(groups.keys, groups, strict=True):
        positives = int((grades[numbers] >= relevant).sum())
        if positives < min_positives or positives == len(numbers):
            skipped.append(key)
        else:
            rankers[key] = clone(ranker).fit(rows[numbers], grades[numbers], qid=np.zeros(len(numbers)))
    return PerQueryRankers(rankers, tuple(skipped))
