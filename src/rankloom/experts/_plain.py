"""The loops of `_kernels` in NumPy, for processes that compare little: they take the same arguments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.experts.compact import TAIL, CompactVectors

# The least sum of two sizes: 0 by a little is 0, without a branch for 0 / 0. So much that the product of four is still
# a number, and so little that two components which are smaller do not count.
LITTLE = np.float32(2.0**-30)
_BLOCK = 1 << 16  # components at a time: they stay in the cache of a core

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


class _Query(NamedTuple):
    """A query, the sizes of its components, and its squared norm, rounded as stored ones are."""

    vector: Floats
    sizes: Floats
    norm: np.float32

    @classmethod
    def of(cls, vector: Floats) -> _Query:
        return cls(vector, np.abs(vector), np.float32(np.square(vector.astype(np.float64)).sum()))


def fused(rows: Bytes, wanted: Rows, everything: bool, query: Floats, out: Floats, begin: int, end: int) -> None:
    """Fill the first four entries of the rows of `out` from begin to end with the distances of the wanted rows."""
    known, step = _Query.of(query), max(1, _BLOCK // max(1, len(query)))
    for first in range(begin, end, step):
        last = min(first + step, end)
        block = rows[first:last] if everything else rows[wanted[first:last]]
        out[first:last, :4] = _distances(block, known)


def fused_between(rows: Bytes, queries: Rows, wanted: Rows, ends: Rows, out: Floats) -> None:
    """Fill `out` with the distances of some rows to each of several others; see `_kernels.fused_between`."""
    for place, query in enumerate(queries.tolist()):
        if query >= 0:
            fused(rows, wanted, False, CompactVectors(rows)[query], out, int(ends[place]), int(ends[place + 1]))


def weighted(
    rows: Bytes,
    wanted: Rows,
    everything: bool,
    queries: Floats,
    weights: Floats,
    scales: Floats,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """Add the weighted similarities of the wanted rows from begin to end to each of several queries to `out`."""
    some, numbers = (rows[begin:end], wanted) if everything else (rows, wanted[begin:end])
    distances = np.empty((end - begin, len(weights)), np.float32)
    for query, total in zip(queries, out, strict=True):
        fused(some, numbers, everything, query, distances, 0, end - begin)
        weighted_distances(distances, weights, scales, total[begin:end])


def weighted_distances(distances: Floats, weights: Floats, scales: Floats, out: Floats) -> None:
    """Add the weighted similarities of rows whose distances are known to `out`."""
    for place in np.flatnonzero(weights):
        out += weights[place] * np.exp(distances[:, place] / -scales[place])


def _distances(block: Bytes, query: _Query) -> Floats:
    """The distances of a block of rows. Cosine follows from sums that are stored, as in `_kernels`."""
    vectors = CompactVectors(block)[:]
    norms = np.ascontiguousarray(block[:, 2 - TAIL : -4]).view("<f4")[:, 0].astype(np.float32)
    unit, half = np.float32(1.0), np.float32(0.5)
    difference = vectors - query.vector
    squares = difference * difference
    out = np.empty((len(block), 4), np.float32)
    city, squared = np.abs(difference, out=difference).sum(axis=1), squares.sum(axis=1)
    squares /= np.maximum(np.abs(vectors, out=vectors) + query.sizes, LITTLE)
    out[:, 0] = city
    out[:, 1] = np.sqrt(squared)
    out[:, 2] = unit - _shares(half * (norms + query.norm - squared), np.sqrt(norms * query.norm))
    out[:, 3] = squares.sum(axis=1)
    np.maximum(out, 0.0, out=out)  # rounding may go below
    return out


def _shares(parts: Floats, wholes: Floats) -> Floats:
    """Parts of wholes; 0 where there is nothing to share."""
    return np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)
