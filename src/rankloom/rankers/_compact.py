"""Compact rows, sparse or in float32: products in float64, without a dense float64 copy of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankloom.core import FloatArray, IntArray, Matrix
from rankloom.rankers import _kernels

BLOCK = 1 << 16  # cells of float32 rows that are float64 at once
NEWTON_LIMIT = 1000  # features; beyond it a d x d system costs more than many gradients
CHUNK = 1 << 20  # cells of compact rows that are dense at once for a Hessian; more only for a single query


def is_compact(X: Any) -> bool:
    """Whether rows are sparse or float32."""
    return bool(sparse.issparse(X) or X.dtype == np.float32)


def dense_rows(X: Matrix, rows: IntArray) -> FloatArray:
    """Some rows as a dense float64 array."""
    part = X[rows]
    return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)


def scores(X: Matrix, w: FloatArray) -> FloatArray:
    """X w, in float64."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ w)
    out = np.empty(len(X))
    for rows, block in _blocks(X):
        np.dot(block, w, out=out[rows])
    return out


def weighted_sum(v: FloatArray, X: Matrix) -> FloatArray:
    """The sum of the rows times their weights, v' X."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return np.asarray(v @ X)
    out = np.zeros(X.shape[1])
    for rows, block in _blocks(X):
        out += v[rows] @ block
    return out


def weighted_squares(v: FloatArray, X: Matrix) -> FloatArray:
    """The sum of the squares of each column, weighted by row."""
    if sparse.issparse(X):
        part = np.repeat(v, np.diff(X.indptr)) * np.square(X.data, dtype=np.float64)
        return np.bincount(X.indices, part, minlength=X.shape[1]).astype(np.float64)
    out = np.zeros(X.shape[1])
    for rows, block in _blocks(X):
        out += v[rows] @ (block * block)
    return out


def _blocks(X: NDArray[np.float32]) -> Iterator[tuple[slice, FloatArray]]:
    step = max(1, BLOCK // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        rows = slice(start, min(start + step, len(X)))
        yield rows, X[rows].astype(np.float64)


class Shift(NamedTuple):
    """What is subtracted from rows: compact rows of their own, and which of them is whose."""

    rows: Matrix
    of: IntArray

    def weights(self, v: FloatArray) -> FloatArray:
        """Weights of rows, added up by their shift."""
        return np.bincount(self.of, v, minlength=self.rows.shape[0]).astype(np.float64)


class CompactRows:
    r"""The matrix \(Z\) of compact rows, less a shift, or with a column of ones: `Z @ w` and `v @ Z`.

    Parameters
    ----------
    X : a `csr_array`, or a float32 array.
    shift : what is subtracted from each row.
    intercept : whether a last column of ones is added.
    """

    __array_ufunc__ = None  # v @ Z is ours, not NumPy's

    def __init__(self, X: Matrix, *, shift: Shift | None = None, intercept: bool = False):
        self.X, self.shift, self.intercept = X, shift, intercept
        self.shape = (X.shape[0], X.shape[1] + intercept)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __matmul__(self, w: FloatArray) -> FloatArray:
        f = scores(self.X, w[: self.X.shape[1]])
        if self.shift is not None:
            f -= scores(self.shift.rows, w)[self.shift.of]
        return f + w[-1] if self.intercept else f

    def __rmatmul__(self, v: FloatArray) -> FloatArray:
        total = weighted_sum(v, self.X)
        if self.shift is not None:
            total -= weighted_sum(self.shift.weights(v), self.shift.rows)
        return np.append(total, v.sum()) if self.intercept else total

    def dense(self, rows: slice) -> FloatArray:
        """Some rows as a dense array."""
        part = self.X[rows]
        out = np.ones((part.shape[0], self.shape[1]))
        out[:, : self.X.shape[1]] = part.toarray() if sparse.issparse(part) else part
        if self.shift is not None:
            of = self.shift.of[rows]
            out -= dense_rows(self.shift.rows, np.arange(of[0], of[-1] + 1))[of - of[0]]
        return out

    def chunks(self, starts: IntArray) -> list[slice] | None:
        """Rows of whole queries, which begin at `starts`, with about CHUNK cells; None where products cost less.

        The rule compares the measured costs of a row in a Hessian and in as many products as a step needs.
        """
        n, d = self.shape
        given = self.X.nnz / n if sparse.issparse(self.X) else d
        ends = np.append(starts[1:], n)
        if d > NEWTON_LIMIT or 0.2 * d * d + 2.0 * d > min(d, 100) * (6.0 * given + 30.0):
            return None
        if int((ends - starts).max()) * d > 16 * CHUNK:
            return None
        of = np.cumsum(ends - starts) * d // CHUNK  # the chunk of each query
        cuts = [0, *ends[np.flatnonzero(np.diff(of, append=of[-1] + 1))].tolist()]
        return [slice(a, b) for a, b in pairwise(cuts)]

    def squares(self, v: FloatArray) -> FloatArray:
        """The sums of the squares of each column, weighted by row; with a shift, a bound of them."""
        total = weighted_squares(v, self.X)
        if self.shift is not None:
            total = 2.0 * (total + weighted_squares(self.shift.weights(v), self.shift.rows))
        return np.append(total, v.sum()) if self.intercept else total


class Products(Protocol):
    """A Hessian that is known by its products with weights."""

    def __matmul__(self, w: FloatArray) -> FloatArray: ...

    def diagonal(self) -> FloatArray:
        """A bound of the diagonal, up to a factor."""


class Curvature(NamedTuple):
    r"""A Hessian \(Z' C Z\) that is never formed: `apply` is the product of \(C\) with scores.

    `degrees` bounds the diagonal of \(C\), for a scaling of the weights.
    """

    Z: CompactRows
    apply: Callable[[FloatArray], FloatArray]
    degrees: FloatArray

    def __matmul__(self, w: FloatArray) -> FloatArray:
        return self.apply(self.Z @ w) @ self.Z

    def diagonal(self) -> FloatArray:
        """A bound of the diagonal, up to a factor."""
        return self.Z.squares(self.degrees)


def compact_medians(X: Matrix, weight: FloatArray, starts: IntArray) -> Shift:
    """Weighted medians of the columns in each run of rows, as compact as the rows, and the run of each row.

    The median of a column that is 0 for at least half of the weight is not stored, so there are never more values than
    X has.
    """
    run = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    if not sparse.issparse(X):
        return Shift(_kernels.median.column_medians(X, weight, starts).astype(np.float32), run)
    by_column = X.tocsc()
    total = np.add.reduceat(weight, starts[:-1])
    runs, columns, values = _kernels.median.sparse_medians(
        by_column.indptr, by_column.indices, by_column.data, run, weight, total
    )
    return Shift(sparse.csr_array((values, (runs, columns)), shape=(len(starts) - 1, X.shape[1])), run)
