"""Uncertainty sampling: items that may be right or wrong, unlike each other, whose marks would teach most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.engine.neighbors import best_rows
from rankloom.engine.ranking import Ranking

POOL = 200
EXPECTED = 20  # without marks: the place in the list where right and wrong are taken to meet


def most_uncertain(
    ranking: Ranking, allowed: NDArray[np.bool_], n: int, similarity: Callable[[int, IntArray], NDArray[np.float32]]
) -> IntArray:
    """Rows of a search whose mark would teach most.

    Parameters
    ----------
    ranking : the search.
    allowed : rows to choose from.
    n : how many.
    similarity : those of some rows to one.
    """
    scores, judgements = ranking.unmoved, ranking.judgements
    border = border_between(scores, judgements.rows(right=True), judgements.rows(right=False), allowed)
    return sample_uncertain(scores, allowed, n, similarity, border)


def border_between(scores: FloatArray, right: IntArray, wrong: IntArray, allowed: NDArray[np.bool_]) -> float:
    """Where right and wrong meet: midway between the means of both, or at a place in the list."""
    if len(right) and len(wrong):
        return float((scores[right].mean() + scores[wrong].mean()) / 2.0)
    best = scores[best_rows(scores, np.flatnonzero(allowed), EXPECTED + 1)]
    return float(best[-1]) if len(best) else 0.0


def sample_uncertain(
    scores: FloatArray,
    allowed: NDArray[np.bool_],
    n: int,
    similarity: Callable[[int, IntArray], NDArray[np.float32]],
    border: float,
) -> IntArray:
    r"""Rows that may be right or wrong, and unlike each other.

    The next one minimises \(|s(p) - b| / \sigma + \max_j K(p, j)\) over the best items, j over those that were chosen.

    Parameters
    ----------
    scores : s.
    allowed : rows to choose from.
    n : how many.
    similarity : K, of one row to some.
    border : b, where right and wrong meet; \(\sigma\) is the spread of the best scores.
    """
    rows = np.flatnonzero(allowed)
    pool = best_rows(scores, rows, max(POOL, 4 * n))
    if not len(pool):
        return np.empty(0, dtype=np.int64)
    doubt = np.abs(scores[pool] - border) / (float(np.std(scores[pool])) or 1.0)
    alike = np.zeros(len(pool))
    chosen: list[int] = []
    for _ in range(min(n, len(pool))):
        merit = doubt + alike
        merit[chosen] = np.inf
        best = int(np.argmin(merit))
        chosen.append(best)
        alike = np.maximum(alike, similarity(int(pool[best]), pool))
    return np.asarray(pool[chosen], dtype=np.int64)
