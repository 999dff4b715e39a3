"""Online rankers on a cluster: iterative parameter mixing (McDonald, Hall and Mann, NAACL 2010).

Every part runs the ranker over its own queries, beginning with the mixed weights of the epoch before; then the weights
of all parts are mixed, each part by the preferences that it has met. More epochs (`n_epochs`) mix more often.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from rankloom.cluster.data import ClusterData
from rankloom.core import FloatArray, RankingData
from rankloom.rankers import OnlineRanker
from rankloom.rankers._feature_size import largest_values
from rankloom.rankers._kernels.stream import LARGEST_NORM, ROUNDS


def fit_by_mixing(ranker: OnlineRanker, data: ClusterData) -> None:
    """Forget everything and learn from all parts, `n_epochs` times; one part gives the bits of a single machine."""
    sizes = data.parts.call(_sizes)
    queries, n_features = [count for count, _ in sizes], len(data.feature_names)
    ranker._check_sizes(np.max([largest for _, largest in sizes], axis=0)[None, :])
    learners = [clone(ranker) for _ in queries]
    for learner in learners:
        learner._begin(n_features)
        learner.n_features_in_ = n_features
    firsts = np.cumsum([0, *queries[:-1]])
    mixed = learners[0]
    for epoch in range(ranker.n_epochs):
        before = [learner.sums_[ROUNDS] for learner in learners]
        for learner, first in zip(learners, firsts, strict=True):
            learner.n_lists_ = int(first + epoch * sum(queries))  # a random order of its own for every list
        learners = data.parts.derive(_learned, each=learners).call(_itself)
        rounds = np.array([learner.sums_[ROUNDS] for learner in learners])
        _mix(learners, rounds - before)
        mixed = _merged(learners, rounds)
    ranker._forget()
    for name, value in vars(mixed).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(ranker, name, value)
    ranker.n_queries_ = sum(queries)
    ranker.n_lists_ = ranker.n_epochs * sum(queries)


def _sizes(data: RankingData) -> tuple[int, FloatArray]:
    """The number of queries, and the largest value of each feature."""
    return len(np.unique(data.qid)), largest_values(data.X)


def _itself(learner: OnlineRanker) -> OnlineRanker:
    return learner


def _learned(data: RankingData, learner: OnlineRanker) -> OnlineRanker:
    """What a part makes of the weights; a copy, as Dask may do it again."""
    learner = clone(learner)._resumed(learner)
    learner.partial_fit(data.X, data.y, qid=data.qid)
    return learner


def _mix(learners: list[OnlineRanker], rounds: FloatArray) -> None:
    """Give all learners the mean of their last weights, each weighed by the preferences of the epoch."""
    share = rounds / rounds.sum() if rounds.any() else np.full(len(rounds), 1.0 / len(rounds))
    weights = sum(part * learner.last_coef_ for part, learner in zip(share, learners, strict=True))
    covariance: Any = None
    if hasattr(learners[0], "covariance_"):
        covariance = sum(part * learner.covariance_ for part, learner in zip(share, learners, strict=True))
    for learner in learners:
        # To the average over the rounds the change is an update like any other.
        learner.drag_ += learner.sums_[ROUNDS] * (weights - learner.last_coef_)
        learner.last_coef_ = np.array(weights)
        if covariance is not None:
            learner.covariance_ = np.array(covariance)


def _merged(learners: list[OnlineRanker], rounds: FloatArray) -> OnlineRanker:
    """One ranker that has met the preferences of all; its average is that over the rounds of all."""
    merged: OnlineRanker = clone(learners[0])._resumed(learners[0])
    merged.drag_ = np.sum([learner.drag_ for learner in learners], axis=0)
    sums = np.array([learner.sums_ for learner in learners])
    merged.sums_ = sums.sum(axis=0)
    merged.sums_[LARGEST_NORM] = sums[:, LARGEST_NORM].max()
    averaged = merged.average and rounds.any()
    merged.coef_ = merged.last_coef_ - merged.drag_ / rounds.sum() if averaged else merged.last_coef_.copy()
    merged.n_mixed_ = len(learners)
    return merged
