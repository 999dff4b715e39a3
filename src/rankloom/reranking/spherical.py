r"""The spherical problem of content-aware ranking: the unit vector that agrees with scores and is smooth on a graph.

.. math:: \min_{\|y\| = 1} \; 2 \gamma\, y^\top L y - c^\top y

Stationary points are \(y = \tfrac12 (2 \gamma L + \mu I)^{-1} c\). Because \(L\) is positive semi-definite, one with
\(\mu \ge 0\) is a global minimum, so \(\mu\), \(\|y\| - 1\) and the residual
\(\|(4 \gamma L + 2 \mu I)\, y - c\|\) certify a solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, eigh_tridiagonal

from rankloom.core import FloatArray
from rankloom.groups import check_finite, check_number
from rankloom.reranking.graph import Graph

DENSE_LIMIT = 100  # items; below it a decomposition costs no more than Lanczos
LANCZOS_LIMIT = 600  # steps, after which the decomposition takes over
_EPS = float(np.finfo(float).eps)


class Spectrum(NamedTuple):
    """Eigenvalues and eigenvectors of a Laplacian: first a vector for each component (its indicator), then the rest."""

    values: FloatArray
    vectors: FloatArray
    n_null: int


@dataclass(frozen=True, eq=False)
class SphericalSolution:
    r"""A solution with its certificates.

    Attributes
    ----------
    y : the unit vector. `mu` : its multiplier, >= 0. `objective` : \(2 \gamma\, y^\top L y - c^\top y\).
    norm_error : \(|\,\|y\| - 1|\).
    residual : \(\|(4 \gamma L + 2 \mu I)\, y - c\|\), over \(\|c\|\) unless c is 0, of the parts of y in and outside of
        the null space, before they are added up and rounded.
    hard : whether it is the hard case: \(\mu = 0\) and \(y\) is `particular` plus the same number for all items.
    particular : y without that number. It has the same order, also where the number would drown the differences.
    method : "eigen" or "lanczos". `n_steps` : Lanczos steps, also those that did not suffice.
    """

    y: FloatArray
    mu: float
    objective: float
    norm_error: float
    residual: float
    hard: bool
    particular: FloatArray
    method: str
    n_steps: int


class Root(NamedTuple):
    r"""The multiplier, whether it is the hard case, and the number of Newton steps."""

    mu: float
    hard: bool
    n_steps: int


def spectrum(graph: Graph) -> Spectrum:
    """Decompose the Laplacian of a graph once, for many problems.

    >>> from rankloom.reranking.graph import graph_from_similarities
    >>> spectrum(graph_from_similarities([[0, 2, 0], [0, 0, 0], [0, 0, 0]], normalize=False)).values.round(9).tolist()
    [0.0, 0.0, 2.0]
    """
    null = graph.null_space.toarray()
    m = null.shape[1]
    # The null space is known; moved above all other eigenvalues it cannot mix with the smallest of them.
    above = 1.0 + 2.0 * float(graph.degrees.max(initial=0.0))
    lifted = graph.laplacian.toarray()
    for members in np.split(np.argsort(graph.components, kind="stable"), np.cumsum(graph.sizes)[:-1]):
        lifted[np.ix_(members, members)] += 2.0 * above / len(members)
    values, vectors = eigh(lifted, overwrite_a=True, check_finite=False, driver="evd")
    rest = len(values) - m
    return Spectrum(
        np.concatenate([np.zeros(m), np.maximum(values[:rest], 0.0)]), np.hstack([null, vectors[:, :rest]]), m
    )


def secular_root(a: FloatArray, eta: FloatArray, null: float) -> Root:
    r"""The multiplier \(\mu\) of the spherical problem, from coordinates in eigenvectors of the Laplacian.

    It is the root of \(\|y(\mu)\| = 1\), found by Newton's method on \(1/\|y(\mu)\|\), which is concave, so that from
    the left the steps cannot overshoot; a bracket guards against rounding.

    .. math:: \|y(\mu)\|^2 = \frac{\|c_0\|^2}{4 \mu^2} + \sum_j \frac{\eta_j^2}{4 (\mu + a_j)^2}, \qquad
              \max(\tfrac12 \|c_0\|,\; \tfrac12 \|c\| - \max a) \le \mu \le \tfrac12 \|c\|

    If \(c_0\), the part of c in the null space, is 0 and \(\|y(0)\| \le 1\), there is no root: the hard case.

    Parameters
    ----------
    a : \(2 \gamma \lambda_j \ge 0\) for the eigenvalues outside of the null space.
    eta : the coordinates of c along their eigenvectors.
    null : \(\|c_0\|\).

    Examples
    --------
    >>> secular_root(np.array([1.0]), np.array([6.0]), 0.0).mu
    2.0
    """
    size = float(np.hypot(np.linalg.norm(eta), null))
    if size == 0.0:
        return Root(0.0, True, 0)
    with np.errstate(over="ignore"):
        a, squares, null_square = a / size, 0.25 * (eta / size) ** 2, 0.25 * (null / size) ** 2
    a, squares = a[squares > 0], squares[squares > 0]
    if null_square == 0.0 and _norm_slope(a, squares, 0.0, 0.0)[0] <= 1.0:
        return Root(0.0, True, 0)
    low, high = max(np.sqrt(null_square), 0.5 - float(a.max(initial=0.0)), 0.0), 0.5
    mu, n_steps = low, 0
    while n_steps < 200:
        n_steps += 1
        square, slope = _norm_slope(a, squares, null_square, mu)
        if square > 1.0:
            low = max(low, mu)
        else:
            high = min(high, mu)
        if abs(square - 1.0) <= 4.0 * _EPS:
            break
        # d(1/|y|)/d(mu) = -slope / (2 |y|^3)
        following = mu + 2.0 * (square - square**1.5) / slope if np.isfinite(square) else np.nan
        if not low <= following <= high:
            following = np.sqrt(low * high) if low > 0 else high / 16.0
        if following == mu:
            break
        mu = float(following)
    return Root(float(mu * size), False, n_steps)


def _norm_slope(a: FloatArray, squares: FloatArray, null_square: float, mu: float) -> tuple[float, float]:
    r"""\(\|y(\mu)\|^2\) and its derivative."""
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1.0 / (mu + a)
        terms = squares * inverse * inverse
        of_null = null_square / np.float64(mu) ** 2 if null_square else 0.0
        return float(terms.sum() + of_null), -2.0 * float(terms @ inverse + (of_null / mu if null_square else 0.0))


def solve_spherical(
    graph: Graph, c: ArrayLike, gamma: float, *, spectrum: Spectrum | None = None, tol: float = 1e-10
) -> SphericalSolution:
    r"""Minimise \(2 \gamma\, y^\top L y - c^\top y\) over unit vectors.

    With a decomposition of the Laplacian this is a root of one variable. Without one, the problem is projected on
    Krylov spaces of growing size (the Lanczos vectors of c are kept orthogonal) until the residual is small; should
    that not happen within 600 steps, or for short lists, the Laplacian is decomposed here.

    In the hard case (c sums to 0 over every component of the graph and \(\gamma\) is large) any vector of the null
    space may be added up to the unit length; here it is the constant one, which leaves the order as it is.

    Parameters
    ----------
    graph : the graph, whose Laplacian is \(L\).
    c : one number per item.
    gamma : how much smoothness counts, >= 0.
    spectrum : what `spectrum(graph)` gave.
    tol : largest residual over \(\|c\|\) that a Krylov space may leave.

    References
    ----------
    B. Geng, L. Yang and X.-S. Hua, Learning to rank with graph consistency, 2009, eq. 9 to 15, with \(\gamma\) where it
    was lost. N. Gould, S. Lucidi, M. Roma and P. Toint, Solving the trust-region subproblem using the Lanczos method,
    SIAM J. Optimization 9, 1999.

    Examples
    --------
    >>> from rankloom.reranking.graph import knn_graph
    >>> graph = knn_graph([[0.0], [0.1], [5.0], [5.1]], 2)
    >>> found = solve_spherical(graph, [3.0, 0.0, 1.0, -4.0], gamma=1.0)
    >>> found.y.round(3).tolist()
    [0.616, 0.278, -0.179, -0.715]
    """
    scores = np.asarray(c, dtype=np.float64)
    if scores.shape != (len(graph),):
        raise ValueError(f"c must be one number an item: expected the shape ({len(graph)},), got {scores.shape}")
    if not len(graph):
        raise ValueError("the graph has no item: there is no unit vector")
    check_finite(scores, "c")
    check_number("gamma", gamma)
    largest = float(np.abs(scores).max())
    if largest == 0.0:
        return _Problem(graph, scores, gamma, tol, 1.0).certified(
            _Found(scores, scores, Root(0.0, True, 0)), "eigen", 0
        )
    # With |c| = 1 nothing overflows; the limit is beyond what gamma can still change.
    size = largest * float(np.linalg.norm(scores / largest))
    problem = _Problem(graph, scores / size, min(gamma / size, 1e100), tol, size)
    n_steps = 0
    if spectrum is None and len(graph) > DENSE_LIMIT and gamma > 0:
        parts, n_steps = _lanczos(problem)
        solution = problem.certified(parts, "lanczos", n_steps)
        if solution.residual <= tol and solution.norm_error <= 1e-12:
            return solution
    return problem.certified(_by_spectrum(problem, spectrum), "eigen", n_steps)


class _Found(NamedTuple):
    """A solution in two parts, in the null space of the Laplacian and outside of it: added up they lose digits."""

    null: FloatArray
    rest: FloatArray
    root: Root


class _Problem(NamedTuple):
    """A spherical problem with a vector c of length 1, which was divided by `size`."""

    graph: Graph
    c: FloatArray
    gamma: float
    tol: float
    size: float

    def split(self) -> tuple[FloatArray, FloatArray]:
        """The parts of c in the null space of the Laplacian and at right angles to it."""
        means = self.graph.component_means(self.c)
        # What rounding leaves of a sum of 0 must not choose between components.
        tiny = np.linalg.norm(means) <= 8.0 * _EPS * np.sqrt(len(means))
        return np.zeros_like(means) if tiny else means, self.c - means

    def certified(self, parts: _Found, method: str, n_steps: int) -> SphericalSolution:
        """Complete a solution to the unit length and measure how well it solves the problem."""
        null, rest, root = parts
        y = particular = null + rest
        if root.hard:
            y = particular + np.sqrt(max(1.0 - float(particular @ particular), 0.0) / len(y))
        slope = 4.0 * self.gamma * (self.graph.laplacian @ rest)
        residual = float(np.linalg.norm(slope + 2.0 * root.mu * rest + (2.0 * root.mu * null - self.c)))
        return SphericalSolution(
            y,
            self.size * root.mu,
            self.size * float(0.5 * (rest @ slope) - self.c @ y),
            abs(float(np.linalg.norm(y)) - 1.0),
            residual,
            root.hard,
            particular,
            method,
            n_steps,
        )


def _by_spectrum(problem: _Problem, known: Spectrum | None) -> _Found:
    null, rest = problem.split()
    if problem.gamma == 0.0:
        return _Found(null, problem.c - null, Root(0.5, False, 0))
    values, vectors, n_null = spectrum(problem.graph) if known is None else known
    a, eta = 2.0 * problem.gamma * values[n_null:], vectors[:, n_null:].T @ rest
    root = secular_root(a, eta, float(np.linalg.norm(null)))
    return _Found(_null_part(null, root), vectors[:, n_null:] @ _coordinates(a, eta, root.mu), root)


def _null_part(null: FloatArray, root: Root) -> FloatArray:
    return np.zeros_like(null) if root.hard else null / (2.0 * root.mu)


def _coordinates(a: FloatArray, eta: FloatArray, mu: float) -> FloatArray:
    """Coordinates of y; those of an eigenvalue that rounding made 0 are 0 in the hard case."""
    return 0.5 * np.divide(eta, mu + a, out=np.zeros_like(eta), where=mu + a > 0)


def _lanczos(problem: _Problem) -> tuple[_Found, int]:
    """Solve in the Krylov space of c, of a size at which the residual is small or no growth is left."""
    graph, gamma, L = problem.graph, problem.gamma, problem.graph.laplacian
    null, rest = problem.split()
    null_norm, rest_norm = float(np.linalg.norm(null)), float(np.linalg.norm(rest))
    limit = min(len(graph), LANCZOS_LIMIT)
    vectors = np.empty((limit + 1, len(graph)))
    diagonal, off = np.empty(limit), np.empty(limit)
    vectors[0] = rest / rest_norm if rest_norm > 0 else 0.0
    scale = 2.0 * float(graph.degrees.max())
    check = 8
    for k in range(1, limit + 1):
        q = vectors[k - 1]
        w = L @ q
        along = vectors[:k] @ w
        w -= along @ vectors[:k]
        w -= (vectors[:k] @ w) @ vectors[:k]  # a second time: once leaves the vectors not orthogonal enough
        w -= graph.component_means(w)
        diagonal[k - 1], off[k - 1] = along[-1], np.linalg.norm(w)
        ended = off[k - 1] <= 8.0 * _EPS * scale
        if ended or k in (check, limit):
            check = k + max(k // 2, 4)
            values, turn = eigh_tridiagonal(diagonal[:k], off[: k - 1], check_finite=False)
            a, eta = 2.0 * gamma * np.maximum(values, 0.0), rest_norm * turn[0]
            root = secular_root(a, eta, null_norm)
            y = turn @ _coordinates(a, eta, root.mu)
            if ended or k == limit or 4.0 * gamma * off[k - 1] * abs(y[-1]) <= 0.1 * problem.tol:
                break
        vectors[k] = w / off[k - 1]
    return _Found(_null_part(null, root), y @ vectors[:k], root), k
