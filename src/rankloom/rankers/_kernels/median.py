"""Weighted medians of many columns, by selection: no sort."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _weighted_median(values, weights):
    """The lower weighted median: the least value with at least half of the weight at or below it. Reorders both."""
    low = 0
    high = len(values)
    half = 0.5 * weights.sum() * (1.0 - 1e-12)  # an exact half must not be missed by rounding
    below = 0.0  # weight left of `low`
    while high - low > 16:
        # Median of three spread samples as pivot, then three parts: less, equal, greater.
        x, y, z = values[low], values[(low + high) // 2], values[high - 1]
        pivot = max(min(x, y), min(max(x, y), z))
        less = low
        i = low
        greater = high
        less_weight = 0.0
        equal_weight = 0.0
        while i < greater:
            v = values[i]
            w = weights[i]
            if v < pivot:
                less_weight += w
                values[i], weights[i] = values[less], weights[less]
                values[less], weights[less] = v, w
                less += 1
                i += 1
            elif v > pivot:
                greater -= 1
                values[i], weights[i] = values[greater], weights[greater]
                values[greater], weights[greater] = v, w
            else:
                equal_weight += w
                i += 1
        if below + less_weight >= half and less > low:
            high = less
        elif below + less_weight + equal_weight >= half or greater == high:
            return pivot
        else:
            below += less_weight + equal_weight
            low = greater
    for i in range(low + 1, high):
        v = values[i]
        w = weights[i]
        j = i
        while j > low and values[j - 1] > v:
            values[j], weights[j] = values[j - 1], weights[j - 1]
            j -= 1
        values[j], weights[j] = v, w
    for i in range(low, high - 1):
        below += weights[i]
        if below >= half:
            return values[i]
    return values[high - 1]


@njit(cache=True)
def column_medians(X, weight, starts):
    """The weighted median of each column within each run of rows `starts[g] : starts[g + 1]`."""
    n_runs = len(starts) - 1
    d = X.shape[1]
    longest = 0
    for g in range(n_runs):
        longest = max(longest, starts[g + 1] - starts[g])
    values = np.empty(longest)
    weights = np.empty(longest)
    medians = np.empty((n_runs, d))
    for g in range(n_runs):
        a, b = starts[g], starts[g + 1]
        for c in range(d):
            for i in range(a, b):
                values[i - a] = X[i, c]
                weights[i - a] = weight[i]
            medians[g, c] = _weighted_median(values[: b - a], weights[: b - a])
    return medians


@njit(cache=True)
def sparse_medians(indptr, indices, data, run, weight, total):
    """The medians other than 0 of each column in each run of rows: their runs, columns and values.

    The matrix is given by columns, its rows ascending in each; `run` is the run of each row, `total` its weight.
    """
    n = len(data)
    runs = np.empty(n, dtype=np.int64)
    columns = np.empty(n, dtype=np.int64)
    medians = np.empty(n)
    values = np.empty(n + 1)
    weights = np.empty(n + 1)
    count = 0
    for c in range(len(indptr) - 1):
        end = indptr[c]
        while end < indptr[c + 1]:
            start = end
            g = run[indices[start]]
            present = 0.0
            while end < indptr[c + 1] and run[indices[end]] == g:
                values[end - start] = data[end]
                weights[end - start] = weight[indices[end]]
                present += weights[end - start]
                end += 1
            zeros = total[g] - present
            if zeros >= 0.5 * total[g]:
                # Half of the weight is 0: so is the median, unless the other half is below.
                below = 0.0
                for i in range(end - start):
                    if values[i] < 0.0:
                        below += weights[i]
                if below < 0.5 * total[g] * (1.0 - 1e-12):
                    continue
            size = end - start
            if zeros > 1e-12 * total[g]:
                values[size], weights[size] = 0.0, zeros
                size += 1
            median = _weighted_median(values[:size], weights[:size])
            if median != 0.0:
                runs[count], columns[count], medians[count] = g, c, median
                count += 1
    return runs[:count], columns[:count], medians[:count]
