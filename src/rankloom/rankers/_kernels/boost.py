"""Boosting by pairs without pairs: weights of the rows, gains of weak rankers, their best step.

Rows come in the layout of `groups.Preferences`. Every pair lies in one split `(a, m, b)`, and within a split the weight
of a pair is a product of its two rows' (docs/papers.md, B8), so all sums over pairs are sums over rows. `mass` holds
the shares of the rows within their side of each split, one split after another; `share` the part of each split in
the loss.
"""

from __future__ import annotations

import numpy as np
from numba import njit

TIE = 1e-12  # what sums in another order may differ by must not decide


@njit(cache=True)
def potentials(f, weight, splits, log_scale, mass, share, signed):
    """Fill `mass`, `share` and `signed`, the signed weight of each row; return the logarithm of the loss."""
    n_splits = len(splits)
    top = -np.inf
    offset = 0
    for s in range(n_splits):
        a, m, b = splits[s, 0], splits[s, 1], splits[s, 2]
        high = -np.inf
        for i in range(a, m):
            high = max(high, -f[i])
        low = -np.inf
        for i in range(m, b):
            low = max(low, f[i])
        above = 0.0
        for i in range(a, m):
            value = weight[i] * np.exp(-f[i] - high)
            mass[offset + i - a] = value
            above += value
        below = 0.0
        for i in range(m, b):
            value = weight[i] * np.exp(f[i] - low)
            mass[offset + i - a] = value
            below += value
        for i in range(offset, offset + m - a):
            mass[i] /= above
        for i in range(offset + m - a, offset + b - a):
            mass[i] /= below
        offset += b - a
        share[s] = log_scale[s] + high + low + np.log(above) + np.log(below)
        top = max(top, share[s])
    total = 0.0
    for s in range(n_splits):
        total += np.exp(share[s] - top)
    log_loss = top + np.log(total)
    signed[:] = 0.0
    offset = 0
    for s in range(n_splits):
        a, m, b = splits[s, 0], splits[s, 1], splits[s, 2]
        share[s] = np.exp(share[s] - log_loss)
        for i in range(a, m):
            signed[i] += share[s] * mass[offset + i - a]
        for i in range(m, b):
            signed[i] -= share[s] * mass[offset + i - a]
        offset += b - a
    return log_loss


@njit(cache=True)
def loss_along(alpha, h, splits, mass, share):
    """The loss after a step alpha along h, as a share of the loss now, and its first two derivatives by alpha."""
    value = first = second = 0.0
    offset = 0
    for s in range(len(splits)):
        a, m, b = splits[s, 0], splits[s, 1], splits[s, 2]
        u0 = u1 = u2 = 0.0
        for i in range(a, m):
            term = mass[offset + i - a] * np.exp(-alpha * h[i])
            u0 += term
            u1 -= term * h[i]
            u2 += term * h[i] * h[i]
        v0 = v1 = v2 = 0.0
        for i in range(m, b):
            term = mass[offset + i - a] * np.exp(alpha * h[i])
            v0 += term
            v1 += term * h[i]
            v2 += term * h[i] * h[i]
        offset += b - a
        value += share[s] * u0 * v0
        first += share[s] * (u1 * v0 + u0 * v1)
        second += share[s] * (u2 * v0 + 2.0 * u1 * v1 + u0 * v2)
    return value, first, second


@njit(cache=True)
def best_step(h, splits, mass, share, limit):
    """The alpha in [-limit, limit] of the smallest loss along h: safeguarded Newton, the loss is convex in alpha."""
    low, high = -limit, limit
    alpha = 0.0
    for _ in range(100):
        _, first, second = loss_along(alpha, h, splits, mass, share)
        if first > 0.0:
            high = alpha
        else:
            low = alpha
        trial = alpha - first / second if second > 0.0 else limit
        if not low < trial < high:
            trial = 0.5 * (low + high)
        if abs(trial - alpha) <= 1e-12 * (1.0 + abs(alpha)):
            return trial
        alpha = trial
    return alpha


@njit(cache=True)
def pair_masses(active, splits, mass, share):
    """Of a weak ranker that is 1 for active rows and 0 for others: the weight of the pairs it orders, and reverses."""
    right = wrong = 0.0
    offset = 0
    for s in range(len(splits)):
        a, m, b = splits[s, 0], splits[s, 1], splits[s, 2]
        above = 0.0
        for i in range(a, m):
            if active[i]:
                above += mass[offset + i - a]
        below = 0.0
        for i in range(m, b):
            if active[i]:
                below += mass[offset + i - a]
        offset += b - a
        right += share[s] * above * (1.0 - below)
        wrong += share[s] * (1.0 - above) * below
    return right, wrong


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def feature_gains(H, signed, gains):
    """gains = signed H, of single precision values added up in double, four rows at a time."""
    n, K = H.shape
    gains[:] = 0.0
    for q in range(n // 4):
        i = 4 * q
        s0, s1, s2, s3 = signed[i], signed[i + 1], signed[i + 2], signed[i + 3]
        for k in range(K):
            gains[k] += (s0 * H[i, k] + s1 * H[i + 1, k]) + (s2 * H[i + 2, k] + s3 * H[i + 3, k])
    for i in range(n // 4 * 4, n):
        for k in range(K):
            gains[k] += signed[i] * H[i, k]


@njit(cache=True)
def append_digit(values, edges, codes):
    """codes = codes (number of bins) + (number of edges below the value), for every row.

    Up to some hundred edges, comparing with all of them in vectors beats a search, whose branches cannot be guessed.
    """
    n, n_edges = len(values), len(edges)
    block = 64
    below = np.empty(block, dtype=np.int64)
    for q in range((n + block - 1) // block):
        start = q * block
        count = min(block, n - start)
        if n_edges <= 256:
            below[:] = 0
            for e in range(n_edges):
                edge = edges[e]
                for i in range(count):
                    below[i] += edge < values[start + i]
        else:
            below[:count] = np.searchsorted(edges, values[start : start + count])
        for i in range(count):
            codes[start + i] = codes[start + i] * (n_edges + 1) + below[i]


@njit(cache=True)
def threshold_gains(packed, starts, radix, signed, gains, offsets):
    """Gains of all thresholds of all features: `gains[offsets[j] + t]` is r of "feature j lies above its edge t".

    Several features share one column of `packed`: its code is a number in mixed radix with a digit a feature (the bin
    of that feature), so one pass over the rows adds up the histograms of all of them. Column c packs the features
    `starts[c]` to `starts[c + 1]`; `radix[j]` is the number of bins of feature j.
    """
    n_columns, n = packed.shape
    for c in range(n_columns):
        size = 1
        for j in range(starts[c], starts[c + 1]):
            size *= radix[j]
        table = np.zeros(size)
        codes = packed[c]
        for i in range(n):
            table[codes[i]] += signed[i]
        stride = size
        for j in range(starts[c], starts[c + 1]):
            bins = radix[j]
            stride //= bins
            total = 0.0
            for digit in range(bins - 1, 0, -1):
                outer = digit * stride
                while outer < size:
                    for inner in range(outer, outer + stride):
                        total += table[inner]
                    outer += stride * bins
                gains[offsets[j] + digit - 1] = total


@njit(cache=True, fastmath={"contract", "reassoc", "nsz", "nnan"})
def _add_row(sums, row, weight):
    """sums += weight row; returns the largest and the smallest of the new sums."""
    largest = -np.inf
    smallest = np.inf
    for k in range(len(sums)):
        value = sums[k] + weight * row[k]
        sums[k] = value
        largest = max(largest, value)
        smallest = min(smallest, value)
    return largest, smallest


@njit(cache=True, fastmath={"contract", "reassoc", "nsz", "nnan"})
def _cheapest(sums, total, penalty, loss, scale, inverted):
    """The feature (k, or ~k if inverted) of the smallest loss sqrt(1 - r^2) + penalty[k]."""
    best = np.inf
    which = 0
    for k in range(len(sums)):
        r = min(max(sums[k] * scale, 0.0), 1.0)
        value = loss * np.sqrt(1.0 - r * r) + penalty[k]
        if value < best:
            best = value
            which = k
    if inverted:
        for k in range(len(sums)):
            r = min(max((total - sums[k]) * scale, 0.0), 1.0)
            value = loss * np.sqrt(1.0 - r * r) + penalty[k]
            if value < best:
                best = value
                which = ~k
    return best, which


@njit(cache=True)
def best_cut(order, f, signed, H, moves, loss, scale, inverted, costs, mirrored):
    """Choose a feature and a cut-off together: the smallest loss sqrt(1 - r^2) + moves + cost.

    Rows `order` are sorted from high to low scores f. A cut after place i keeps `order[:i + 1]`; it is possible only
    at the end of a block of equal scores (docs/papers.md, B7). `moves[i]` is the penalty for it. r is `scale` times the
    sum of the kept rows' `signed * h`; an inverted feature is 1 - h (`mirrored`: -h). `costs[k]` is the price of asking
    all rows for feature k, or the array is empty. Returns the objective, the place, the feature (~k if inverted) and r.
    """
    n, K = len(order), H.shape[1]
    sums = np.zeros(K)
    priced = len(costs) == K
    price = np.zeros(K)
    total = 0.0
    best = np.inf
    best_place, best_feature, best_r = n - 1, 0, 0.0
    best_gain = best_total = 0.0
    best_sums = np.zeros(K)
    n_all = len(f)
    for i in range(n):
        row = order[i]
        largest, smallest = _add_row(sums, H[row], signed[row])
        if not mirrored:
            total += signed[row]
        if i + 1 < n and f[order[i + 1]] == f[row]:
            continue
        if priced:
            for k in range(K):
                price[k] = costs[k] * (i + 1) / n_all
            value, which = _cheapest(sums, total, price, loss, scale, inverted)
            value += moves[i]
            if value < best - TIE * loss:
                best, best_place, best_feature = value, i, which
                best_r = scale * (sums[which] if which >= 0 else total - sums[~which])
            continue
        gain = largest
        if inverted:
            gain = max(gain, total - smallest)
        r = min(max(scale * gain, 0.0), 1.0)
        value = loss * np.sqrt(1.0 - r * r) + moves[i]
        if value < best - TIE * loss:
            best, best_place, best_r, best_gain, best_total = value, i, r, gain, total
            best_sums[:] = sums  # which feature it is, is asked once at the end: the best cut moves often
    if not priced:
        for k in range(K):
            if best_sums[k] == best_gain:
                return best, best_place, k, best_r
            if inverted and best_total - best_sums[k] == best_gain:
                return best, best_place, ~k, best_r
    return best, best_place, best_feature, best_r
