"""Online learning from a stream of preferences: one pass over index pairs, no difference is ever stored.

State is two arrays that the kernels change in place: `w` (the weights) and `drag`, with which the average of the
weights over all rounds is `w - drag / t`; and `sums`, the running statistics named by the constants below.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rankloom._prefetch import LINE
from rankloom.rankers._kernels.panels import LANES, aligned, cut, empty, fill, sweep
from rankloom.rankers._kernels.prefetch import fetch_pair

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
def first_order(X, pairs, kind, rate, decay, most, w, drag, sums, reference):
    """Learn from rows pairs[:, 0] preferred to rows pairs[:, 1]; returns the first bad pair, or -1.

    A pair is bad whose margin is not finite or whose squared norm is more than `most`, which is.
    `rate` is C or eta; with decay > 0 the rate of round t is rate / t^decay. `reference` may be empty.
    """
    d = len(w)
    tracked = len(reference) == d
    apart = LINE // X.itemsize
    for t in range(len(pairs)):
        fetch_pair(X, pairs, t, apart)
        i, j = pairs[t, 0], pairs[t, 1]
        margin, norm = _margin(w, X, i, j)
        if not (abs(margin) < np.inf and norm <= most):  # isfinite() is optimised away under reassociation
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
def _products(w, x):
    """w x and x x."""
    margin = 0.0
    norm = 0.0
    for c in range(len(x)):
        margin += w[c] * x[c]
        norm += x[c] * x[c]
    return margin, norm


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _dot(a, b):
    total = 0.0
    for c in range(len(a)):
        total += a[c] * b[c]
    return total


@njit(cache=True)
def _move(w, drag, direction, step, before):
    for c in range(len(w)):
        change = step * direction[c]
        w[c] += change
        drag[c] += before * change


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def confidence_full(X, pairs, r, most, w, drag, sums, covariance, reference):
    """AROW with a full covariance; as `first_order`.

    The covariance shrinks along a direction only while it is multiplied by the next difference: one pass over the
    matrix an update, and one at the end. When the pass is made changes no bit of it, so calls may end anywhere.
    """
    d = len(w)
    tracked = len(reference) == d
    apart = LINE // X.itemsize
    # With zeros up to a length of which vector loops leave no rest.
    vectors = aligned(5, (d + 15) // 16 * 16)
    vectors[:] = 0.0
    x, weights, pull, direction, product = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    weights[:d] = w
    pull[:d] = drag
    panels = cut(d)
    matrix = aligned(panels[-1, 0] // LANES, LANES).reshape(-1)
    filled = False
    shrink = 0.0
    bad = -1
    for t in range(len(pairs)):
        fetch_pair(X, pairs, t, apart)
        i, j = pairs[t, 0], pairs[t, 1]
        for c in range(d):
            x[c] = np.float64(X[i, c]) - np.float64(X[j, c])
        # Apart from the loop that stores x: sums in a loop with stores may be added up in an order that depends on
        # where the arrays lie, and a resumed stream must give the same bits.
        margin, norm = _products(weights, x)
        if not (abs(margin) < np.inf and norm <= most):  # isfinite() is optimised away under reassociation
            bad = t
            break
        loss = max(0.0, 1.0 - margin)
        before = sums[ROUNDS]
        _count(sums, margin, loss, norm)
        if tracked:
            _count_reference(sums, reference, X, i, j, loss)
        if loss > 0.0 and norm > 0.0:
            if not filled:  # single preferences that teach nothing need no matrix
                fill(matrix, panels, covariance)
                filled = True
            sweep(matrix, panels, direction, shrink, x, product)
            for c in range(len(product)):  # as a slice or by turns it would take longer
                direction[c] = product[c]
            shrink = 1.0 / (_dot(x, direction) + r)
            step = loss * shrink
            _count_update(sums, step, loss, norm)
            _move(weights, pull, direction, step, before)
    if filled:
        sweep(matrix, panels, direction, shrink, x, product)
        empty(matrix, panels, covariance)
        w[:] = weights[:d]
        drag[:] = pull[:d]
    return bad


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def confidence_diagonal(X, pairs, r, most, w, drag, sums, variances, reference):
    """AROW with a diagonal covariance; as `first_order`."""
    d = len(w)
    tracked = len(reference) == d
    apart = LINE // X.itemsize
    for t in range(len(pairs)):
        fetch_pair(X, pairs, t, apart)
        i, j = pairs[t, 0], pairs[t, 1]
        margin, norm = _margin(w, X, i, j)
        if not (abs(margin) < np.inf and norm <= most):  # isfinite() is optimised away under reassociation
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
