"""Neighbor graphs of a labeled collection under many weights of the experts, in one pass over its pairs of items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.engine.neighbors import RESOLUTION, NeighborGraph

_BLOCK = 64  # items whose similarities are held at once
_IDS = 1 << 32  # a key holds a similarity, in steps, above the number of an item
_NOBODY = np.iinfo(np.int64).min


class _Experts(Protocol):
    def __len__(self) -> int: ...

    def phi(self, row: int, rows: IntArray | None = None) -> NDArray[np.float32]: ...


def neighbor_graphs(
    data: _Experts,
    weights: Sequence[FloatArray],
    k: int = 10,
    progress: Callable[[int], None] = lambda done: None,
) -> list[NeighborGraph]:
    """The exact k nearest neighbors of every item under each vector of weights, as `engine.neighbors` has them.

    phi costs by far the most. It is computed once for each pair of items, for it is symmetric.

    Parameters
    ----------
    data : has phi of one item and others.
    weights : of the experts.
    k : how many neighbors.
    progress : called with the number of items done.
    """
    n = len(data)
    columns = np.stack(weights, axis=1).astype(np.float32)
    # Large weights make large similarities, of which single precision has no smaller steps.
    steps = RESOLUTION * np.maximum(1.0, np.abs(columns).sum(axis=0) * RESOLUTION)
    best = np.full((len(weights), n, k), _NOBODY)
    for begin in range(0, n, _BLOCK):
        progress(begin)
        end, others = min(begin + _BLOCK, n), np.arange(begin, n)
        similarity = np.stack([data.phi(row, others) @ columns for row in range(begin, end)])
        for of_weights, step, lists in zip(np.moveaxis(similarity, 2, 0), steps, best, strict=True):
            high = np.rint(of_weights / step).astype(np.int64) * _IDS
            inside = high + (_IDS - 1 - others)
            inside[np.arange(end - begin), np.arange(end - begin)] = _NOBODY  # nobody is its own neighbor
            lists[begin:end] = _largest(np.hstack([lists[begin:end], inside]), k)
            later = high[:, end - begin :].T + (_IDS - 1 - np.arange(begin, end))
            lists[end:] = _largest(np.hstack([lists[end:], later]), k)
    return [_graph(np.sort(lists, axis=1)[:, ::-1], step) for lists, step in zip(best, steps, strict=True)]


def _largest(keys: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """The k largest keys of each row, in any order."""
    return np.partition(keys, keys.shape[1] - k, axis=1)[:, -k:]


def _graph(keys: NDArray[np.int64], step: float) -> NeighborGraph:
    there = keys != _NOBODY
    ids = np.where(there, _IDS - 1 - keys % _IDS, -1).astype(np.int32)
    return NeighborGraph(ids, np.where(there, keys // _IDS * step, -np.inf).astype(np.float32))
