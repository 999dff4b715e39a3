"""The L1-penalised quadratic model of a proximal Newton step."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def lasso_step(H, g, w, c, tol, max_sweeps):
    r"""Minimise \(g \cdot p + \tfrac12 p' H p + \sum_i c_i |w_i + p_i|\) over p, by coordinate descent."""
    d = len(w)
    p = np.zeros(d)
    slope = g.copy()  # g + H p
    for _ in range(max_sweeps):
        largest = 0.0
        for i in range(d):
            curvature = H[i, i]
            if curvature <= 0.0:
                continue
            target = w[i] + p[i] - slope[i] / curvature
            threshold = c[i] / curvature
            new = np.sign(target) * max(abs(target) - threshold, 0.0)
            change = new - w[i] - p[i]
            if change != 0.0:
                p[i] += change
                for k in range(d):
                    slope[k] += change * H[k, i]
                largest = max(largest, change * change * curvature)
        if largest <= tol:
            break
    return p
