"""How good suggested cut-offs of result lists are, and the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from rankloom.core import FloatArray
from rankloom.engine.cutoff import LOOKED_AT, best_cut, chances, evidence
from rankloom.experiments.labeled import CollectionDiffusion, LabeledCollection


class SearchList(NamedTuple):
    """A list of results: scores, best first, their median over the collection, and which are right."""

    scores: FloatArray
    bulk: float
    right: NDArray[np.bool_]


class CutoffQuality(NamedTuple):
    """Means over lists cut where it was suggested; `best_f1` is that of the best cut of each."""

    precision: float
    recall: float
    f1: float
    best_f1: float


def search_lists(
    data: LabeledCollection, weights: FloatArray, *, diffusion: bool = True, n_queries: int = 150, random_state: int = 3
) -> list[SearchList]:
    """Searches by example in a labeled collection.

    Parameters
    ----------
    data : the collection.
    weights : of the experts.
    diffusion : whether neighbors count.
    n_queries, random_state : how many items are queries, and which.
    """
    diffuse = CollectionDiffusion(data.neighbors(weights)) if diffusion else None
    lists = []
    for query in data.queries(n_queries, random_state).tolist():
        scores = data.similarity(query, weights).astype(np.float64)
        if diffuse is not None:
            scores = diffuse(scores)
        order = np.argsort(-scores, kind="stable")
        order = order[order != query]
        lists.append(SearchList(scores[order], float(np.median(scores)), data.relevant(query)[order]))
    return lists


def fit_cutoff(collections: Sequence[Sequence[SearchList]]) -> tuple[float, float, float]:
    """Learn the probability that a result is right; every collection counts alike."""
    X, y, weight = [], [], []
    for lists in collections:
        for scores, bulk, right in lists:
            X.append(evidence(scores[:LOOKED_AT], bulk))
            y.append(right[:LOOKED_AT])
            weight.append(np.full(len(y[-1]), 100.0 / len(lists)))
    fitted = LogisticRegression(C=1e6).fit(np.concatenate(X), np.concatenate(y), np.concatenate(weight))
    first, second = fitted.coef_[0].tolist()
    return float(fitted.intercept_[0]), first, second


def judge_cutoff(lists: Sequence[SearchList], numbers: tuple[float, float, float]) -> CutoffQuality:
    """Precision, recall and F1 of lists cut where it is suggested."""
    values = []
    for scores, bulk, right in lists:
        cut = best_cut(chances(scores[:LOOKED_AT], bulk, numbers))
        hits, total = int(right[:cut].sum()), int(right.sum())
        all_hits = np.cumsum(right)
        best = (2 * all_hits / (np.arange(1, len(all_hits) + 1) + total)).max()
        values.append((hits / cut, hits / total, 2 * hits / (cut + total), best))
    return CutoffQuality(*np.mean(values, axis=0).tolist())
