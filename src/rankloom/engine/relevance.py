r"""Relevance feedback inside one search: marked items teach a kernel machine, scores spread over the neighbours.

Everything is linear in the similarities to the query and to the marked items, so that a score can be explained.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray
from rankloom.engine.neighbors import Neighbours

__all__ = ["ALPHA", "Spread", "follow_marks", "spread_scores"]

ALPHA = 0.9  # how much neighbours say
NEAREST = 10  # where a plain query enters the graph: beside its nearest item
FOLLOWED = 30  # the same with marks, whose scores are surer
RIDGE = 0.1
MEAN = 1.0  # how much mean similarities count beside the kernel machine
AGAINST = 0.5  # and those to wrong items


def follow_marks(
    gram: FloatArray, targets: FloatArray, weights: FloatArray, *, machine: bool = True, means: bool = True
) -> FloatArray:
    r"""Coefficients \(\beta\) of a score \(f(p) = \sum_j \beta_j K(p, j)\) over marked items, then a constant.

    The sum of two rules. A kernel machine, ridge regression on the targets with a constant term, both sides of equal
    total weight:

    .. math:: \min_{a, b} \sum_j c_j (t_j - \sum_i a_i K(j, i) - b)^2 + \lambda\, a^\top K a

    is best when there are many marks. The mean similarity to right items less half of that to wrong ones is best when
    there are few.

    Parameters
    ----------
    gram : array of shape (m, m), the similarities K between marked items.
    targets : above 0 for right, below 0 for wrong.
    weights : how much each mark counts.
    machine, means : which of the two rules take part.

    Returns
    -------
    array of shape (m + 1,)

    Examples
    --------
    >>> gram = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> follow_marks(gram, np.array([1.0, 1.0, -1.0]), np.ones(3)).round(2).tolist()
    [0.91, 1.26, -1.66, 0.05]
    """
    m = len(targets)
    found = np.zeros(m + 1)
    sides = [(targets > 0, MEAN), (targets < 0, -MEAN * AGAINST)]
    for side, share in sides:
        if side.any() and (means or not (targets < 0).any()):
            found[:m][side] += share * weights[side] / weights[side].sum()
    if machine and all(side.any() for side, _ in sides):
        balanced = weights.copy()
        for side, _ in sides:
            balanced[side] *= m / (2.0 * weights[side].sum())
        system = np.zeros((m + 1, m + 1))
        system[:m, :m] = gram + np.diag(RIDGE / balanced)
        system[m, :m] = system[:m, m] = 1.0
        found += np.linalg.solve(system, np.append(np.sign(targets), 0.0))
    return found


class Spread(NamedTuple):
    r"""Scores that spread over the graph, \(f = y + \alpha S f\), beside what was there before.

    The total is `own * scores + f`; y is `share * (scores - floor)` where `inside`, else 0.
    """

    total: FloatArray
    f: FloatArray
    inside: NDArray[np.bool_]
    share: float
    floor: float
    own: float


def spread_scores(
    scores: FloatArray,
    neighbours: Neighbours,
    operator: Any,
    present: NDArray[np.bool_],
    *,
    barred: NDArray[np.int64] | None = None,
    followed: bool = False,
) -> Spread:
    """Let the best items lend their score to their neighbours, and these to theirs.

    Parameters
    ----------
    scores : of all items.
    neighbours, operator : the graph and its matrix S.
    present : which items count.
    barred : row numbers that lend nothing: items marked wrong.
    followed : whether the scores follow marks. Otherwise only a trace of them is kept, to order items that the graph
        does not reach.
    """
    rows = np.flatnonzero(present)
    order = rows[np.lexsort((rows, -scores[rows]))]
    n_start = min(FOLLOWED if followed else NEAREST, len(order) - 1)
    floor = float(scores[order[n_start]])
    nearest = order[: n_start + 1]
    span = float(scores[nearest[0]]) - floor
    share = 1.0 / span if span > 0 else 0.0
    start = np.zeros(len(scores))
    start[nearest] = np.maximum(scores[nearest] - floor, 0.0) * share
    if barred is not None:
        start[barred] = 0.0
    f = neighbours.diffuse(start, ALPHA, operator=operator)
    size = float(np.abs(scores[rows]).max()) or 1.0
    own = 1.0 if followed else 1e-6 / size
    return Spread(own * scores + f, f, start > 0, share, floor, own)
