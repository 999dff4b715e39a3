"""Coordinate ascent: a linear ranker that climbs a metric itself, one weight at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from rankloom.core import FloatArray, IntArray
from rankloom.evaluation.metrics import POLICIES, Metric, Policy, evaluate, evaluate_queries, parse_metric
from rankloom.groups import preferences
from rankloom.rankers import _kernels
from rankloom.rankers.base import LinearRanker, Problem
from rankloom.rankers.margin import unit_grades

FAST = ("AP", "RR", "P", "nDCG", "MeanNDCG")
SOLVE_LIMIT = 1000  # features; beyond it the least-squares start costs more than it gives
MEASURABLE = 1e-10  # a step must gain more than rounding can
GRID = np.linspace(-1.0, 1.0, 33)[1:-1]
FINE_GRID = np.delete(np.linspace(-1.0, 1.0, 17)[1:-1], 7) / 16.0  # between the neighbours of a point of GRID


class CoordinateAscent(LinearRanker):
    r"""Weights that maximise a metric of ranks directly, found by changing one weight at a time.

    .. math:: \max_\lambda \; \frac1{|Q|} \sum_q m\big(\{\lambda \cdot x_d\}_{d \in q}\big), \qquad
              \lambda_i \leftarrow \lambda_i + \arg\max_t \sum_q m\big(\{\lambda \cdot x_d + t\,x_{di}\}_{d \in q}\big)

    Along one weight the metric is a step function that changes only where two rows of a query swap. For AP, RR, P, nDCG
    (each with or without a cut-off) and MeanNDCG with the ties of a policy at "worst" or "best", all of its steps are
    swept over and the middle of the widest of the highest ones is taken: the exact optimum of the line, up to 4,194,304
    swaps a line, and of 1023 points of the line beyond that. Other metrics and policies, and lists with more than
    524,288 pairs of a relevant and another row, are evaluated at 45 points of each line.

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

    def fit(self, X: ArrayLike, y: ArrayLike, qid: Any = None) -> Self:  # type: ignore[override]
        """Learn from graded rows.

        Parameters
        ----------
        X, y, qid : as for `Ranker.fit`.
        """
        return super().fit(X, y, qid)

    def _fit(self, problem: Problem) -> None:
        if self.n_restarts < 1 or self.max_iter < 1:
            raise ValueError(f"n_restarts and max_iter must be >= 1, got {self.n_restarts!r}, {self.max_iter!r}")
        metric, policy = parse_metric(self.metric), _policy(self.policy)
        rows = _canonical(problem)
        objective = _objective(rows, metric, policy)
        self.coef_ = np.zeros(problem.X.shape[1])
        self.n_iter_ = 1
        self.restarts_ = np.zeros(0)
        if objective is None or not len(rows.columns):
            warnings.warn(
                f"no query has rows that {self.metric} tells apart: nothing to learn from, all weights are 0",
                UserWarning,
                stacklevel=4,
            )
        else:
            self._climb_all(rows, objective)
        self.objective_ = evaluate(
            problem.y, self._predict(problem.X, None), problem.groups.codes, self.metric, self.policy
        )[self.metric]

    def _climb_all(self, rows: _StandardRows, objective: _Objective) -> None:
        # A generator of its own for each start: more restarts leave the first ones as they are.
        seeds = check_random_state(self.random_state).randint(2**31, size=self.n_restarts)
        ends = []
        for number, seed in enumerate(seeds):
            random = np.random.RandomState(seed)
            ends.append(self._climb(rows, objective, _start(rows, number, random), random))
        self.restarts_ = np.array([end.value for end in ends])
        best = ends[_first_best(self.restarts_)]
        self.n_iter_ = best.n_iter
        self.coef_[rows.columns] = best.w / rows.scale
        self.coef_ /= np.abs(self.coef_).sum()

    def _climb(self, rows: _StandardRows, objective: _Objective, w: FloatArray, random: Any) -> _End:
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
                t = _step(u, tau)
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


class _StandardRows(NamedTuple):
    """The rows of the queries that teach something, in an order that depends on nothing but their content.

    `Z` has a line for each of `columns`: the features that vary within a query, centred in each, of deviation 1; they
    were divided by `scale`. Rows of a query come from high to low grade; query g begins at `starts[g]`.
    """

    Z: FloatArray
    y: FloatArray
    starts: IntArray
    query: IntArray
    columns: IntArray
    scale: FloatArray


def _canonical(problem: Problem) -> _StandardRows:
    prefs = preferences(problem.y, problem.groups)
    X, y, query = problem.X[prefs.rows], problem.y[prefs.rows], prefs.query
    largest = np.abs(X).max(axis=0, initial=0.0)
    X = X / np.where(largest > 0, largest, 1.0)
    if len(X):
        key = (X * np.cos(np.arange(1.0, X.shape[1] + 1.0) ** 2)).sum(axis=1)
        order = np.lexsort((key, -y, query))
        X, y, query, key = X[order], y[order], query[order], key[order]
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        sizes = np.diff(starts, append=len(y))
        by_content = np.lexsort((np.add.reduceat(key, starts), np.add.reduceat(key * y, starts), sizes))
        order = np.concatenate([np.arange(starts[g], starts[g] + sizes[g]) for g in by_content])
        X, y = X[order], y[order]
        sizes = sizes[by_content]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        query = np.repeat(np.arange(len(sizes)), sizes)
        spread = np.maximum.reduceat(X, starts) - np.minimum.reduceat(X, starts)
        columns = np.flatnonzero(spread.max(axis=0) > 0)
        X = X[:, columns]
        X -= (np.add.reduceat(X, starts) / sizes[:, None])[query]
    else:
        starts, columns = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        X = X[:, columns]
    Z = np.ascontiguousarray(X.T)
    deviation = np.sqrt((Z**2).mean(axis=1)) if Z.size else np.zeros(0)
    return _StandardRows(Z / deviation[:, None], y, starts, query, columns, deviation * largest[columns])


def _start(rows: _StandardRows, number: int, random: Any) -> FloatArray:
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


class _Objective(Protocol):
    """A metric of scores, as values that add up, and the best point along a line of scores."""

    def values(self, scores: FloatArray) -> FloatArray:
        """The parts of the metric's mean."""

    def search(self, scores: FloatArray, column: FloatArray, tau: float, values: FloatArray) -> tuple[float, float]:
        """The best u, see `_step`, and the value there; `values` are those at u = 0."""


def _step(u: float, tau: float) -> float:
    """The t of a point u of the line: u = t / (tau + |t|)."""
    return tau * u / (1.0 - abs(u))


def _policy(policy: str | Policy) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        raise ValueError(f"unknown policy {policy!r}; known policies: {', '.join(POLICIES)}, or give a Policy")
    return POLICIES[policy]


def _objective(rows: _StandardRows, metric: Metric, policy: Policy) -> _Objective | None:
    """The fast form of a metric where there is one; None if no query's value depends on its order."""
    if not len(rows.y):
        return None
    if metric.name in FAST and policy.ties in ("worst", "best"):
        return _lists(rows, metric, policy)
    return _AnyMetric(rows, metric, policy)


@dataclass(frozen=True)
class _AnyMetric:
    """A metric through `rankloom.evaluation.metrics`."""

    rows: _StandardRows
    metric: Metric
    policy: Policy

    def values(self, scores: FloatArray) -> FloatArray:
        name = self.metric.name if self.metric.k is None else f"{self.metric.name}@{self.metric.k}"
        values = evaluate_queries(self.rows.y, scores, self.rows.query, name, self.policy).values[name]
        sign = -1.0 if name == "swaps" else 1.0
        return np.asarray(sign * np.nan_to_num(values) / len(values))

    def search(self, scores: FloatArray, column: FloatArray, tau: float, values: FloatArray) -> tuple[float, float]:
        return _grid_search(lambda u: float(self.values(scores + _step(u, tau) * column).sum()))


def _grid_search(value: Callable[[float], float]) -> tuple[float, float]:
    """The best of evenly spaced points, then of finer ones around it."""
    coarse = [value(u) for u in GRID]
    best = _first_best(coarse)
    points = [float(GRID[best]), *(GRID[best] + FINE_GRID)]
    values = [coarse[best], *(value(u) for u in points[1:])]
    best = _first_best(values)
    return points[best], values[best]


def _first_best(values: ArrayLike) -> int:
    """The first of the highest values; what only rounding tells apart is equal, or the order of queries would count."""
    array = np.asarray(values)
    return int(np.argmax(array >= array.max() - MEASURABLE))


@dataclass(frozen=True)
class _Lists:
    """A metric as the lists and tables of `_kernels.ascent`."""

    lists: IntArray
    scales: FloatArray
    offsets: IntArray
    by_place: FloatArray
    by_rank: FloatArray
    ties_above: bool
    exact: bool

    def values(self, scores: FloatArray) -> FloatArray:
        values: FloatArray = _kernels.ascent.list_values(scores, *self._layout)
        return values

    def search(self, scores: FloatArray, column: FloatArray, tau: float, values: FloatArray) -> tuple[float, float]:
        if not self.exact:
            return _grid_search(lambda u: float(self.values(scores + _step(u, tau) * column).sum()))
        best: tuple[float, float] = _kernels.ascent.line_search(scores, column, tau, *self._layout, values)
        return best

    @property
    def _layout(self) -> tuple[Any, ...]:
        return self.lists, self.scales, self.offsets, self.by_place, self.by_rank, self.ties_above


def _lists(rows: _StandardRows, metric: Metric, policy: Policy) -> _Lists | None:
    """Lay out a metric: one list per query, or for graded gains one for each step between two gains of a query."""
    ends = np.append(rows.starts[1:], len(rows.y))
    longest = int((ends - rows.starts).max())
    ranks = np.arange(1, longest + 1)
    k = longest if metric.k is None else metric.k
    graded = metric.name in ("nDCG", "MeanNDCG")
    gain = policy.gains(rows.y) if graded else (rows.y >= policy.relevant).astype(np.float64)
    by_place, by_rank = _tables(metric, policy, ranks, k)
    lists, scales, offsets, tables, size = [], [], [], [by_rank], len(by_rank)
    n_queries = 0
    for start, end in zip(rows.starts.tolist(), ends.tolist(), strict=True):
        gains, n = gain[start:end], end - start
        steps = np.flatnonzero(np.diff(gains)) + 1
        if not len(steps) or (metric.name == "nDCG" and policy.short == "zero" and metric.k is not None and n < k):
            continue  # the value is the same for every order
        n_queries += 1
        offset = 0
        if metric.name == "MeanNDCG":
            own = _mean_table(gains, by_rank[1 : n + 1])
            offset, size = size, size + len(own)
            tables.append(own)
        for middle in steps.tolist():
            lists.append((start, start + middle, end))
            scales.append((gains[middle - 1] - gains[middle]) * _norm(metric, policy, gains, by_rank))
            offsets.append(offset)
    if not lists:
        return None
    spans = np.array(lists, dtype=np.int64)
    pairs = (spans[:, 1] - spans[:, 0]) * (spans[:, 2] - spans[:, 1])
    return _Lists(
        spans,
        np.array(scales) / n_queries,
        np.array(offsets, dtype=np.int64),
        by_place,
        np.concatenate(tables),
        policy.ties == "worst",
        bool(pairs.max() <= _kernels.ascent.MAX_EVENTS),
    )


def _tables(metric: Metric, policy: Policy, ranks: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """What the k-th best relevant row counts, and what a rank is worth; both from 1 on."""
    by_place = np.append(0.0, np.ones(len(ranks)))
    if metric.name in ("AP", "RR"):
        worth = 1.0 / ranks
        by_place = np.append(0.0, ranks if metric.name == "AP" else ranks == 1)
    elif metric.name == "P":
        worth = np.ones(len(ranks))
    else:
        worth = 1.0 / policy.discounts(ranks)
    return by_place.astype(np.float64), np.append(0.0, worth * (ranks <= k))


def _norm(metric: Metric, policy: Policy, gain: FloatArray, by_rank: FloatArray) -> float:
    """The factor of a query; its rows come from high to low gain."""
    n, n_relevant = len(gain), int((gain > 0).sum())
    k = n if metric.k is None else metric.k
    if metric.name == "AP":
        return 1.0 / (n_relevant if policy.ap_denominator == "relevant" else min(k, n_relevant))
    if metric.name == "P":
        return 1.0 / (min(k, n) if policy.p_denominator == "min" else k)
    if metric.name == "nDCG":
        return 1.0 / float(gain @ by_rank[1 : n + 1])
    return 1.0


def _mean_table(gain: FloatArray, worth: FloatArray) -> FloatArray:
    """What a rank is worth to the mean of nDCG@k over all k: all cut-offs from it on, each over its ideal."""
    ideal = np.cumsum(gain * worth)
    from_here = np.cumsum((1.0 / ideal)[::-1])[::-1]
    return np.append(0.0, worth * from_here / len(gain))
