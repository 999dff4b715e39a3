r"""The risk of content-aware ranking: for each list the worst scores on the unit sphere, as a function of the weights.

In eigenvectors of its Laplacian the problem of a list is one equation, so the rows of the text features are turned into
them once: a pass over all lists then costs as much as two products with the features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankloom.core import FloatArray, IntArray
from rankloom.rankers.base import Problem
from rankloom.reranking.graph import Graph
from rankloom.reranking.spherical import secular_root, solve_spherical, spectrum

SPECTRUM_LIMIT = 1500  # items; longer lists are solved by Lanczos in every pass, without a decomposition
_EPS = float(np.finfo(float).eps)


class Lists(NamedTuple):
    """The lists that teach something, one after another; list q has the rows `starts[q]` to `starts[q + 1]`.

    Attributes
    ----------
    text : text features, centred in each list, in eigenvectors of its Laplacian where `values` has its eigenvalues.
    target : grades, centred and of length 1 in each list, in the same coordinates.
    graphs : the graph of each list that is too long for a decomposition, else None.
    n_null : the number of components of each graph; their coordinates come first.
    """

    text: FloatArray
    target: FloatArray
    starts: IntArray
    values: FloatArray
    n_null: IntArray
    graphs: list[Graph | None]
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.weight)


def prepare(problem: Problem, text: IntArray, make_graph: Callable[[FloatArray], Graph] | None) -> Lists:
    """Center the lists with rows of two grades, and turn them into coordinates of eigenvectors.

    Parameters
    ----------
    problem : rows, grades and queries.
    text : the columns with text features.
    make_graph : the graph of the rows of a list; None for text alone.
    """
    blocks: list[FloatArray] = []
    targets: list[FloatArray] = []
    values: list[FloatArray] = []
    graphs: list[Graph | None] = []
    n_null, weight = [], []
    for query_weight, rows in zip(problem.query_weight, problem.groups, strict=True):
        grades = problem.y[rows]
        if query_weight == 0 or grades.min() == grades.max():
            continue
        # Divided first: grades may be so far apart that their squares overflow, or so near that they vanish.
        target = (grades - grades.min()) / np.ptp(grades)
        target -= target.mean()
        target /= np.linalg.norm(target)
        block = problem.X[np.ix_(rows, text)]
        block -= block.mean(axis=0)
        eigenvalues, null, graph = np.zeros(len(rows)), 0, None
        if make_graph is not None:
            graph = make_graph(problem.X[rows])
            null = graph.n_components
            if len(rows) <= SPECTRUM_LIMIT:
                eigenvalues, vectors, null = spectrum(graph)
                block, target, graph = vectors.T @ block, vectors.T @ target, None
        blocks.append(block)
        targets.append(target)
        values.append(eigenvalues)
        graphs.append(graph)
        n_null.append(null)
        weight.append(query_weight)
    starts = np.cumsum([0, *(len(target) for target in targets)])
    return Lists(
        np.concatenate([np.empty((0, len(text))), *blocks]),
        np.concatenate([np.empty(0), *targets]),
        starts.astype(np.int64),
        np.concatenate([np.empty(0), *values]),
        np.array(n_null, dtype=np.int64),
        graphs,
        np.array(weight, dtype=np.float64),
    )


class Cuts(NamedTuple):
    r"""For each list the most violated constraint \(w \cdot u \ge b - \xi\)."""

    u: FloatArray
    b: FloatArray


class ContentRisk:
    r"""\(C \sum_q \xi_q(w)\) with the slack \(\xi_q = b - w \cdot u\) of the worst y of each list,

    .. math:: u = X^\top (y^* - y), \quad b = 1 - y^{*\top} y + 2 \gamma (y^{*\top} L y^* - y^\top L y), \quad
              y = \arg\min_{\|y\| = 1} 2 \gamma\, y^\top L y - c^\top y, \quad c = X w - y^*.

    The null space of L holds the constants, which centred features do not see, so the ball in place of the sphere has
    the same minimum: \(\xi_q\) is convex, and smooth wherever the worst y is unique. It has kinks where c vanishes, or
    sums to 0 on each of several components. With a `width`, \(\|y\|^2\) times it is added to what is minimised over
    the ball; then there are none, and where y lies on the sphere nothing has changed.
    """

    def __init__(self, lists: Lists, gamma: float, C: float, width: float = 0.0):
        self.lists, self.gamma, self.C, self.width = lists, gamma, C, width
        self.n_weights = lists.text.shape[1]
        self.has_hessian = gamma == 0.0 or not any(lists.graphs)
        self.caps = C * lists.weight
        self.shifts = 2.0 * gamma * lists.values
        self.n_passes = 0
        self._last: tuple[FloatArray, FloatArray, FloatArray] | None = None
        self.target_roughness = self._roughness(lists.target)

    def smoothed(self, width: float) -> _Smoothed:
        """The same risk without kinks; it goes on counting passes from here."""
        return _Smoothed(self, width)

    def value_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient (a subgradient where it has a kink). This is a pass."""
        y = self._worst(w)[0]
        away = y - self.lists.target
        slacks = self._offsets(y) + self._sums(away * (self.lists.text @ w)) - self.width * self._sums(y * y)
        return float(self.caps @ slacks), (self._by_row(self.caps) * away) @ self.lists.text

    def cuts(self, w: FloatArray) -> Cuts:
        """The most violated constraint of each list. This is a pass."""
        y = self._worst(w)[0]
        u = np.add.reduceat((self.lists.target - y)[:, None] * self.lists.text, self.lists.starts[:-1], axis=0)
        return Cuts(u, self._offsets(y))

    def hessian(self, w: FloatArray) -> FloatArray:
        r"""The second derivatives: \(\partial y/\partial c\) between the features of each list.

        It is \(\tfrac12 M^{-1}\) with \(M = 2 \gamma L + \mu I\), less its part along \(M^{-1} y\) on the sphere.
        """
        y, total = self._worst(w)
        inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        scaled = np.sqrt(0.5 * self._by_row(self.caps) * inverse)[:, None] * self.lists.text
        along = np.add.reduceat((inverse * y)[:, None] * self.lists.text, self.lists.starts[:-1], axis=0)
        squares, lengths = self._sums(y * y), self._sums(inverse * y * y)
        on_sphere = squares > 1.0 - 1e-12
        along *= np.sqrt(0.5 * self.caps * on_sphere / np.where(lengths > 0, lengths, 1.0))[:, None]
        return np.asarray(scaled.T @ scaled - along.T @ along)

    def _sums(self, by_row: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(by_row, self.lists.starts[:-1]))

    def _by_row(self, by_list: FloatArray) -> FloatArray:
        return np.repeat(by_list, np.diff(self.lists.starts))

    def _offsets(self, y: FloatArray) -> FloatArray:
        """b of each list."""
        return 1.0 - self._sums(self.lists.target * y) + self.target_roughness - self._roughness(y)

    def _roughness(self, y: FloatArray) -> FloatArray:
        r"""\(2 \gamma\, y^\top L y\) of each list."""
        roughness = self._sums(self.shifts * y * y)
        for q, graph in enumerate(self.lists.graphs):
            if graph is not None:
                part = y[self.lists.starts[q] : self.lists.starts[q + 1]]
                roughness[q] = 2.0 * self.gamma * float(part @ (graph.laplacian @ part))
        return roughness

    def _worst(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""The y that violate most, without the constant of the hard case, and \(2 \gamma \lambda + \mu\) by row."""
        if self._last is None or not np.array_equal(w, self._last[0]):
            self._count()
            self._last = (w.copy(), *self._solve(w))
        return self._last[1], self._last[2]

    def _count(self) -> None:
        self.n_passes += 1

    def _solve(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        lists = self.lists
        c = lists.text @ w - lists.target
        if self.gamma == 0.0:
            total = self._by_row(np.maximum(0.5 * np.sqrt(self._sums(c * c)), self.width))
            # A list that is met exactly has a kink; the target is the choice without a slope.
            return np.divide(0.5 * c, total, out=lists.target.copy(), where=total > 0), total
        y, total = np.empty_like(c), np.empty_like(c)
        for q, graph in enumerate(lists.graphs):
            rows = slice(lists.starts[q], lists.starts[q + 1])
            if graph is None:
                y[rows], total[rows] = self._turned(c[rows], self.shifts[rows] + self.width, int(lists.n_null[q]))
            else:
                y[rows], total[rows] = solve_spherical(graph, c[rows], self.gamma).particular, np.nan
        return y, total

    def _turned(self, c: FloatArray, shifts: FloatArray, n_null: int) -> tuple[FloatArray, FloatArray]:
        """The solution for c in coordinates of eigenvectors."""
        null = 0.0
        if self.width > 0.0:
            n_null = 0  # nothing is free
        else:
            null = float(np.linalg.norm(c[:n_null]))
            null *= null > 8.0 * _EPS * np.sqrt(len(c)) * float(np.linalg.norm(c))
        total = secular_root(shifts[n_null:], c[n_null:], null).mu + shifts
        y = 0.5 * np.divide(c, total, out=np.zeros_like(c), where=total > 0)
        if null == 0.0:
            y[:n_null] = 0.0
        return y, total


class _Smoothed(ContentRisk):
    """A risk without kinks that knows a point of the dual problem of the risk itself."""

    def __init__(self, sharp: ContentRisk, width: float):
        super().__init__(sharp.lists, sharp.gamma, sharp.C, width)
        self.sharp = sharp

    def sharp_parts(self, w: FloatArray) -> tuple[float, float]:
        """The risk with its kinks, and the linear part of its dual problem at the y of this one."""
        return self.sharp.value_gradient(w)[0], float(self.caps @ self._offsets(self._worst(w)[0]))

    def _count(self) -> None:
        self.sharp.n_passes += 1
