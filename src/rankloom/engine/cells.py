"""Cells of a large collection: items with near sketches lie together, so that neighbors are looked for in few places.

References
----------
J. Sivic, A. Zisserman. Video Google: a text retrieval approach to object matching in videos. ICCV 2003.
H. Jégou, M. Douze, C. Schmid. Product quantization for nearest neighbor search. IEEE PAMI 33(1), 2011: inverted lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import IntArray

_ROUNDS = 8
_PER_CELL = 40  # items of the sample that centers are learned from
_BLOCK = 20_000
_ROWS = 256  # that are compared at once
LOOKED_INTO = 40  # cells around that of an item


class Cells:
    """Items by the center that their sketch is nearest to.

    Parameters
    ----------
    sketches : of all items.
    random_state : which items the centers are learned from.
    """

    def __init__(self, sketches: NDArray[np.int8], random_state: int = 0):
        self._sketches = sketches
        n_cells = max(1, int(np.sqrt(len(sketches))))
        self._centers = _centers(sketches, n_cells, np.random.default_rng(random_state))
        self._cell = np.concatenate([_nearest(block, self._centers) for block in _blocks(sketches)])
        self._order = np.argsort(self._cell, kind="stable")
        self._ends = np.searchsorted(self._cell[self._order], np.arange(n_cells + 1))

    def near(self, rows: IntArray, n: int) -> Iterator[tuple[int, IntArray]]:
        """For each of some items, in the order of their cells, the n items whose sketches are nearest, in ascending
        order; itself is one of them."""
        among = _squares(self._centers, self._centers)
        rows = rows[np.argsort(self._cell[rows], kind="stable")]
        cells, starts = np.unique(self._cell[rows], return_index=True)
        for cell, asked in zip(cells.tolist(), np.split(rows, starts[1:]), strict=True):
            around = np.argsort(among[cell], kind="stable")[:LOOKED_INTO]
            pool = np.concatenate([self._order[self._ends[c] : self._ends[c + 1]] for c in around.tolist()])
            there = self._sketches[pool].astype(np.float32)
            for start in range(0, len(asked), _ROWS):
                some = asked[start : start + _ROWS]
                distances = _squares(self._sketches[some].astype(np.float32), there)
                kept = min(n, len(pool))
                nearest = np.argpartition(distances, kept - 1, axis=1)[:, :kept]
                for row, places in zip(some.tolist(), nearest, strict=True):
                    yield row, np.sort(pool[places])


def _centers(sketches: NDArray[np.int8], n_cells: int, random: np.random.Generator) -> NDArray[np.float32]:
    """Centers by the algorithm of Lloyd over a sample; one that nothing is near to stays where it is."""
    chosen = random.choice(len(sketches), min(len(sketches), _PER_CELL * n_cells), replace=False)
    sample = sketches[np.sort(chosen)].astype(np.float32)
    centers = sample[random.choice(len(sample), n_cells, replace=False)]
    for _ in range(_ROUNDS):
        cell = _nearest(sample, centers)
        counts = np.bincount(cell, minlength=n_cells)
        order = np.argsort(cell, kind="stable")
        filled = np.flatnonzero(counts)
        sums = np.add.reduceat(sample[order], np.searchsorted(cell[order], filled), axis=0)
        centers[filled] = sums / counts[filled, None]
    return centers


def _blocks(sketches: NDArray[np.int8]) -> Iterator[NDArray[np.float32]]:
    for start in range(0, len(sketches), _BLOCK):
        yield sketches[start : start + _BLOCK].astype(np.float32)


def _nearest(rows: NDArray[np.float32], centers: NDArray[np.float32]) -> NDArray[Any]:
    return np.asarray(np.argmin(_squares(rows, centers), axis=1))


def _squares(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """The squared distances between rows, each less the square of the row of a: the same order."""
    squares: NDArray[np.float32] = (b * b).sum(axis=1) - np.float32(2.0) * (a @ b.T)
    return squares
