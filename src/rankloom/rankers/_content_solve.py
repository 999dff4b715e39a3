"""Ways to the weights of content-aware ranking: L-BFGS, Newton where there are kinks, and cutting planes."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, nnls
from threadpoolctl import threadpool_limits

from rankloom.core import FloatArray, IntArray
from rankloom.rankers._content_risk import ContentRisk
from rankloom.rankers._solve import line_search, newton_direction, ridge_objective

NARROW = 0.2  # each width over the one before
IDLE = 10  # rounds without a multiplier after which a constraint is dropped
PATIENCE = 30  # passes without a smaller gap after which L-BFGS has met a kink


class Fit(NamedTuple):
    """Weights, their objective, a bound on its excess over the minimum, and how many cuts were made (0: none)."""

    w: FloatArray
    objective: float
    gap: float
    n_cuts: int


class _Done(Exception):
    """Raised out of L-BFGS when the gap is small enough or no longer falls."""


def smooth(risk: ContentRisk, start: FloatArray, tol: float, max_passes: int) -> Fit:
    r"""L-BFGS until \(\|g\|^2/2\), which bounds the excess of a 1-strongly convex objective, is `tol` of the objective.

    It may end before that where rounding or a kink stops the descent: `gap` tells.
    """
    best, last = Fit(start, np.inf, np.inf, 0), 0

    def objective(w: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, last
        value, gradient = risk.value_gradient(w)
        value, gradient = value + 0.5 * float(w @ w), gradient + w
        gap = 0.5 * float(gradient @ gradient)
        if gap < best.gap:
            best, last = Fit(w.copy(), value, gap, 0), risk.n_passes
        if gap <= tol * value or risk.n_passes >= min(max_passes, last + PATIENCE):
            raise _Done
        return value, gradient

    options = {"maxiter": max_passes, "maxfun": max_passes, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
    # The tiny triangular systems inside of it are far slower with threads.
    with threadpool_limits(1, user_api="blas"), suppress(_Done):
        minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return best


def sharpen(risk: ContentRisk, start: FloatArray, tol: float, max_passes: int) -> Fit:
    r"""Newton's method on the risk without kinks, of ever smaller width.

    The y of a smoothed list are a point of the dual problem, so the gap is the slacks that smoothing has taken away,
    which falls with the width, plus \(\|g\|^2/2\), which falls with Newton's steps. A width is left once a step would
    gain less than the former.
    """
    ridge = np.ones(risk.n_weights)
    w, width = start, 0.1
    smoothed = risk.smoothed(width)
    value, gradient = ridge_objective(smoothed, ridge, w)
    best, lower = Fit(start, np.inf, np.inf, 0), -np.inf
    while risk.n_passes < max_passes and width > 1e-14:
        step, decrement = newton_direction(smoothed, ridge, w, gradient)
        sharp, offset = smoothed.sharp_parts(w)
        primal = sharp + 0.5 * float(w @ w)
        taken = sharp - offset - float((gradient - w) @ w)
        lower = max(lower, primal - taken - 0.5 * float(gradient @ gradient))
        if primal < best.objective:
            best = best._replace(w=w, objective=primal)
        best = best._replace(gap=max(best.objective - lower, 0.0))
        if best.gap <= tol * best.objective:
            break
        moved = line_search(smoothed, ridge, w, value, step, decrement)
        if moved is not None:
            w, value, gradient = moved
        if moved is None or decrement <= taken:
            width *= NARROW
            smoothed = risk.smoothed(width)
            value, gradient = ridge_objective(smoothed, ridge, w)
    return best


def cutting_planes(risk: ContentRisk, start: FloatArray, tol: float, max_passes: int, *, n_slacks: bool) -> Fit:
    r"""Algorithm 1 of Geng et al.: add the most violated constraints, solve the quadratic programme, repeat.

    With one slack for all lists a pass adds the sum of their constraints, with a slack for each list the constraints
    that are violated. (The paper solves again after each list; here after each pass.) Constraints are also added about
    where the objective is least between the best weights and those of the programme: without them hundreds of features
    need thousands of passes. The dual of the constraints so far bounds the minimum from below: the gap is certified.

    References
    ----------
    V. Franc and S. Sonnenburg, Optimized cutting plane algorithm for large-scale risk minimization, JMLR 10, 2009.
    """
    planes = _Planes(risk, n_slacks=n_slacks)
    best, lower, added = planes.cut(start), -np.inf, True
    while True:
        w, bound = planes.solve(best.w)
        lower = max(lower, bound)
        gap = max(best.value - lower, 0.0)
        if gap <= tol * best.value or risk.n_passes >= max_passes or not added:
            return Fit(best.w, best.value, gap, planes.n_cuts)
        n_cuts, first = planes.n_cuts, best
        trial = planes.cut(w)
        best = min(best, trial, key=lambda point: point.value)
        along = trial.w - first.w
        before, after = float(first.slope @ along), float(trial.slope @ along)
        if before < 0 < after and risk.n_passes < max_passes:
            share = min(max(before / (before - after), 1e-3), 0.9)
            best = min(best, planes.cut(first.w + share * along), key=lambda point: point.value)
        added = planes.n_cuts > n_cuts  # else rounding in the programme leaves nothing to do


class _Point(NamedTuple):
    """Weights with the objective and a subgradient there."""

    w: FloatArray
    value: float
    slope: FloatArray


class _Planes:
    """The constraints so far."""

    def __init__(self, risk: ContentRisk, *, n_slacks: bool):
        self.risk = risk
        self.caps = risk.caps if n_slacks else np.array([risk.C])
        self.shares = np.eye(len(risk.caps)) if n_slacks else (risk.caps / risk.C)[None, :]
        self.u, self.b = np.empty((0, risk.n_weights)), np.empty(0)
        self.owner, self.idle = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        self.n_cuts = 0

    def cut(self, w: FloatArray) -> _Point:
        """Look for the most violated constraints at w and keep those that are new."""
        cuts = self.risk.cuts(w)
        u, b = self.shares @ cuts.u, self.shares @ cuts.b
        slacks = np.maximum(b - u @ w, 0.0)
        value = 0.5 * float(w @ w) + float(self.caps @ slacks)
        known = np.zeros(len(self.caps))
        np.maximum.at(known, self.owner, self.b - self.u @ w)
        new = np.flatnonzero(slacks > known + 1e-12 * value / self.caps.sum())
        self.u, self.b = np.concatenate([self.u, u[new]]), np.concatenate([self.b, b[new]])
        self.owner, self.idle = np.concatenate([self.owner, new]), np.append(self.idle, np.zeros_like(new))
        self.n_cuts += len(new)
        return _Point(w, value, w - self.caps @ u)

    def solve(self, near: FloatArray) -> tuple[FloatArray, float]:
        """The weights that the constraints so far ask for, and a lower bound of the objective."""
        alpha = dual_qp(self.u, self.b, self.owner, self.caps, near)
        w = alpha @ self.u
        bound = float(alpha @ self.b) - 0.5 * float(w @ w)
        self.idle = np.where(alpha > 0, 0, self.idle + 1)
        keep = self.idle < IDLE
        self.u, self.b, self.owner, self.idle = self.u[keep], self.b[keep], self.owner[keep], self.idle[keep]
        return w, bound


def dual_qp(
    u: FloatArray, b: FloatArray, owner: IntArray, caps: FloatArray, near: FloatArray | None = None
) -> FloatArray:
    r"""Maximise \(b \cdot \alpha - \tfrac12 \|\sum_j \alpha_j u_j\|^2\) over \(\alpha \ge 0\) with sums of at most
    `caps[i]` over the constraints of owner i.

    Its primal, with a small proximal term on the slacks, is a least-distance problem, which Lawson and Hanson turn into
    non-negative least squares; a few repetitions move the proximal term away (the method of multipliers). They begin
    from the slacks of the weights `near`.

    References
    ----------
    C. Lawson and R. Hanson, Solving least squares problems, 1974, chapter 23, section 4.

    Examples
    --------
    >>> dual_qp(np.array([[1.0], [2.0]]), np.array([1.0, 1.9]), np.array([0, 0]), np.array([0.6])).round(6).tolist()
    [0.3, 0.3]
    """
    n, d, k = len(b), u.shape[1], len(caps)
    root = np.sqrt(1e-3 * caps)[:, None]  # of the weight of the proximal term
    # A constraint of zeros for each owner says that its slack is not negative.
    owners = np.concatenate([owner, np.arange(k)])
    G = np.zeros((n + k, d + k))
    G[:n, :d] = u * root[owner]
    G[np.arange(n + k), d + owners] = 1.0
    offsets = np.concatenate([b, np.zeros(k)])
    slack = np.zeros(k)
    np.maximum.at(slack, owner, b if near is None else b - u @ near)
    alpha = np.zeros(n + k)
    for _ in range(50):
        h = (root[:, 0] * -slack + caps / root[:, 0])[owners] + root[owners, 0] * offsets
        size = float(np.linalg.norm(caps / root[:, 0]))
        multiplier = nnls(np.vstack([G.T, h / size]), np.append(np.zeros(d + k), 1.0), maxiter=30 * (n + k))[0]
        alpha = root[owners, 0] * multiplier * (size / (1.0 - float(h @ multiplier) / size))
        excess = np.bincount(owners, alpha, minlength=k) - caps
        slack = slack + excess / root[:, 0] ** 2
        if (np.abs(excess) <= 1e-9 * caps).all():
            break
    totals = np.bincount(owners, alpha, minlength=k)
    return np.asarray((alpha * np.minimum(1.0, caps / totals)[owners])[:n])
