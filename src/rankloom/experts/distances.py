"""Distances between a vector and the rows of a matrix: formulas, and all of them in one pass over stored vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom import _compiled
from rankloom.experts.compact import CompactVectors
from rankloom.experts.threads import in_threads

Rows = NDArray[Any]


def l1(query: Rows, rows: Rows) -> Rows:
    r"""City-block distance \(\sum_c |q_c - x_c|\).

    >>> l1(np.array([0.0, 1.0]), np.array([[0.5, 0.0], [0.0, 1.0]])).tolist()
    [1.5, 0.0]
    """
    return np.asarray(np.abs(rows - query).sum(axis=1))


def l2(query: Rows, rows: Rows) -> Rows:
    r"""Euclidean distance \((\sum_c (q_c - x_c)^2)^{1/2}\).

    >>> l2(np.array([0.0, 1.0]), np.array([[3.0, 5.0]])).tolist()
    [5.0]
    """
    return np.asarray(np.sqrt(((rows - query) ** 2).sum(axis=1)))


def cosine(query: Rows, rows: Rows) -> Rows:
    r"""\(1 - q \cdot x / (|q| |x|)\), from 0 to 2; 1 where one of them is 0.

    >>> cosine(np.array([1.0, 0.0]), np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])).tolist()
    [0.0, 1.0, 1.0]
    """
    norms = np.sqrt((rows**2).sum(axis=1) * (query**2).sum())
    return np.asarray(1.0 - np.divide(rows @ query, norms, out=np.zeros(len(rows)), where=norms > 0))


def chi2(query: Rows, rows: Rows) -> Rows:
    r"""\(\sum_c (q_c - x_c)^2 / (|q_c| + |x_c|)\), with 0 / 0 = 0.

    >>> chi2(np.array([0.0, 1.0]), np.array([[1.0, 1.0], [0.0, 3.0]])).tolist()
    [1.0, 1.0]
    """
    total = np.abs(rows) + np.abs(query)
    squares = (rows - query) ** 2
    return np.asarray(np.divide(squares, total, out=np.zeros_like(squares), where=total > 0).sum(axis=1))


def intersection(query: Rows, rows: Rows) -> Rows:
    r"""Histogram intersection as a distance, \(1 - \sum_c \min(q_c, x_c) / \max(\sum_c q_c, \sum_c x_c)\).

    No preset uses it, so it is not registered; `DISTANCES["intersection"] = intersection` makes experts of it.

    >>> intersection(np.array([0.5, 0.5]), np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [0.0, 0.5]
    """
    shared = np.minimum(rows, query).sum(axis=1)
    total = np.maximum(rows.sum(axis=1), query.sum())
    return np.asarray(1.0 - np.divide(shared, total, out=np.zeros(len(rows)), where=total > 0))


# Every descriptor makes an expert with each of them. The loops compute those of `FUSED`, the others are computed by
# their formula. The order is that of the columns of `all_distances`.
DISTANCES: dict[str, Callable[[Rows, Rows], Rows]] = {"l1": l1, "l2": l2, "cosine": cosine, "chi2": chi2}
FUSED = ("l1", "l2", "cosine", "chi2")
_BLOCK = 1 << 16  # components at a time: they stay in the cache of a core


def all_distances(query: Rows, stored: CompactVectors, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
    """Compute all distances of `DISTANCES` between a vector and stored vectors.

    Those of `FUSED` read each row once, the others once each. Rows are spread over all cores; the numbers do not depend
    on how many there are. Between stored rows those of `FUSED` are symmetric to the last bit.

    Parameters
    ----------
    query : vector of d components.
    stored : n vectors, as collections keep them.
    rows : the numbers of the rows that are wanted; all of them unless given.

    Returns
    -------
    array of shape (number of rows, number of distances)

    Examples
    --------
    >>> stored = CompactVectors.of([[0.5, 0.5], [1.0, 0.0]])
    >>> all_distances(stored[0], stored).round(3).tolist()[0]
    [0.0, 0.0, 0.0, 0.0]
    """
    return all_distances_of([(query, stored)], rows)[0]


def all_distances_of(
    described: Sequence[tuple[Rows, CompactVectors]], rows: NDArray[np.int64] | None = None
) -> list[NDArray[np.float32]]:
    """The distances of `all_distances` by several descriptors, each a query and stored rows, spread over cores at once.

    Parameters
    ----------
    described : query and stored rows of each descriptor; of equally many items.
    rows : as in `all_distances`.
    """
    wanted = np.empty(0, dtype=np.int64) if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
    n_rows = len(described[0][1]) if rows is None else len(wanted)
    width = sum(stored.shape[1] for _, stored in described)
    loops = _loops(n_rows * width)
    calls: list[Callable[[int, int], None]] = []
    distances = []
    for query, stored in described:
        vector = _checked(query, stored)
        out = _columns(n_rows)
        calls.append(partial(loops.fused, stored.rows, wanted, rows is None, vector, out))
        calls += [partial(_by_formula, each, stored, rows, vector, out[:, column]) for column, each in _others()]
        distances.append(out)
    in_threads(calls, n_rows, width)
    return [_ordered(out) for out in distances]


def distances_between(
    stored: CompactVectors, queries: NDArray[np.int64], wanted: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The distances of `all_distances` of few stored rows to each of many others, one block below the other.

    It computes in the thread that calls, without the interpreter lock.

    Parameters
    ----------
    stored : as in `all_distances`.
    queries : the number of a row for each block; below 0 for a block that is not computed.
    wanted : the numbers of the rows of all blocks.
    ends : block k has the wanted rows from ends[k] to ends[k + 1].
    """
    out = _columns(len(wanted))
    _loops(len(wanted) * stored.shape[1]).fused_between(stored.rows, queries, wanted, ends, out)
    for column, formula in _others():
        for block, query in enumerate(queries.tolist()):
            if query >= 0:
                _by_formula(
                    formula, stored, wanted, stored[query], out[:, column], int(ends[block]), int(ends[block + 1])
                )
    return _ordered(out)


# Columns are computed with those of `FUSED` first, and brought into the order of `DISTANCES`.
def _columns(n_rows: int) -> NDArray[np.float32]:
    return np.empty((n_rows, len(FUSED) + len(_others())), dtype=np.float32)


def _others() -> list[tuple[int, Callable[[Rows, Rows], Rows]]]:
    """The registered distances that the loops do not compute, each with its column behind those of `FUSED`."""
    return [*enumerate((function for name, function in DISTANCES.items() if name not in FUSED), len(FUSED))]


def _order() -> list[int]:
    """The computed column of each registered distance."""
    computed = [*FUSED, *(name for name in DISTANCES if name not in FUSED)]
    return [computed.index(name) for name in DISTANCES]


def _ordered(computed: NDArray[np.float32]) -> NDArray[np.float32]:
    order = _order()
    return computed if order == [*range(computed.shape[1])] else np.ascontiguousarray(computed[:, order])


def _by_formula(
    formula: Callable[[Rows, Rows], Rows],
    stored: CompactVectors,
    rows: NDArray[np.int64] | None,
    query: Rows,
    out: NDArray[np.float32],
    begin: int,
    end: int,
) -> None:
    """Fill the entries of `out` from begin to end with a distance that the loops do not compute."""
    vector, step = query.astype(np.float64), max(1, _BLOCK // max(1, stored.shape[1]))
    for first in range(begin, end, step):
        which = slice(first, min(first + step, end))
        out[which] = formula(vector, stored[which if rows is None else rows[which]].astype(np.float64))


class Weighted(NamedTuple):
    r"""What one descriptor adds to a similarity: \(\sum_j w_j e^{-d_j / s_j}\).

    Parameters
    ----------
    query, stored : as in `all_distances`; the query may also be several vectors, an array of shape (m, d).
    weights, scales : one a distance, in the order of `DISTANCES`.
    """

    query: Rows
    stored: CompactVectors
    weights: NDArray[np.float32]
    scales: NDArray[np.float32]


def add_similarities(total: NDArray[np.float32], *described: Weighted, rows: NDArray[np.int64] | None = None) -> None:
    """Add what some descriptors say of every stored row to `total`, each row read once.

    Parameters
    ----------
    total : array of n numbers, or of shape (m, n) for m queries, changed in place.
    described : the descriptors.
    rows : as in `all_distances`.
    """
    wanted = np.empty(0, dtype=np.int64) if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
    calls, totals = [], total.reshape(-1, total.shape[-1])
    width = len(totals) * sum(stored.shape[1] for _, stored, _, _ in described)
    loops = _loops(totals.shape[1] * width)
    for query, stored, weights, scales in described:
        queries = _checked(query, stored).reshape(len(totals), -1)
        numbers = _computed(weights), _computed(scales)
        fused = [array[: len(FUSED)] for array in numbers]
        calls.append(partial(loops.weighted, stored.rows, wanted, rows is None, queries, *fused, totals))
        for column, formula in _others():
            if numbers[0][column]:
                weight, scale = (array[column] for array in numbers)
                calls.append(partial(_add_by_formula, formula, stored, rows, queries, weight, scale, totals))
    in_threads(calls, totals.shape[1], width)


def _computed(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """One number a distance, from the order of `DISTANCES` to that in which they are computed; 0 for those left out."""
    computed = np.zeros(len(FUSED) + len(_others()), dtype=np.float32)
    computed[_order()] = numbers
    return computed


def _add_by_formula(
    formula: Callable[[Rows, Rows], Rows],
    stored: CompactVectors,
    rows: NDArray[np.int64] | None,
    queries: Rows,
    weight: np.float32,
    scale: np.float32,
    totals: NDArray[np.float32],
    begin: int,
    end: int,
) -> None:
    """Add what a distance that the loops do not compute says of the rows from begin to end."""
    distances = np.empty(totals.shape[1], dtype=np.float32)
    for query, total in zip(queries, totals, strict=True):
        _by_formula(formula, stored, rows, query, distances, begin, end)
        total[begin:end] += weight * np.exp(distances[begin:end] / -scale)


def add_similarities_of(
    total: NDArray[np.float32],
    distances: NDArray[np.float32],
    weights: NDArray[np.float32],
    scales: NDArray[np.float32],
) -> None:
    """The same as `add_similarities`, from the distances that `all_distances` gave for all rows."""
    numbers = np.asarray(weights, np.float32), np.asarray(scales, np.float32)
    _loops(distances.size).weighted_distances(distances, *numbers, total)


def _loops(work: int) -> Any:
    """What computes so many components: compiled loops, or NumPy in a process that would wait longer for these."""
    if _compiled.loads(work):
        from rankloom.experts import _kernels as compiled

        return compiled
    from rankloom.experts import _plain

    return _plain


def _checked(query: Rows, stored: CompactVectors) -> NDArray[np.float32]:
    """The query as the kernels take it."""
    if query.shape[-1:] != stored.shape[1:]:
        raise ValueError(f"the query has the shape {query.shape}, the rows have {stored.shape[1]} components")
    return np.ascontiguousarray(query, dtype=np.float32)
