"""Starting weights, learned from labeled and captioned collections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray
from rankloom.experiments.labeled import LabeledCollection
from rankloom.experts import experts_of
from rankloom.rankers import RankingLogisticRegression

_QUERIES, _OTHERS = 200, 150


def train_prior(
    collections: Sequence[LabeledCollection],
    *,
    nu: float = 1.0,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, float]:
    """Learn weights from labeled or captioned collections: items that are relevant for one above others.

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
        one = collection.only(shared)
        queries = one.queries(_QUERIES, random_state)
        X, y, qid = one.sampled(queries, _OTHERS, np.random.default_rng(random_state))
        coef = positive_weights(X, y, qid, nu)
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
