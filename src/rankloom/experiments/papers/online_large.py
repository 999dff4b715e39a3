"""Search among a million distractors, by the weights of many methods at once: section 5.4 of Wan et al. (2015)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rankloom.core import FloatArray, IntArray
from rankloom.evaluation.metrics import evaluate
from rankloom.experiments.labeled import LabeledCollection
from rankloom.experts.compact import CompactVectors

PLACES = (10, 20, 50, 100)
Progress = Callable[[str], None]


def search_among(
    data: LabeledCollection, others: LabeledCollection, n: int, weights: Sequence[Mapping[str, FloatArray]],
    asked: Sequence[IntArray], random_state: int, progress: Progress,
) -> dict[str, dict[str, FloatArray]]:  # fmt: skip
    """The linear methods among n distractors, on queries of each fold: each metric of each query."""
    enlarged = with_distractors(data, n, others, random_state)
    metrics = ["AP", *(f"P@{k}" for k in PLACES)]
    values: dict[str, list[dict[str, float]]] = {name: [] for name in weights[0]}
    for of_fold, queries in zip(weights, asked, strict=True):
        matrix = np.stack([*of_fold.values()], axis=1).astype(np.float32)
        for query in queries.tolist():
            progress("search among distractors")
            scores = enlarged.phi(query) @ matrix
            rest = np.arange(len(enlarged)) != query
            grades = enlarged.relevant(query)[rest].astype(np.float64)
            for name, column in zip(of_fold, scores.T, strict=True):
                values[name].append(evaluate(grades, column[rest].astype(np.float64), None, metrics))
    return {
        name: {metric: np.array([one[metric] for one in each]) for metric in metrics} for name, each in values.items()
    }


def with_distractors(
    data: LabeledCollection, n: int, others: LabeledCollection, random_state: int = 0
) -> LabeledCollection:
    """The collection with n more items of no class, each a noisy mixture of two others."""
    random = np.random.default_rng(random_state)
    first, second = random.integers(0, len(others), (2, n))
    share = np.asarray(random.uniform(0.5, 0.8, (n, 1)), dtype=np.float32)
    vectors: dict[str, CompactVectors] = {}
    for name, stored in data.vectors.items():
        source = others.vectors[name]
        rows = np.empty((len(data) + n, stored.rows.shape[1]), dtype=np.uint8)
        rows[: len(data)] = stored.rows
        for begin in range(0, n, 20_000):
            part = slice(begin, begin + 20_000)
            mixed = share[part] * source[first[part]] + (1 - share[part]) * source[second[part]]
            mixed *= np.asarray(random.normal(1.0, 0.1, mixed.shape), dtype=np.float32)
            rows[len(data) + begin : len(data) + begin + len(mixed)] = CompactVectors.of(mixed).rows
        vectors[name] = CompactVectors(rows)
    labels = np.concatenate([data.labels.astype(object), np.arange(n).astype(object)])
    return LabeledCollection(vectors, labels, data.scales)
