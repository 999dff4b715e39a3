"""How doubtful the standing of items is: how near each is to the border between right and wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.engine.neighbors import best_rows
from rankloom.engine.ranking import Ranking

UNKNOWN = (
    "nothing says yet where right and wrong meet: mark one result right and one wrong, "
    "or search by a picture whose results have a suggested end"
)


@dataclass(frozen=True, eq=False)
class Border:
    """Where right and wrong meet.

    Parameters
    ----------
    scores : of every item, by what tells right from wrong.
    value : the score between the two.
    """

    scores: FloatArray
    value: float

    def nearest(self, rows: IntArray, n: int) -> IntArray:
        """The n of some rows, in ascending order, that are nearest to the border; ties by row number.

        >>> Border(np.array([1.0, 0.25, -1.0, 0.75, 0.5]), 0.5).nearest(np.arange(4), 3).tolist()
        [1, 3, 0]
        """
        return best_rows(-np.abs(self.scores - self.value), rows, n)


def find_border(ranking: Ranking, order: IntArray, cutoff: int | None) -> Border | None:
    """The border of a search; None where nothing says where it is.

    With marks it lies midway between the mean scores of right and of wrong items, as relevance feedback scores them;
    those that the other marks contradict do not count. Without any it is the suggested end of the results.

    Parameters
    ----------
    ranking : the search.
    order : rows of the first results, best first.
    cutoff : the rank after which the rest is probably not it.
    """
    if ranking.feedback is not None:
        right, wrong = (ranking.judgements.rows(right=side, without=ranking.contradicted) for side in (True, False))
        if not (len(right) and len(wrong)):
            return None
        return Border(ranking.scores, float(ranking.scores[right].mean() + ranking.scores[wrong].mean()) / 2.0)
    if cutoff is None or cutoff >= len(order):
        return None
    return Border(ranking.total, float(ranking.total[order[[cutoff - 1, cutoff]]].mean()))


def most_uncertain(ranking: Ranking, border: Border, allowed: NDArray[np.bool_], n: int) -> IntArray:
    """The rows of a search whose standing is most doubtful; what is marked is not in doubt, unless other marks
    contradict it.

    Parameters
    ----------
    ranking : the search.
    border : where right and wrong meet in it.
    allowed : which rows may be results.
    n : how many.
    """
    doubtful = allowed.copy()
    doubtful[ranking.judgements.rows(without=ranking.contradicted)] = False
    return border.nearest(np.flatnonzero(doubtful), n)
