"""Running a cascade over rows whose estimates are all known."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def run_cascade(estimates, cuts):
    """The stage after which each item is dropped (the last if never)."""
    m, n = estimates.shape
    stage = np.full(n, m - 1, dtype=np.int64)
    for s in range(m - 2, -1, -1):
        for i in range(n):
            if estimates[s, i] <= cuts[s]:
                stage[i] = s
    return stage
