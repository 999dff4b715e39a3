"""A simulated user: search, judge or click on the top of the list, feed back, and so on, query after query.

The progressive protocol of section 5.5 of Wan et al. (2015): each query is first ranked by what was learned from those
before it, which is measured, and only then its top is judged and learned from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.evaluation.metrics import evaluate
from rankloom.groups import group_rows
from rankloom.rankers import OnlineRanker, Ranker


@dataclass(frozen=True)
class CascadeClicks:
    """A user who reads the list from the top, clicks, and may be satisfied and leave.

    Parameters
    ----------
    attraction : probability of a click on a row that is seen, by grade (the last entry serves higher grades too).
    satisfaction : probability of leaving after a click, by grade.
    patience : probability of going on to the next row without a click.

    References
    ----------
    N. Craswell et al., An experimental comparison of click position-bias models, WSDM 2008; A. Chuklin, I. Markov and
    M. de Rijke, Click models for web search, 2015.
    """

    attraction: tuple[float, ...] = (0.05, 0.6, 0.9)
    satisfaction: tuple[float, ...] = (0.1, 0.4, 0.7)
    patience: float = 0.95

    def clicks(self, grades: FloatArray, random: np.random.Generator) -> tuple[IntArray, int]:
        """The places that are clicked, and how many places were seen."""
        clicked = []
        for rank, grade in enumerate(grades):
            level = int(np.clip(grade, 0, None))
            if random.random() < self.attraction[min(level, len(self.attraction) - 1)]:
                clicked.append(rank)
                if random.random() < self.satisfaction[min(level, len(self.satisfaction) - 1)]:
                    return np.array(clicked, dtype=np.int64), rank + 1
            elif random.random() >= self.patience:
                return np.array(clicked, dtype=np.int64), rank + 1
        return np.array(clicked, dtype=np.int64), len(grades)


@dataclass(frozen=True, eq=False)
class Simulation:
    """What a simulated user saw, one entry per query in the order in which they came.

    Attributes
    ----------
    metric : what was measured before each query was learned from.
    values, baseline : its value by the ranker, and by the uniform combination.
    seconds : CPU time spent on learning so far.
    n_preferences : judged or clicked rows that taught something, so far.
    """

    metric: str
    values: FloatArray
    baseline: FloatArray
    seconds: FloatArray
    n_preferences: IntArray

    @property
    def gain(self) -> FloatArray:
        """The value beyond the uniform combination's, query by query."""
        return self.values - self.baseline

    @property
    def n_late(self) -> int:
        """How many queries are the last quarter."""
        return max(1, len(self.values) // 4)

    @property
    def late_gain(self) -> float:
        """The mean gain over the last quarter of the queries."""
        return float(self.gain[-self.n_late :].mean())

    @property
    def cumulative_gain(self) -> FloatArray:
        """The mean gain over the queries so far."""
        return np.asarray(np.cumsum(self.gain) / np.arange(1, len(self.gain) + 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the curves as plain lists."""
        return {
            "metric": self.metric,
            "values": self.values.tolist(),
            "baseline": self.baseline.tolist(),
            "cumulative_gain": self.cumulative_gain.tolist(),
            "seconds": self.seconds.tolist(),
            "n_preferences": self.n_preferences.tolist(),
        }


def simulate(
    data: RankingData,
    ranker: Ranker,
    *,
    k: int = 50,
    clicks: CascadeClicks | None = None,
    retrain_every: int = 1,
    reservoir: int | None = None,
    random_state: Any = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> Simulation:
    """Let a simulated user teach a ranker, query after query.

    An online ranker is updated after each query; it starts from the uniform combination unless it has an `init` of its
    own. Any other ranker is fitted again on all rows judged so far (a reservoir), every `retrain_every` queries; before
    that, and while there is nothing to learn from, the uniform combination ranks.

    Parameters
    ----------
    data : the candidates of each query with their features and true grades.
    ranker : what learns; it is copied, not changed.
    k : how many rows of the top the user sees; the metric is nDCG@k over the whole list.
    clicks : None judges the top k by their true grades; a click model clicks, and a clicked row is preferred to the
        rows that were skipped above it.
    retrain_every, reservoir : for other than online rankers, queries between two fits, and most queries kept.
    random_state : seed of the order of the queries and of the clicks.
    progress : called with a text before each query.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> from rankloom.rankers import OnlinePassiveAggressiveRanker
    >>> run = simulate(make_ranking(n_queries=60, random_state=0), OnlinePassiveAggressiveRanker(C=0.1), k=10)
    >>> run.late_gain > 0.1
    True
    """
    if k < 1 or retrain_every < 1 or (reservoir is not None and reservoir < 1):
        raise ValueError("k, retrain_every and reservoir must be at least 1")
    random = np.random.default_rng(random_state)
    lists = [*group_rows(data.qid, len(data))]
    uniform = np.full(data.X.shape[1], 1.0 / data.X.shape[1])
    learner = _Online(ranker, uniform) if isinstance(ranker, OnlineRanker) else _Batch(ranker, retrain_every, reservoir)
    rows_of = [lists[i] for i in random.permutation(len(lists))]
    metric = f"nDCG@{k}"
    values, baseline, seconds, counts = (np.zeros(len(rows_of)) for _ in range(4))
    _compile_kernels(ranker, data, rows_of)
    for t, rows in enumerate(rows_of):
        progress(f"query {t + 1}")
        X, y = data.X[rows].astype(np.float64, copy=False), data.y[rows]
        scores = learner.predict(X) if learner.ready else X @ uniform
        values[t] = evaluate(y, scores, None, [metric])[metric]
        baseline[t] = evaluate(y, X @ uniform, None, [metric])[metric]
        top = np.argsort(-scores, kind="stable")[:k]
        began = process_time()
        if clicks is None:
            counts[t] = learner.judge(X[top], y[top])
        else:
            counts[t] = learner.click(X[top], clicks.clicks(y[top], random)[0])
        seconds[t] = process_time() - began
    return Simulation(metric, values, baseline, np.cumsum(seconds), np.cumsum(counts).astype(np.int64))


def _compile_kernels(ranker: Ranker, data: RankingData, rows_of: list[IntArray]) -> None:
    """Kernels are compiled on first use: that is not the cost of learning."""
    for rows in rows_of:
        if len(np.unique(data.y[rows])) > 1:
            clone(ranker).fit(data.X[rows], data.y[rows], data.qid[rows])
            return


def skip_above(clicked: IntArray) -> IntArray:
    """The preferences of clicks: each clicked place over each place above it that was not clicked.

    >>> skip_above(np.array([0, 2])).tolist()
    [[2, 1]]
    """
    skipped = np.setdiff1d(np.arange(clicked.max(initial=-1) + 1), clicked)
    pairs = [(click, other) for click in clicked.tolist() for other in skipped.tolist() if other < click]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


class _Online:
    """An online ranker, updated at once."""

    ready = True

    def __init__(self, ranker: OnlineRanker, uniform: FloatArray):
        self.ranker: OnlineRanker = clone(ranker)
        if ranker.init is None:
            self.ranker.set_params(init=uniform)
        self.start = np.asarray(getattr(self.ranker.init, "coef_", self.ranker.init), dtype=np.float64)

    def predict(self, X: FloatArray) -> FloatArray:
        return self.ranker.predict(X) if hasattr(self.ranker, "coef_") else X @ self.start

    def judge(self, X: FloatArray, y: FloatArray) -> int:
        self.ranker.partial_fit(X, y)
        return len(y) if len(np.unique(y)) > 1 else 0

    def click(self, X: FloatArray, clicked: IntArray) -> int:
        pairs = skip_above(clicked)
        if len(pairs):
            self.ranker.partial_fit_triplets(X, pairs)
        return len(pairs)


class _Batch:
    """Any other ranker, fitted again on a reservoir of judged lists."""

    def __init__(self, ranker: Ranker, retrain_every: int, reservoir: int | None):
        self.ranker: Ranker = clone(ranker)
        self.retrain_every, self.reservoir = retrain_every, reservoir
        self.lists: list[tuple[FloatArray, FloatArray]] = []
        self.since = 0
        self.ready = False

    def predict(self, X: FloatArray) -> FloatArray:
        return self.ranker.predict(X)

    def judge(self, X: FloatArray, y: FloatArray) -> int:
        if len(np.unique(y)) > 1:
            self.lists.append((X, y))
        if self.reservoir is not None:
            self.lists = self.lists[-self.reservoir :]
        self.since += 1
        if self.lists and self.since >= self.retrain_every:
            rows, grades = (np.concatenate(parts) for parts in zip(*self.lists, strict=True))
            self.ranker.fit(rows, grades, qid=np.repeat(np.arange(len(self.lists)), [len(y) for _, y in self.lists]))
            self.since, self.ready = 0, True
        return len(y) if len(np.unique(y)) > 1 else 0

    def click(self, X: FloatArray, clicked: IntArray) -> int:
        """Clicked rows are relevant, rows skipped above the last click are not; those below were hardly seen."""
        last = int(clicked.max(initial=-1)) + 1
        grades = np.zeros(last)
        grades[clicked] = 1.0
        return self.judge(X[:last], grades)
