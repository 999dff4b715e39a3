"""How good search by example is on a labelled collection: any ranker over any experts, with and without neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankloom.core import FloatArray, IntArray
from rankloom.engine.relevance import spread_scores
from rankloom.evaluation.metrics import evaluate
from rankloom.experiments.labeled import LabeledCollection, average_precision
from rankloom.experiments.prior import positive_weights
from rankloom.rankers import LinearRanker, Ranker, RankingLogisticRegression

__all__ = ["Quality", "evaluate_collection", "learned_weights"]

OTHERS = 150  # irrelevant items of a query that a ranker learns from
METRICS = ("AP", "nDCG@10")
DIFFUSION = " + neighbours"


@dataclass(frozen=True, eq=False)
class Quality:
    """Results of some methods on the same queries.

    Parameters
    ----------
    queries : the rows of the queries, with the class of each in `classes`.
    values : method -> metric -> one value a query.
    """

    queries: IntArray
    classes: NDArray[Any]
    values: Mapping[str, Mapping[str, FloatArray]]

    def mean(self, method: str, metric: str = "AP") -> float:
        """The mean over the queries; of AP it is MAP."""
        return float(self.values[method][metric].mean())

    def by_class(self, method: str, metric: str = "AP") -> dict[str, float]:
        """The mean for each class."""
        found = self.values[method][metric]
        return {str(name): float(found[self.classes == name].mean()) for name in np.unique(self.classes)}

    def to_dict(self) -> dict[str, Any]:
        """Means and classes as plain values."""
        return {
            "queries": len(self.queries),
            "means": {name: {metric: self.mean(name, metric) for metric in METRICS} for name in self.values},
            "classes": {name: self.by_class(name) for name in self.values},
        }


def evaluate_collection(
    data: LabeledCollection,
    rankers: Mapping[str, Ranker],
    *,
    n_queries: int = 500,
    folds: int = 5,
    unseen: bool = False,
    diffusion: bool = True,
    start: FloatArray | None = None,
    random_state: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> Quality:
    """Every query ranks the whole collection, by rankers that learned from the queries of other folds.

    Beside the rankers there are "uniform" (all experts alike), "best expert" (chosen on the other folds) and "start"
    (the weights of a new collection).

    Parameters
    ----------
    data : the collection.
    rankers : what to compare, by name.
    n_queries : how many items are queries.
    folds : parts that the queries are split into.
    unseen : split by class, so that a ranker has seen no query of the class that it is judged on.
    diffusion : also with the neighbour graph of each linear ranker's similarity.
    start : other starting weights.
    random_state : which queries, and how they are split.
    progress : called with the number of steps done, of all, and a text.
    """
    queries = data.queries(n_queries, random_state)
    random = np.random.default_rng(random_state)
    fold = _folds(data.labels[queries], folds, unseen, random)
    total = 2 * len(queries)
    rows, grades, qid = [], [], []
    for done, query in enumerate(queries.tolist()):
        progress(done, total, "examples")
        some, judged = _examples_of(data, query, random)
        rows.append(some)
        grades.append(judged)
        qid.append(np.full(len(judged), done))
    X, y, q = (np.concatenate(parts) for parts in (rows, grades, qid))
    n_experts = X.shape[1]
    names = ["uniform", "best expert", "start", *rankers]
    linear = [name for name in names if name not in rankers or isinstance(rankers[name], LinearRanker)]
    values: dict[str, dict[str, FloatArray]] = {
        name: {metric: np.zeros(len(queries)) for metric in METRICS}
        for name in (*names, *(f"{name}{DIFFUSION}" for name in linear if diffusion))
    }
    done = len(queries)
    known: dict[bytes, Any] = {}  # the graph of each vector of weights
    for number in range(folds):
        train = fold[q] != number
        scorers: dict[str, Any] = {"uniform": np.full(n_experts, 1.0 / n_experts)}
        scorers["start"] = data.start if start is None else start
        scorers["best expert"] = _best(X[train], y[train], q[train])
        for name, ranker in rankers.items():
            fitted = clone(ranker).fit(X[train], y[train], qid=q[train])
            scorers[name] = fitted.coef_ if isinstance(fitted, LinearRanker) else fitted
        graphs = {}
        for name in linear if diffusion else ():
            key = scorers[name].tobytes()
            if key not in known:
                neighbours = data.neighbours(scorers[name])
                known[key] = (neighbours, neighbours.operator())
            graphs[name] = known[key]
        for place in np.flatnonzero(fold == number).tolist():
            progress(done, total, "queries")
            done += 1
            query = int(queries[place])
            phi = data.phi(query).astype(np.float64)
            relevant = data.relevant(query)
            for name in names:
                scorer = scorers[name]
                scores = phi @ scorer if isinstance(scorer, np.ndarray) else scorer.predict(phi)
                _judge(values[name], place, scores, relevant, query)
                if name in graphs:
                    neighbours, operator = graphs[name]
                    spread = spread_scores(scores, neighbours, operator, np.ones(len(data), dtype=bool))
                    _judge(values[f"{name}{DIFFUSION}"], place, spread.total, relevant, query)
    return Quality(queries, data.labels[queries], values)


def _folds(labels: NDArray[Any], folds: int, unseen: bool, random: np.random.Generator) -> IntArray:
    if unseen:
        names, codes = np.unique(labels, return_inverse=True)
        if len(names) < folds:
            raise ValueError(f"{len(names)} classes cannot be split into {folds} folds of unseen classes")
        return np.asarray((random.permutation(len(names)) % folds)[codes], dtype=np.int64)
    if len(labels) < folds:
        raise ValueError(f"{len(labels)} queries cannot be split into {folds} folds")
    return np.asarray(random.permutation(len(labels)) % folds, dtype=np.int64)


def _best(X: FloatArray, y: FloatArray, qid: IntArray) -> FloatArray:
    alone = [evaluate(y, column, qid, ["AP"])["AP"] for column in X.T]
    weights = np.zeros(X.shape[1])
    weights[int(np.argmax(alone))] = 1.0
    return weights


def _judge(
    values: dict[str, FloatArray], place: int, scores: FloatArray, relevant: NDArray[np.bool_], query: int
) -> None:
    values["AP"][place] = average_precision(scores, relevant, query)
    others = np.arange(len(scores)) != query
    found = evaluate(relevant[others].astype(np.float64), scores[others], None, ["nDCG@10"])
    values["nDCG@10"][place] = found["nDCG@10"]


def learned_weights(
    data: LabeledCollection, *, n_queries: int = 300, random_state: int = 1, signed: bool = True
) -> FloatArray:
    """Weights of the experts by ranking logistic regression on queries of the collection, with the sum of sizes 1.

    Parameters
    ----------
    data : the collection.
    n_queries : how many items are queries.
    random_state : which.
    signed : whether weights may be negative.
    """
    random = np.random.default_rng(random_state)
    rows, grades, qid = [], [], []
    for number, query in enumerate(data.queries(n_queries, random_state).tolist()):
        X, y = _examples_of(data, query, random)
        rows.append(X)
        grades.append(y)
        qid.append(np.full(len(y), number))
    X, y, q = (np.concatenate(parts) for parts in (rows, grades, qid))
    weights = RankingLogisticRegression().fit(X, y, qid=q).coef_ if signed else positive_weights(X, y, q)
    return np.asarray(weights / np.abs(weights).sum())


def _examples_of(data: LabeledCollection, query: int, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """All relevant items of a query and some others, with their grades."""
    relevant = data.relevant(query)
    others = np.flatnonzero(data.labels != data.labels[query])
    some = random.choice(others, min(OTHERS, len(others)), replace=False)
    chosen = np.concatenate([np.flatnonzero(relevant), some])
    return data.phi(query)[chosen].astype(np.float64), relevant[chosen].astype(np.float64)
