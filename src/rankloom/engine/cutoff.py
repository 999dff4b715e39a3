"""Where a list of results should end: after that the rest is probably not what was looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloom.core import FloatArray

if TYPE_CHECKING:
    from rankloom.engine.answers import Ranking

__all__ = ["chances", "suggest_cutoff"]

LOOKED_AT = 1000
SHORTEST = 5  # lists that need no end
# Constant, relative score, logarithm of the rank; by logistic regression on searches of labelled collections.
PLAIN = (-3.0, 6.0, -0.3)
SPREAD = (-2.0, 5.0, -0.5)


def chances(scores: FloatArray, bulk: float, spread: bool) -> FloatArray:
    r"""The chance of each result, best first, to be right: \(\sigma(a + b u_r + c \log r)\).

    \(u_r\) is the score on a scale from the bulk of the collection, 0, to the best result, 1.

    Parameters
    ----------
    scores : of the results, best first.
    bulk : the median score of the collection.
    spread : whether neighbours counted.
    """
    a, b, c = SPREAD if spread else PLAIN
    top = float(scores[0]) - bulk
    relative = (scores - bulk) / top if top > 0 else np.zeros(len(scores))
    ranks = np.arange(1, len(scores) + 1)
    return np.asarray(1.0 / (1.0 + np.exp(-(a + b * relative + c * np.log(ranks)))))


def suggest_cutoff(scores: FloatArray, ranking: Ranking) -> int | None:
    r"""The rank that maximises the expected F1, \(2 \sum_{r \le k} p_r / (k + \sum_r p_r)\); None for short lists.

    Only for searches by example without marks: words and marks say themselves what they are sure of.

    Parameters
    ----------
    scores : of the results, best first.
    ranking : the search.

    References
    ----------
    D. Lewis, Evaluating and optimizing autonomous text classification systems, SIGIR 1995.
    """
    if len(scores) < SHORTEST or ranking.followed is not None or not ranking.query.examples:
        return None
    total = ranking.total
    found = chances(
        scores[:LOOKED_AT], float(np.median(total[ranking.view.snapshot.present])), ranking.spread is not None
    )
    sums = np.cumsum(found)
    expected = 2.0 * sums / (np.arange(1, len(found) + 1) + sums[-1])
    cut = int(np.argmax(expected)) + 1
    return cut if cut < len(scores) else None
