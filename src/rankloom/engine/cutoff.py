r"""Where a list of results ends: after that the rest is probably not what was looked for.

Nothing is learned here, for what is learned of one collection does not hold in another: the best results are looked at
as a part of the neighbor graph. They end where the graph says so: nearly all neighbors of the first k results are
among them, and hardly any neighbor of those that follow is. Where there is no such place, no end is suggested.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray

if TYPE_CHECKING:
    from rankloom.engine.ranking import Ranking

LOOKED_AT = 1000
FOLLOWING = 20  # results after an end of which it is said that they are something else
SHORTEST = 5  # lists that need no end
# Shares of links that an end may cut. Chosen on three labeled collections, on which the results after an end are right
# in .03 to .21 of all cases whatever is taken from .25 to .5 and from .05 to .2 (`rankloom.experiments.judge_cutoff`).
LEAVING, RETURNING = 0.25, 0.1


class Links(NamedTuple):
    """Shares of the links of a neighbor graph, for the first k results, k = 0, 1 and so on.

    Parameters
    ----------
    leaving : of the links of the first k, those to items that are not among them.
    returning : of the links of the `FOLLOWING` results after them, those to items that are.
    """

    leaving: FloatArray
    returning: FloatArray


def count_links(
    order: IntArray,
    neighbors: NDArray[np.int32],
    eligible: NDArray[np.bool_] | None = None,
    others: Mapping[int, list[int]] | None = None,
) -> Links:
    r"""What the neighbor graph says of every beginning of a list. A link to the r-th neighbor weighs \(1 / r\).

    Parameters
    ----------
    order : rows of items, best first.
    neighbors : of every item, nearest first, as `NeighborGraph.ids`.
    eligible : which items might be in the list; links to others do not count. All unless given.
    others : by row items, numbered from 1, that it stands for in the list.

    References
    ----------
    R. Andersen, F. Chung, K. Lang, Local graph partitioning using PageRank vectors, FOCS 2006: the same walk along an
    order of diffused scores.
    """
    n = len(order)
    ends = neighbors[order]
    there = ends >= 0
    if eligible is not None:
        there &= eligible[ends]
    weights = there / (1.0 + np.arange(ends.shape[1]))
    place = np.broadcast_to(np.arange(n)[:, None], ends.shape)
    other = _places(order, others or {}, len(neighbors))[ends]
    size = weights.sum(axis=1)
    volume = np.concatenate([[0.0], np.cumsum(size)])
    sizes = np.bincount(np.maximum(place, other).ravel() + 1, weights.ravel(), n + 2)[: n + 1]
    inside = np.cumsum(sizes, dtype=np.float64)
    # A link from one of the next results into the first k counts for the k between its two ends.
    first = np.maximum(other, place - FOLLOWING) + 1
    back = first <= place
    steps = np.bincount(first[back], weights[back], n + 1) - np.bincount(place[back] + 1, weights[back], n + 1)
    following = volume[np.minimum(np.arange(n + 1) + FOLLOWING, n)] - volume
    return Links(1.0 - _share(inside, volume), _share(np.cumsum(steps, dtype=np.float64), following))


def _places(order: IntArray, others: Mapping[int, list[int]], n_items: int) -> NDArray[np.int32]:
    """The place of every row in an order, its length for those that are not in it; also at the end, for row -1."""
    places = np.full(n_items + 1, len(order), dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    for row, items in others.items():
        if places[row] < len(order):
            places[[item - 1 for item in items]] = places[row]
    return places


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def best_end(links: Links, most: int) -> int | None:
    """The rank at which the links part best, if they part clearly enough; at most `most`."""
    ranks = np.arange(SHORTEST, min(most, len(links.leaving) - 1) + 1)
    leaving, returning = links.leaving[ranks], links.returning[ranks]
    clear = (leaving <= LEAVING) & (returning <= RETURNING)
    return int(ranks[clear][np.argmin((leaving + returning)[clear])]) if clear.any() else None


def count_likely(scores: FloatArray) -> int:
    """About how many results before an end are right: those with at least half of the median score.

    >>> count_likely(np.array([1.0, 0.8, 0.7, 0.6, 0.2]))
    4
    """
    return int(np.count_nonzero(scores >= np.median(scores) / 2))


def suggest_cutoff(order: IntArray, others: Mapping[int, list[int]], n_results: int, ranking: Ranking) -> int | None:
    """The rank after which the rest is probably not it; None where nothing says so.

    Only for searches by example without marks in which neighbors count: words and marks say themselves what they are
    sure of.

    Parameters
    ----------
    order : rows of the first results, best first.
    others : by row the near duplicates that were left out.
    n_results : how many results there are.
    ranking : the search.
    """
    if ranking.diffused is None or ranking.feedback is not None or not ranking.encoded.query.examples:
        return None
    links = count_links(order[:LOOKED_AT], ranking.diffused.neighbors, ranking.eligible, others)
    return best_end(links, n_results // 2)
