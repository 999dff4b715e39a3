"""How hits are arranged once they have scores: near duplicates, rerankers, diversity."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection, duplicate_groups
from rankloom.collection.contents import State
from rankloom.core import FloatArray, IntArray
from rankloom.engine.explanation import Explanation, Part
from rankloom.engine.neighbors import best_rows
from rankloom.engine.options import SearchOptions
from rankloom.engine.ranking import Ranking
from rankloom.engine.similarity import Similarities
from rankloom.engine.snapshot import Snapshot

REORDERED = 200  # hits that a reranker or diversity reorders


@dataclass(frozen=True, eq=False)
class Arranged:
    """Hits in the order in which they are shown.

    Parameters
    ----------
    ranking : the scores of all items.
    method : what reranked them, or "experts".
    order : the first rows, best first.
    n_results : how many rows there are, of which these are the first.
    total : the score of every row, before a reranker.
    moved : what the reranker added to it.
    others : by row the near duplicates that were left out.
    """

    ranking: Ranking
    method: str
    order: IntArray
    n_results: int
    total: FloatArray
    moved: FloatArray
    others: Mapping[int, list[int]]

    @property
    def scores(self) -> FloatArray:
        """The score of every row that is shown."""
        return self.total + self.moved

    def why(self, row: int) -> Explanation:
        """What each expert, marked item, neighbor and the reranker added; it sums to the score."""
        parts = self.ranking.why(row)
        return Explanation([*parts, Part("method", self.method, float(self.moved[row]))]) if self.moved[row] else parts


class Arrangement:
    """Puts the hits of a search in their order."""

    def __init__(self, collection: Collection, similarities: Similarities):
        self._collection, self._similarities = collection, similarities
        self._lock = threading.Lock()
        self._duplicates: tuple[State, dict[int, int]] | None = None

    def arrange(self, ranking: Ranking, allowed: NDArray[np.bool_], options: SearchOptions, n_first: int) -> Arranged:
        """Order the allowed items by score, ties by row number; then as the options say.

        Parameters
        ----------
        ranking : the scores.
        allowed : which items may be hits.
        options : how they are arranged.
        n_first : how many are wanted.
        """
        total = ranking.total
        rows = np.flatnonzero(allowed)
        n_results = len(rows)
        others: dict[int, list[int]] = {}
        # A reranker moves hits between the marked ones at both ends of the list.
        n_first = max(n_first, REORDERED + len(ranking.judgements.grades) + 1)
        if options.collapse:
            groups = self._groups(ranking.view.snapshot)
            n_results = n_collapsed(rows, groups)
            order, others = collapsed_first(total, rows, groups, n_first)
        else:
            order = best_rows(total, rows, n_first)
        moved = np.zeros(len(total))
        if options.method != "experts" and len(order) > 2:
            order, moved = reranked(ranking, order, total, options.method)
        if options.diversity and len(order) > 2:
            similarity = partial(self._similarities.among, ranking.view)
            order = diversified(ranking, order, total + moved, options.diversity, similarity)
        return Arranged(ranking, options.method, order, n_results, total, moved, others)

    def collapse(self, order: IntArray, snapshot: Snapshot) -> tuple[IntArray, dict[int, list[int]]]:
        """The best of each group of near duplicates, and by row the other items of its group."""
        return collapsed(order, self._groups(snapshot))

    def _groups(self, snapshot: Snapshot) -> dict[int, int]:
        """The group of near duplicates of each row that has any."""
        with self._lock:
            if self._duplicates is None or self._duplicates[0] != snapshot.state:
                groups = duplicate_groups(self._collection)
                members = {item - 1: number for number, group in enumerate(groups) for item in group}
                self._duplicates = (snapshot.state, members)
            return self._duplicates[1]


def collapsed_first(
    scores: FloatArray, rows: IntArray, groups: Mapping[int, int], n: int
) -> tuple[IntArray, dict[int, list[int]]]:
    """The n best of some rows, in ascending order, one of each group of near duplicates; and the others of its group.

    >>> collapsed_first(np.array([0.2, 0.9, 0.5, 0.7]), np.arange(4), {0: 0, 1: 0, 3: 0}, 2)
    (array([1, 2]), {1: [4, 1]})
    """
    taken = n
    while True:
        order = best_rows(scores, rows, taken)
        kept, _ = collapsed(order, groups)
        if len(kept) >= n or len(order) == len(rows):
            break
        taken *= 2
    grouped: IntArray = np.array([*groups], dtype=np.int64)
    members: dict[int, list[int]] = {}
    for row in best_rows(scores, np.intersect1d(grouped, rows), len(grouped)).tolist():
        members.setdefault(groups[row], []).append(row + 1)
    others = {row: members[groups[row]][1:] for row in kept[:n].tolist() if row in groups}  # the first is itself
    return kept[:n], {row: left_out for row, left_out in others.items() if left_out}


def n_collapsed(rows: IntArray, groups: Mapping[int, int]) -> int:
    """How many of some rows are left when one of each group is.

    >>> n_collapsed(np.array([2, 4, 7]), {4: 0, 7: 0})
    2
    """
    members: IntArray = np.array([*groups], dtype=np.int64)
    numbers: IntArray = np.array([*groups.values()], dtype=np.int64)
    here = np.isin(members, rows)
    return len(rows) - int(here.sum()) + len(np.unique(numbers[here]))


def collapsed(order: IntArray, groups: Mapping[int, int]) -> tuple[IntArray, dict[int, list[int]]]:
    """The best of each group of near duplicates, and the other items of its group.

    Parameters
    ----------
    order : rows, best first.
    groups : the group of each row that has near duplicates.

    Examples
    --------
    >>> collapsed(np.array([4, 2, 7]), {4: 0, 7: 0})
    (array([4, 2]), {4: [8]})
    """
    best: dict[int, int] = {}
    others: dict[int, list[int]] = {}
    kept = []
    for row in order.tolist():
        group = groups.get(row)
        if group is not None and group in best:
            others.setdefault(best[group], []).append(row + 1)
            continue
        if group is not None:
            best[group] = row
        kept.append(row)
    return np.array(kept, dtype=np.int64), others


def reranked(ranking: Ranking, order: IntArray, total: FloatArray, method: str) -> tuple[IntArray, FloatArray]:
    """Let the looks of the best results reorder them; marked ones keep their places at the ends.

    Returns the new order, and what was added to the score of each row.
    """
    snapshot = ranking.view.snapshot
    first, middle, last = _parted(order, ranking)
    top, rest = middle[:REORDERED], middle[REORDERED:]
    moved = np.zeros(len(total))
    if len(top) < 3 or not snapshot.vectors:
        return order, moved
    name = "semantic" if "semantic" in snapshot.vectors else next(iter(snapshot.vectors))
    from rankloom.reranking import rerank

    scores = rerank(total[top], np.asarray(snapshot.vectors[name][top], np.float64), method=method)
    floor = float(total[rest].max()) if len(rest) else float(total[top].min())
    ceiling = float(total[first].min()) if len(first) else np.inf
    span = float(np.ptp(scores)) or 1.0
    room = min(max(float(total[top].max()) - floor, 1e-6), ceiling - floor)
    moved[top] = floor + room * (0.01 + 0.98 * (scores - scores.min()) / span) - total[top]  # between their neighbours
    return np.concatenate([first, top[np.lexsort((top, -scores))], rest, last]), moved


def diversified(
    ranking: Ranking,
    order: IntArray,
    total: FloatArray,
    diversity: float,
    similarity: Callable[[IntArray], NDArray[np.float32]],
) -> IntArray:
    """Let the best results differ; marked ones keep their places at the ends. `similarity` is that between rows."""
    first, middle, last = _parted(order, ranking)
    top = middle[:REORDERED]
    if len(top) < 2:
        return order
    chosen = differing(top, total[top], np.asarray(similarity(top), np.float64), diversity)
    return np.concatenate([first, chosen, middle[REORDERED:], last])


def differing(order: IntArray, scores: FloatArray, similarity: FloatArray, diversity: float) -> IntArray:
    r"""Reorder the best results so that they differ: the next maximises \((1 - d) s(p) - d \max_j K(p, j)\).

    Parameters
    ----------
    order : row numbers, best first.
    scores : of these rows, scaled to [0, 1] here.
    similarity : between these rows.
    diversity : d, from 0 (as they are) to 1.

    References
    ----------
    J. Carbonell and J. Goldstein, The use of MMR, diversity-based reranking, SIGIR 1998.

    Examples
    --------
    >>> K = np.array([[1.0, 0.99, 0.1], [0.99, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> differing(np.array([7, 8, 9]), np.array([1.0, 0.9, 0.6]), K, 0.5).tolist()
    [7, 9, 8]
    """
    span = float(np.ptp(scores))
    value = (scores - scores.min()) / span if span > 0 else np.ones(len(scores))
    chosen: list[int] = []
    nearest = np.zeros(len(order))
    left = np.ones(len(order), dtype=bool)
    for _ in range(len(order)):
        merit = np.where(left, (1.0 - diversity) * value - diversity * nearest, -np.inf)
        best = int(np.argmax(merit))
        chosen.append(best)
        left[best] = False
        nearest = np.maximum(nearest, similarity[best])
    return order[chosen]


def _parted(order: IntArray, ranking: Ranking) -> tuple[IntArray, IntArray, IntArray]:
    """Results down to the last right one, those in between, and those from the first wrong one on."""
    held = {item: grade for item, grade in ranking.judgements.grades.items() if item not in ranking.contradicted}
    grades = [held.get(row + 1) for row in order.tolist()]
    right = max((place for place, grade in enumerate(grades) if grade is not None and grade > 0), default=-1) + 1
    first_wrong = min(
        (place for place, grade in enumerate(grades) if grade is not None and grade <= 0), default=len(order)
    )
    wrong = max(first_wrong, right)
    return order[:right], order[right:wrong], order[wrong:]
