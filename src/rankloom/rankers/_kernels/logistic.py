r"""The logistic loss over all pairs of a split, exactly, in time proportional to its rows.

Large splits go by the moments of `chebyshev`; splits with few pairs are summed directly, which is then cheaper.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rankloom.rankers._kernels.chebyshev import REACH, bins_of, local, moments, near_value, occupied, series, tables

__all__ = ["curvature", "tables", "value_gradient"]

SAFE = 40.0  # spread of scores up to which products of RUN factors 1 + e^x stay finite: 16 * 40 < 709
RUN = 16


@njit(cache=True)
def _direct_is_cheaper(n_upper, n_lower, n_bins):
    # Measured: a pair costs about as much as one row of the binned way takes per term.
    near = min(n_bins, 2 * REACH)
    return 8.0 * n_upper * n_lower < 40.0 * (n_upper + n_lower) + 150.0 * min(n_bins, n_lower, n_upper) * near


@njit(cache=True)
def _exponentials(f, a, m, b, ratio):
    """ratio = e^{c-f} above and e^{f-c} below, so that e^{-(f_j-f_k)} is a product; False where it could overflow."""
    low = f[a]
    high = f[a]
    for i in range(a + 1, b):
        low = min(low, f[i])
        high = max(high, f[i])
    if high - low > SAFE:
        return False
    center = 0.5 * (low + high)
    for i in range(a, m):
        ratio[i] = np.exp(center - f[i])
    for i in range(m, b):
        ratio[i] = np.exp(f[i] - center)
    return True


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _direct(f, weight, a, m, b, scale, ratio, gradient):
    """All pairs one by one. With unit weights a sum of logarithms is the logarithm of a product, taken in runs."""
    safe = _exponentials(f, a, m, b, ratio)
    unit = True
    for k in range(m, b):
        unit = unit and weight[k] == 1.0
    value = 0.0
    for j in range(a, m):
        wj = scale * weight[j]
        total = 0.0
        pushed = 0.0
        if safe and unit:
            rj = ratio[j]
            for start in range(m, b, RUN):
                product = 1.0
                for k in range(start, min(start + RUN, b)):
                    e = rj * ratio[k]
                    p = e / (1.0 + e)
                    product *= 1.0 + e
                    pushed += p
                    gradient[k] += wj * p
                total += np.log(product)
        else:
            for k in range(m, b):
                x = f[j] - f[k]
                e = np.exp(-abs(x))
                p = (e if x >= 0.0 else 1.0) / (1.0 + e)
                total += weight[k] * (np.log1p(e) + max(-x, 0.0))
                pushed += weight[k] * p
                gradient[k] += wj * weight[k] * p
        value += wj * total
        gradient[j] -= wj * pushed
    return value


@njit(cache=True)
def _binned(f, weight, a, m, b, scale, bins, bin_of, value_table, slope_table, gradient):
    n = len(bins)
    order = value_table.shape[1]
    upper = np.zeros((n, order))
    lower = np.zeros((n, order))
    moments(f, weight, a, m, bins, bin_of, order, upper)
    moments(f, weight, m, b, bins, bin_of[m - a :], order, lower)
    for_upper = np.zeros((n, order))
    for_lower = np.zeros((n, order))
    local(bins, slope_table, upper, lower, for_upper, for_lower)
    value = near_value(bins, value_table, upper, lower)

    # Far bins: a preferred row REACH and more below the other one has loss f_k - f_j and slope -1, above it none.
    # Sums of weight and of weight * score, relative to the bin so that large scores do not cancel.
    ahead = n - 1
    mass = 0.0
    moment = 0.0
    for c in range(n - 1, -1, -1):
        while bins[ahead] - bins[c] > REACH:
            mass += lower[ahead, 0]
            moment += lower[ahead, 0] * (bins[ahead] + 0.5) + 0.5 * lower[ahead, 1]
            ahead -= 1
        if mass > 0.0:
            for_upper[c, 0] += mass
            value += upper[c, 0] * (moment - mass * (bins[c] + 0.5)) - 0.5 * upper[c, 1] * mass
    behind = 0
    mass = 0.0
    for c in range(n):
        while bins[c] - bins[behind] > REACH:
            mass += upper[behind, 0]
            behind += 1
        for_lower[c, 0] += mass

    for i in range(a, m):
        c = bin_of[i - a]
        gradient[i] -= scale * weight[i] * series(2.0 * (f[i] - bins[c]) - 1.0, for_upper[c])
    for i in range(m, b):
        c = bin_of[i - a]
        gradient[i] += scale * weight[i] * series(2.0 * (f[i] - bins[c]) - 1.0, for_lower[c])
    return scale * value


@njit(cache=True)
def value_gradient(f, weight, splits, scales, value_table, slope_table):
    """The loss summed over all pairs, and its gradient by score."""
    gradient = np.zeros(len(f))
    ratio = np.empty(len(f))
    value = 0.0
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        first, n_bins = bins_of(f, a, b)
        if _direct_is_cheaper(m - a, b - m, n_bins if n_bins > 0 else b - a):
            value += _direct(f, weight, a, m, b, scales[t], ratio, gradient)
        else:
            bins, bin_of = occupied(f, a, b, first, n_bins)
            value += _binned(f, weight, a, m, b, scales[t], bins, bin_of, value_table, slope_table, gradient)
    return value, gradient


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _vector_moments(f, weight, X, a, b, bins, bin_of, order, out):
    """Add weight * T_r(position) * x of the rows a .. b to out[bin, r]."""
    d = X.shape[1]
    terms = np.empty(order)
    for i in range(a, b):
        c = bin_of[i - a]
        u = 2.0 * (f[i] - bins[c]) - 1.0
        terms[0] = weight[i]
        terms[1] = weight[i] * u
        for r in range(2, order):
            terms[r] = 2.0 * u * terms[r - 1] - terms[r - 2]
        for r in range(order):
            t = terms[r]
            row = out[c, r]
            for e in range(d):
                row[e] += t * X[i, e]


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _direct_curvature(f, weight, X, a, m, b, scale, ratio, diagonal, mixed):
    d = X.shape[1]
    safe = _exponentials(f, a, m, b, ratio)
    for j in range(a, m):
        wj = scale * weight[j]
        for k in range(m, b):
            e = ratio[j] * ratio[k] if safe else np.exp(-abs(f[j] - f[k]))
            h = wj * weight[k] * e / ((1.0 + e) * (1.0 + e))
            diagonal[j] += h
            diagonal[k] += h
            for c in range(d):
                mixed[j, c] += h * X[k, c]


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _binned_curvature(f, weight, X, a, m, b, scale, bins, bin_of, table, diagonal, cross):
    n = len(bins)
    d = X.shape[1]
    order = table.shape[1]
    upper = np.zeros((n, order))
    lower = np.zeros((n, order))
    moments(f, weight, a, m, bins, bin_of, order, upper)
    moments(f, weight, m, b, bins, bin_of[m - a :], order, lower)
    for_upper = np.zeros((n, order))
    for_lower = np.zeros((n, order))
    local(bins, table, upper, lower, for_upper, for_lower)
    for i in range(a, b):
        c = bin_of[i - a]
        near = for_upper[c] if i < m else for_lower[c]
        # The short series may fall below zero where the curvature is next to nothing.
        diagonal[i] += scale * weight[i] * max(series(2.0 * (f[i] - bins[c]) - 1.0, near), 0.0)

    upper_x = np.zeros((n, order, d))
    lower_x = np.zeros((n, order, d))
    _vector_moments(f, weight, X, a, m, bins, bin_of, order, upper_x)
    _vector_moments(f, weight, X, m, b, bins, bin_of[m - a :], order, lower_x)
    folded = np.empty((order, d))
    start = 0
    for c in range(n):
        while bins[c] - bins[start] > REACH:
            start += 1
        if upper[c, 0] == 0.0:
            continue
        folded[:] = 0.0
        for q in range(start, n):
            distance = bins[c] - bins[q]
            if distance < -REACH:
                break
            if lower[q, 0] == 0.0:
                continue
            k = table[np.int64(distance) + REACH]
            for r in range(order):
                for s in range(order):
                    t = scale * k[r, s]
                    for e in range(d):
                        folded[r, e] += t * lower_x[q, s, e]
        for r in range(order):
            for p in range(d):
                t = upper_x[c, r, p]
                for e in range(d):
                    cross[p, e] += t * folded[r, e]


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def curvature(f, weight, X, splits, scales, table, half):
    r"""The Hessian of the loss in two parts.

    It is \(B + B'\) with \(B = X' \cdot\) `half` \(-\) `cross`. With pair weights h, `half` (written in place) is
    \(\tfrac12 s_i x_i - \sum_k h_{ik} x_k\), \(s_i = \sum_k h_{ik}\), the sum over k left to `cross` in binned splits.
    """
    n, d = X.shape
    diagonal = np.zeros(n)
    cross = np.zeros((d, d))
    ratio = np.empty(n)
    half[:] = 0.0
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        first, n_bins = bins_of(f, a, b)
        if _direct_is_cheaper(m - a, b - m, n_bins if n_bins > 0 else b - a):
            _direct_curvature(f, weight, X, a, m, b, scales[t], ratio, diagonal, half)
        else:
            bins, bin_of = occupied(f, a, b, first, n_bins)
            _binned_curvature(f, weight, X, a, m, b, scales[t], bins, bin_of, table, diagonal, cross)
    for i in range(n):
        s = 0.5 * diagonal[i]
        for c in range(d):
            half[i, c] = s * X[i, c] - half[i, c]
    return cross
