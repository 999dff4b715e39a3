"""Streams of preferences: index pairs (preferred, other) within queries, all of them or sampled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloom.core import FloatArray, IntArray, Matrix
from rankloom.groups import check_grades, group_rows


def query_pairs(X: Matrix, y: FloatArray, max_pairs: int, random: np.random.Generator) -> IntArray:
    """List the preferences of one query in random order, or `max_pairs` of them drawn with replacement.

    The result depends on the rows and on the generator, not on the order in which the rows come.

    >>> query_pairs(np.array([[1.0], [2.0]]), np.array([0.0, 1.0]), 10, np.random.default_rng(0)).tolist()
    [[1, 0]]
    """
    order = _canonical_order(X, y)
    grade = y[order]
    # Rows come from high to low grade: row i is preferred to all rows from `below[i]` on.
    below = np.searchsorted(-grade, -grade, side="right")
    ends = np.cumsum(len(y) - below)
    total = int(ends[-1]) if len(ends) else 0
    if total == 0:
        return np.empty((0, 2), dtype=np.int64)
    numbers = random.permutation(total) if total <= max_pairs else random.integers(0, total, max_pairs)
    winner = np.searchsorted(ends, numbers, side="right")
    loser = numbers - ends[winner] + len(y)
    return np.stack([order[winner], order[loser]], axis=1).astype(np.int64)


def _canonical_order(X: Matrix, y: FloatArray) -> IntArray:
    """An order by grade and content. Centred, so that a constant added to the query leaves it as it is."""
    if isinstance(X, np.ndarray):
        mixture = np.cos(np.arange(1.0, X.shape[1] + 1.0) ** 2)
        rows = X.astype(np.float64, copy=False)
        key = ((rows - rows.mean(axis=0)) * mixture).sum(axis=1)
    else:  # the centre would add the same to every key
        parts = X.data * np.cos((X.indices + 1.0) ** 2)
        key = np.bincount(np.repeat(np.arange(len(y)), np.diff(X.indptr)), parts, minlength=len(y))
    return np.lexsort((key, -y))


def sample_triplets(
    y: ArrayLike, qid: Any = None, *, negatives: int = 10, epochs: int = 1, batch: int = 100_000, random_state: Any = 0
) -> Iterator[IntArray]:
    """Generate preferences of a large table, batch by batch: every row with a lower one, against sampled lower rows.

    This is how section 5.1 of Wan et al. (2015) makes its training data: all relevant images of a query, each with a
    sample of irrelevant ones. Only `y` and `qid` are read, so that the features may stay on disk.

    Parameters
    ----------
    y, qid : grades and queries of the rows.
    negatives : how many rows of lower grade are drawn, with replacement, for each row that has some.
    epochs : passes over the data, each with a new order and a new sample.
    batch : most preferences held at once.
    random_state : seed.

    Examples
    --------
    >>> [pairs.tolist() for pairs in sample_triplets([0, 1, 0, 1], ["a", "a", "b", "b"], negatives=1)]
    [[[1, 0], [3, 2]]]
    """
    if negatives < 1 or epochs < 1 or batch < 1:
        raise ValueError(f"negatives, epochs and batch must be at least 1, got {negatives}, {epochs}, {batch}")
    grades = check_grades(y, len(np.asarray(y)))
    groups = group_rows(qid, len(grades))
    order = np.lexsort((-grades, groups.codes))
    query = groups.codes[order]
    # Place of the first lower grade of the same query, and of the query's end, for each row in that order.
    level = np.flatnonzero(np.r_[True, (np.diff(query) != 0) | (np.diff(grades[order]) != 0)]) if len(order) else order
    below = np.append(level[1:], len(order))[np.searchsorted(level, np.arange(len(order)), side="right") - 1]
    end = groups.starts[1:][query]
    winners = np.flatnonzero(below < end)
    random = np.random.default_rng(None if random_state is None else int(random_state))
    per_batch = max(1, batch // negatives)
    for _ in range(epochs):
        shuffled = random.permutation(winners)
        for start in range(0, len(shuffled), per_batch):
            chosen = np.repeat(shuffled[start : start + per_batch], negatives)
            losers = random.integers(below[chosen], end[chosen])
            yield np.stack([order[chosen], order[losers]], axis=1)[:batch]
