r"""The exponential loss over all pairs of a split in O(n).

It separates: \(\sum_{j,k} e^{-(f_j-f_k)} = \sum_j e^{-f_j} \sum_k e^{f_k}\).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _factors(f, weight, a, m, b, terms):
    """terms = w e^{-(f-c)} above and w e^{f-c} below, with c such that neither overflows first; returns both sums."""
    low = np.inf
    high = -np.inf
    for j in range(a, m):
        low = min(low, f[j])
    for k in range(m, b):
        high = max(high, f[k])
    center = 0.5 * (low + high)
    above = 0.0
    below = 0.0
    for j in range(a, m):
        terms[j] = weight[j] * np.exp(center - f[j])
        above += terms[j]
    for k in range(m, b):
        terms[k] = weight[k] * np.exp(f[k] - center)
        below += terms[k]
    return above, below


@njit(cache=True)
def value_gradient(f, weight, splits, scales):
    """The loss summed over all pairs, and its gradient by score."""
    gradient = np.zeros(len(f))
    terms = np.empty(len(f))
    value = 0.0
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        above, below = _factors(f, weight, a, m, b, terms)
        value += scales[t] * above * below
        for j in range(a, m):
            gradient[j] -= scales[t] * terms[j] * below
        for k in range(m, b):
            gradient[k] += scales[t] * terms[k] * above
    return value, gradient


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def curvature(f, weight, X, splits, scales, half):
    r"""The Hessian as \(B + B'\) with \(B = X' \cdot\) `half` \(-\) `cross`; `half` is written in place."""
    n, d = X.shape
    diagonal = np.zeros(n)
    cross = np.zeros((d, d))
    terms = np.empty(n)
    up = np.empty(d)
    down = np.empty(d)
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        above, below = _factors(f, weight, a, m, b, terms)
        up[:] = 0.0
        down[:] = 0.0
        for j in range(a, m):
            diagonal[j] += scales[t] * terms[j] * below
            for c in range(d):
                up[c] += terms[j] * X[j, c]
        for k in range(m, b):
            diagonal[k] += scales[t] * terms[k] * above
            for c in range(d):
                down[c] += terms[k] * X[k, c]
        for p in range(d):
            w = scales[t] * up[p]
            for c in range(d):
                cross[p, c] += w * down[c]
    for i in range(n):
        s = 0.5 * diagonal[i]
        for c in range(d):
            half[i, c] = s * X[i, c]
    return cross
