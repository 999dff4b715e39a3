"""Online learning from a stream of preferences between sparse rows: the kernels of `stream`, in time of the non-zeros.

Rows are those of a CSR matrix with sorted columns. A round touches only the columns of its two rows: the average of the
weights needs no more, as `drag` changes only where the weights do.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rankloom.rankers._kernels.stream import (
    REFERENCE_LOSS,
    REFERENCE_SQUARED_LOSS,
    REFERENCE_STEP_LOSS,
    REFERENCE_UPDATE_LOSS,
    ROUNDS,
    _count,
    _count_update,
    _step,
)


@njit(cache=True)
def _room(indptr, pairs):
    """The largest number of columns that two rows of a pair have together."""
    most = 0
    for t in range(len(pairs)):
        i, j = pairs[t, 0], pairs[t, 1]
        most = max(most, indptr[i + 1] - indptr[i] + indptr[j + 1] - indptr[j])
    return most


@njit(cache=True)
def _difference(indptr, indices, data, i, j, columns, values):
    """Row i less row j, as sorted columns and values; returns how many there are."""
    p, p_end = indptr[i], indptr[i + 1]
    q, q_end = indptr[j], indptr[j + 1]
    n = 0
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and indices[p] < indices[q]):
            columns[n], values[n] = indices[p], np.float64(data[p])
            p += 1
        elif p == p_end or indices[q] < indices[p]:
            columns[n], values[n] = indices[q], -np.float64(data[q])
            q += 1
        else:
            columns[n], values[n] = indices[p], np.float64(data[p]) - np.float64(data[q])
            p += 1
            q += 1
        n += 1
    return n


@njit(cache=True)
def _margin(w, columns, values, n):
    """The product of the weights with the difference, and its squared norm."""
    margin = 0.0
    norm = 0.0
    for c in range(n):
        margin += w[columns[c]] * values[c]
        norm += values[c] * values[c]
    return margin, norm


@njit(cache=True)
def _count_reference(sums, reference, columns, values, n, step):
    loss = max(0.0, 1.0 - _margin(reference, columns, values, n)[0])
    sums[REFERENCE_LOSS] += loss
    sums[REFERENCE_SQUARED_LOSS] += loss * loss
    if step > 0.0:
        sums[REFERENCE_UPDATE_LOSS] += loss
        sums[REFERENCE_STEP_LOSS] += step * loss


@njit(cache=True)
def first_order(indptr, indices, data, pairs, kind, rate, decay, most, w, drag, sums, reference):
    """As `stream.first_order`."""
    tracked = len(reference) == len(w)
    room = _room(indptr, pairs)
    columns = np.empty(room, dtype=np.int64)
    values = np.empty(room)
    for t in range(len(pairs)):
        n = _difference(indptr, indices, data, pairs[t, 0], pairs[t, 1], columns, values)
        margin, norm = _margin(w, columns, values, n)
        if not (np.isfinite(margin) and norm <= most):
            return t
        loss = max(0.0, 1.0 - margin)
        now = rate
        if decay > 0.0:
            now = rate / (sums[ROUNDS] + 1.0) ** decay
        step = _step(kind, margin, loss, norm, now)
        before = sums[ROUNDS]
        _count(sums, margin, loss, norm)
        if tracked:
            _count_reference(sums, reference, columns, values, n, step)
        if step > 0.0:
            _count_update(sums, step, loss, norm)
            for c in range(n):
                change = step * values[c]
                w[columns[c]] += change
                drag[columns[c]] += before * change
    return -1


@njit(cache=True)
def confidence_diagonal(indptr, indices, data, pairs, r, most, w, drag, sums, variances, reference):
    """As `stream.confidence_diagonal`."""
    tracked = len(reference) == len(w)
    room = _room(indptr, pairs)
    columns = np.empty(room, dtype=np.int64)
    values = np.empty(room)
    for t in range(len(pairs)):
        n = _difference(indptr, indices, data, pairs[t, 0], pairs[t, 1], columns, values)
        margin, norm = _margin(w, columns, values, n)
        if not (np.isfinite(margin) and norm <= most):
            return t
        loss = max(0.0, 1.0 - margin)
        before = sums[ROUNDS]
        _count(sums, margin, loss, norm)
        if tracked:
            _count_reference(sums, reference, columns, values, n, loss)
        if loss > 0.0 and norm > 0.0:
            variance = 0.0
            for c in range(n):
                variance += variances[columns[c]] * values[c] * values[c]
            shrink = 1.0 / (variance + r)
            step = loss * shrink
            _count_update(sums, step, loss, norm)
            for c in range(n):
                direction = variances[columns[c]] * values[c]
                change = step * direction
                w[columns[c]] += change
                drag[columns[c]] += before * change
                variances[columns[c]] -= shrink * direction * direction
    return -1
