"""Similarities of all items to one item or picture, as relevance feedback and diversity need them again and again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import LRU
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.snapshot import Snapshot
from rankloom.engine.view import View
from rankloom.experts.distances import DISTANCES, all_distances

CACHE_BYTES = 64 * 2**20
FEWEST = 4  # queries whose distances must fit, or none are kept


class Similarities:
    """Columns of the similarity between items, under the weights that a collection starts with.

    They are kept by what they depend on: items that are added later are compared, the others are not compared again.
    """

    def __init__(self) -> None:
        self._columns: LRU[Any, NDArray[np.float32]] = LRU(512)

    def to_item(self, view: View, item: int) -> NDArray[np.float32]:
        """The similarity of all items to one."""
        return self._column(view, item, view.snapshot.vectors_of(item - 1))

    def to_examples(self, view: View, encoded: EncodedQuery) -> NDArray[np.float32] | None:
        """The mean similarity of all items to the wanted examples of a query; None if it has none."""
        columns = [
            self._column(view, example.picture if example.item is None else example.item, picture.vectors)
            for example, picture in zip(encoded.query.examples, encoded.examples, strict=False)  # words come after
            if example.weight > 0
        ]
        return np.asarray(np.mean(columns, axis=0), dtype=np.float32) if columns else None

    def _column(self, view: View, name: Hashable, vectors: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        snapshot = view.snapshot
        key = (snapshot.basis, name, tuple(view.kernel.items()))
        column = self._columns.get(key)
        if column is None or len(column) > snapshot.n_items:
            column = snapshot.similarity(vectors, view.kernel)
        elif len(column) < snapshot.n_items:
            added = snapshot.similarity(vectors, view.kernel, slice(len(column), None))
            column = np.concatenate([column, added])
        self._columns.size = min(512, max(64, CACHE_BYTES // max(1, column.nbytes)))
        self._columns.put(key, column)
        return column


class Distances:
    """All distances of all items to the examples of the last queries.

    A mark changes the weights but no distance: the same search costs a fraction then. Collections of which too few
    queries would fit are compared anew each time, in one pass that keeps nothing.
    """

    def __init__(self) -> None:
        self._known: LRU[Any, NDArray[np.float32]] = LRU(512)

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
        size = 4 * len(DISTANCES) * max(1, snapshot.n_items)
        if FEWEST * size * len(snapshot.vectors) > CACHE_BYTES:
            return snapshot.similarity(vectors, weights)
        self._known.size = CACHE_BYTES // size

        def distances(descriptor: str) -> NDArray[np.float32]:
            key = (snapshot.basis, snapshot.n_items, name, descriptor)
            known = self._known.get(key)
            if known is None:
                known = all_distances(vectors[descriptor], snapshot.vectors[descriptor])
                self._known.put(key, known)
            return known

        return snapshot.similarity(vectors, weights, distances=distances)
