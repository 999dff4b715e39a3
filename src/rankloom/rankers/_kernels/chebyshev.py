r"""Sums of a smooth function of score differences over all pairs, by Chebyshev moments of binned scores.

For pairs \(x = f_j - f_k\) we need sums of \(g(x)\) with \(g\) one of \(\log(1+e^{-x})\), \(\sigma(-x)\) and
\(\sigma'(x)\). All three are analytic with their nearest poles at \(\pm i\pi\). Scores are put in bins of width one;
on a pair of bins \(\delta\) apart, \(g\) is a double Chebyshev series in the two positions inside their bins,

.. math:: g(f_j - f_k) = \sum_{r,s<p} T_r(u_j)\, K^\delta_{rs}\, T_s(v_k),

which converges like \(12.6^{-p}\). So a bin is known by its moments \(M_s = \sum_k w_k T_s(v_k)\), and all pairs of two
bins cost \(p^2\). Bins more than `REACH` apart are exact: there \(g\) is 0, 1 or \(-x\) to double precision.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit

from rankloom.core import FloatArray

ORDER = 14  # terms for values and gradients: error 1e-15 a pair
CURVATURE_ORDER = 7  # terms for the Hessian: error 1e-7, enough for Newton's direction
REACH = 38  # bins farther apart than this are exact


@cache
def tables() -> tuple[FloatArray, FloatArray, FloatArray]:
    """The coefficients K of log(1+exp(-x)), sigma(-x) and sigma'(x) for bin distances -REACH .. REACH."""
    return _table(lambda x: np.logaddexp(0.0, -x), ORDER), _table(_sigmoid, ORDER), _table(_slope, CURVATURE_ORDER)


def _sigmoid(x: FloatArray) -> FloatArray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, small, 1.0) / (1.0 + small)


def _slope(x: FloatArray) -> FloatArray:
    small = np.exp(-np.abs(x))
    return small / (1.0 + small) ** 2


def _table(g: Any, order: int) -> FloatArray:
    """Chebyshev coefficients by interpolation at the Chebyshev points of both bins."""
    degrees = np.arange(order)
    angles = np.pi * (degrees + 0.5) / order
    transform = np.cos(np.outer(degrees, angles)) * (2.0 / order)
    transform[0] /= 2.0
    points = np.cos(angles) / 2.0
    distances = np.arange(-REACH, REACH + 1)
    values = g(distances[:, None, None] + points[:, None] - points[None, :])
    return np.ascontiguousarray(np.einsum("ri,dij,sj->drs", transform, values, transform))


@njit(cache=True)
def bins_of(f, a, b):
    """The first bin and the number of bins of the scores f[a:b]; -1 bins where they are too far apart to count."""
    low = f[a]
    high = f[a]
    for i in range(a + 1, b):
        low = min(low, f[i])
        high = max(high, f[i])
    first = np.floor(low)
    span = np.floor(high) - first + 1.0
    return first, (np.int64(span) if span < 4.0 * (b - a) + 256.0 else -1)


@njit(cache=True)
def occupied(f, a, b, first, n_bins):
    """The bins that hold a score, ascending, and the place of each row's bin in that list."""
    bin_of = np.empty(b - a, dtype=np.int64)
    if n_bins > 0:
        seen = np.zeros(n_bins, dtype=np.int64)
        for i in range(a, b):
            seen[np.int64(np.floor(f[i]) - first)] = 1
        count = 0
        bins = np.empty(n_bins)
        for c in range(n_bins):
            if seen[c]:
                seen[c] = count
                bins[count] = first + c
                count += 1
        for i in range(a, b):
            bin_of[i - a] = seen[np.int64(np.floor(f[i]) - first)]
        return bins[:count], bin_of
    bins = np.unique(np.floor(f[a:b]))  # scores far apart: as many bins as rows at the most
    for i in range(a, b):
        bin_of[i - a] = np.searchsorted(bins, np.floor(f[i]))
    return bins, bin_of


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def moments(f, weight, a, b, bins, bin_of, order, out):
    """Add weight * T_r(position in its bin) of the rows a .. b to out[bin]."""
    for i in range(a, b):
        c = bin_of[i - a]
        u = 2.0 * (f[i] - bins[c]) - 1.0
        w = weight[i]
        row = out[c]
        before, now = w, w * u
        row[0] += before
        row[1] += now
        u2 = 2.0 * u
        for r in range(2, order):
            before, now = now, u2 * now - before
            row[r] += now


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def series(u, coefficients):
    """A Chebyshev series at u, by Clenshaw's recurrence."""
    ahead = 0.0
    now = 0.0
    u2 = 2.0 * u
    for r in range(len(coefficients) - 1, 0, -1):
        ahead, now = now, u2 * now - ahead + coefficients[r]
    return u * now - ahead + coefficients[0]


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def local(bins, K, upper, lower, for_upper, for_lower):
    """for_upper[c] = sum over near bins of K lower[b], for_lower[b] = sum of K' upper[c]; empty sides are skipped."""
    n = len(bins)
    order = K.shape[1]
    start = 0
    for c in range(n):
        while bins[c] - bins[start] > REACH:
            start += 1
        if upper[c, 0] == 0.0:
            continue
        for b in range(start, n):
            distance = bins[c] - bins[b]
            if distance < -REACH:
                break
            if lower[b, 0] == 0.0:
                continue
            k = K[np.int64(distance) + REACH]
            for r in range(order):
                total = 0.0
                m = upper[c, r]
                for s in range(order):
                    total += k[r, s] * lower[b, s]
                    for_lower[b, s] += k[r, s] * m
                for_upper[c, r] += total


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def near_value(bins, K, upper, lower):
    total = 0.0
    n = len(bins)
    order = K.shape[1]
    start = 0
    for c in range(n):
        while bins[c] - bins[start] > REACH:
            start += 1
        if upper[c, 0] == 0.0:
            continue
        for b in range(start, n):
            distance = bins[c] - bins[b]
            if distance < -REACH:
                break
            if lower[b, 0] == 0.0:
                continue
            k = K[np.int64(distance) + REACH]
            for r in range(order):
                part = 0.0
                for s in range(order):
                    part += k[r, s] * lower[b, s]
                total += part * upper[c, r]
    return total
