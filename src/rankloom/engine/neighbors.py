"""The neighbor graph of a collection, and diffusion of scores over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloom import _compiled
from rankloom.core import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Similarities closer than this are taken for equal. Rounding in single precision depends on the processor; an order
# that hung on it would depend on the machine that added an item.
RESOLUTION = 2.0**-14
_STEPS, _MOST_STEPS = 40, 1000  # of conjugate gradients: about so many are taken, and no more than these
_SAMPLED, _MARGIN = 8192, 32  # values that say how low the lowest are, and how many more of them are taken


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    r"""The k nearest items of every item, by a similarity that the caller chose; nearest first.

    An edge weighs \(1 / r\) for the r-th nearest; \(W = (A + A^\top) / 2\) and \(S = D^{-1/2} W D^{-1/2}\). Ranks
    instead of similarities make the graph independent of their scale.

    Parameters
    ----------
    ids : array of shape (n, k), row numbers; -1 where an item has fewer neighbors.
    similarities : array of the same shape; -inf there.

    References
    ----------
    D. Zhou, J. Weston, A. Gretton, O. Bousquet, B. Schölkopf, Ranking on data manifolds, NIPS 2003.
    """

    ids: NDArray[np.int32]
    similarities: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)

    def lost(self, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which items have a neighbor that is gone, or none though they are there."""
        there = self.ids >= 0
        gone = (there & ~present[self.ids]).any(axis=1)
        return np.asarray(present[: len(self)] & (gone | ~there.any(axis=1)))

    def operator(self) -> csr_array:
        """The symmetric normalised matrix S."""
        from scipy.sparse import coo_array, csr_array, diags_array

        n, k = self.ids.shape
        rows, ranks = np.divmod(np.arange(n * k), max(k, 1))
        columns = self.ids.ravel()
        there = columns >= 0
        weights = (1.0 / (1.0 + ranks[there]), (rows[there], columns[there]))
        directed = coo_array(weights, shape=(n, n)).tocsr()
        W = (directed + directed.T) / 2.0
        degree = np.asarray(W.sum(axis=1)).ravel()
        scale = diags_array(np.divide(1.0, np.sqrt(degree), out=np.zeros(n), where=degree > 0))
        S = csr_array(scale @ W @ scale)
        # Half the bytes of the numbers that SciPy takes: diffusion reads them dozens of times for a search.
        return csr_array((S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32)), shape=S.shape)

    def diffuse(
        self, start: FloatArray, alpha: float = 0.9, *, operator: csr_array | None = None, tol: float = 1e-8
    ) -> FloatArray:
        r"""Manifold ranking: \(f = (I - \alpha S)^{-1} y\), so that \(f_i = y_i + \alpha \sum_j S_{ij} f_j\).

        Parameters
        ----------
        start : y, what the query says of each item before its neighbors are asked; mostly 0.
        alpha : how much neighbors say, from 0 to below 1.
        operator : S, if it is at hand.
        tol : relative size of the residual of the conjugate gradients.
        """
        if not 0 <= alpha < 1:
            raise ValueError(f"alpha must be from 0 to below 1, got {alpha!r}")
        S = self.operator() if operator is None else operator
        y = np.ascontiguousarray(start, dtype=np.float64)
        if _compiled.loads(_STEPS * S.nnz):
            from rankloom.engine import _kernels

            diffused, converged = _kernels.diffuse(S.indptr, S.indices, S.data, float(alpha), y, tol, _MOST_STEPS)
        else:
            diffused, converged = _diffused(S, float(alpha), y, tol)
        if not converged:
            raise ValueError("the diffusion did not converge; take a smaller alpha")
        return np.asarray(diffused, dtype=np.float64)

    def diffuse_nearby(
        self, start: FloatArray, alpha: float = 0.9, *, operator: csr_array | None = None, least: float = 5e-5
    ) -> tuple[FloatArray, FloatArray]:
        r"""About the same, but only items near those where y is above 0 are looked at: scores f, and g = y + alpha S f.

        By pushing: while an item's residual is above `least` times the largest of y, it is added to its score and
        handed on to its neighbors. What is left is the difference of g and f, so that g is exact given f.

        Parameters
        ----------
        start, alpha, operator : as for `diffuse`; no entry of `start` may be negative.
        least : the residual, relative to the largest of y, below which nothing is handed on.

        References
        ----------
        R. Andersen, F. Chung, K. Lang. Local graph partitioning using PageRank vectors. FOCS 2006.
        """
        from rankloom.engine import _kernels

        S = self.operator() if operator is None else operator
        limit = least * float(start.max(initial=0.0))
        rows = np.flatnonzero(start)
        f, residual = _kernels.diffuse_nearby(S.indptr, S.indices, S.data, float(alpha), start, rows, limit)
        return f, f + residual


def _diffused(S: csr_array, alpha: float, start: FloatArray, tol: float) -> tuple[FloatArray, bool]:
    """The loop of `_kernels.diffuse` in NumPy and SciPy."""
    f, residual, direction = np.zeros_like(start), start.copy(), start.copy()
    square = float(residual @ residual)
    least = tol * tol * square
    for _ in range(_MOST_STEPS):
        if square <= least:
            break
        product = direction - alpha * (S @ direction)
        step = square / float(direction @ product)
        f += step * direction
        residual -= step * product
        before, square = square, float(residual @ residual)
        direction = residual + square / before * direction
    return f, square <= least


Progress = Callable[[int, int, str], None]


def _quiet(done: int, total: int, text: str) -> None:
    """No progress."""


def build_graph(
    similarities_of: Callable[[int], NDArray[Any]],
    present: NDArray[np.bool_],
    k: int = 10,
    *,
    known: NeighborGraph | None = None,
    progress: Progress = _quiet,
) -> NeighborGraph:
    """The exact k nearest neighbors of every item that has a file, the same whatever was known before.

    Similarities are rounded to multiples of `RESOLUTION`; equal ones are ordered by row number.

    Parameters
    ----------
    similarities_of : the similarity of all items to one, of the size of 1; symmetric.
    present : which items count.
    k : how many neighbors.
    known : an earlier graph of the first items: only new items are asked for, and items that lost a neighbor.
    progress : called with the number of items done, of all, and a text.

    Examples
    --------
    >>> points = np.array([0.0, 1.0, 1.5, 9.0])
    >>> build_graph(lambda item: -np.abs(points - points[item]), np.ones(4, dtype=bool), 2).ids.tolist()
    [[1, 2], [2, 0], [1, 0], [2, 1]]
    """
    everything = np.arange(len(present))
    return build_graph_among(
        lambda rows: ((row, everything) for row in rows.tolist()),
        lambda row, _: similarities_of(row),
        present,
        k,
        known=known,
        progress=progress,
    )


def build_graph_among(
    candidates_of: Callable[[IntArray], Iterable[tuple[int, IntArray]]],
    similarities_of: Callable[[int, IntArray], NDArray[Any]],
    present: NDArray[np.bool_],
    k: int = 10,
    *,
    known: NeighborGraph | None = None,
    progress: Progress = _quiet,
) -> NeighborGraph:
    """The same where neighbors are looked for among candidates; the graph is as good as their choice.

    Parameters
    ----------
    candidates_of : for some items, in any order, each with the rows that may be its neighbors, in ascending order.
    similarities_of : the similarity of some rows to one.
    present, k, known, progress : as in `build_graph`.
    """
    n = len(present)
    ids: NDArray[Any] = np.full((n, k), -1, dtype=np.int32)
    best: NDArray[Any] = np.full((n, k), -np.inf, dtype=np.float32)
    todo = present.copy()
    if known is not None and known.ids.shape[1] == k and len(known) <= n:
        old = len(known)
        ids[:old], best[:old] = known.ids, known.similarities
        todo[:old] &= known.lost(present)
    ids[~present], best[~present] = -1, -np.inf
    ids[todo], best[todo] = -1, -np.inf
    asked = np.flatnonzero(todo)
    for done, (item, rows) in enumerate(candidates_of(asked), 1):
        similarity = np.where(present[rows], _rounded(similarities_of(item, rows)), -np.inf)
        similarity[rows == item] = -np.inf
        nearest = best_rows(similarity, np.flatnonzero(np.isfinite(similarity)), k)
        ids[item, : len(nearest)], best[item, : len(nearest)] = rows[nearest], similarity[nearest]
        last, last_id = best[rows, -1], ids[rows, -1]
        before_last = (similarity > last) | ((similarity == last) & (item < last_id))
        closer = np.flatnonzero(present[rows] & ~todo[rows] & before_last)
        _enter(ids, best, rows[closer], item, similarity[closer])
        if done % 50 == 0:
            progress(done, len(asked), "neighbours")
    return NeighborGraph(ids, best)


def _rounded(similarity: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(np.round(similarity / RESOLUTION) * RESOLUTION, dtype=np.float32)


def best_rows(scores: NDArray[Any], rows: IntArray, n: int) -> IntArray:
    """The n of some rows, in ascending order, that have the highest scores, the best first; ties by row number.

    >>> best_rows(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), np.array([0, 2, 3, 4]), 2).tolist()
    [3, 2]
    """
    n = min(n, len(rows))
    if n == 0:
        return rows[:0]
    falling = -(scores if len(rows) == len(scores) else scores[rows])
    candidates = np.flatnonzero(falling <= _nth_lowest(falling, n))
    return rows[candidates[np.argsort(falling[candidates], kind="stable")[:n]]]


def _nth_lowest(values: NDArray[Any], n: int) -> Any:
    """The n-th lowest of some values. Of many, only those are sorted that are low beside a sample of them."""
    step = len(values) // _SAMPLED
    if step > 1:
        sample = values[::step]
        place = _MARGIN + 2 * n // step  # about twice as many are as low, or lower
        if place < len(sample) // 2:
            low = values[values <= np.partition(sample, place)[place]]
            values = low if len(low) >= n else values
    return np.partition(values, n - 1)[n - 1]


def _enter(ids: NDArray[Any], best: NDArray[Any], rows: NDArray[np.int64], item: int, similarity: NDArray[Any]) -> None:
    """Put an item into the lists of some rows where it belongs; the last of each list drops out."""
    fresh = ~(ids[rows] == item).any(axis=1)
    for row, value in zip(rows[fresh].tolist(), similarity[fresh].tolist(), strict=True):
        place = int(np.sum((best[row] > value) | ((best[row] == value) & (ids[row] < item))))
        ids[row, place + 1 :], best[row, place + 1 :] = ids[row, place:-1].copy(), best[row, place:-1].copy()
        ids[row, place], best[row, place] = item, value
