"""Simulated users on a labeled collection: they search, mark what they see, and look again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.engine.feedback import FeedbackModel, Judgements, fit_feedback
from rankloom.engine.kernel_machine import feedback_coefficients
from rankloom.engine.neighbors import best_rows
from rankloom.evaluation.significance import bootstrap_means
from rankloom.experiments.labeled import DIFFUSION, CollectionDiffusion, LabeledCollection, average_precision

_COLUMNS = 4096  # similarities of all items to one, which are kept


@dataclass(frozen=True)
class _Search:
    """A search of a simulated user: the marks so far, and the similarities that a strategy may use."""

    data: LabeledCollection
    weights: FloatArray
    query: int
    base: FloatArray
    right: IntArray
    wrong: IntArray
    column: Callable[[int], NDArray[np.float32]]
    phi: Callable[[int], NDArray[np.float32]]

    def follow(self, *, machine: bool = True, means: bool = True) -> FloatArray:
        """Scores that follow the marks; the query is the first right item."""
        rows = np.concatenate([[self.query], self.right, self.wrong]).astype(np.int64)
        columns = np.stack([self.column(row) for row in rows.tolist()])
        targets = np.concatenate([np.ones(1 + len(self.right)), -np.ones(len(self.wrong))])
        gram = np.asarray(columns[:, rows], dtype=np.float64)
        coef = feedback_coefficients(gram, targets, np.ones(len(rows)), machine=machine, means=means)
        return np.asarray(coef[:-1] @ columns + coef[-1], dtype=np.float64)

    @cached_property
    def model(self) -> FeedbackModel:
        """What the engine makes of the marks."""
        judgements = Judgements(
            {int(row) + 1: 1.0 for row in self.right} | {int(row) + 1: 0.0 for row in self.wrong}, []
        )
        similarities = self.column(self.query)
        return fit_feedback(
            judgements, self.base, lambda items: [self.column(item - 1) for item in items], similarities, most=1000
        )


def _nothing(search: _Search) -> FloatArray:
    return search.base


def _weights(search: _Search) -> FloatArray:
    """Weights of the experts for this search alone, by ranking logistic regression on the marks."""
    from rankloom.rankers import RankingLogisticRegression

    if not len(search.right) or not len(search.wrong):
        return search.base
    phi = search.phi(search.query).astype(np.float64)
    rows = np.concatenate([search.right, search.wrong])
    grades = np.concatenate([np.ones(len(search.right)), np.zeros(len(search.wrong))])
    # The online weights are one more feature, with the whole say at the start.
    known = (phi @ search.weights)[:, None]
    fitted = RankingLogisticRegression(nu=0.1).fit(
        np.hstack([phi, 10.0 * known])[rows], grades, qid=np.zeros(len(rows))
    )
    return np.asarray(np.hstack([phi, 10.0 * known]) @ fitted.coef_ + 10.0 * known[:, 0])


def _examples(search: _Search) -> FloatArray:
    rows = [search.query, *search.right.tolist()]
    columns = np.stack([search.column(row) for row in rows])
    return np.asarray((columns.max(axis=0) + columns.mean(axis=0)) / 2.0, dtype=np.float64)


def _as_the_engine(search: _Search) -> FloatArray:
    return search.model.scores(search.base)


STRATEGIES: dict[str, Callable[[_Search], FloatArray]] = {
    "nothing": _nothing,
    "weights": _weights,
    "examples": _examples,
    "means": lambda search: search.follow(machine=False),
    "kernel": lambda search: search.follow(means=False),
    "engine": _as_the_engine,
}


@dataclass(frozen=True, eq=False)
class UserTrial:
    """AP after each round of marks, round 0 before the first: marked right first, marked wrong last."""

    values: Mapping[str, FloatArray]

    def mean(self, strategy: str) -> list[float]:
        """The mean over the queries after each round."""
        return [float(value) for value in self.values[strategy].mean(axis=0)]

    def interval(self, strategy: str) -> list[tuple[float, float]]:
        """A 95% interval of each mean, by resampling queries."""
        means = bootstrap_means(self.values[strategy].T)
        return [(float(low), float(high)) for low, high in np.percentile(means, [2.5, 97.5], axis=1).T]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {name: {"mean": self.mean(name), "interval": self.interval(name)} for name in self.values}


def simulate_users(
    data: LabeledCollection,
    weights: FloatArray,
    strategies: Sequence[str] = tuple(STRATEGIES),
    *,
    diffusion: bool = True,
    rounds: int = 3,
    per_round: int = 20,
    noise: float = 0.0,
    n_queries: int = 200,
    random_state: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> UserTrial:
    """Let simulated users mark the best results that they have not marked yet, in some rounds.

    Every strategy is run by itself, and with the neighbor graph (" + neighbours").

    Parameters
    ----------
    data : the collection; users look for items of the class of theirs.
    weights : of the experts.
    strategies : names of `STRATEGIES`.
    diffusion : also with neighbors.
    rounds, per_round : how often users mark, and how many results each time.
    noise : the share of marks that are wrong.
    n_queries : how many users.
    random_state : which queries, and which marks are wrong.
    progress : called with the number of users done, of all, and a text.
    """
    unknown = [name for name in strategies if name not in STRATEGIES]
    if unknown:
        raise ValueError(f"unknown strategy {unknown[0]!r}; known are {', '.join(STRATEGIES)}")
    queries = data.queries(n_queries, random_state)
    kernel = np.maximum(weights, 0.0)
    kernel = kernel / (kernel.sum() or 1.0)
    habits = _Habits(rounds, per_round, noise)
    diffusions = (None, CollectionDiffusion(data.neighbors(weights))) if diffusion else (None,)
    values = {
        _spelled(name, diffuse): np.zeros((len(queries), rounds + 1)) for name in strategies for diffuse in diffusions
    }
    none = np.empty(0, dtype=np.int64)
    column = lru_cache(_COLUMNS)(partial(data.similarity, weights=kernel))  # users of a class mark the same items
    for number, query in enumerate(queries.tolist()):
        progress(number, len(queries), "users")
        base = data.similarity(query, weights).astype(np.float64)
        search = _Search(data, weights, query, base, none, none, column, cache(data.phi))
        for name in strategies:
            for diffuse in diffusions:
                random = np.random.default_rng([random_state, query])
                values[_spelled(name, diffuse)][number] = _rounds(search, name, diffuse, habits, random)
    return UserTrial(values)


class _Habits(NamedTuple):
    """How often a user marks, how many results, and with which share of mistakes."""

    rounds: int
    per_round: int
    noise: float


def _rounds(
    search: _Search, strategy: str, diffuse: CollectionDiffusion | None, habits: _Habits, random: np.random.Generator
) -> list[float]:
    """AP before the first round of marks of one user, and after each."""
    values = []
    relevant = search.data.relevant(search.query)
    for turn in range(habits.rounds + 1):
        right, wrong = search.right, search.wrong
        marked = len(right) + len(wrong) > 0
        scores = STRATEGIES[strategy](search) if marked else search.base
        if strategy == "engine" and marked:  # contradicted marks have no places
            odd = np.array([item - 1 for item in search.model.contradicted], dtype=np.int64)
            right, wrong = np.setdiff1d(right, odd), np.setdiff1d(wrong, odd)
        if diffuse is not None:
            judged = marked and strategy not in ("nothing", "weights")
            scores = diffuse(scores, barred=wrong if judged else None, judged=judged)
        values.append(_pinned(scores, relevant, search.query, right, wrong))
        if turn < habits.rounds:
            shown = _shown(scores, search, habits.per_round)
            said = relevant[shown] ^ (random.random(len(shown)) < habits.noise)
            search = replace(
                search,
                right=np.concatenate([search.right, shown[said]]),
                wrong=np.concatenate([search.wrong, shown[~said]]),
            )
    return values


def _spelled(name: str, diffuse: CollectionDiffusion | None) -> str:
    return name if diffuse is None else f"{name}{DIFFUSION}"


def _pinned(scores: FloatArray, relevant: NDArray[np.bool_], query: int, right: IntArray, wrong: IntArray) -> float:
    size = float(np.ptp(scores)) + 1.0
    pinned = scores.copy()
    pinned[right] += size
    pinned[wrong] -= size
    return average_precision(pinned, relevant, query)


def _shown(scores: FloatArray, search: _Search, n: int) -> IntArray:
    """The n rows that the user marks next."""
    left = np.ones(len(scores), dtype=bool)
    left[np.concatenate([[search.query], search.right, search.wrong]).astype(np.int64)] = False
    return best_rows(scores, np.flatnonzero(left), n)
