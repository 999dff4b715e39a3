"""How good search by example is on a labeled collection: any ranker over any experts, with and without neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.evaluation.metrics import evaluate
from rankloom.experiments.graphs import neighbor_graphs
from rankloom.experiments.labeled import DIFFUSION, CollectionDiffusion, LabeledCollection, average_precision
from rankloom.experiments.prior import positive_weights
from rankloom.rankers import LinearRanker, Ranker, RankingLogisticRegression

OTHERS = 150  # irrelevant items of a query that a ranker learns from
METRICS = ("AP", "nDCG@10")


@dataclass(frozen=True, eq=False)
class CollectionQuality:
    """Results of some methods on the same queries.

    Parameters
    ----------
    queries : the rows of the queries, with the class of each in `classes`.
    values : method -> metric -> one value per query.
    """

    queries: IntArray
    classes: NDArray[Any]
    values: Mapping[str, Mapping[str, FloatArray]]

    def mean(self, method: str, metric: str = "AP") -> float:
        """The mean over the queries; of AP it is MAP."""
        return float(self.values[method][metric].mean())

    def by_class(self, method: str, metric: str = "AP") -> dict[str, float]:
        """The mean for each class."""
        values = self.values[method][metric]
        return {str(name): float(values[self.classes == name].mean()) for name in np.unique(self.classes)}

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
) -> CollectionQuality:
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
    fold_of = _folds(data.labels[queries], folds, unseen, random)
    n_items = len(data) if diffusion else 0
    total = 2 * len(queries) + n_items
    examples = data.sampled(queries, OTHERS, random, lambda done: progress(done, total, "examples"))
    example_folds = fold_of[np.searchsorted(queries, examples.qid)]
    names = ["uniform", "best expert", "start", *rankers]
    if diffusion:
        linear = [name for name in names if name not in rankers or isinstance(rankers[name], LinearRanker)]
        names += [f"{name}{DIFFUSION}" for name in linear]
    values = {name: {metric: np.zeros(len(queries)) for metric in METRICS} for name in names}
    begin = data.start if start is None else start
    fitted = [_fitted(rankers, examples.take(example_folds != fold), begin) for fold in range(folds)]
    done = len(queries)
    graphs = None
    if diffusion:
        graphs = _graphs(data, fitted, lambda items: progress(len(queries) + items, total, "neighbours"))
        done += n_items
    for fold, scorers in enumerate(fitted):
        for number in np.flatnonzero(fold_of == fold).tolist():
            progress(done, total, "queries")
            done += 1
            query = int(queries[number])
            for name, scores in _rankings(data.phi(query).astype(np.float64), scorers, graphs):
                _judge(values[name], number, scores, data.relevant(query), query)
    return CollectionQuality(queries, data.labels[queries], values)


def _fitted(rankers: Mapping[str, Ranker], examples: RankingData, start: FloatArray) -> dict[str, FloatArray | Ranker]:
    """The weights of each linear method, or else the fitted ranker."""
    X, y, qid = examples
    scorers: dict[str, FloatArray | Ranker] = {
        "uniform": np.full(X.shape[1], 1.0 / X.shape[1]),
        "start": start,
        "best expert": _best(X, y, qid),
    }
    for name, ranker in rankers.items():
        fitted = clone(ranker).fit(X, y, qid=qid)
        scorers[name] = fitted.coef_ if isinstance(fitted, LinearRanker) else fitted
    return scorers


_Graphs = Mapping[bytes, CollectionDiffusion]  # by the bytes of the weights


def _graphs(
    data: LabeledCollection,
    fitted: Sequence[Mapping[str, FloatArray | Ranker]],
    progress: Callable[[int], None],
) -> _Graphs:
    """Diffusion over the neighbor graph of each vector of weights, all built together."""
    linear = [scorer for scorers in fitted for scorer in scorers.values() if isinstance(scorer, np.ndarray)]
    weights = {scorer.tobytes(): scorer for scorer in linear}
    graphs = neighbor_graphs(data, [*weights.values()], progress=progress)
    return {key: CollectionDiffusion(graph) for key, graph in zip(weights, graphs, strict=True)}


def _rankings(
    phi: FloatArray, scorers: Mapping[str, FloatArray | Ranker], graphs: _Graphs | None
) -> Iterator[tuple[str, FloatArray]]:
    """The scores of all items by each method; of linear ones also after diffusion, where there are graphs."""
    for name, scorer in scorers.items():
        if not isinstance(scorer, np.ndarray):
            yield name, scorer.predict(phi)
            continue
        scores = phi @ scorer
        yield name, scores
        if graphs is not None:
            yield f"{name}{DIFFUSION}", graphs[scorer.tobytes()](scores)


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
    values: dict[str, FloatArray], number: int, scores: FloatArray, relevant: NDArray[np.bool_], query: int
) -> None:
    values["AP"][number] = average_precision(scores, relevant, query)
    others = np.arange(len(scores)) != query
    grades = relevant[others].astype(np.float64)
    values["nDCG@10"][number] = evaluate(grades, scores[others], None, ["nDCG@10"])["nDCG@10"]


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
    queries = data.queries(n_queries, random_state)
    X, y, qid = data.sampled(queries, OTHERS, np.random.default_rng(random_state))
    weights = RankingLogisticRegression().fit(X, y, qid=qid).coef_ if signed else positive_weights(X, y, qid)
    return np.asarray(weights / np.abs(weights).sum())
