"""Where a list of results should end: after that the rest is probably not what was looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloom.core import FloatArray

if TYPE_CHECKING:
    from rankloom.engine.ranking import Ranking

LOOKED_AT = 1000
SHORTEST = 5  # lists that need no end
# Constant, relative score, logarithm of the rank: `rankloom.experiments.fit_cutoff` on searches of three labeled
# collections with the preset fast, by experts alone and with diffusion.
PLAIN = (0.348, 2.311, -0.881)
DIFFUSED = (0.536, 4.659, -0.885)


def evidence(scores: FloatArray, bulk: float) -> FloatArray:
    """What is known of each result: its score on a scale from the bulk, 0, to the best, 1; the logarithm of its rank.

    Parameters
    ----------
    scores : of the results, best first.
    bulk : the median score of the collection.
    """
    top = float(scores[0]) - bulk
    relative = (scores - bulk) / top if top > 0 else np.zeros(len(scores))
    return np.stack([relative, np.log(np.arange(1, len(scores) + 1))], axis=1)


def chances(scores: FloatArray, bulk: float, numbers: tuple[float, float, float]) -> FloatArray:
    r"""The chance of each result to be right, \(\sigma(a + b u_r + c \log r)\), with a, b and c as given."""
    logits = numbers[0] + evidence(scores, bulk) @ np.array(numbers[1:])
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def best_cut(chance: FloatArray) -> int:
    r"""The rank k that maximises the expected F1, \(2 \sum_{r \le k} p_r / (k + \sum_r p_r)\).

    >>> best_cut(np.array([0.9, 0.8, 0.1, 0.1]))
    2

    References
    ----------
    D. Lewis, Evaluating and optimizing autonomous text classification systems, SIGIR 1995.
    """
    sums = np.cumsum(chance)
    return int(np.argmax(2.0 * sums / (np.arange(1, len(chance) + 1) + sums[-1]))) + 1


def suggest_cutoff(scores: FloatArray, n_results: int, ranking: Ranking) -> int | None:
    """The rank after which the rest is probably not it; None for short lists.

    Only for searches by example without marks: words and marks say themselves what they are sure of.

    Parameters
    ----------
    scores : of the first results, best first.
    n_results : how many results there are.
    ranking : the search.
    """
    if n_results < SHORTEST or ranking.feedback is not None or not ranking.encoded.query.examples:
        return None
    bulk = float(np.median(ranking.total[ranking.reference]))
    cut = best_cut(chances(scores[:LOOKED_AT], bulk, PLAIN if ranking.diffused is None else DIFFUSED))
    return cut if cut < n_results else None
