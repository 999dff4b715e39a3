"""Diffusion over the neighbor graph, compiled by numba; imported on first use."""

from __future__ import annotations

import numpy as np
from numba import njit


# Sums in any order, and so in vectors.
@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def diffuse(pointers, columns, weights, alpha, start, tol, most):
    """Conjugate gradients for (I - alpha S) f = y, S as compressed rows; and whether they converged.

    Without the interpreter lock: many searches diffuse at a time.
    """
    n = len(start)
    f = np.zeros(n)
    residual = start.copy()
    direction = start.copy()
    product = np.empty(n)
    square = 0.0
    for i in range(n):
        square += residual[i] * residual[i]
    least = tol * tol * square
    for _ in range(most):
        if square <= least:
            return f, True
        curvature = 0.0
        for i in range(n):
            total = 0.0
            # Unsigned numbers: for others numba asks at each step whether they count from the end.
            for place in range(np.uint64(pointers[i]), np.uint64(pointers[i + 1])):
                total += weights[place] * direction[np.uint64(columns[place])]
            product[i] = direction[i] - alpha * total
        for i in range(n):
            curvature += direction[i] * product[i]
        step = square / curvature
        before, square = square, 0.0
        for i in range(n):
            f[i] += step * direction[i]
            residual[i] -= step * product[i]
            square += residual[i] * residual[i]
        ratio = square / before
        for i in range(n):
            direction[i] = residual[i] + ratio * direction[i]
    return f, square <= least


@njit(nogil=True, cache=True)
def diffuse_nearby(pointers, columns, weights, alpha, start, rows, least):
    """The same by pushing: an item whose residual is above `least` adds it to its score and hands it on.

    `rows` are where `start` is above 0. Only items that are reached are touched, so that the cost hardly depends on how
    many there are. Returns the scores, and the residuals that are left.
    """
    n = len(start)
    f, residual = np.zeros(n), np.zeros(n)
    waiting = np.empty(n, np.int32)  # a ring: an item is in it at most once
    inside = np.zeros(n, np.bool_)
    first = count = 0
    for row in rows:
        residual[row] = start[row]
        if residual[row] > least:
            waiting[count] = row
            inside[row] = True
            count += 1
    while count:
        row = waiting[first]
        first = (first + 1) % n
        count -= 1
        inside[row] = False
        value = residual[row]
        residual[row] = 0.0
        f[row] += value
        for place in range(np.uint64(pointers[row]), np.uint64(pointers[row + 1])):
            other = columns[place]
            residual[other] += alpha * weights[place] * value
            if residual[other] > least and not inside[other]:
                waiting[(first + count) % n] = other
                inside[other] = True
                count += 1
    return f, residual
