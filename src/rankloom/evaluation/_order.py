"""Arguments of metrics in the wrong order: what gives them away.

Grades, scores and query ids are all one value per row, and every order of them gives numbers. No single sign is
certain, so each check asks for several that arguments in the right order hardly ever show together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.core import FloatArray
from rankloom.groups import Groups

_FEWEST_ROWS = 20  # below, nothing is told by how often values occur
_FEWEST_SINGLE = 10  # queries of one row each, and no others
_MOST_GRADES = 10  # levels of grades that are common


def check_not_texts(values: ArrayLike, name: str, call: str) -> None:
    """Raise a ValueError for texts, also those that could be read as numbers: query ids often are such texts."""
    kind = np.asarray(values).dtype.kind
    first = next(iter(np.ravel(np.asarray(values, dtype=object))), None) if kind in "USO" else None
    if isinstance(first, str | bytes):
        raise ValueError(f"{name} must hold numbers, got the text {first!r}; the order is {call}")


def check_order(y: FloatArray, scores: FloatArray, groups: Groups, call: str) -> None:
    """Raise a ValueError if grades, scores and query ids seem to have changed places.

    Parameters
    ----------
    y, scores, groups : checked grades, scores and queries.
    call : how the arguments are to be ordered.
    """
    sign = (
        _scores_as_qid(y, scores, groups) or _scores_as_grades(y, scores, groups) or _grades_as_qid(y, scores, groups)
    )
    if sign:
        raise ValueError(f"the arguments seem to be in the wrong order: {sign}; the order is {call}")


def _scores_as_qid(y: FloatArray, scores: FloatArray, groups: Groups) -> str:
    """Scores in place of qid make about as many queries as there are rows; if not, query ids are in another place."""
    n_rows, n_queries = len(groups.codes), len(groups)
    if n_queries < _FEWEST_SINGLE:
        return ""
    if n_queries == n_rows:
        return f"each of the {n_rows} rows has a qid of its own"
    if not _have_fractions(groups.keys) or _n_runs(groups.codes) == n_queries:
        return ""
    if 3 * n_queries > n_rows or (n_rows >= _FEWEST_ROWS and (_in_blocks(y) or _whole(scores))):
        return f"qid has {n_queries} different values with decimals in {n_rows} rows, like scores"
    return ""


def _scores_as_grades(y: FloatArray, scores: FloatArray, groups: Groups) -> str:
    """Scores in place of y have decimals and differ; then grades or query ids are the scores, whole and often equal."""
    if len(y) < _FEWEST_ROWS or _whole(y) or not _whole(scores):
        return ""
    n_grades, n_scores = len(np.unique(y)), len(np.unique(scores))
    tied = len(np.unique(np.stack([groups.codes.astype(np.float64), scores]), axis=1).T) < 0.7 * len(y)
    if n_scores > 1 and tied and n_grades > max(_MOST_GRADES, 3 * n_scores):
        return (
            f"y has {n_grades} different values with decimals, like scores, and the scores are {n_scores} whole numbers"
        )
    return ""


def _grades_as_qid(y: FloatArray, scores: FloatArray, groups: Groups) -> str:
    """Grades in place of qid are few, the lowest is the most frequent; then query ids are the grades or the scores."""
    keys = groups.keys
    if len(y) < _FEWEST_ROWS or not 2 <= len(groups) <= _MOST_GRADES or not all(_is_grade(key) for key in keys):
        return ""
    counts = np.bincount(groups.codes)
    if counts.argmax() != int(np.argmin(np.array(keys, dtype=np.float64))) or _n_runs(groups.codes) <= len(groups):
        return ""
    for name, values, others in (("y", y, scores), ("scores", scores, y)):
        if _whole(values) and not _whole(others):
            different, occurs = np.unique(values, return_counts=True)
            many, mostly_lowest = len(different) > _MOST_GRADES, counts.max() > len(y) / 2
            in_blocks = _in_blocks(values) and (many or mostly_lowest)
            # Rows in any order have no blocks, but none of many query ids is as frequent as the lowest grade.
            evenly = many and mostly_lowest and occurs.max() < len(values) / 4
            if len(different) > len(groups) and (in_blocks or evenly):
                return (
                    f"qid has the {len(groups)} values of grades, and {name} {len(different)} whole numbers, like qid"
                )
    return ""


def _whole(values: FloatArray) -> bool:
    return bool((values == np.floor(values)).all())


def _n_runs(values: NDArray[Any]) -> int:
    """How many stretches of equal values follow each other."""
    return 1 + int((values[1:] != values[:-1]).sum())


def _in_blocks(values: FloatArray) -> bool:
    """Whether these are whole numbers, each in one stretch of rows, as the ids of queries mostly are."""
    n_runs = _n_runs(values)
    return 3 <= n_runs < len(values) / 2 and _whole(values) and len(np.unique(values)) == n_runs


def _have_fractions(keys: Sequence[Any]) -> bool:
    return all(isinstance(key, float | np.floating) for key in keys) and any(key != int(key) for key in keys)


def _is_grade(key: Any) -> bool:
    if not isinstance(key, int | float | np.integer | np.floating):
        return False
    return bool(0 <= key <= _MOST_GRADES and key == int(key))
