"""Starting weights, learned from labeled collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray
from rankloom.experiments.labeled import LabeledCollection
from rankloom.experts import EncodedExample, expert_features, experts_of, measure_scales
from rankloom.rankers import RankingLogisticRegression

_QUERIES, _OTHERS = 200, 150


def train_prior(
    collections: Sequence[LabeledCollection],
    *,
    nu: float = 1.0,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, float]:
    """Learn weights from labeled collections: items of the class of a query above others.

    Each collection teaches weights of its own, with the sum 1, and the mean of these is taken: experts that only one
    kind of picture favours get little. Weights below 0 are set to 0 and the rest is learned again: a weight against a
    similarity would fit these data and no others.

    Parameters
    ----------
    collections : the data.
    nu : regularisation.
    random_state : which items are queries.
    progress : called with a text before each collection.
    """
    # The words of sift_words are those of one collection: what is learned of them says nothing about another.
    shared = sorted(set.intersection(*(set(collection.vectors) for collection in collections)) - {"sift_words"})
    experts = experts_of(shared)
    weights = np.zeros(len(experts))
    for number, collection in enumerate(collections):
        progress(f"collection {number + 1}")
        X, y, qid = [], [], []
        for query, rows, phi in _judged(collection, shared, random_state):
            X.append(phi)
            y.append((collection.labels[rows] == collection.labels[query]).astype(np.float64))
            qid.append(np.full(len(rows), query))
        features, grades, ids = (np.concatenate(parts) for parts in (X, y, qid))
        coef = positive_weights(features, grades, ids, nu)
        weights += coef / (coef.sum() or 1.0) / len(collections)
    return {expert.name: round(float(weight), 6) for expert, weight in zip(experts, weights, strict=True) if weight > 0}


def positive_weights(X: FloatArray, y: FloatArray, qid: NDArray[Any], nu: float = 1.0) -> FloatArray:
    """Weights of ranking logistic regression, of which those below 0 are set to 0 and the rest is learned again."""
    kept = np.arange(X.shape[1])
    while True:
        coef = RankingLogisticRegression(nu=nu).fit(X[:, kept], y, qid=qid).coef_
        if (coef >= 0).all():
            break
        kept = kept[coef > 0]
    weights = np.zeros(X.shape[1])
    weights[kept] = coef
    return weights


def _judged(
    collection: LabeledCollection, descriptors: list[str], random_state: int
) -> Iterable[tuple[int, NDArray[Any], FloatArray]]:
    """Queries of a collection with all items of their class and some others, and phi of these."""
    random = np.random.default_rng(random_state)
    names, counts = np.unique(collection.labels, return_counts=True)
    usable = np.flatnonzero(np.isin(collection.labels, names[counts > 1]))
    n = len(collection.labels)
    scales = {name: measure_scales(collection.vectors[name], np.ones(n, dtype=bool)) for name in descriptors}
    stored = {name: collection.vectors[name] for name in descriptors}
    experts = experts_of(descriptors)
    for query in random.choice(usable, min(len(usable), _QUERIES), replace=False).tolist():
        alike = np.flatnonzero((collection.labels == collection.labels[query]) & (np.arange(n) != query))
        others = np.flatnonzero(collection.labels != collection.labels[query])
        rows = np.concatenate([alike, random.choice(others, min(len(others), _OTHERS), replace=False)])
        seen = EncodedExample({name: np.asarray(vectors[query]) for name, vectors in stored.items()})
        lazy = expert_features(experts, stored, scales, [seen], n)
        phi = np.stack([lazy.column(j, rows) for j in range(len(experts))], axis=1)
        yield query, rows, phi
