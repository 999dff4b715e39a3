"""Experts: a descriptor and a distance make a similarity between a query and an item, one column of phi."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.experts.distances import DISTANCES, all_distances
from rankloom.features import Features

# Four distances per descriptor rank better than any one of them.
FOUR = ("l1", "l2", "cosine", "chi2")
_COLUMN_OF = {name: column for column, name in enumerate(DISTANCES)}
_SCALE_QUERIES, _SCALE_ITEMS = 200, 2000


class Expert(NamedTuple):
    r"""The similarity \(e^{-d(q, p) / s}\) by one descriptor and one distance, with the collection's own scale s.

    >>> Expert("hog", "l1").name
    'hog.l1'
    """

    descriptor: str
    distance: str

    @property
    def name(self) -> str:
        """Its name, as that of a feature."""
        return f"{self.descriptor}.{self.distance}"


def experts_of(descriptors: Iterable[str], distances: Sequence[str] = FOUR) -> list[Expert]:
    """All experts of some descriptors.

    >>> [expert.name for expert in experts_of(["hog"])]
    ['hog.l1', 'hog.l2', 'hog.cosine', 'hog.chi2']
    """
    unknown = [name for name in distances if name not in DISTANCES]
    if unknown:
        raise ValueError(f"unknown distance {unknown[0]!r}; known are {', '.join(DISTANCES)}")
    return [Expert(descriptor, distance) for descriptor in descriptors for distance in distances]


def measure_scales(vectors: NDArray[Any], present: NDArray[np.bool_], random_state: int = 0) -> dict[str, float]:
    """The median of each distance between items of a collection; 1 where there is nothing to measure.

    Parameters
    ----------
    vectors : the stored vectors of a descriptor.
    present : which items count.
    random_state : which of them are compared, where there are many.
    """
    random = np.random.default_rng(random_state)
    rows = np.flatnonzero(present)
    if len(rows) < 2:
        return dict.fromkeys(DISTANCES, 1.0)
    items = np.sort(random.choice(rows, min(len(rows), _SCALE_ITEMS), replace=False))
    queries = random.choice(items, min(len(items), _SCALE_QUERIES), replace=False)
    distances = []
    for query in queries.tolist():
        others = items[items != query]
        distances.append(all_distances(np.asarray(vectors[query], dtype=np.float32), vectors, others))
    medians = np.median(np.concatenate(distances), axis=0)
    return {name: float(median) if median > 0 else 1.0 for name, median in zip(DISTANCES, medians, strict=True)}


class EncodedExample(NamedTuple):
    """An example of a query: its vector for each descriptor, and its weight; a negative one counts against."""

    vectors: Mapping[str, NDArray[Any]]
    weight: float = 1.0


class _Similarities:
    """The similarities of one descriptor, by all its distances at once, of the rows asked for so far."""

    def __init__(
        self, stored: NDArray[Any], examples: Sequence[tuple[NDArray[Any], float]], scales: Mapping[str, float]
    ):
        self._stored, self._examples = stored, examples
        self._scales = np.array([scales[name] for name in DISTANCES], dtype=np.float32)
        self._alone = len(examples) == 1 and examples[0][1] > 0
        self._known: NDArray[np.bool_] | None = None  # None: nothing yet, or everything
        self._values: NDArray[Any] | None = None

    def column(self, number: int, rows: IntArray) -> FloatArray:
        n = len(self._stored)
        if self._values is None and len(rows) == n:
            self._values = self._computed(None, n)
        elif self._values is None:
            self._known = np.zeros(n, dtype=bool)
            self._values = np.empty((n, len(DISTANCES)), dtype=np.float32)
        if self._known is not None:
            missing = rows[~self._known[rows]]
            if len(missing):
                self._values[missing] = self._computed(missing, len(missing))
                self._known[missing] = True
        values = self._values[:, number] if len(rows) == n else self._values[rows, number]
        if self._alone:  # distances are kept, and become similarities where they are asked for
            values = np.exp(values / -self._scales[number])
        return np.asarray(values, dtype=np.float64)

    def rows(self, rows: IntArray) -> NDArray[np.float32]:
        """The similarities of some rows by all distances; nothing is kept."""
        values = self._computed(rows, len(rows))
        return np.exp(values / -self._scales) if self._alone else values

    def _computed(self, rows: IntArray | None, n: int) -> NDArray[Any]:
        """Mean of best and mean similarity to the examples, less half of the same to those that count against."""
        if self._alone:
            return all_distances(self._examples[0][0], self._stored, rows)
        total = np.zeros((n, len(DISTANCES)), dtype=np.float32)
        for sign, share in ((1.0, 1.0), (-1.0, -0.5)):
            side = [(vector, abs(weight)) for vector, weight in self._examples if weight * sign > 0]
            if not side:
                continue
            best, mean = np.zeros_like(total), np.zeros_like(total)
            heaviest, weights = max(weight for _, weight in side), sum(weight for _, weight in side)
            for vector, weight in side:
                similarity = np.exp(-all_distances(vector, self._stored, rows) / self._scales)
                np.maximum(best, np.float32(weight / heaviest) * similarity, out=best)
                mean += np.float32(weight / weights) * similarity
            total += np.float32(share / 2) * (best + mean)
        return total


def expert_features(
    experts: Sequence[Expert],
    stored: Mapping[str, NDArray[Any]],
    scales: Mapping[str, Mapping[str, float]],
    examples: Sequence[EncodedExample],
    n_items: int,
) -> Features:
    r"""The lazy matrix \(\phi\) of a query by examples: one column per expert, one row per item.

    The column of an expert is \(\frac12 (\max_e w_e s_e + \sum_e w_e s_e)\) over the examples e, the weights scaled
    to a largest one of 1 and to a sum of 1, less half of the same for examples with negative weights. With one example
    it is its similarity \(s = e^{-d / \text{scale}}\). An expert whose descriptor no example has is a column of 0.

    Parameters
    ----------
    experts : the columns.
    stored : the vectors of the items by descriptor, in half precision.
    scales : the scale of each distance by descriptor.
    examples : the examples.
    n_items : the number of rows.
    """
    shared = _shared_similarities(experts, stored, scales, examples)
    columns: dict[str, Any] = {}
    for expert in experts:
        similarities = shared.get(expert.descriptor)
        column = _COLUMN_OF[expert.distance]
        columns[expert.name] = _nothing if similarities is None else partial(similarities.column, column)
    return Features(columns, n_rows=n_items)


def expert_rows(
    experts: Sequence[Expert],
    stored: Mapping[str, NDArray[Any]],
    scales: Mapping[str, Mapping[str, float]],
    examples: Sequence[EncodedExample],
    rows: IntArray,
) -> FloatArray:
    """Some rows of the matrix of `expert_features`, the same numbers, computed at once: for few rows of many queries.

    Parameters
    ----------
    experts, stored, scales, examples : as in `expert_features`.
    rows : the items.
    """
    shared = _shared_similarities(experts, stored, scales, examples)
    values = {descriptor: similarities.rows(rows) for descriptor, similarities in shared.items()}
    dense = np.zeros((len(rows), len(experts)))
    for place, expert in enumerate(experts):
        if expert.descriptor in values:
            dense[:, place] = values[expert.descriptor][:, _COLUMN_OF[expert.distance]]
    return dense


def _shared_similarities(
    experts: Sequence[Expert],
    stored: Mapping[str, NDArray[Any]],
    scales: Mapping[str, Mapping[str, float]],
    examples: Sequence[EncodedExample],
) -> dict[str, _Similarities]:
    """What computes all experts of a descriptor together; for those descriptors that an example has."""
    shared = {}
    for descriptor in dict.fromkeys(expert.descriptor for expert in experts):
        weighted = [(np.asarray(example.vectors[descriptor], dtype=np.float32), example.weight)
                    for example in examples if descriptor in example.vectors]  # fmt: skip
        if weighted and descriptor in stored:
            shared[descriptor] = _Similarities(stored[descriptor], weighted, scales[descriptor])
    return shared


def _nothing(rows: IntArray) -> FloatArray:
    return np.zeros(len(rows))
