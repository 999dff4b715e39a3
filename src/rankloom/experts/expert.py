"""Experts: a descriptor and a distance make a similarity between a query and an item, one column of phi."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.experts.compact import CompactVectors
from rankloom.experts.distances import DISTANCES, all_distances, distances_between
from rankloom.features import Features, nothing

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


def experts_of(descriptors: Iterable[str], distances: Sequence[str] | None = None) -> list[Expert]:
    """Return the experts of some descriptors: with all distances, which rank better than any one, or with some.

    >>> [expert.name for expert in experts_of(["hog"])]
    ['hog.l1', 'hog.l2', 'hog.cosine', 'hog.chi2']
    """
    chosen = [*DISTANCES] if distances is None else distances
    unknown = [name for name in chosen if name not in DISTANCES]
    if unknown:
        raise ValueError(f"unknown distance {unknown[0]!r}; known are {', '.join(DISTANCES)}")
    return [Expert(descriptor, distance) for descriptor in descriptors for distance in chosen]


def measure_scales(vectors: CompactVectors, present: NDArray[np.bool_], random_state: int = 0) -> dict[str, float]:
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
    # Where every item asks, each pair would come twice, with the same distances: once has the same median.
    once = len(queries) == len(items)
    others = [items[items > query] if once else items[items != query] for query in queries]
    ends = np.cumsum([0, *map(len, others)])
    medians = np.median(distances_between(vectors, queries, np.concatenate(others), ends), axis=0)
    return {name: float(median) if median > 0 else 1.0 for name, median in zip(DISTANCES, medians, strict=True)}


class StoredVectors(Mapping[str, NDArray[Any]]):
    """The vectors of an item by descriptor, looked up where they are stored.

    Parameters
    ----------
    stored : the vectors of all items by descriptor.
    row : that of the item.
    """

    def __init__(self, stored: Mapping[str, CompactVectors], row: int):
        self._stored, self.row = stored, row

    def __getitem__(self, descriptor: str) -> NDArray[Any]:
        return self._stored[descriptor][self.row]

    def __contains__(self, descriptor: object) -> bool:
        return descriptor in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


class EncodedExample(NamedTuple):
    """An example of a query: its vector for each descriptor, and its weight; a negative one counts against."""

    vectors: Mapping[str, NDArray[Any]]
    weight: float = 1.0


def _scale_array(scales: Mapping[str, float]) -> NDArray[np.float32]:
    return np.array([scales[name] for name in DISTANCES], dtype=np.float32)


def _columns_of() -> dict[str, int]:
    """The column of each distance."""
    return {name: column for column, name in enumerate(DISTANCES)}


def _alone(weights: Sequence[float]) -> bool:
    """Whether the similarity to the examples of these weights is that to a single one."""
    return len(weights) == 1 and weights[0] > 0


class _Similarities:
    """The similarities of one descriptor, by all its distances at once, of the rows asked for so far."""

    def __init__(
        self, stored: CompactVectors, examples: Sequence[tuple[NDArray[Any], float]], scales: NDArray[np.float32]
    ):
        self._stored, self._examples, self._scales = stored, examples, scales
        self._alone = _alone([weight for _, weight in examples])
        self._known: NDArray[np.bool_] | None = None  # None: nothing yet, or everything
        self._values: NDArray[Any] | None = None

    def column(self, number: int, rows: IntArray) -> FloatArray:
        n = len(self._stored)
        if self._values is None and len(rows) == n:
            self._values = self._computed(None, n)
        elif self._values is None:
            self._known = np.zeros(n, dtype=bool)
            self._values = np.empty((n, len(self._scales)), dtype=np.float32)
        if self._known is not None:
            missing = rows[~self._known[rows]]
            if len(missing):
                self._values[missing] = self._computed(missing, len(missing))
                self._known[missing] = True
        values = self._values[:, number] if len(rows) == n else self._values[rows, number]
        if self._alone:  # distances are kept, and become similarities where they are asked for
            values = np.exp(values / -self._scales[number])
        return np.asarray(values, dtype=np.float64)

    def _computed(self, rows: IntArray | None, n: int) -> NDArray[Any]:
        """Distances to a single example, else similarities to all of them."""
        distances = (all_distances(vector, self._stored, rows) for vector, _ in self._examples)
        if self._alone:
            return next(distances)
        similarities = (np.exp(-each / self._scales) for each in distances)
        return _combined(similarities, [weight for _, weight in self._examples])


def _combined(similarities: Iterable[NDArray[np.float32]], weights: Sequence[float]) -> NDArray[np.float32]:
    """Mean of best and mean similarity to the examples, less half of the same to those that count against."""
    sides: dict[bool, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
    for similarity, weight in zip(similarities, weights, strict=True):
        wanted = weight > 0
        if wanted not in sides:
            sides[wanted] = np.zeros_like(similarity), np.zeros_like(similarity)
        best, mean = sides[wanted]
        side = [abs(other) for other in weights if (other > 0) == wanted]
        np.maximum(best, np.float32(abs(weight) / max(side)) * similarity, out=best)
        mean += np.float32(abs(weight) / sum(side)) * similarity
    total = np.zeros_like(best)
    for wanted, share in ((True, 0.5), (False, -0.25)):
        if wanted in sides:
            best, mean = sides[wanted]
            total += np.float32(share) * (best + mean)
    return total


def expert_features(
    experts: Sequence[Expert],
    stored: Mapping[str, CompactVectors],
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
    stored : the vectors of the items by descriptor, as they are kept.
    scales : the scale of each distance by descriptor.
    examples : the examples.
    n_items : the number of rows.
    """
    shared, column_of = _shared_similarities(experts, stored, scales, examples), _columns_of()
    columns: dict[str, Any] = {}
    for expert in experts:
        similarities = shared.get(expert.descriptor)
        column = column_of[expert.distance]
        columns[expert.name] = nothing if similarities is None else partial(similarities.column, column)
    return Features(columns, n_rows=n_items)


def expert_rows(
    experts: Sequence[Expert],
    stored: Mapping[str, CompactVectors],
    scales: Mapping[str, Mapping[str, float]],
    queries: Sequence[Sequence[EncodedExample]],
    rows: Sequence[IntArray],
) -> FloatArray:
    """Some rows of the matrices of `expert_features` of several queries, one below the other; the same numbers.

    Parameters
    ----------
    experts, stored, scales : as in `expert_features`.
    queries : the examples of each query.
    rows : the items for each query.
    """
    dense = np.zeros((sum(map(len, rows)), len(experts)))
    asked, column_of = _Asked([], []), _columns_of()
    for descriptor in dict.fromkeys(expert.descriptor for expert in experts):
        having = [[example for example in examples if descriptor in example.vectors] for examples in queries]
        if descriptor not in stored or not any(having):
            continue
        if asked.queries != having:  # most descriptors are those of the same examples
            asked = _Asked(having, rows)
        similarities = asked.similarities(descriptor, stored[descriptor], _scale_array(scales[descriptor]))
        places = [place for place, expert in enumerate(experts) if expert.descriptor == descriptor]
        dense[:, places] = similarities[:, [column_of[experts[place].distance] for place in places]]
    return dense


class _Asked:
    """Examples of queries that have the same descriptors, and some rows for each query."""

    def __init__(self, queries: Sequence[Sequence[EncodedExample]], rows: Sequence[IntArray]):
        self.queries, self._rows = queries, rows
        self._examples = [example for examples in queries for example in examples]
        self._wanted = [rows[number] for number, examples in enumerate(queries) for _ in examples]
        self._all_wanted = np.concatenate(self._wanted) if self._wanted else np.empty(0, dtype=np.int64)
        self._ends = np.cumsum([0, *map(len, self._wanted)])
        self._items = np.array([_row_of(example) for example in self._examples], dtype=np.int64)
        self._others = np.flatnonzero(self._items < 0).tolist()

    def similarities(self, descriptor: str, stored: CompactVectors, scales: NDArray[np.float32]) -> NDArray[np.float32]:
        """Those of the rows of all queries by all distances of a descriptor, one query below the other."""
        distances = distances_between(stored, self._items, self._all_wanted, self._ends)
        for place in self._others:
            vector = np.asarray(self._examples[place].vectors[descriptor])
            distances[self._ends[place] : self._ends[place + 1]] = all_distances(vector, stored, self._wanted[place])
        similarities: NDArray[np.float32] = np.exp(distances / -scales)
        return similarities if self._alone else self._of_queries(similarities)

    @cached_property
    def _alone(self) -> bool:
        """Whether each query has one wanted example."""
        return all(_alone([example.weight for example in examples]) for examples in self.queries)

    def _of_queries(self, similarities: NDArray[np.float32]) -> NDArray[np.float32]:
        """The similarities to the examples of each query together, from those to each example."""
        parts, limits, place = [], self._ends.tolist(), 0
        for examples, rows in zip(self.queries, self._rows, strict=True):
            blocks = [similarities[limits[at] : limits[at + 1]] for at in range(place, place + len(examples))]
            place += len(examples)
            weights = [example.weight for example in examples]
            if not examples:
                parts.append(np.zeros((len(rows), similarities.shape[1]), dtype=np.float32))
            else:
                parts.append(blocks[0] if _alone(weights) else _combined(blocks, weights))
        return np.concatenate(parts)


def _row_of(example: EncodedExample) -> int:
    """The row of an example that is an item; otherwise -1."""
    return example.vectors.row if isinstance(example.vectors, StoredVectors) else -1


def _shared_similarities(
    experts: Sequence[Expert],
    stored: Mapping[str, CompactVectors],
    scales: Mapping[str, Mapping[str, float]],
    examples: Sequence[EncodedExample],
) -> dict[str, _Similarities]:
    """What computes all experts of a descriptor together; for those descriptors that an example has."""
    shared = {}
    for descriptor in dict.fromkeys(expert.descriptor for expert in experts):
        weighted = [(np.asarray(example.vectors[descriptor]), example.weight)
                    for example in examples if descriptor in example.vectors]  # fmt: skip
        if weighted and descriptor in stored:
            shared[descriptor] = _Similarities(stored[descriptor], weighted, _scale_array(scales[descriptor]))
    return shared
