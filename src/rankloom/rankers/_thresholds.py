"""Features cut at thresholds: where to cut, and codes that let one pass serve several features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.rankers import _kernels

_LARGEST_TABLE = 4096  # doubles: it stays in the first-level cache


def _edges(values: FloatArray, weight: FloatArray, limit: int | None) -> FloatArray:
    """Cuts between the distinct values of a column: all of them, or `limit` at equal shares of the weight."""
    if (weight == weight[0]).all():
        values = np.sort(values)
        total = np.arange(1, len(values) + 1, dtype=np.float64)
    else:
        order = np.argsort(values, kind="stable")
        values, total = values[order], np.cumsum(weight[order])
    last = np.flatnonzero(values[1:] > values[:-1])  # the last place of each distinct value but the greatest
    if limit is not None and len(last) > limit:
        wanted = total[-1] * np.arange(1, limit + 1) / (limit + 1)
        last = np.unique(last[np.minimum(np.searchsorted(total[last], wanted * (1 - 1e-12)), len(last) - 1)])
    below, above = values[last], values[last + 1]
    with np.errstate(over="ignore"):  # then the lower value is the edge
        middle = below + (above - below) / 2
    return np.where(middle < above, middle, below)


class Thresholds(NamedTuple):
    """The cuts of all features, one feature after another, and the rows in codes for `threshold_gains`."""

    edges: FloatArray
    feature: IntArray
    offsets: IntArray
    packed: NDArray[Any]
    starts: IntArray
    radix: IntArray

    @classmethod
    def of(cls, X: FloatArray, weight: FloatArray, limit: int | None) -> Thresholds:
        """Cut the columns of X."""
        n, K = X.shape
        columns = np.ascontiguousarray(X.T)
        edges = [_edges(column, weight, limit) for column in columns]
        radix = np.array([len(cuts) + 1 for cuts in edges], dtype=np.int64)
        # Longer tables pack more features into a pass but take longer to add up.
        largest = min(max(n // 8, 64), _LARGEST_TABLE)
        starts, sizes = [0], [1]
        for j in range(K):
            if sizes[-1] > 1 and sizes[-1] * radix[j] > largest:
                starts.append(j)
                sizes.append(1)
            sizes[-1] *= int(radix[j])
        starts.append(K)
        packed = np.zeros((len(sizes), n), dtype=np.uint16 if max(sizes) <= 2**16 else np.int64)
        for c in range(len(sizes)):
            for j in range(starts[c], starts[c + 1]):
                _kernels.boost.append_digit(columns[j], edges[j], packed[c])
        offsets = np.concatenate([[0], np.cumsum(radix - 1)]).astype(np.int64)
        feature = np.repeat(np.arange(K), radix - 1)
        return cls(np.concatenate(edges), feature, offsets, packed, np.array(starts, dtype=np.int64), radix)

    def gains(self, signed: FloatArray) -> FloatArray:
        """r of "the feature lies above the edge", for every edge."""
        gains = np.empty(len(self.edges))
        _kernels.boost.threshold_gains(self.packed, self.starts, self.radix, signed, gains, self.offsets)
        return gains
