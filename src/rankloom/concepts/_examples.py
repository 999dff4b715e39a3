"""The examples of a concept: checked, completed and divided into folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

from rankloom.core import FloatArray, IntArray
from rankloom.experts.compact import CompactVectors

Vectors = Mapping[str, NDArray[Any] | CompactVectors]

_LEAST_SAMPLED, _SAMPLED_PER_POSITIVE = 200, 5


class TrainingExamples(NamedTuple):
    """The vectors of the examples by descriptor, which of them show the concept, and how many were sampled."""

    vectors: dict[str, FloatArray]
    y: NDArray[np.bool_]
    n_sampled: int

    def take(self, rows: Any) -> TrainingExamples:
        """The chosen examples."""
        return TrainingExamples(
            {name: stored[rows] for name, stored in self.vectors.items()}, self.y[rows], self.n_sampled
        )


def n_items(vectors: Vectors) -> int:
    """The number of items that the vectors belong to; an error if descriptors disagree."""
    if not isinstance(vectors, Mapping) or not vectors:
        raise ValueError("there are no vectors: give a mapping from descriptors to arrays with one row an item")
    shapes = {name: np.shape(stored) for name, stored in vectors.items()}
    if any(len(shape) != 2 for shape in shapes.values()) or len({shape[0] for shape in shapes.values()}) != 1:
        spelled = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"every descriptor needs one vector an item; got {spelled}")
    return int(next(iter(shapes.values()))[0])


def row_numbers(rows: ArrayLike, n: int, what: str) -> IntArray:
    """Row numbers, checked."""
    numbers = np.asarray(rows)
    if numbers.size == 0:
        return np.empty(0, dtype=np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(f"{what} must be a list of row numbers, got {numbers.dtype} of the shape {numbers.shape}")
    wrong = numbers[(numbers < 0) | (numbers >= n)]
    if len(wrong):
        raise ValueError(f"{what} has row {wrong[0]}, but there are {n} items: rows are 0 to {n - 1}")
    return numbers.astype(np.int64)


def collect(
    vectors: Vectors, positive: ArrayLike, negative: ArrayLike | None, random: np.random.RandomState
) -> TrainingExamples:
    """The examples; where no negative ones are given, unlabeled items are sampled."""
    n = n_items(vectors)
    shown = np.unique(row_numbers(positive, n, "positive"))
    if len(shown) < 2:
        raise ValueError(f"a concept needs at least 2 positive examples, got {len(shown)}; mark more items")
    if negative is None:
        others = np.setdiff1d(np.arange(n), shown)
        wanted = max(_LEAST_SAMPLED, _SAMPLED_PER_POSITIVE * len(shown))
        other = np.sort(random.choice(others, min(wanted, len(others)), replace=False))
    else:
        other = np.unique(row_numbers(negative, n, "negative"))
        both = np.intersect1d(shown, other)
        if len(both):
            raise ValueError(f"row {both[0]} is a positive and a negative example; leave it out of one of the two")
    if len(other) < 2:
        cure = "mark more items" if negative is not None else "the collection has too few other items"
        raise ValueError(f"a concept needs at least 2 negative examples, got {len(other)}; {cure}")
    rows = np.concatenate([shown, other])
    chosen = {}
    for name, stored in vectors.items():
        chosen[name] = np.asarray(stored[rows], dtype=np.float64)
        bad = rows[~np.isfinite(chosen[name]).all(axis=1)]
        if len(bad):
            raise ValueError(f"the vectors of {name!r} contain NaN or infinity in row {bad[0]}; describe it again")
    y = np.arange(len(rows)) < len(shown)
    return TrainingExamples(chosen, y, len(other) if negative is None else 0)


def folds(y: NDArray[np.bool_], most: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Training and held-out rows, each fold with its share of the positive examples."""
    n_folds = int(min(most, y.sum(), (~y).sum()))
    return [*StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y, y)]
