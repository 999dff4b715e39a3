"""Online learning from a stream of preferences: one pass over index pairs, no difference is ever stored.

State is two arrays that the kernels change in place: `w` (the weights) and `drag`, with which the average of the
weights over all rounds is `w - drag / t`; and `sums`, the running statistics named by the constants below.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Which step is taken.
PERCEPTRON, PASSIVE_AGGRESSIVE, PASSIVE_AGGRESSIVE_SQUARED, GRADIENT = range(4)

# Places in `sums`.
(
    ROUNDS,  # preferences seen
    UPDATES,
    MISTAKES,  # margin <= 0
    LOSS,  # hinge loss, of every round before its update
    SQUARED_LOSS,
    UPDATE_LOSS,  # hinge loss of the rounds with an update
    TOTAL_STEP,
    STEP_LOSS,  # step * loss
    STEP_ENERGY,  # step^2 * squared norm of the difference
    UPDATE_NORMS,  # squared norms of the differences of the rounds with an update
    LARGEST_NORM,  # largest squared norm
    REFERENCE_LOSS,  # the same losses of the fixed reference weights
    REFERENCE_SQUARED_LOSS,
    REFERENCE_UPDATE_LOSS,
    REFERENCE_STEP_LOSS,
) = range(15)
N_SUMS = 15


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _margin(w, X, i, j):
    """The margin of row i over row j, and the squared norm of their difference."""
    margin = 0.0
    norm = 0.0
    for c in range(len(w)):
        x = np.float64(X[i, c]) - np.float64(X[j, c])
        margin += w[c] * x
        norm += x * x
    return margin, norm


@njit(cache=True)
def _count(sums, margin, loss, norm):
    sums[ROUNDS] += 1.0
    sums[LOSS] += loss
    sums[SQUARED_LOSS] += loss * loss
    if margin <= 0.0:
        sums[MISTAKES] += 1.0
    if norm > sums[LARGEST_NORM]:
        sums[LARGEST_NORM] = norm


@njit(cache=True)
def _count_update(sums, step, loss, norm):
    sums[UPDATES] += 1.0
    sums[UPDATE_LOSS] += loss
    sums[TOTAL_STEP] += step
    sums[STEP_LOSS] += step * loss
    sums[STEP_ENERGY] += step * step * norm
    sums[UPDATE_NORMS] += norm


@njit(cache=True)
def _count_reference(sums, reference, X, i, j, step):
    loss = max(0.0, 1.0 - _margin(reference, X, i, j)[0])
    sums[REFERENCE_LOSS] += loss
    sums[REFERENCE_SQUARED_LOSS] += loss * loss
    if step > 0.0:
        sums[REFERENCE_UPDATE_LOSS] += loss
        sums[REFERENCE_STEP_LOSS] += step * loss


@njit(cache=True)
def _step(kind, margin, loss, norm, rate):
    """How far to go along the difference; 0 for no update."""
    if kind == PERCEPTRON:
        return 1.0 if margin <= 0.0 else 0.0  # <= and not <: from zero weights the paper's rule would never start
    if loss <= 0.0:
        return 0.0
    if kind == PASSIVE_AGGRESSIVE:
        return min(rate, loss / norm) if norm > 0.0 else 0.0  # equal rows have nothing to teach
    if kind == PASSIVE_AGGRESSIVE_SQUARED:
        return loss / (norm + 0.5 / rate)
    return rate


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def first_order(X, pairs, kind, rate, decay, w, drag, sums, reference):
    """Learn from rows pairs[:, 0] preferred to rows pairs[:, 1]; returns the first bad pair, or -1.

    `rate` is C or eta; with decay > 0 the rate of round t is rate / t^decay. `reference` may be empty.
    """
    d = len(w)
    tracked = len(reference) == d
    for t in range(len(pairs)):
        i, j = pairs[t, 0], pairs[t, 1]
        margin, norm = _margin(w, X, i, j)
        if not (abs(margin) < np.inf and norm < np.inf):  # isfinite() is optimised away under reassociation
            return t
        loss = max(0.0, 1.0 - margin)
        now = rate
        if decay > 0.0:
            now = rate / (sums[ROUNDS] + 1.0) ** decay
        step = _step(kind, margin, loss, norm, now)
        before = sums[ROUNDS]
        _count(sums, margin, loss, norm)
        if tracked:
            _count_reference(sums, reference, X, i, j, step)
        if step > 0.0:
            _count_update(sums, step, loss, norm)
            for c in range(d):
                change = step * (np.float64(X[i, c]) - np.float64(X[j, c]))
                w[c] += change
                drag[c] += before * change
    return -1


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def confidence_full(X, pairs, r, w, drag, sums, covariance, reference):
    """AROW with a full covariance; as `first_order`."""
    d = len(w)
    tracked = len(reference) == d
    x = np.empty(d)
    direction = np.empty(d)
    for t in range(len(pairs)):
        i, j = pairs[t, 0], pairs[t, 1]
        margin, norm = _margin(w, X, i, j)
        if not (abs(margin) < np.inf and norm < np.inf):  # isfinite() is optimised away under reassociation
            return t
        loss = max(0.0, 1.0 - margin)
        before = sums[ROUNDS]
        _count(sums, margin, loss, norm)
        if tracked:
            _count_reference(sums, reference, X, i, j, loss)
        if loss > 0.0 and norm > 0.0:
            for c in range(d):
                x[c] = np.float64(X[i, c]) - np.float64(X[j, c])
            direction[:] = 0.0
            p = 0
            while p + 4 <= d:  # by rows, as the matrix is symmetric, four at a time: few passes over `direction`
                x0, x1, x2, x3 = x[p], x[p + 1], x[p + 2], x[p + 3]
                for c in range(d):
                    direction[c] += (
                        x0 * covariance[p, c]
                        + x1 * covariance[p + 1, c]
                        + x2 * covariance[p + 2, c]
                        + x3 * covariance[p + 3, c]
                    )
                p += 4
            for q in range(p, d):
                for c in range(d):
                    direction[c] += x[q] * covariance[q, c]
            variance = 0.0
            for c in range(d):
                variance += x[c] * direction[c]
            shrink = 1.0 / (variance + r)
            step = loss * shrink
            _count_update(sums, step, loss, norm)
            for p in range(d):
                change = step * direction[p]
                w[p] += change
                drag[p] += before * change
                scaled = shrink * direction[p]
                for c in range(d):
                    covariance[p, c] -= scaled * direction[c]
    return -1


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def confidence_diagonal(X, pairs, r, w, drag, sums, variances, reference):
    """AROW with a diagonal covariance; as `first_order`."""
    d = len(w)
    tracked = len(reference) == d
    for t in range(len(pairs)):
        i, j = pairs[t, 0], pairs[t, 1]
        margin, norm = _margin(w, X, i, j)
        if not (abs(margin) < np.inf and norm < np.inf):  # isfinite() is optimised away under reassociation
            return t
        loss = max(0.0, 1.0 - margin)
        before = sums[ROUNDS]
        _count(sums, margin, loss, norm)
        if tracked:
            _count_reference(sums, reference, X, i, j, loss)
        if loss > 0.0 and norm > 0.0:
            variance = 0.0
            for c in range(d):
                x = np.float64(X[i, c]) - np.float64(X[j, c])
                variance += variances[c] * x * x
            shrink = 1.0 / (variance + r)
            step = loss * shrink
            _count_update(sums, step, loss, norm)
            for c in range(d):
                direction = variances[c] * (np.float64(X[i, c]) - np.float64(X[j, c]))
                change = step * direction
                w[c] += change
                drag[c] += before * change
                variances[c] -= shrink * direction * direction
    return -1
