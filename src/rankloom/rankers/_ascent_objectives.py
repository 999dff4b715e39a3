"""The metrics that coordinate ascent climbs: values of scores, and the best point along a line of scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloom.core import FloatArray, IntArray
from rankloom.evaluation.metrics import Metric, Policy, evaluate_queries
from rankloom.groups import preferences
from rankloom.rankers import _kernels
from rankloom.rankers.base import Problem

FAST = ("AP", "RR", "P", "nDCG", "MeanNDCG")
MEASURABLE = 1e-10  # a step must gain more than rounding can
GRID = np.linspace(-1.0, 1.0, 33)[1:-1]
FINE_GRID = np.delete(np.linspace(-1.0, 1.0, 17)[1:-1], 7) / 16.0  # between the neighbours of a point of GRID
SAMPLE = 1 << 13  # rows of one grade of a query in which the points of a line are compared


class StandardRows(NamedTuple):
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


def standard_rows(problem: Problem) -> StandardRows:
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
    return StandardRows(Z / deviation[:, None], y, starts, query, columns, deviation * largest[columns])


class Objective(Protocol):
    """A metric of scores, as values that add up, and the best point along a line of scores."""

    def values(self, scores: FloatArray) -> FloatArray:
        """The parts of the metric's mean."""

    def search(self, scores: FloatArray, column: FloatArray, tau: float, values: FloatArray) -> tuple[float, float]:
        """The best u, see `_step`, and the value there; `values` are those at u = 0."""


def step(u: float, tau: float) -> float:
    """The t of a point u of the line: u = t / (tau + |t|)."""
    return tau * u / (1.0 - abs(u))


def make_objective(rows: StandardRows, metric: Metric, policy: Policy) -> Objective | None:
    """The fast form of a metric where there is one; None if no query's value depends on its order.

    Where lines are searched point by point, long lists are represented by a sample of their rows.
    """
    whole = _whole(rows, metric, policy)
    if whole is None or whole.exact:
        return whole
    chosen = _sample(rows)
    if len(chosen) == len(rows.y):
        return whole
    query = rows.query[chosen]
    part = rows._replace(
        Z=np.ascontiguousarray(rows.Z[:, chosen]),
        y=rows.y[chosen],
        starts=np.flatnonzero(np.diff(query, prepend=-1)),
        query=query,
    )
    # The top 100 of a list are the top 50 of half of it.
    k = None if metric.k is None else -(-metric.k * len(chosen) // len(rows.y))
    sampled = _whole(part, metric._replace(k=k), policy)
    return whole if sampled is None else _Sampled(whole, sampled, chosen)


def _whole(rows: StandardRows, metric: Metric, policy: Policy) -> _Lists | _AnyMetric | None:
    if not len(rows.y):
        return None
    if metric.name in FAST and policy.ties in ("worst", "best"):
        return _lists(rows, metric, policy)
    return _AnyMetric(rows, metric, policy)


def _sample(rows: StandardRows) -> IntArray:
    """Evenly spaced rows of each grade of each query, `SAMPLE` at most; all where there are no more."""
    new = (np.diff(rows.query, prepend=-1) != 0) | (np.diff(rows.y, prepend=np.nan) != 0)
    starts = np.flatnonzero(new)
    sizes = np.diff(starts, append=len(rows.y))
    place = np.arange(len(rows.y)) - np.repeat(starts, sizes)
    return np.flatnonzero(place % np.repeat(-(-sizes // SAMPLE), sizes) == 0)


@dataclass(frozen=True)
class _Sampled:
    """A metric of long lists: points of a line are compared in a sample, and the values of the best are those of all.

    A search costs time in proportion to the sample and not to the rows; the ascent takes no step that the whole lists
    do not confirm.
    """

    whole: Objective
    sample: Objective
    chosen: IntArray

    def values(self, scores: FloatArray) -> FloatArray:
        return self.whole.values(scores)

    def search(self, scores: FloatArray, column: FloatArray, tau: float, values: FloatArray) -> tuple[float, float]:
        here = scores[self.chosen]
        at_zero = self.sample.values(here)
        u, promised = self.sample.search(here, column[self.chosen], tau, at_zero)
        return u, float(values.sum()) + (promised - float(at_zero.sum()))


@dataclass(frozen=True)
class _AnyMetric:
    """A metric through `rankloom.evaluation.metrics`."""

    rows: StandardRows
    metric: Metric
    policy: Policy
    exact: bool = False  # lines are searched point by point

    def values(self, scores: FloatArray) -> FloatArray:
        name = self.metric.name if self.metric.k is None else f"{self.metric.name}@{self.metric.k}"
        values = evaluate_queries(self.rows.y, scores, self.rows.query, name, self.policy).values[name]
        sign = -1.0 if name == "swaps" else 1.0
        return np.asarray(sign * np.nan_to_num(values) / len(values))

    def search(self, scores: FloatArray, column: FloatArray, tau: float, values: FloatArray) -> tuple[float, float]:
        return _grid_search(lambda u: float(self.values(scores + step(u, tau) * column).sum()))


def _grid_search(value: Callable[[float], float]) -> tuple[float, float]:
    """The best of evenly spaced points, then of finer ones around it."""
    coarse = [value(u) for u in GRID]
    best = first_best(coarse)
    points = [float(GRID[best]), *(GRID[best] + FINE_GRID)]
    values = [coarse[best], *(value(u) for u in points[1:])]
    best = first_best(values)
    return points[best], values[best]


def first_best(values: ArrayLike) -> int:
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
            return _grid_search(lambda u: float(self.values(scores + step(u, tau) * column).sum()))
        best: tuple[float, float] = _kernels.ascent.line_search(scores, column, tau, *self._layout, values)
        return best

    @property
    def _layout(self) -> tuple[Any, ...]:
        return self.lists, self.scales, self.offsets, self.by_place, self.by_rank, self.ties_above


def _lists(rows: StandardRows, metric: Metric, policy: Policy) -> _Lists | None:
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
