r"""Metrics of scores \(a_i + t\,b_i\) as exact step functions of \(t\), by sweeping over the points where rows cross.

A *list* `(start, middle, end)` has the relevant rows `[start, middle)` and the others `[middle, end)`. With \(N_{(k)}\)
the number of other rows above the k-th best relevant one, its value is

.. math:: V = c \sum_k p_k\, s_{k + N_{(k)}}

where \(p\) (`by_place`) and \(s\) (`by_rank`) are tables: AP has \(p_k = k\) and \(s_r = 1/r\), P@k and DCG have
\(p_k = 1\), RR has \(p_k = [k = 1]\). Graded gains are a sum over thresholds of such lists. As only the sorted counts
matter, relevant rows that cross each other change nothing, and every other crossing is an update in O(1).

Points of the line are \(u = t / (\tau + |t|)\) in (-1, 1), in steps of \(2^{-43}\).
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

STEPS = 2.0**43  # points of the line a unit of u
ROW_BITS = 20  # below the point, a key has the number of the relevant row and whether it moves up
MAX_EVENTS = 2**19  # crossings of a list, so that the numbers of its relevant rows fit in a key
MAX_STORED = 2**22  # crossings that are kept to look between the bins
BIN_BITS = 10
N_BINS = 2**BIN_BITS
NARROW = 16.0 / STEPS  # plateaus less wide than this are not landed on: rounding could miss them
EQUAL = 1e-12  # values that differ by less are equal


@njit(cache=True)
def _initial_value(above, n_relevant, n_other, below, scale, by_place, by_rank):
    """The value of a list from `above`, the others above each relevant row; `below[v]` counts the rows with less."""
    below[: n_other + 2] = 0
    for i in range(n_relevant):
        below[above[i] + 1] += 1
    value = 0.0
    k = 0
    for v in range(n_other + 1):
        for _ in range(below[v + 1]):
            k += 1
            value += by_place[k] * by_rank[k + v]
        below[v + 1] = k
    return scale * value


@njit(cache=True)
def _count_above(a, start, middle, end, above, ties_above):
    """Count the other rows above each relevant one: pair by pair where that is fast, else by sorting."""
    n_relevant = middle - start
    n_other = end - middle
    if min(n_relevant, n_other) <= 128:
        for i in range(n_relevant):
            x = a[start + i]
            n = 0
            if ties_above:
                for j in range(middle, end):
                    n += a[j] >= x
            else:
                for j in range(middle, end):
                    n += a[j] > x
            above[i] = n
        return
    relevant = np.sort(a[start:middle])
    others = np.sort(a[middle:end])
    j = n_other
    for i in range(n_relevant - 1, -1, -1):
        x = relevant[i]
        while j > 0 and (others[j - 1] > x or (ties_above and others[j - 1] == x)):
            j -= 1
        above[i] = n_other - j  # in another order than the rows, which does not matter to their counts


@njit(cache=True)
def list_values(a, lists, scales, offsets, by_place, by_rank, ties_above):
    """The value of each list for scores a; `offsets` says where in `by_rank` the table of a list begins."""
    longest = 0
    for g in range(len(lists)):
        longest = max(longest, lists[g, 2] - lists[g, 0])
    above = np.empty(longest, dtype=np.int64)
    below = np.empty(longest + 2, dtype=np.int64)
    values = np.empty(len(lists))
    for g in range(len(lists)):
        start, middle, end = lists[g, 0], lists[g, 1], lists[g, 2]
        _count_above(a, start, middle, end, above, ties_above)
        table = by_rank[offsets[g] :]
        values[g] = _initial_value(above, middle - start, end - middle, below, scales[g], by_place, table)
    return values


@njit(cache=True)
def _crossings(a, b, start, middle, end, tau, ties_above, above, keys):
    """Write a key for each crossing of a relevant row with another, and the counts `above` at t = -infinity."""
    n = 0
    for i in range(start, middle):
        a_i = a[i]
        b_i = b[i]
        row = uint64(2 * (i - start))
        n_above = 0
        for j in range(middle, end):
            p = a[j] - a_i
            q = b_i - b[j]
            if q == 0.0:
                n_above += p > 0.0 or (ties_above and p == 0.0)
                continue
            up = q > 0.0
            n_above += up
            u = p / (tau * abs(q) + abs(p))
            if not up:
                u = -u
            keys[n] = (uint64(min((u + 1.0) * STEPS, 2.0 * STEPS - 1.0)) << uint64(ROW_BITS)) | row | uint64(up)
            n += 1
        above[i - start] = n_above
    return n


@njit(cache=True)
def _insertion_sort(keys, low, high):
    for i in range(low + 1, high):
        key = keys[i]
        j = i
        while j > low and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


@njit(cache=True)
def _sort(keys, n, spare, counts):
    """Sort the first n keys, into `keys` or `spare`, whichever is returned: by buckets, and within each."""
    if n <= 16:
        _insertion_sort(keys, 0, n)
        return keys
    bits = 4
    while bits < 12 and (1 << bits) < n:
        bits += 1
    shift = uint64(64 - bits)
    n_buckets = 1 << bits
    counts[: n_buckets + 1] = 0
    for i in range(n):
        counts[(keys[i] >> shift) + uint64(1)] += 1
    for c in range(n_buckets):
        counts[c + 1] += counts[c]
    for i in range(n):
        c = keys[i] >> shift
        spare[counts[c]] = keys[i]
        counts[c] += 1
    low = 0
    for c in range(n_buckets):
        high = counts[c]  # moved to the end of the bucket by the loop before
        if high - low > 24:
            spare[low:high].sort()
        elif high - low > 1:
            _insertion_sort(spare, low, high)
        low = high
    return spare


@njit(cache=True)
def _sweep(keys, n, above, below, scale, by_place, by_rank, changes, promise, points, deltas, n_stored):
    """Add the changes of a list's value to their bins, and to the stored events while there is room.

    `promise` gets the most that the list rises within each bin above its value where the bin begins.
    """
    current = uint64(0)
    total = 0.0
    most = 0.0
    for e in range(n):
        key = keys[e]
        point = key >> uint64(ROW_BITS)
        i = (key & uint64(2**ROW_BITS - 1)) >> uint64(1)
        # Without a branch, as up or down is a coin toss. Up: the first row with v others above it goes to v - 1.
        up = np.int64(key & uint64(1))
        v = above[i]
        k = below[v + 1 - up] + up
        r = k + v
        delta = by_place[k] * (by_rank[r + 1 - 2 * up] - by_rank[r])
        below[v + 1 - up] += 2 * up - 1
        above[i] = v + 1 - 2 * up
        if delta == 0.0:
            continue
        delta *= scale
        bin_number = point >> uint64(64 - ROW_BITS - BIN_BITS)
        if bin_number != current:
            changes[current] += total
            promise[current] += most
            current = bin_number
            total = 0.0
            most = 0.0
        total += delta
        most = max(most, total)
        if n_stored < len(points):
            points[n_stored] = point
            deltas[n_stored] = delta
        n_stored += 1
    changes[current] += total
    promise[current] += most
    return n_stored


@njit(cache=True)
def _between_bins(base, changes):
    """The best value where bins meet: exact values at these points, when there are too many crossings to keep."""
    best = -np.inf
    where = 0.0
    value = base
    for c in range(N_BINS - 1):
        value += changes[c]
        if value > best + EQUAL:
            best = value
            where = 2.0 * (c + 1) / N_BINS - 1.0
    return where, best


@njit(cache=True)
def _within_bins(base, changes, promise, points, deltas):
    """The widest of the highest plateaus: only bins that promise to reach the best value between bins are looked into.

    A plateau that goes on into a bin that is not looked into ends at the bin's edge.
    """
    best = _between_bins(base, changes)[1]
    looked = np.zeros(N_BINS + 1, dtype=np.bool_)
    values = np.empty(N_BINS)
    value = base
    for c in range(N_BINS):
        values[c] = value
        looked[c] = value + promise[c] >= best - EQUAL
        value += changes[c]
    shift = uint64(64 - ROW_BITS - BIN_BITS)
    entries = np.empty(len(points), dtype=np.int64)
    n_entries = 0
    for e in range(len(points)):
        entries[n_entries] = e
        n_entries += looked[points[e] >> shift]
    entries = entries[:n_entries]
    entries = entries[np.argsort(points[entries])]

    best = -np.inf
    best_low = 0.0
    best_high = 0.0
    low = 0.0
    n = 0
    for c in range(N_BINS):
        if not looked[c]:
            continue
        if c == 0 or not looked[c - 1]:
            low = 2.0 * c / N_BINS - 1.0
            value = values[c]
        inside = True
        while inside:
            inside = n < n_entries and points[entries[n]] >> shift == uint64(c)
            if not inside and looked[c + 1]:
                break
            high = points[entries[n]] / STEPS - 1.0 if inside else 2.0 * (c + 1) / N_BINS - 1.0
            if high - low > NARROW and (
                value > best + EQUAL or (value > best - EQUAL and high - low > best_high - best_low)
            ):
                best = max(value, best)
                best_low = low
                best_high = high
            if inside:
                value += deltas[entries[n]]
                low = high
                n += 1
    return 0.5 * (best_low + best_high), best


@njit(cache=True)
def line_search(a, b, tau, lists, scales, offsets, by_place, by_rank, ties_above, values):
    """The u at which a + t b is best over all real t, and the sum of the values there.

    `values` are the lists' values at t = 0. Exact up to MAX_STORED crossings of all lists together that change a
    value; beyond it the best of N_BINS - 1 points. No list may have more than MAX_EVENTS crossings.
    """
    longest = 0
    most = 0
    total = 0
    for g in range(len(lists)):
        size = (lists[g, 1] - lists[g, 0]) * (lists[g, 2] - lists[g, 1])
        longest = max(longest, lists[g, 2] - lists[g, 0])
        most = max(most, size)
        total += size
    above = np.empty(longest, dtype=np.int64)
    below = np.empty(longest + 2, dtype=np.int64)
    keys = np.empty(most, dtype=np.uint64)
    spare = np.empty(most, dtype=np.uint64)
    counts = np.empty(2**12 + 1, dtype=np.int64)
    points = np.empty(min(total, MAX_STORED), dtype=np.uint64)
    deltas = np.empty(len(points))
    changes = np.zeros(N_BINS)
    promise = np.zeros(N_BINS)
    base = 0.0
    n_stored = 0
    for g in range(len(lists)):
        start, middle, end = lists[g, 0], lists[g, 1], lists[g, 2]
        n = _crossings(a, b, start, middle, end, tau, ties_above, above, keys)
        if n == 0:
            base += values[g]
            continue
        table = by_rank[offsets[g] :]
        base += _initial_value(above, middle - start, end - middle, below, scales[g], by_place, table)
        ordered = _sort(keys, n, spare, counts)
        n_stored = _sweep(
            ordered, n, above, below, scales[g], by_place, table, changes, promise, points, deltas, n_stored
        )
    if n_stored > len(points):
        return _between_bins(base, changes)
    return _within_bins(base, changes, promise, points[:n_stored], deltas[:n_stored])
