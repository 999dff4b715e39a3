"""Checks that features are neither too large nor too small to compute with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankloom.core import FloatArray, Matrix

FEW = 200  # rows that are looked at before all


def check_largest(rows: Matrix, most: float, who: str) -> None:
    """Raise a ValueError that names the column whose values are beyond what a ranker can compute with."""
    flat = rows.data if sparse.issparse(rows) else rows.ravel()
    with np.errstate(over="ignore"):
        # One fast pass; only a sum that is large, or a limit whose square is no number, goes on to the exact test.
        if np.isinf(most) or flat @ flat <= most * most < np.inf:
            return
    largest = largest_values(rows)
    column = _first(largest > most)
    if column >= 0:
        raise ValueError(
            f"X has values up to {largest[column]:.3g} in column {column}, {who} computes with at most {most:g}; "
            "divide the column by a constant"
        )


def check_least(rows: Matrix, least: float, who: str) -> None:
    """Raise a ValueError that names the column whose values are so small that a ranker would lose them; 0 is fine."""
    # The first rows tell of most columns that they are large enough.
    columns = np.flatnonzero(largest_values(rows[:FEW]) < least)
    if not len(columns):
        return
    largest = np.full(rows.shape[1], np.inf)
    largest[columns] = largest_values(rows)[columns] if sparse.issparse(rows) else largest_values(rows[:, columns])
    column = _first((largest > 0) & (largest < least))
    if column >= 0:
        raise ValueError(
            f"X has no value beyond {largest[column]:.3g} in column {column}, {who} computes with at least {least:g}; "
            "multiply the column by a constant"
        )


def largest_values(rows: Matrix) -> FloatArray:
    """The largest absolute value of each column, without a copy of the rows."""
    if sparse.issparse(rows):
        largest = np.zeros(rows.shape[1])
        np.maximum.at(largest, rows.indices, np.abs(rows.data))
        return largest
    return np.asarray(np.maximum(rows.max(axis=0, initial=0.0), -rows.min(axis=0, initial=0.0)))


def _first(bad: NDArray[np.bool_]) -> int:
    """The first bad column; -1 where there is none."""
    return int(np.argmax(bad)) if bad.any() else -1
