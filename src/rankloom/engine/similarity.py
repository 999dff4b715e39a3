"""Similarities of all items to one item or picture, as relevance feedback and diversity need them again and again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import LRU
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.view import View

CACHE_BYTES = 64 * 2**20


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
