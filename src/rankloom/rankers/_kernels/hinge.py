r"""Piecewise quadratic losses over all pairs of a split, exactly, in O(n log n).

One loss covers the hinge, the squared hinge and the smoothed hinge. With \(t = 1 - (f_j - f_k)\) it is 0 for
\(t \le 0\), then \(\tfrac{a}{2} t^2\) up to the knee \(\kappa\), and beyond it the tangent
\(a\kappa t - \tfrac{a}{2}\kappa^2\):

* squared hinge: \(a = 2\), \(\kappa = \infty\);
* smoothed hinge of width \(\mu\): \(a = 1/\mu\), \(\kappa = \mu\);
* hinge: the limit \(\mu \to 0\), given as `steepness` \(a = 0\), \(\kappa = 0\), slope 1.

In the order of the scores, the pairs of one row in each piece are an interval, so that prefix sums of weights, scores
and rows give every sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Pieces(NamedTuple):
    """The shape of a piecewise quadratic loss: curvature, knee, and slope and offset of the linear piece."""

    steepness: float
    knee: float
    slope: float
    offset: float


HINGE = Pieces(0.0, 0.0, 1.0, 0.0)
SQUARED_HINGE = Pieces(2.0, np.inf, 0.0, 0.0)  # the linear piece is never reached


def smoothed_hinge(width: float) -> Pieces:
    """The hinge with its kink rounded over `width`; it lies below the hinge by at most width / 2."""
    return Pieces(1.0 / width, width, 1.0, width / 2.0)


@njit(cache=True)
def sort_halves(order, splits, depths, sorted_rows):
    """Write the rows of each half of all splits in ascending score, from one order of all rows.

    Row t of `sorted_rows` is for the splits of depth t, which do not overlap; splits come by depth.
    """
    part = np.empty(len(order), dtype=np.int64)
    cursor = np.empty(2 * len(splits), dtype=np.int64)
    begin = 0
    while begin < len(splits):
        part[:] = -1
        end = begin
        while end < len(splits) and depths[end] == depths[begin]:
            cursor[2 * end] = splits[end, 0]
            cursor[2 * end + 1] = splits[end, 1]
            part[splits[end, 0] : splits[end, 1]] = 2 * end
            part[splits[end, 1] : splits[end, 2]] = 2 * end + 1
            end += 1
        layer = sorted_rows[depths[begin]]
        for i in order:
            p = part[i]
            if p >= 0:
                layer[cursor[p]] = i
                cursor[p] += 1
        begin = end


@njit(cache=True)
def resort_halves(f, splits, depths, sorted_rows):
    """The same for short halves, from their order by earlier scores: from step to step few rows change places."""
    for t in range(len(splits)):
        layer = sorted_rows[depths[t]]
        for half in range(2):
            part = layer[splits[t, half] : splits[t, half + 1]]
            for i in range(1, len(part)):
                row = part[i]
                score = f[row]
                j = i
                while j > 0 and f[part[j - 1]] > score:
                    part[j] = part[j - 1]
                    j -= 1
                part[j] = row


@njit(cache=True)
def _sums_from(g, weight, first, last, center, w0, w1, w2):
    """Running sums of w, w f and w f^2 over the sorted scores, centred, from `first` towards `last` (up or down).

    Going up, place i holds the sums of the rows before i; going down, those of the rows from i on.
    """
    if first <= last:
        w0[first] = w1[first] = w2[first] = 0.0
        for i in range(first, last):
            x = g[i] - center
            w0[i + 1] = w0[i] + weight[i]
            w1[i + 1] = w1[i] + weight[i] * x
            w2[i + 1] = w2[i] + weight[i] * x * x
    else:
        w0[first] = w1[first] = w2[first] = 0.0
        for i in range(first - 1, last - 1, -1):
            x = g[i] - center
            w0[i] = w0[i + 1] + weight[i]
            w1[i] = w1[i + 1] + weight[i] * x
            w2[i] = w2[i + 1] + weight[i] * x * x


@njit(cache=True)
def _split_value(g, weight, a, m, b, scale, pieces, w0, w1, w2, slopes):
    """One split of sorted halves. Returns its loss, its sum of slopes and its hinge; writes the slope of each row."""
    steepness, knee, slope, offset = pieces
    # The pairs of a preferred row with a loss end at the highest lower row: sums run from there, so that a far-off low
    # score, which meets none of them, cannot cost them digits. Below likewise from the lowest upper row.
    center = g[b - 1]
    _sums_from(g, weight, b, m, center, w0, w1, w2)
    value = 0.0
    mass = 0.0
    sharp = 0.0
    start = m  # first lower row with t > 0: f_k > f_j - 1
    bend = m  # first lower row beyond the knee: f_k > f_j - 1 + knee
    for j in range(a, m):
        edge = g[j] - 1.0
        while start < b and g[start] <= edge:
            start += 1
        while bend < b and g[bend] <= edge + knee:
            bend += 1
        e = edge - center
        n0 = w0[start] - w0[bend]
        n1 = w1[start] - w1[bend]
        n2 = w2[start] - w2[bend]
        far = w0[bend]
        far_t = w1[bend] - e * far
        pushed = steepness * (n1 - e * n0) + slope * far
        value += weight[j] * (0.5 * steepness * (n2 - 2.0 * e * n1 + e * e * n0) + slope * far_t - offset * far)
        slopes[j] = -scale * weight[j] * pushed
        mass += weight[j] * pushed
        sharp += weight[j] * (w1[start] - e * w0[start])

    center = g[a]
    _sums_from(g, weight, a, m, center, w0, w1, w2)
    start = a  # first upper row at t <= 0: f_j - 1 >= f_k
    bend = a  # first upper row not beyond the knee: f_j - 1 + knee >= f_k
    for k in range(m, b):
        while start < m and g[start] - 1.0 < g[k]:
            start += 1
        while bend < m and g[bend] - 1.0 + knee < g[k]:
            bend += 1
        e = g[k] + 1.0 - center
        pushed = steepness * (e * (w0[start] - w0[bend]) - (w1[start] - w1[bend])) + slope * w0[bend]
        slopes[k] = scale * weight[k] * pushed
    return scale * value, scale * mass, scale * sharp


@njit(cache=True)
def _direct_is_cheaper(n_upper, n_lower):
    return n_upper * n_lower <= 32 * (n_upper + n_lower)  # measured: a pair takes 0.7 ns, a row of the sums 30 ns


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _direct(f, weight, a, m, b, scale, pieces, gradient):
    """One split pair by pair, in vector instructions; returns its loss, its sum of slopes and its hinge."""
    steepness, knee = pieces.steepness, pieces.knee
    value = 0.0
    mass = 0.0
    sharp = 0.0
    for j in range(a, m):
        edge = 1.0 - f[j]
        wj = scale * weight[j]
        loss = 0.0
        pushed = 0.0
        hinge = 0.0
        for k in range(m, b):
            t = edge + f[k]
            above = t if t > 0.0 else 0.0
            bent = above if above < knee else knee
            hinge += weight[k] * above
            loss += weight[k] * bent * (above - 0.5 * bent)
            p = weight[k] * bent
            pushed += p
            gradient[k] += wj * steepness * p
        value += wj * steepness * loss
        mass += wj * steepness * pushed
        sharp += wj * hinge
        gradient[j] -= wj * steepness * pushed
    return value, mass, sharp


@njit(cache=True)
def value_gradient(f, weight, sorted_rows, splits, scales, depths, pieces):
    """Sums over all pairs: the loss, its gradient by score, its slopes (the dual variables), and the hinge itself."""
    n = len(f)
    gradient = np.zeros(n)
    g = np.empty(n)
    v = np.empty(n)
    slopes = np.empty(n)
    w0 = np.empty(n + 1)
    w1 = np.empty(n + 1)
    w2 = np.empty(n + 1)
    value = 0.0
    mass = 0.0
    sharp = 0.0
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        if pieces.steepness > 0.0 and _direct_is_cheaper(m - a, b - m):
            part_value, part_mass, part_sharp = _direct(f, weight, a, m, b, scales[t], pieces, gradient)
            value += part_value
            mass += part_mass
            sharp += part_sharp
            continue
        rows = sorted_rows[depths[t]]
        for i in range(a, b):
            g[i] = f[rows[i]]
            v[i] = weight[rows[i]]
        part_value, part_mass, part_sharp = _split_value(g, v, a, m, b, scales[t], pieces, w0, w1, w2, slopes)
        value += part_value
        mass += part_mass
        sharp += part_sharp
        for i in range(a, b):
            gradient[rows[i]] += slopes[i]
    return value, gradient, mass, sharp


@njit(cache=True)
def _intervals(f, upper, lower, knee, starts, bends):
    """For each upper row the lower rows [start, bend) on the quadratic piece; returns how many pairs that makes."""
    n = len(lower)
    start = 0
    bend = 0
    pairs = 0
    for i in range(len(upper)):
        edge = f[upper[i]] - 1.0
        while start < n and f[lower[start]] <= edge:
            start += 1
        while bend < n and f[lower[bend]] <= edge + knee:
            bend += 1
        starts[i] = start
        bends[i] = bend
        pairs += bend - start
    return pairs


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _bent(f, edge, m, b, knee):
    """How many of the rows m .. b are on the quadratic piece, counted in vector instructions."""
    count = 0
    for k in range(m, b):
        t = edge + f[k]
        count += (t > 0.0) & (t <= knee)
    return count


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _direct_curvature(f, weight, X, a, m, b, factor, knee, counts, diagonal, mixed, touched):
    """A split of few pairs, of which few are on the quadratic piece; False, and nothing done, where many are."""
    pairs = 0
    for j in range(a, m):
        counts[j] = _bent(f, 1.0 - f[j], m, b, knee)
        pairs += counts[j]
    if pairs >= 2 * (b - m):
        return False
    for j in range(a, m):
        if counts[j] == 0:
            continue
        if not touched[j]:
            touched[j] = True
            mixed[j] = 0.0
        edge = 1.0 - f[j]
        for k in range(m, b):
            t = edge + f[k]
            if t > 0.0 and t <= knee:
                h = factor * weight[j] * weight[k]
                diagonal[j] += h
                diagonal[k] += h
                for c in range(X.shape[1]):
                    mixed[j, c] += h * X[k, c]
    return True


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _split_curvature(f, weight, X, upper, lower, factor, knee, prefix, starts, bends, diagonal, mixed, touched):
    d = X.shape[1]
    n = len(lower)
    pairs = _intervals(f, upper, lower, knee, starts, bends)
    if pairs == 0:
        return
    for i in range(len(upper)):
        if bends[i] > starts[i] and not touched[upper[i]]:
            touched[upper[i]] = True
            mixed[upper[i]] = 0.0
    if pairs < 2 * n:  # a narrow piece meets few pairs
        for i in range(len(upper)):
            j = upper[i]
            for t in range(starts[i], bends[i]):
                k = lower[t]
                h = factor * weight[j] * weight[k]
                diagonal[j] += h
                diagonal[k] += h
                for c in range(d):
                    mixed[j, c] += h * X[k, c]
        return
    mass = np.zeros(n + 1)
    prefix[0] = 0.0
    for i in range(n):
        k = lower[i]
        mass[i + 1] = mass[i] + weight[k]
        for c in range(d):
            prefix[i + 1, c] = prefix[i, c] + weight[k] * X[k, c]
    change = np.zeros(n + 1)  # differences of the upper weight that each lower row meets
    for i in range(len(upper)):
        j = upper[i]
        start = starts[i]
        bend = bends[i]
        if bend > start:
            w = factor * weight[j]
            diagonal[j] += w * (mass[bend] - mass[start])
            change[start] += w
            change[bend] -= w
            for c in range(d):
                mixed[j, c] += w * (prefix[bend, c] - prefix[start, c])
    met = 0.0
    for i in range(n):
        met += change[i]
        diagonal[lower[i]] += max(met, 0.0) * weight[lower[i]]


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def curvature(f, weight, X, sorted_rows, splits, scales, depths, pieces, half):
    r"""The (generalised) Hessian as \(B + B'\) with \(B = X' \cdot\) `half`.

    `half` is written in place, but only its rows that are not 0, one after another; their numbers are returned.
    """
    n, d = X.shape
    diagonal = np.zeros(n)
    touched = np.zeros(n, dtype=np.bool_)  # rows of `half` in use: the others are not even cleared
    starts = np.empty(n, dtype=np.int64)
    bends = np.empty(n, dtype=np.int64)
    longest = 0
    for t in range(len(splits)):
        longest = max(longest, splits[t, 2] - splits[t, 1])
    prefix = np.empty((longest + 1, d))
    for t in range(len(splits)):
        a, m, b = splits[t, 0], splits[t, 1], splits[t, 2]
        factor = scales[t] * pieces.steepness
        if _direct_is_cheaper(m - a, b - m) and _direct_curvature(
            f, weight, X, a, m, b, factor, pieces.knee, starts, diagonal, half, touched
        ):
            continue
        rows = sorted_rows[depths[t]]
        _split_curvature(
            f, weight, X, rows[a:m], rows[m:b], factor, pieces.knee, prefix, starts, bends, diagonal, half, touched
        )
    used = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        if diagonal[i] > 0.0:
            used[count] = i
            s = 0.5 * diagonal[i]
            for c in range(d):
                half[count, c] = s * X[i, c] - (half[i, c] if touched[i] else 0.0)
            count += 1
    return used[:count]
