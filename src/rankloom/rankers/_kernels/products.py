r"""Products of the curvature of all pairs with a vector of scores, without a matrix.

With pair weights \(h_{jk} = w_j w_k L''(f_j - f_k)\) the product is \(\sum_k h_{ik} (g_i - g_k)\) for every row \(i\).
Each kernel writes it to `out`, and \(\sum_k h_{ik}\), the diagonal, to `degrees`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rankloom.rankers._kernels.chebyshev import REACH, bins_of, moments, occupied, series
from rankloom.rankers._kernels.exponential import _factors
from rankloom.rankers._kernels.hinge import _intervals
from rankloom.rankers._kernels.logistic import _direct_is_cheaper, _exponentials


@njit(cache=True)
def _quadratic(f, weight, g, upper, lower, factor, knee, starts, bends, out, degrees):
    """A split of a piecewise quadratic loss, both halves ascending."""
    n = len(lower)
    pairs = _intervals(f, upper, lower, knee, starts, bends)
    if pairs == 0:
        return
    if pairs < 2 * n:  # a narrow piece meets few pairs
        for i in range(len(upper)):
            for t in range(starts[i], bends[i]):
                _add_pair(upper[i], lower[t], factor * weight[upper[i]] * weight[lower[t]], g, out, degrees)
        return
    mass = np.zeros(n + 1)
    moment = np.zeros(n + 1)
    for i in range(n):
        k = lower[i]
        mass[i + 1] = mass[i] + weight[k]
        moment[i + 1] = moment[i] + weight[k] * g[k]
    mass_change = np.zeros(n + 1)  # differences of the upper weight, and of its scores, that each lower row meets
    moment_change = np.zeros(n + 1)
    for i in range(len(upper)):
        j = upper[i]
        start = starts[i]
        bend = bends[i]
        if bend > start:
            w = factor * weight[j]
            met = w * (mass[bend] - mass[start])
            degrees[j] += met
            out[j] += met * g[j] - w * (moment[bend] - moment[start])
            mass_change[start] += w
            mass_change[bend] -= w
            moment_change[start] += w * g[j]
            moment_change[bend] -= w * g[j]
    met = 0.0
    met_moment = 0.0
    for i in range(n):
        k = lower[i]
        met += mass_change[i]
        met_moment += moment_change[i]
        degrees[k] += max(met, 0.0) * weight[k]
        out[k] += weight[k] * (met * g[k] - met_moment)


@njit(cache=True)
def _add_pair(j, k, h, g, out, degrees):
    degrees[j] += h
    degrees[k] += h
    out[j] += h * (g[j] - g[k])
    out[k] += h * (g[k] - g[j])


@njit(cache=True)
def hinge(f, weight, sorted_rows, splits, scales, depths, pieces, g, out, degrees):
    """The piecewise quadratic losses of `hinge`."""
    n = len(f)
    out[:] = 0.0
    degrees[:] = 0.0
    starts = np.empty(n, dtype=np.int64)
    bends = np.empty(n, dtype=np.int64)
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        rows = sorted_rows[depths[t]]
        factor = scales[t] * pieces.steepness
        _quadratic(f, weight, g, rows[a:m], rows[m:b], factor, pieces.knee, starts, bends, out, degrees)


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _near(bins, K, one, other, transposed, sums):
    """sums[c] = sum over the bins near c of K other[b], or of K' other[b]; bins that are empty in `one` are skipped."""
    n = len(bins)
    order = K.shape[1]
    start = 0
    for c in range(n):
        while bins[c] - bins[start] > REACH:
            start += 1
        if not one[c]:
            continue
        for b in range(start, n):
            distance = np.int64(bins[c] - bins[b])
            if distance < -REACH:
                break
            k = K[REACH - distance] if transposed else K[REACH + distance]
            for r in range(order):
                total = 0.0
                for s in range(order):
                    total += (k[s, r] if transposed else k[r, s]) * other[b, s]
                sums[c, r] += total


@njit(cache=True)
def _binned(f, weight, pulled, a, m, b, scale, bins, bin_of, table, g, out, degrees):
    """A split by Chebyshev moments: those of the weights give the degrees, those of weight times g what is pulled."""
    n = len(bins)
    order = table.shape[1]
    held = np.zeros((2, n), dtype=np.bool_)
    for i in range(a, b):
        held[int(i >= m), bin_of[i - a]] = True
    for side in range(2):
        first, last = (a, m) if side == 0 else (m, b)
        low, high = (m, b) if side == 0 else (a, m)
        for kind in range(2):
            met = np.zeros((n, order))
            moments(f, weight if kind == 0 else pulled, low, high, bins, bin_of[low - a :], order, met)
            sums = np.zeros((n, order))
            _near(bins, table, held[side], met, side == 1, sums)
            for i in range(first, last):
                c = bin_of[i - a]
                value = series(2.0 * (f[i] - bins[c]) - 1.0, sums[c])
                if kind == 0:
                    # The short series may fall below zero where the curvature is next to nothing.
                    h = scale * weight[i] * max(value, 0.0)
                    degrees[i] += h
                    out[i] += h * g[i]
                else:
                    out[i] -= scale * weight[i] * value


@njit(cache=True)
def logistic(f, weight, splits, scales, table, g, out, degrees):
    """The logistic loss, by the same choice of splits as its curvature."""
    out[:] = 0.0
    degrees[:] = 0.0
    ratio = np.empty(len(f))
    pulled = weight * g
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        first, n_bins = bins_of(f, a, b)
        if _direct_is_cheaper(m - a, b - m, n_bins if n_bins > 0 else b - a):
            safe = _exponentials(f, a, m, b, ratio)
            for j in range(a, m):
                for k in range(m, b):
                    e = ratio[j] * ratio[k] if safe else np.exp(-abs(f[j] - f[k]))
                    h = scales[t] * weight[j] * weight[k] * e / ((1.0 + e) * (1.0 + e))
                    _add_pair(j, k, h, g, out, degrees)
        else:
            bins, bin_of = occupied(f, a, b, first, n_bins)
            _binned(f, weight, pulled, a, m, b, scales[t], bins, bin_of, table, g, out, degrees)


@njit(cache=True)
def exponential(f, weight, splits, scales, g, out, degrees):
    """The exponential loss, whose sums separate."""
    out[:] = 0.0
    degrees[:] = 0.0
    terms = np.empty(len(f))
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        above, below = _factors(f, weight, a, m, b, terms)
        up = 0.0
        down = 0.0
        for j in range(a, m):
            up += terms[j] * g[j]
        for k in range(m, b):
            down += terms[k] * g[k]
        for j in range(a, m):
            h = scales[t] * terms[j]
            degrees[j] += h * below
            out[j] += h * (below * g[j] - down)
        for k in range(m, b):
            h = scales[t] * terms[k]
            degrees[k] += h * above
            out[k] += h * (above * g[k] - up)
