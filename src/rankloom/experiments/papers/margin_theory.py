"""The two theorems of Yan and Hauptmann (2006) counted on random problems: as printed, and as corrected (A2, A5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rankloom.core import RankingData
from rankloom.rankers import FullRankingLogisticRegression, LogisticRegressionRanker, RankingLogisticRegression, RankSVM
from rankloom.rankers.losses import LOSSES
from rankloom.rankers.theory import rank_consistency

# Whom Theorem 1 is counted for, and whether its weights are to be consistent.
RANKERS = {
    "RLR, one shift for all queries, as printed": (RankingLogisticRegression(shift="global"), True),
    "RLR, a shift for each query": (RankingLogisticRegression(), True),
    "F-RLR": (FullRankingLogisticRegression(), True),
    "RankSVM": (RankSVM(), True),
    "LR, for which nothing is claimed": (LogisticRegressionRanker(), False),
}


class Count(NamedTuple):
    """How often a statement failed, of how often it was tried, and whether it was claimed at all."""

    what: str
    failed: int
    tried: int
    claimed: bool


def theorem_1(n_problems: int = 400, random_state: int = 0) -> list[Count]:
    """Rank consistency: problems of two queries in which a feature that orders all pairs gets a weight against it."""
    counts = []
    for what, (ranker, claimed) in RANKERS.items():
        failed = 0
        random = np.random.default_rng(random_state)
        for data in separable(n_problems, random):
            ranker.set_params(nu=10 ** random.uniform(-2, 1)).fit(data.X, data.y, qid=data.qid)
            failed += not rank_consistency(ranker, data.X, data.y, data.qid, tol=1e-4).consistent
        counts.append(Count(what, failed, n_problems, claimed))
    return counts


def separable(n_problems: int, random: np.random.Generator) -> Iterator[RankingData]:
    """Problems of two queries, in each of which the first of two features is higher for every relevant row."""
    for _ in range(n_problems):
        parts = []
        for query in range(2):
            n = int(random.integers(2, 6))
            y = np.zeros(n)
            y[: random.integers(1, n)] = 1
            X = random.normal(size=(n, 2)) * 10 ** random.uniform(-1, 1)
            X[:, 0] = np.sort(X[:, 0])[::-1]
            parts.append((X + random.normal(size=2) * 3, y, np.full(n, query)))
        X, y, qid = (np.concatenate(column) for column in zip(*parts, strict=True))
        yield RankingData(X, y, qid)


def theorem_2(n_pairs: int = 100_000, random_state: int = 0) -> list[Count]:
    """The upper bound of eq. 3: pairs of scores whose loss is above the sum of the losses of both rows."""
    upper, lower = np.random.default_rng(random_state).normal(scale=3.0, size=(2, n_pairs))
    losses = {name: loss.value for name, loss in LOSSES.items()}
    losses["0-1"] = lambda x: (x <= 0).astype(np.float64)
    counts = []
    for name, value in losses.items():
        bound = value(upper) + value(-lower)
        failed = int((value(upper - lower) > bound * (1 + 1e-12) + 1e-12).sum())
        counts.append(Count(f"{name.replace('_', ' ')} loss", failed, n_pairs, True))
    return counts
