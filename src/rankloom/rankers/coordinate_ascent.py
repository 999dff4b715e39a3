"""Coordinate ascent: a linear ranker that climbs a metric itself, one weight at a time."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from rankloom.core import FloatArray
from rankloom.evaluation.metrics import POLICIES, Policy, evaluate, parse_metric
from rankloom.rankers._ascent_objectives import (
    MEASURABLE,
    Objective,
    StandardRows,
    first_best,
    make_objective,
    standard_rows,
    step,
)
from rankloom.rankers.base import LinearRanker, Problem, refuse_unknown
from rankloom.rankers.margin import unit_grades

SOLVE_LIMIT = 1000  # features; beyond it the least-squares start costs more than it gives


class CoordinateAscent(LinearRanker):
    r"""Weights that maximise a metric of ranks directly, found by changing one weight at a time.

    .. math:: \max_\lambda \; \frac1{|Q|} \sum_q m\big(\{\lambda \cdot x_d\}_{d \in q}\big), \qquad
              \lambda_i \leftarrow \lambda_i + \arg\max_t \sum_q m\big(\{\lambda \cdot x_d + t\,x_{di}\}_{d \in q}\big)

    Along one weight the metric is a step function that changes only where two rows of a query swap. For AP, RR, P, nDCG
    (each with or without a cut-off) and MeanNDCG with the ties of a policy at "worst" or "best", all of its steps are
    swept over and the middle of the widest of the highest ones is taken: the exact optimum of the line, up to 4,194,304
    swaps a line, and of 1023 points of the line beyond that. Other metrics and policies, and lists with more than
    524,288 pairs of a relevant and another row, are evaluated at 45 points of each line; there, a
    sample of 8,192 rows represents more of one grade in a query, and the whole list confirms each step.

    The first start is the least-squares solution for the grades, the second the sum of the features, each divided by
    its deviation within queries; the others are random. Queries of one grade teach nothing.

    Parameters
    ----------
    metric : any metric of `rankloom.evaluation.metrics`, such as "AP" or "nDCG@10". ("swaps" is minimised.)
    policy : conventions of the metric, a name or a `Policy`.
    n_restarts : number of starts; the best of the weights that they lead to are kept.
    max_iter : most passes over all features a start.
    tol : a start ends with the first pass that gains no more than this.
    random_state : seed of the random starts and of the order of the features.

    Attributes
    ----------
    coef_ : the weights, of absolute sum 1: only their proportions matter.
    objective_ : the metric of the training rows, exactly as `rankloom.evaluation.metrics.evaluate` gives it.
    n_iter_ : passes of the best start. `restarts_` : what each start led to, over the queries that teach something.

    References
    ----------
    D. Metzler and W. B. Croft, Linear feature-based models for information retrieval, Information Retrieval 10, 2007,
    section 4.2 (the ascent). The sweep over a line is that of F. J. Och, Minimum error rate training in statistical
    machine translation, ACL 2003, section 4, here for metrics of ranks.

    Examples
    --------
    >>> X = [[0.1, 9.0], [0.7, 5.0], [0.3, 1.0], [0.2, 7.0], [0.9, 8.0], [0.5, 0.0]]
    >>> ranker = CoordinateAscent("AP").fit(X, [0, 1, 2, 0, 0, 1], qid=[1, 1, 1, 2, 2, 2])
    >>> ranker.objective_
    1.0
    """

    query_shift_invariant = True
    grades_are_ordinal = False
    feature_range = (1e-153, 1e153)  # proportions of weights are then ordinary numbers

    def __init__(
        self,
        metric: str = "AP",
        policy: str | Policy = "trec",
        *,
        n_restarts: int = 5,
        max_iter: int = 25,
        tol: float = 1e-3,
        random_state: Any = 0,
    ):
        self.metric = metric
        self.policy = policy
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, qid: Any = None, **unknown: Any) -> Self:
        """Learn from graded rows.

        Parameters
        ----------
        X, y, qid : as for `Ranker.fit`.
        """
        refuse_unknown("fit", unknown)
        return super().fit(X, y, qid)

    def _fit(self, problem: Problem) -> None:
        if self.n_restarts < 1 or self.max_iter < 1:
            raise ValueError(f"n_restarts and max_iter must be >= 1, got {self.n_restarts!r}, {self.max_iter!r}")
        metric, policy = parse_metric(self.metric), _get_policy(self.policy)
        rows = standard_rows(problem)
        climbed = make_objective(rows, metric, policy)
        self.coef_ = np.zeros(problem.X.shape[1])
        self.n_iter_ = 1
        self.restarts_ = np.zeros(0)
        if climbed is None or not len(rows.columns):
            warnings.warn(
                f"no query has rows that {self.metric} tells apart: nothing to learn from, all weights are 0",
                UserWarning,
                stacklevel=4,
            )
        else:
            self._climb_all(rows, climbed)
        self.objective_ = evaluate(
            problem.y, self._predict(problem.X, None), problem.groups.codes, self.metric, self.policy
        )[self.metric]

    def _climb_all(self, rows: StandardRows, objective: Objective) -> None:
        # A generator of its own for each start: more restarts leave the first ones as they are.
        seeds = check_random_state(self.random_state).randint(2**31, size=self.n_restarts)
        ends = []
        for number, seed in enumerate(seeds):
            random = np.random.RandomState(seed)
            ends.append(self._climb(rows, objective, _start(rows, number, random), random))
        self.restarts_ = np.array([end.value for end in ends])
        best = ends[first_best(self.restarts_)]
        self.n_iter_ = best.n_iter
        self.coef_[rows.columns] = best.w / rows.scale
        self.coef_ /= np.abs(self.coef_).sum()

    def _climb(self, rows: StandardRows, objective: Objective, w: FloatArray, random: Any) -> _End:
        """Go over all features, in a new order each time, until a pass gains too little."""
        n_iter, gain = 0, np.inf
        while n_iter < self.max_iter and gain > self.tol:
            n_iter += 1
            w = w / np.abs(w).sum()
            scores = np.zeros(rows.Z.shape[1])  # afresh, so that rounding does not add up
            for weight, column in zip(w, rows.Z, strict=True):
                scores += weight * column
            values = objective.values(scores)
            before = values.sum()
            for c in random.permutation(len(w)):
                column = rows.Z[c]
                tau = float(np.linalg.norm(scores) / np.linalg.norm(column)) or 1.0
                u, promised = objective.search(scores, column, tau, values)
                if promised <= values.sum() + MEASURABLE:
                    continue
                t = step(u, tau)
                moved = scores + t * column
                reached = objective.values(moved)
                if reached.sum() > values.sum() + MEASURABLE:  # it is, unless rounding has swapped rows
                    scores, values = moved, reached
                    w[c] += t
            gain = values.sum() - before
        return _End(w, float(values.sum()), n_iter)

    def _predict(self, X: FloatArray, qid: Any) -> FloatArray:
        # Not X @ coef_, whose rounding depends on where a row stands: equal rows must tie.
        return np.asarray((X * self.coef_).sum(axis=1))


class _End(NamedTuple):
    """Where the climb from a start has ended."""

    w: FloatArray
    value: float
    n_iter: int


def _start(rows: StandardRows, number: int, random: Any) -> FloatArray:
    """Weights of the scaled features to start from: least squares, then uniform, then random ones."""
    Z, d = rows.Z, len(rows.columns)
    if number >= 2:
        return np.asarray(random.uniform(-1.0, 1.0, d))
    if number == 1:
        return np.ones(d)
    target = unit_grades(rows.y)
    slope: FloatArray = Z @ target  # Z is centred, so that the target need not be
    if d <= SOLVE_LIMIT:
        slope[:] = np.linalg.solve(Z @ Z.T + 1e-3 * len(target) * np.eye(d), slope)
    return slope if slope.any() else np.ones(d)


def _get_policy(policy: str | Policy) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        raise ValueError(f"unknown policy {policy!r}; known policies: {', '.join(POLICIES)}, or give a Policy")
    return POLICIES[policy]
