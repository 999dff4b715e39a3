"""Baselines: what a learned combination has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankloom.core import FloatArray
from rankloom.evaluation.metrics import evaluate_queries, parse_metric
from rankloom.groups import Preferences, check_number, preferences
from rankloom.rankers import _kernels
from rankloom.rankers.base import ANY_SIZE, LinearRanker, Problem, Ranker, warn_nothing_to_learn
from rankloom.rankers.margin import unit_grades


class UniformCombination(LinearRanker):
    r"""The mean of all features, \(f(d) = \tfrac1n \sum_i x_i\): fusion without learning.

    It learns nothing from `y`; `fit` only remembers the number of features.

    References
    ----------
    J. Wan et al., Online learning to rank for content-based image retrieval, IJCAI 2015: the baseline "uniform".

    Examples
    --------
    >>> UniformCombination().fit([[0.0, 2.0], [4.0, 1.0]], [0, 1]).predict([[1.0, 3.0]]).tolist()
    [2.0]
    """

    feature_range = ANY_SIZE
    takes_compact = True

    def _fit(self, problem: Problem) -> None:
        n_features = problem.X.shape[1]
        self.coef_ = np.full(n_features, 1.0 / n_features)


class BestFeature(LinearRanker):
    """The single feature, upwards or downwards, that ranks held-out queries best.

    The direction of each feature is chosen on the training folds and judged on the fold left out; the feature with the
    best mean over all held-out queries wins. With fewer than two queries the judging is on the training rows.

    Parameters
    ----------
    metric : what "best" means: "pairs", the share of pairs ordered right, which honours sample weights and needs no
        grade to count as relevant, or any metric of `rankloom.evaluation.metrics`.
    policy : conventions of the metric.
    n_splits : number of folds (of queries).
    random_state : seed of the folds.

    Attributes
    ----------
    feature_ : its number. `cv_scores_` : mean held-out metric of each feature.

    References
    ----------
    J. Wan et al., Online learning to rank for content-based image retrieval, IJCAI 2015: the baseline "best single
    feature".

    Examples
    --------
    >>> X = [[0.1, 9.0], [0.7, 5.0], [0.3, 1.0], [0.2, 7.0], [0.9, 8.0], [0.5, 0.0]]
    >>> BestFeature().fit(X, [0, 1, 2, 0, 0, 1], qid=[1, 1, 1, 2, 2, 2]).coef_.tolist()
    [0.0, -1.0]
    """

    feature_range = ANY_SIZE

    def __init__(self, metric: str = "pairs", *, policy: str = "trec", n_splits: int = 5, random_state: Any = 0):
        self.metric = metric
        self.policy = policy
        self.n_splits = n_splits
        self.random_state = random_state

    def _fit(self, problem: Problem) -> None:
        n_features = problem.X.shape[1]
        check_number("n_splits", self.n_splits, least=2)
        prefs = preferences(problem.y, problem.groups, problem.weight, problem.query_weight)
        self.coef_ = np.zeros(n_features)
        self.feature_ = 0
        self.cv_scores_ = np.zeros(n_features)
        if not len(prefs.rows):
            warn_nothing_to_learn()
            return
        values = self._values(problem, prefs)
        weight = problem.query_weight[np.unique(prefs.query)]
        self.cv_scores_ = self._held_out(values, weight) @ weight / weight.sum()
        self.feature_ = int(np.argmax(self.cv_scores_))
        up, down = values[:, self.feature_] @ weight
        self.coef_[self.feature_] = 1.0 if up >= down else -1.0

    def _values(self, problem: Problem, prefs: Preferences) -> FloatArray:
        """The value of each feature, upwards and downwards, in each query: shape (2, n_features, n_queries)."""
        X, y = problem.X[prefs.rows], problem.y[prefs.rows]
        if self.metric == "pairs":
            return _ordered_share(X, prefs)
        if len(np.unique(prefs.weight)) > 1:
            raise ValueError(f"sample_weight goes with metric='pairs' only, not with {self.metric!r}")
        sign = -1.0 if parse_metric(self.metric).name == "swaps" else 1.0
        rows = [
            evaluate_queries(y, scores, prefs.query, [self.metric], self.policy).values[self.metric]
            for scores in (*X.T, *-X.T)
        ]
        return np.nan_to_num(sign * np.stack(rows)).reshape(2, X.shape[1], -1)

    def _held_out(self, values: FloatArray, weight: FloatArray) -> FloatArray:
        """The value of each feature in each query, with the direction that the other folds prefer."""
        n_queries = values.shape[2]
        if n_queries < 2:
            return np.asarray(values.max(axis=0))
        chosen = np.empty(values.shape[1:])
        order = check_random_state(self.random_state).permutation(n_queries)
        for fold in np.array_split(order, min(self.n_splits, n_queries)):
            rest = np.setdiff1d(order, fold)
            upwards = values[0][:, rest] @ weight[rest] >= values[1][:, rest] @ weight[rest]
            chosen[:, fold] = np.where(upwards[:, None], values[0][:, fold], values[1][:, fold])
        return chosen


def _ordered_share(X: FloatArray, prefs: Preferences) -> FloatArray:
    """The weighted share of each query's pairs that each feature orders right, upwards and downwards."""
    query = np.unique(prefs.query, return_inverse=True)[1]
    total = np.bincount(query, prefs.weight * prefs.lower)
    of_split = query[prefs.splits[:, 0]]
    up = [
        np.bincount(of_split, _kernels.order.ordered_weight(np.ascontiguousarray(column), prefs.weight, prefs.splits))
        for column in X.T
    ]
    share = np.stack(up) / total
    return np.stack([share, 1.0 - share])


class NaiveBayesRanker(Ranker):
    r"""NB: the log-odds of relevance under independent Gaussian features.

    .. math:: f(d) = \sum_i \log \mathcal N(x_i; \mu_i^+, \sigma_i^+) - \log \mathcal N(x_i; \mu_i^-, \sigma_i^-)

    With more than two grades a row counts as relevant by its grade scaled to 0 .. 1, and as irrelevant by the rest.

    Parameters
    ----------
    smoothing : share of the largest variance of a feature that is added to all variances.

    Attributes
    ----------
    means_, variances_ : arrays of shape (2, n_features), irrelevant rows first.

    References
    ----------
    R. Yan and A. G. Hauptmann, Efficient margin-based rank learning algorithms for information retrieval, CIVR 2006,
    section 5: the baseline NB, after S. E. Robertson and K. Sparck Jones 1977.

    Examples
    --------
    >>> ranker = NaiveBayesRanker().fit([[0.0], [1.0], [4.0], [6.0]], [0, 0, 1, 1])
    >>> ranker.predict([[0.5], [5.0]]).argmax().item()
    1
    """

    def __init__(self, smoothing: float = 1e-9):
        self.smoothing = smoothing

    def _fit(self, problem: Problem) -> None:
        check_number("smoothing", self.smoothing)
        n_features = problem.X.shape[1]
        prefs = preferences(problem.y, problem.groups, problem.weight, problem.query_weight)
        if not len(prefs.rows):
            warn_nothing_to_learn()
            self.means_, self.variances_ = np.zeros((2, n_features)), np.ones((2, n_features))
            return
        X = problem.X[prefs.rows]
        weight = prefs.weight * problem.query_weight[prefs.query]
        relevance = unit_grades(problem.y[prefs.rows])
        shares = np.stack([(1.0 - relevance) * weight, relevance * weight])
        shares /= shares.sum(axis=1, keepdims=True)
        self.means_ = shares @ X
        self.variances_ = np.stack([share @ (X - mean) ** 2 for share, mean in zip(shares, self.means_, strict=True)])
        mean = weight @ X / weight.sum()
        largest = float((weight @ (X - mean) ** 2 / weight.sum()).max())
        self.variances_ += self.smoothing * largest if largest > 0 else 1.0

    def _predict(self, X: FloatArray, qid: Any) -> FloatArray:
        irrelevant, relevant = (
            -0.5 * (np.log(variance).sum() + ((X - mean) ** 2 / variance).sum(axis=1))
            for mean, variance in zip(self.means_, self.variances_, strict=True)
        )
        return np.asarray(relevant - irrelevant)
