"""Rows in an order that their content gives: permuted rows and renamed queries then teach the same bits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from rankloom.core import FloatArray, IntArray, Matrix
from rankloom.groups import Groups, group_rows, preferences
from rankloom.rankers.base import Problem


class Canonical(NamedTuple):
    """Row numbers in an order given by content, with their queries and weights; query `g` weighs `query_weight[g]`."""

    rows: IntArray
    groups: Groups
    weight: FloatArray
    query_weight: FloatArray


def canonical(problem: Problem, *, merge: bool = True) -> Canonical:
    """Order rows and queries by what they hold, without those of weight 0.

    The order within a query is that of a hash, so it says nothing about grades or features.

    Parameters
    ----------
    problem : rows in any order, queries by any name.
    merge : whether equal rows (features and grade) of a query become one, with the sum of their weights.
    """
    X, y, codes, weight = problem.X, problem.y, problem.groups.codes, problem.weight
    rows = np.flatnonzero((weight > 0) & (problem.query_weight[codes] > 0))
    if not len(rows):
        return Canonical(rows, group_rows([], 0), np.empty(0), np.empty(0))
    key = _row_hashes(X, y)
    rows = rows[np.lexsort((key[rows], codes[rows]))]
    weight = weight[rows]
    if merge:
        row, following = rows[:-1], rows[1:]
        same = (codes[row] == codes[following]) & (key[row] == key[following])
        alike = np.flatnonzero(same)
        row, following = row[alike], following[alike]
        same[alike] = (y[row] == y[following]) & _equal_rows(X[row], X[following])
        first = np.flatnonzero(np.append(True, ~same))
        rows, weight = rows[first], np.add.reduceat(weight, first)
    starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    order = np.argsort(np.add.reduceat(key[rows], starts), kind="stable")  # sums of hashes: any order of rows will do
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    query = np.repeat(number, np.diff(starts, append=len(rows)))
    by_query = np.argsort(query, kind="stable")
    query_weight = problem.query_weight[codes[rows[starts[order]]]]
    return Canonical(rows[by_query], group_rows(query[by_query], len(rows)), weight[by_query], query_weight)


def hold_out(problem: Problem, share: float, random_state: Any) -> NDArray[np.bool_]:
    """Choose rows to hold out: whole queries, or of a single query a share of each grade. True for those held out.

    Of a single query at least one row of each grade is held out, and one is not, where there are two or more. If no
    pair can be held out, no row is. Rows that stand in no pair, or have no weight, neither choose nor are chosen. The
    choice depends on the features of the rows and on `random_state`, not on the order of rows or queries.
    """
    random = check_random_state(random_state)
    codes = problem.groups.codes
    key = _hashes(len(codes), problem.X.T)
    taught = preferences(problem.y, problem.groups, problem.weight, problem.query_weight)
    queries = np.unique(taught.query)
    rows = np.sort(taught.rows)
    held = np.zeros(len(codes), dtype=bool)
    if len(queries) > 1:
        rows = rows[np.lexsort((key[rows], codes[rows]))]
        new = np.append(True, (np.diff(codes[rows]) > 0) | (key[rows[1:]] != key[rows[:-1]]))
        sums = np.zeros(len(problem.groups), dtype=np.uint64)
        np.add.at(sums, codes[rows[new]], key[rows[new]])  # equal rows once: they are like one row of more weight
        queries = queries[np.argsort(sums[queries], kind="stable")]
        held[rows[np.isin(codes[rows], queries[_sample(random, len(queries), share)])]] = True
        return held
    for grade in np.unique(problem.y[rows]):
        alike = rows[problem.y[rows] == grade]
        alike = alike[np.argsort(key[alike], kind="stable")]
        held[alike[_sample(random, len(alike), share)]] = True
    return held if len(np.unique(problem.y[held])) > 1 else np.zeros_like(held)


def _sample(random: Any, n: int, share: float) -> IntArray:
    """A random share of the numbers below n: at least one, never all."""
    return np.asarray(random.permutation(n)[: min(max(1, round(share * n)), n - 1)], dtype=np.int64)


def subset(problem: Problem, rows: NDArray[np.bool_]) -> Problem:
    """The chosen rows of a problem."""
    codes = problem.groups.codes[rows]
    kept = np.unique(codes)
    groups = group_rows(codes, len(codes))
    return Problem(problem.X[rows], problem.y[rows], groups, problem.weight[rows], problem.query_weight[kept])


def _row_hashes(X: Matrix, y: FloatArray) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """A hash of each row and its grade. That of a sparse row is a sum over its values other than 0."""
    if not sparse.issparse(X):
        return _hashes(len(y), (*X.T, y))
    parts = _hashes(X.nnz, (X.indices, X.data))
    parts[X.data == 0.0] = 0
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(parts)])
    hashes = _hashes(len(y), [y])
    hashes += sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    return hashes


def _equal_rows(X: Matrix, other: Matrix) -> NDArray[np.bool_]:
    if not sparse.issparse(X):
        return np.asarray((other == X).all(axis=1))
    differ = (other != X).tocsr()
    return np.asarray(np.diff(differ.indptr) == 0)


def _hashes(n: int, columns: Iterable[Matrix]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """A hash of each row of these columns, by the multiply and shift of splitmix64."""
    hashes = np.zeros(n, dtype=np.uint64)
    for column in columns:
        hashes ^= np.add(column, 0.0, dtype=np.float64).view(np.uint64)  # + 0.0 makes -0.0 the same as 0.0
        hashes *= np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(31)
    return hashes
