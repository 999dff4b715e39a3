"""Products of words and pictures in the space of the learned map, compiled by numba; imported on first use."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def products(records, query, rows):
    """The inner products of a query with the first components of some records; exact, for they are whole numbers."""
    sums = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        record = records[rows[i]]
        total = np.int32(0)
        for c in range(len(query)):
            total += np.int32(record[c]) * query[c]
        sums[i] = total
    return sums
