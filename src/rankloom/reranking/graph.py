r"""Neighbour graphs of items and their Laplacians.

A graph has symmetric weights \(W = (G + G^\top)/2\), where \(G_{mn}\) is the similarity of \(n\) to \(m\) if \(n\) is
among the nearest neighbours of \(m\) and 0 otherwise. Then \(\sum_{mn} G_{mn} (y_m - y_n)^2 = 2\, y^\top L y\) with the
Laplacian \(L = \mathrm{diag}(W 1) - W\), which is symmetric and positive semi-definite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rankloom.core import FloatArray, IntArray
from rankloom.groups import check_count, check_finite

Similarity = str | Callable[[FloatArray], ArrayLike]

_DISTANCES = ("l2", "cosine")
_BLOCK = 4_000_000  # numbers of a temporary matrix


@dataclass(frozen=True, eq=False)
class Graph:
    r"""A weighted graph: `weights` is a sparse, symmetric, non-negative matrix with an empty diagonal.

    Whatever the weights are, normalised by degrees or not, the Laplacian is that of the weights,
    \(L = \mathrm{diag}(W 1) - W\), and not \(I - D^{-1/2} G D^{-1/2}\): so constants are always smooth and the null
    space of \(L\) is spanned by the indicators of the connected components.
    """

    weights: Any

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    @cached_property
    def degrees(self) -> FloatArray:
        """The sum of the weights of each vertex."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def laplacian(self) -> Any:
        r"""The sparse matrix \(\mathrm{diag}(W 1) - W\)."""
        return (sparse.diags_array(self.degrees) - self.weights).tocsr()

    @cached_property
    def components(self) -> IntArray:
        """The number of the connected component of each vertex, from 0."""
        return np.asarray(connected_components(self.weights, directed=False)[1], dtype=np.int64)

    @cached_property
    def n_components(self) -> int:
        """The number of connected components."""
        return int(self.components.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> IntArray:
        """The number of vertices of each component."""
        return np.bincount(self.components, minlength=self.n_components).astype(np.int64)

    @cached_property
    def null_space(self) -> Any:
        """An orthonormal basis of the null space of the Laplacian, a sparse column for each component."""
        n = len(self)
        values = 1.0 / np.sqrt(self.sizes[self.components])
        return sparse.csr_array((values, (np.arange(n), self.components)), shape=(n, self.n_components))

    def component_means(self, y: FloatArray) -> FloatArray:
        """The mean of y over the component of each vertex: its projection on the null space of the Laplacian."""
        sums = np.bincount(self.components, y, minlength=self.n_components)
        return np.asarray((sums / self.sizes)[self.components])


class Neighbors(NamedTuple):
    """Directed edges: `target[e]` is among the nearest neighbours of `source[e]`, at `distance[e]`."""

    source: IntArray
    target: IntArray
    distance: FloatArray


def knn_graph(
    vectors: ArrayLike,
    n_neighbors: int = 10,
    *,
    distance: str = "l2",
    similarity: Similarity = "gaussian",
    normalize: bool = True,
) -> Graph:
    r"""The graph of the nearest neighbours of vectors.

    Parameters
    ----------
    vectors : array of shape (n_items, n_components)
    n_neighbors : neighbours of each item, without itself. Items as near as the last of them count too, so the graph
        does not depend on the order of the items.
    distance : "l2" or "cosine". A vector of zeros is at the cosine distance 1 from all others but zeros.
    similarity : a name of `SIMILARITIES`, or a function from an array of distances to as many numbers >= 0.
    normalize : whether weights are divided by the degrees, \(D^{-1/2} W D^{-1/2}\). Otherwise items with few near
        neighbours are hardly tied to any, and \(\gamma\) has the unit of the similarity.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [1.0], [3.0], [9.0], [9.5]], 1, similarity="binary", normalize=False)
    >>> graph.weights.toarray()[:3, :3].tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    >>> graph.components.tolist()
    [0, 0, 0, 1, 1]
    """
    rows = _matrix(vectors, "vectors")
    return _graph(nearest_neighbors(rows, n_neighbors, distance=distance), len(rows), similarity, normalize)


def graph_from_distances(
    distances: ArrayLike | Sequence[ArrayLike],
    n_neighbors: int = 10,
    *,
    weights: ArrayLike | None = None,
    similarity: Similarity = "gaussian",
    normalize: bool = True,
) -> Graph:
    """The graph of the nearest neighbours by a matrix of distances, or by a weighted sum of several.

    Parameters
    ----------
    distances : a matrix (n_items, n_items), or several of them: one for each descriptor.
    n_neighbors, similarity, normalize : as for `knn_graph`.
    weights : one number >= 0 for each matrix; 1 for all by default.

    Examples
    --------
    >>> apart = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])
    >>> graph_from_distances([apart, 3 * apart], 1, weights=[1, 0.5], similarity="binary").degrees.round(3).tolist()
    [0.816, 1.394, 0.577]
    """
    total = combine_distances(distances, weights)
    n = len(total)
    k = _count(n_neighbors, n)
    parts = []
    for begin, end in _blocks(n, n):
        block = total[begin:end].copy()
        block[np.arange(end - begin), np.arange(begin, end)] = np.inf
        last = np.partition(block, k - 1, axis=1)[:, k - 1] if k else np.full(end - begin, -np.inf)
        source, target = np.nonzero(block <= last[:, None])
        parts.append((source + begin, target, block[source, target]))
    return _graph(_joined(parts), n, similarity, normalize)


def combine_distances(distances: ArrayLike | Sequence[ArrayLike], weights: ArrayLike | None = None) -> FloatArray:
    """The weighted sum of square matrices of finite, non-negative distances (or the only one)."""
    stack = np.asarray(distances, dtype=np.float64)
    if stack.ndim == 2:
        stack = stack[None]
    if stack.ndim != 3 or stack.shape[1] != stack.shape[2]:
        raise ValueError(f"distances must be square matrices of one size, got the shape {stack.shape}")
    for matrix in stack:
        check_finite(matrix, "distances")
    factors = np.ones(len(stack)) if weights is None else np.asarray(weights, dtype=np.float64)
    if factors.shape != (len(stack),) or not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise ValueError(f"weights must be {len(stack)} finite numbers >= 0, one for each matrix, got {weights!r}")
    if (stack < 0).any():
        raise ValueError(f"distances must not be negative, got {stack.min():g}")
    return np.asarray(np.tensordot(factors, stack, axes=1))


def graph_from_similarities(similarities: Any, *, normalize: bool = True) -> Graph:
    r"""The graph with the weights \((G + G^\top)/2\), for a dense or sparse matrix of similarities >= 0.

    The diagonal is left out: how similar an item is to itself says nothing about others.

    >>> graph_from_similarities([[1.0, 2.0], [0.0, 1.0]], normalize=False).weights.toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    G = sparse.coo_array(similarities, dtype=np.float64)
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise ValueError(f"similarities must be a square matrix, got the shape {G.shape}")
    _check_similarities(G.data)
    apart = G.row != G.col
    edges = sparse.coo_array((G.data[apart], (G.row[apart], G.col[apart])), shape=G.shape).tocsr()
    W = (0.5 * (edges + edges.T)).tocsr()
    W.eliminate_zeros()
    if normalize:
        W = W.tocoo()
        # Not the root of the product, which underflows for two tiny degrees.
        roots = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
        W = sparse.coo_array((W.data / (roots[W.row] * roots[W.col]), (W.row, W.col)), W.shape)
        W = W.tocsr()
    W.sort_indices()
    return Graph(W)


def gaussian(distance: FloatArray) -> FloatArray:
    r"""\(\exp(-d^2 / 2 s^2)\), where \(s\) is the median of the distances above 0."""
    positive = distance[distance > 0]
    scale = float(np.median(positive)) if positive.size else 1.0
    return np.asarray(np.exp(-0.5 * (distance / scale) ** 2))


def exponential(distance: FloatArray) -> FloatArray:
    r"""\(\exp(-d / s)\), where \(s\) is the median of the distances above 0."""
    positive = distance[distance > 0]
    scale = float(np.median(positive)) if positive.size else 1.0
    return np.asarray(np.exp(-distance / scale))


def binary(distance: FloatArray) -> FloatArray:
    """1 for every neighbour."""
    return np.ones_like(distance)


SIMILARITIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "gaussian": gaussian,
    "exponential": exponential,
    "binary": binary,
}


def nearest_neighbors(vectors: ArrayLike, n_neighbors: int = 10, *, distance: str = "l2") -> Neighbors:
    r"""The exact nearest neighbours of each vector among the others, with all that are as near as the last.

    Products of matrices give \(|a|^2 + |b|^2 - 2 a \cdot b\) quickly but with rounding errors; only pairs that these
    errors leave in question are then measured by \(|a - b|\). So equal vectors are at distance 0 exactly.

    >>> found = nearest_neighbors([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], 1)
    >>> found.target.tolist(), found.distance.round(3).tolist()
    ([2, 2, 0], [1.0, 4.243, 1.0])
    """
    rows = _matrix(vectors, "vectors")
    if distance not in _DISTANCES:
        raise ValueError(f"unknown distance {distance!r}; known are {', '.join(_DISTANCES)}")
    n, k = len(rows), _count(n_neighbors, len(rows))
    # Divided by a power of two, which changes no digit, so that no square overflows or vanishes.
    unit = 2.0 ** max(int(np.frexp(np.abs(rows).max(initial=0.0))[1]) - 1, -1000)
    rows = rows / unit
    if distance == "cosine":
        rows = _on_sphere(rows)
    centered = rows - rows.mean(axis=0) if n else rows
    squares = np.einsum("ij,ij->i", centered, centered)
    slack = 8.0 * (rows.shape[1] + 8) * np.finfo(float).eps * (squares + squares.max(initial=0.0))
    parts = []
    for begin, end in _blocks(n, n):
        block = squares[begin:end, None] + squares - 2.0 * (centered[begin:end] @ centered.T)
        block[np.arange(end - begin), np.arange(begin, end)] = np.inf
        last = np.partition(block, k - 1, axis=1)[:, k - 1] if k else np.full(end - begin, -np.inf)
        source, target = np.nonzero(block <= (last + 2.0 * slack[begin:end])[:, None])
        parts.append(_nearest_of(rows, source + begin, target, k))
    source, target, squared = _joined(parts)
    return Neighbors(source, target, 0.5 * squared if distance == "cosine" else np.sqrt(squared) * unit)


def _on_sphere(rows: FloatArray) -> FloatArray:
    """Rows of length 1; those of zeros become a direction of their own, at right angles to all others."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    zero = largest == 0
    scaled = rows / np.where(zero, 1.0, largest)[:, None]
    unit = scaled / np.where(zero, 1.0, np.sqrt((scaled * scaled).sum(axis=1)))[:, None]
    return np.column_stack([unit, zero]) if zero.any() else unit


def _nearest_of(rows: FloatArray, source: IntArray, target: IntArray, k: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Of candidates (sorted by source, at least k each), the k nearest by squared distance and those as near."""
    squared = np.empty(len(source))
    for begin, end in _blocks(len(source), max(rows.shape[1], 1)):
        difference = rows[source[begin:end]] - rows[target[begin:end]]
        difference *= difference
        squared[begin:end] = difference.sum(axis=1)
    if not len(source):
        return source, target, squared
    by_distance = np.lexsort((squared, source))
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    last = squared[by_distance[starts + k - 1]]
    keep = squared <= np.repeat(last, np.diff(starts, append=len(source)))
    return source[keep], target[keep], squared[keep]


def _graph(neighbors: Neighbors, n: int, similarity: Similarity, normalize: bool) -> Graph:
    if isinstance(similarity, str) and similarity not in SIMILARITIES:
        raise ValueError(f"unknown similarity {similarity!r}; known are {', '.join(SIMILARITIES)}, or give a function")
    function = SIMILARITIES[similarity] if isinstance(similarity, str) else similarity
    values = np.asarray(function(neighbors.distance), dtype=np.float64)
    if values.shape != neighbors.distance.shape:
        raise ValueError(f"similarity gave the shape {values.shape} for {neighbors.distance.shape} distances")
    G = sparse.coo_array((values, (neighbors.source, neighbors.target)), shape=(n, n))
    return graph_from_similarities(G, normalize=normalize)


def _check_similarities(values: FloatArray) -> None:
    if not np.isfinite(values).all():
        raise ValueError("similarities must be finite numbers, got NaN or infinity")
    if (values < 0).any():
        raise ValueError(f"similarities must be >= 0 (else the Laplacian is not semi-definite), got {values.min():g}")


def _matrix(vectors: ArrayLike, name: str) -> FloatArray:
    rows = np.ascontiguousarray(vectors, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"{name} must be a matrix with a row for each item, got the shape {rows.shape}")
    check_finite(rows, name)
    return rows


def _count(n_neighbors: Any, n: int) -> int:
    check_count("n_neighbors", n_neighbors)
    return min(int(n_neighbors), max(n - 1, 0))


def _blocks(n: int, width: int) -> Iterator[tuple[int, int]]:
    step = max(_BLOCK // max(width, 1), 1)
    return ((begin, min(begin + step, n)) for begin in range(0, n, step))


def _joined(parts: list[tuple[IntArray, IntArray, FloatArray]]) -> Neighbors:
    if not parts:
        return Neighbors(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    return Neighbors(*(np.concatenate(part) for part in zip(*parts, strict=True)))
