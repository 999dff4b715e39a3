"""Which marks would teach most: items that may be right or wrong, and unlike each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.engine.answers import Ranking

__all__ = ["most_telling"]

POOL = 200
EXPECTED = 20  # without marks: the place in the list where right and wrong are taken to meet


def most_telling(
    ranking: Ranking, allowed: NDArray[np.bool_], n: int, column: Callable[[int], NDArray[np.float32]]
) -> IntArray:
    r"""Rows whose mark would teach most.

    The next one minimises \(|s(p) - b| / \sigma + \max_j K(p, j)\) over the best items: b is where right and wrong
    meet, midway between the means of the two kinds of marks, and \(\sigma\) the spread of the scores.

    Parameters
    ----------
    ranking : the scores.
    allowed : rows to choose from.
    n : how many.
    column : the similarities of all rows to one.
    """
    rows = np.flatnonzero(allowed)
    scores = ranking.scores if ranking.spread is None else ranking.spread.total
    order = rows[np.lexsort((rows, -scores[rows]))]
    pool = order[: max(POOL, 4 * n)]
    if not len(pool):
        return pool
    border = _border(ranking, scores, order)
    spread = float(np.std(scores[pool])) or 1.0
    doubt = np.abs(scores[pool] - border) / spread
    alike = np.zeros(len(pool))
    chosen: list[int] = []
    for _ in range(min(n, len(pool))):
        merit = doubt + alike
        merit[chosen] = np.inf
        best = int(np.argmin(merit))
        chosen.append(best)
        alike = np.maximum(alike, column(int(pool[best]))[pool])
    return pool[chosen]


def _border(ranking: Ranking, scores: FloatArray, order: IntArray) -> float:
    if ranking.followed is not None:
        rows = np.array(ranking.followed.items) - 1
        right = np.array(ranking.followed.grades) > 0
        if right.any() and not right.all():
            return float((scores[rows[right]].mean() + scores[rows[~right]].mean()) / 2)
    return float(scores[order[min(EXPECTED, len(order) - 1)]])
