r"""Relevance feedback inside one search: marked items teach a kernel machine, and have their places.

Everything is linear in the similarities to the query and to the marked items, so that a score can be explained.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from graphlib import TopologicalSorter
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import StoredMark
from rankloom.core import FloatArray, IntArray
from rankloom.engine.contradictions import TRUST, contradicted_marks
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.kernel_machine import feedback_coefficients
from rankloom.engine.similarity import CACHE_BYTES, Similarities
from rankloom.engine.view import View

PREFERRED = 0.5  # how much "rather than" counts beside a mark
EXPERTS = 1.0  # what the experts say of the best item; the kernel machine gives about 1 to right items
MOST_MARKS = 300  # marks of a query that teach at once; the others keep their places


class Judgements(NamedTuple):
    """What a user has said in a search: the last grade of each item, preferences (better, worse), and which items were
    given their grade twice: that confirms it."""

    grades: dict[int, float]
    pairs: list[tuple[int, int]]
    confirmed: frozenset[int] = frozenset()

    @classmethod
    def of(cls, marks: Iterable[StoredMark], n_items: int) -> Judgements:
        """The judgements that active marks make; marks of items beyond a number are left out."""
        grades: dict[int, float] = {}
        pairs: list[tuple[int, int]] = []
        confirmed: set[int] = set()
        for mark in marks:
            if mark.item > n_items or (mark.over or 0) > n_items:
                continue
            if mark.over is not None:
                pairs.append((mark.item, mark.over))
            else:
                before = grades.pop(mark.item, None)  # the last mark of an item is the latest
                grades[mark.item] = mark.grade
                (confirmed.add if before == mark.grade else confirmed.discard)(mark.item)
        return cls(grades, pairs, frozenset(confirmed))

    @property
    def n_marks(self) -> int:
        """How many items have a grade, and how many preferences there are."""
        return len(self.grades) + len(self.pairs)

    def rows(self, *, right: bool | None = None, without: Container[int] = ()) -> IntArray:
        """The rows of graded items; only right ones, or only wrong ones, if asked for; some items left out."""
        return np.array(
            [
                item - 1
                for item, grade in self.grades.items()
                if (right is None or (grade > 0) == right) and item not in without
            ],
            dtype=np.int64,
        )

    @property
    def all_rows(self) -> IntArray:
        """The rows of all items that something was said of."""
        return np.array([item - 1 for item in {*self.grades, *chain.from_iterable(self.pairs)}], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class FeedbackModel:
    r"""A score that follows marks: \(\beta_q b(p) + \sum_j \beta_j K(p, j) + \beta_0\).

    Parameters
    ----------
    items : the marked items j; 0 for the examples of the query.
    targets : 1 for right, -1 for wrong.
    columns : K, the similarities of items to each marked one, one row a marked item.
    coefficients : of the query, of each marked item, and the constant.
    rows : the items whose similarities are known, in ascending order; None for all.
    contradicted : the marked items of which the other marks say otherwise.
    """

    items: tuple[int, ...]
    targets: tuple[float, ...]
    columns: NDArray[np.float32]
    coefficients: FloatArray
    rows: IntArray | None = None
    contradicted: frozenset[int] = frozenset()

    def scores(self, base: FloatArray) -> FloatArray:
        """The scores of all items, from those of the query alone; items that are not known are not above the worst."""
        known = base if self.rows is None else base[self.rows]
        scores = np.asarray(
            self.coefficients[0] * known + self.coefficients[1:-1] @ self.columns + self.coefficients[-1],
            dtype=np.float64,
        )
        if self.rows is None:
            return scores
        everything = np.full(len(base), scores.min(initial=0.0))
        everything[self.rows] = scores
        return everything

    def column_of(self, row: int) -> int:
        """Where the similarities of an item are."""
        return row if self.rows is None else int(np.searchsorted(self.rows, row))


class RelevanceFeedback:
    """Fits what follows the marks of a search."""

    def __init__(self, similarities: Similarities):
        self._similarities = similarities

    def fit(
        self, view: View, encoded: EncodedQuery, judgements: Judgements, base: FloatArray, rows: IntArray | None = None
    ) -> FeedbackModel | None:
        """What follows the marks of a query; None without any.

        Parameters
        ----------
        view, encoded, judgements : the items, the query and its marks.
        base : what the experts say of every item.
        rows : the items that count, in ascending order, marked ones among them; None for all.
        """
        if not judgements.n_marks:
            return None
        most = int(np.clip(CACHE_BYTES // max(1, 4 * view.snapshot.n_items), 30, MOST_MARKS))
        example = self._similarities.to_examples(view, encoded, rows)
        columns_of = partial(self._similarities.to_items, view, rows=rows)
        return fit_feedback(judgements, base, columns_of, example, most=most, rows=rows)


def fit_feedback(
    judgements: Judgements,
    base: FloatArray,
    columns_of: Callable[[list[int]], list[NDArray[np.float32]]],
    example: NDArray[np.float32] | None,
    *,
    most: int,
    rows: IntArray | None = None,
) -> FeedbackModel:
    """A score that follows the marks: what the experts say, and a kernel machine over marks and examples.

    Parameters
    ----------
    judgements : the marks.
    base : what the experts say of every item.
    columns_of : the similarity of the items that count to each of some.
    example : the mean similarity of the items that count to the examples of the query, which are right too; None
        without any.
    most : how many of the latest marks teach; the others keep their places only.
    rows : the items that count; None for all.
    """
    targets, weights = _targets(judgements)
    items = [*targets][-most:]
    columns = columns_of(items)
    t, w = [targets[item] for item in items], [weights[item] for item in items]
    marked: IntArray = np.array(items, dtype=np.int64) - 1
    places = marked if rows is None else np.searchsorted(rows, marked)
    gram = np.array([similarity[places] for similarity in columns], dtype=np.float64).reshape(len(items), len(items))
    if example is not None:
        to_marked = example[places].astype(np.float64)
        gram = np.block([[np.ones((1, 1)), to_marked[None]], [to_marked[:, None], gram]])
        items, columns, t, w = [0, *items], [example, *columns], [1.0, *t], [1.0, *w]
    n_counting = len(base) if rows is None else len(rows)
    stacked = np.stack(columns) if columns else np.zeros((0, n_counting), dtype=np.float32)
    factor = EXPERTS / (float(np.abs(base).max(initial=0.0)) or 1.0)
    fallible = np.array([item in judgements.grades and item not in judgements.confirmed for item in items], dtype=bool)
    by_experts = np.full(len(items), EXPERTS)  # nothing is more like the examples than they are
    by_experts[len(items) - len(marked) :] = factor * base[marked]
    found = contradicted_marks(gram, np.array(t), np.array(w), by_experts, fallible)
    taught = feedback_coefficients(gram, np.array(t), np.array(w), trust=np.where(found, TRUST, 1.0))
    contradicted = frozenset(item for item, is_odd in zip(items, found.tolist(), strict=True) if is_odd)
    return FeedbackModel(tuple(items), tuple(t), stacked, np.append(factor, taught), rows, contradicted)


def _targets(judgements: Judgements) -> tuple[dict[int, float], dict[int, float]]:
    """What each item should score, 1 or -1, and how much that counts."""
    grades = judgements.grades
    targets = {item: 1.0 if grade > 0 else -1.0 for item, grade in grades.items()}
    highest = max(1.0, max(grades.values(), default=1.0))
    weights = {item: max(grade, 0.1) / highest if grade > 0 else 1.0 for item, grade in grades.items()}
    balance: dict[int, float] = {}
    for better, worse in judgements.pairs:
        balance[better] = balance.get(better, 0.0) + 1.0
        balance[worse] = balance.get(worse, 0.0) - 1.0
    for item, total in balance.items():
        if item not in targets and total > 0:  # the lesser item is not wrong
            targets[item], weights[item] = 1.0, PREFERRED
    return targets, weights


def mark_offsets(
    judgements: Judgements, total: FloatArray, contradicted: frozenset[int] = frozenset()
) -> dict[int, float]:
    """What puts right items first, by grade, wrong ones last, and preferred ones above those they were preferred to.

    Items whose marks are contradicted stay where their score puts them.
    """
    size = float(np.ceil(np.ptp(total)) + 1.0) if len(total) else 1.0
    grades = sorted({*judgements.grades.values()})
    places = {grade: place for place, grade in enumerate((grade for grade in grades if grade > 0), 1)}
    places |= {grade: -place for place, grade in enumerate((grade for grade in reversed(grades) if grade <= 0), 1)}
    offsets = {item - 1: size * places[grade] for item, grade in judgements.grades.items() if item not in contradicted}
    step = 1e-3 * size
    for better, worse in _consistent(judgements.pairs):
        upper, lower = (total[item - 1] + offsets.get(item - 1, 0.0) for item in (better, worse))
        if upper <= lower:
            offsets[better - 1] = offsets.get(better - 1, 0.0) + lower - upper + step
    return offsets


def _consistent(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The preferences that can hold together, those of the worst items first.

    Of two items the last preference counts; those that are part of a circle contradict each other and are left out.

    >>> _consistent([(1, 2), (2, 3), (3, 2), (5, 6), (6, 7), (7, 5)])
    [(1, 2), (3, 2)]
    """
    last = {frozenset(pair): pair for pair in pairs}
    if not last:
        return []
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    items, places = np.unique(np.array([*last.values()], dtype=np.int64), return_inverse=True)
    better, worse = places.reshape(-1, 2).T
    edges = csr_array((np.ones(len(better)), (better, worse)), shape=(len(items), len(items)))
    _, circle = connected_components(edges, connection="strong")
    above: TopologicalSorter[int] = TopologicalSorter()
    held = np.flatnonzero(circle[better] != circle[worse])
    for upper, lower in zip(circle[better[held]].tolist(), circle[worse[held]].tolist(), strict=True):
        above.add(upper, lower)
    place = {number: at for at, number in enumerate(above.static_order())}
    order = sorted(held.tolist(), key=lambda pair: place[int(circle[better[pair]])])
    return [(int(items[better[pair]]), int(items[worse[pair]])) for pair in order]
