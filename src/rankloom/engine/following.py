"""The marks of one search as scores and places."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import StoredMark
from rankloom.core import FloatArray, IntArray
from rankloom.engine.answers import Followed
from rankloom.engine.relevance import follow_marks

__all__ = ["Told", "follow", "offsets_of", "told_by"]

PREFERRED = 0.5  # how much "rather than" counts beside a mark
EXPERTS = 1.0  # what the experts say of the best item; the kernel machine gives about 1 to right items


class Told(NamedTuple):
    """What a user has said in a search: the last grade of each item, and pairs of (better, worse)."""

    grades: dict[int, float]
    pairs: list[tuple[int, int]]

    @property
    def n_marks(self) -> int:
        """How many items have a grade, and how many pairs there are."""
        return len(self.grades) + len(self.pairs)


def told_by(marks: Iterable[StoredMark], n_items: int) -> Told:
    """What marks say as they stand; items beyond a number are passed over."""
    grades: dict[int, float] = {}
    pairs = []
    for mark in marks:
        if mark.item > n_items or (mark.over or 0) > n_items:
            continue
        if mark.over is not None:
            pairs.append((mark.item, mark.over))
        else:
            grades.pop(mark.item, None)  # the last mark of an item is the latest
            grades[mark.item] = mark.grade
    return Told(grades, pairs)


def follow(
    told: Told,
    base: FloatArray,
    column: Callable[[int], NDArray[np.float32]],
    example: NDArray[np.float32] | None,
    *,
    most: int,
) -> Followed:
    """A score that follows the marks: what the experts say, and a kernel machine over marks and examples.

    Parameters
    ----------
    told : the marks.
    base : what the experts say of every item.
    column : the similarity of all items to one.
    example : the mean similarity of all items to the examples of the query, which are right too; None without any.
    most : how many of the latest marks teach; the others keep their places only.
    """
    targets = {item: 1.0 if grade > 0 else -1.0 for item, grade in told.grades.items()}
    highest = max(1.0, max(told.grades.values(), default=1.0))
    weights = {item: max(grade, 0.1) / highest if grade > 0 else 1.0 for item, grade in told.grades.items()}
    sums: dict[int, float] = {}
    for better, worse in told.pairs:
        sums[better] = sums.get(better, 0.0) + 1.0
        sums[worse] = sums.get(worse, 0.0) - 1.0
    for item, total in sums.items():
        if item not in targets and total > 0:  # the lesser item is not wrong
            targets[item], weights[item] = 1.0, PREFERRED
    items = [*targets][-most:]
    found = [column(item) for item in items]
    t, w = [targets[item] for item in items], [weights[item] for item in items]
    rows: IntArray = np.array(items, dtype=np.int64) - 1
    gram = np.array([one[rows] for one in found], dtype=np.float64).reshape(len(items), len(items))
    if example is not None:
        mine = example[rows].astype(np.float64)
        gram = np.block([[np.ones((1, 1)), mine[None]], [mine[:, None], gram]])
        items, found, t, w = [0, *items], [example, *found], [1.0, *t], [1.0, *w]
    columns = np.stack(found) if found else np.zeros((0, len(base)), dtype=np.float32)
    size = float(np.abs(base).max(initial=0.0)) or 1.0
    coefficients = np.append(EXPERTS / size, follow_marks(gram, np.array(t), np.array(w)))
    return Followed(tuple(items), tuple(t), columns, coefficients)


def offsets_of(told: Told, total: FloatArray) -> dict[int, float]:
    """What puts right items first, by grade, wrong ones last, and preferred ones above those they were preferred to."""
    size = float(np.ceil(np.ptp(total)) + 1.0) if len(total) else 1.0
    found: dict[int, float] = {}
    values = {*told.grades.values()}
    places = {grade: place for place, grade in enumerate(sorted(one for one in values if one > 0), 1)}
    places |= {
        grade: -place for place, grade in enumerate(sorted((one for one in values if one <= 0), reverse=True), 1)
    }
    for item, grade in told.grades.items():
        found[item - 1] = size * places[grade]
    for _ in range(len(told.pairs)):
        moved = False
        for better, worse in told.pairs:
            upper, lower = (total[item - 1] + found.get(item - 1, 0.0) for item in (better, worse))
            if upper <= lower:
                found[better - 1] = found.get(better - 1, 0.0) + lower - upper + 1e-3 * size
                moved = True
        if not moved:
            break
    return found
