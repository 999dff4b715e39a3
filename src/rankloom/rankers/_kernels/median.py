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
