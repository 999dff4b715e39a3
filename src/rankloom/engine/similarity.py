"""Similarities of all items to one item or picture, as relevance feedback and diversity need them again and again."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import LRU, IntArray
from rankloom.engine.columns import Columns, PartialColumns
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.snapshot import Snapshot
from rankloom.engine.view import View
from rankloom.experts.compact import CompactVectors
from rankloom.experts.distances import DISTANCES, all_distances_of

CACHE_BYTES = 64 * 2**20
FEWEST = 4  # queries whose distances must fit, or none are kept
FEWEST_COLUMNS = 64  # that are kept, however long they are


class Similarities:
    """Columns of the similarity between items, under the weights that a collection starts with.

    They are kept by what they depend on: items that are added later are compared, the others are not compared again.

    Parameters
    ----------
    distances : those of the examples of queries, which their scores need too.
    """

    def __init__(self, distances: Distances):
        self._distances = distances
        self._columns = -1, Columns(0, 0)
        self._parts = -1, PartialColumns(FEWEST_COLUMNS)
        self._examples: LRU[Any, NDArray[np.float32]] = LRU(FEWEST_COLUMNS)
        self._lock = threading.Lock()
        self._numbers: LRU[Any, int] = LRU(8)  # of what columns depend on, which is longer than many columns
        self._next = count()

    def to_item(self, view: View, item: int) -> NDArray[np.float32]:
        """The similarity of all items to one."""
        return self.to_items(view, [item])[0]

    def to_items(self, view: View, items: Sequence[int], rows: IntArray | None = None) -> list[NDArray[np.float32]]:
        """The similarity of all items, or of some rows, to each of some items; what is not at hand is computed.

        Parameters
        ----------
        view : the items.
        items : the result has one column for each.
        rows : in ascending order; None for all.
        """
        compute, columns = partial(view.snapshot.similarities, view.kernel), [item - 1 for item in items]
        if rows is None:
            return self._columns_for(view).get(columns, compute)
        return self._parts_for(view).get(columns, rows, compute)

    def _parts_for(self, view: View) -> PartialColumns:
        """The columns of chosen rows that hold for a view."""
        number = self._number(view)
        with self._lock:
            if self._parts[0] != number:
                self._parts = number, PartialColumns(FEWEST_COLUMNS)
            return self._parts[1]

    def among(self, view: View, rows: IntArray) -> NDArray[np.float32]:
        """The similarity of some items, given by their rows, to each other."""
        order = np.argsort(rows)
        similarities = np.empty((len(rows), len(rows)), dtype=np.float32)
        similarities[:, order] = view.snapshot.similarities(view.kernel, rows.tolist(), rows[order])
        return similarities

    def _columns_for(self, view: View) -> Columns:
        """The columns that hold for a view; what they depend on rarely changes, so that others are forgotten."""
        number, n_items = self._number(view), view.snapshot.n_items
        with self._lock:
            known, columns = self._columns
            if known != number or columns.n != n_items:
                most = min(n_items, max(FEWEST_COLUMNS, CACHE_BYTES // (4 * max(1, n_items))))
                larger = known == number and columns.n < n_items
                columns = columns.grown(n_items, most) if larger else Columns(n_items, most)
                self._columns = number, columns
            return columns

    def to_examples(
        self, view: View, encoded: EncodedQuery, rows: IntArray | None = None
    ) -> NDArray[np.float32] | None:
        """The mean similarity of all items, or of some rows, to the wanted examples of a query; None if it has none."""
        columns = [
            self._to_example(view, example.picture if example.item is None else example.item, picture.vectors)
            if rows is None
            else view.snapshot.similarity(picture.vectors, view.kernel, rows)
            for example, picture in zip(encoded.query.examples, encoded.examples, strict=False)  # words come after
            if example.weight > 0
        ]
        return np.asarray(np.mean(columns, axis=0), dtype=np.float32) if columns else None

    def _to_example(self, view: View, name: Hashable, vectors: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """The similarity of all items to an example, from its distances if they are at hand.

        In the last bit it differs from the similarity to an item: both have a place of their own.
        """
        snapshot = view.snapshot
        distances = self._distances.of(snapshot, name, vectors)
        if distances is None and isinstance(name, int):
            return self.to_item(view, name)
        key = (self._number(view), snapshot.n_items, name)
        column = self._examples.get(key)
        if column is None:
            column = snapshot.similarity(vectors, view.kernel, distances=distances)
            self._examples.size = min(FEWEST_COLUMNS, max(FEWEST, CACHE_BYTES // max(1, column.nbytes)))
            self._examples.put(key, column)
        return column

    def _number(self, view: View) -> int:
        """What stands for all that columns depend on beside the two items."""
        key = (view.snapshot.basis, tuple(view.kernel.items()))
        number = self._numbers.get(key)
        if number is None:
            number = next(self._next)
            self._numbers.put(key, number)
        return number


class Distances:
    """All distances of all items to the examples of the last queries.

    A mark changes the weights but no distance: the same search costs a fraction then. Collections of which too few
    queries would fit are compared anew each time, in one pass that keeps nothing.
    """

    def __init__(self) -> None:
        self._known: LRU[Any, dict[str, NDArray[np.float32]]] = LRU(FEWEST)

    def similarity(
        self, snapshot: Snapshot, name: Hashable, vectors: Mapping[str, NDArray[Any]], weights: Mapping[str, float]
    ) -> NDArray[np.float32]:
        """The weighted similarity of all items to an example.

        Parameters
        ----------
        snapshot : the items.
        name : of the example: equal names are equal pictures.
        vectors : the example.
        weights : of the visual experts.
        """
        known = self.of(snapshot, name, vectors)
        return snapshot.similarity(vectors, weights, distances=known)

    def of(
        self, snapshot: Snapshot, name: Hashable, vectors: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[np.float32]] | None:
        """All distances of all items to an example by descriptor; None where too few would fit."""
        if not keeps_distances(snapshot):
            return None
        self._known.size = CACHE_BYTES // _distance_bytes(snapshot)
        key = (snapshot.basis, snapshot.n_items, name)
        known = self._known.get(key)
        if known is None:
            known = distances_to(vectors, snapshot.vectors)
            self._known.put(key, known)
        return known


def keeps_distances(snapshot: Snapshot) -> bool:
    """Whether the distances of enough queries fit to be kept; similarities computed from them differ in the last bit
    from those that are computed in one pass."""
    return FEWEST * _distance_bytes(snapshot) <= CACHE_BYTES


def _distance_bytes(snapshot: Snapshot) -> int:
    return 4 * len(DISTANCES) * max(1, snapshot.n_items) * max(1, len(snapshot.vectors))


def distances_to(
    vectors: Mapping[str, NDArray[Any]], stored: Mapping[str, CompactVectors]
) -> dict[str, NDArray[np.float32]]:
    """All distances of all stored rows to a described picture, by descriptor."""
    names = [name for name in stored if name in vectors]
    described = [(vectors[name], stored[name]) for name in names]
    return dict(zip(names, all_distances_of(described), strict=True)) if names else {}
