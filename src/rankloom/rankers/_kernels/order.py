"""Count ordered pairs."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def ordered_weight(f, weight, splits):
    """The weight of the pairs of each split that f orders right, ties counted half, in O(n log n)."""
    totals = np.zeros(len(splits))
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        upper = a + np.argsort(f[a:m])
        lower = m + np.argsort(f[m:b])
        below = 0.0  # weight of the lower rows with less than f_j
        tied = 0.0  # and with exactly f_j
        start = 0
        end = 0
        n = len(lower)
        for j in upper:
            while start < n and f[lower[start]] < f[j]:
                below += weight[lower[start]]
                start += 1
            if end < start:
                end = start
            if end == start or f[lower[start]] != f[lower[end - 1]] or start == n:
                tied = 0.0
                end = start
            while end < n and f[lower[end]] == f[j]:
                tied += weight[lower[end]]
                end += 1
            totals[t] += weight[j] * (below + 0.5 * tied)
    return totals
