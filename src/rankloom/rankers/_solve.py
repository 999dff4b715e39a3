"""Minimise a risk plus a penalty: Newton, smoothed Newton with a duality gap for hinges, quasi-Newton for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from rankloom.core import FloatArray
from rankloom.rankers import _kernels
from rankloom.rankers._compact import NEWTON_LIMIT, Products
from rankloom.rankers._risk_types import HingeRisk, LinearRisk, Risk

MOST_PRODUCTS = 100  # products with the curvature in a step of more weights
NARROW = 0.4  # each width of the smoothed hinge over the one before
LEAVE = 3.0  # a width is left when its Newton decrement is below this many times its part of the duality gap
COARSE = 3e-3  # relative gap on a sample
FIRMER = 3.0  # times the penalty on a sample, which is fitted more closely than all queries can be
SETTLED = 1e-9  # a minimum is reached when what is left to gain is below this share of the objective


class Solution(NamedTuple):
    """Weights, objective, number of iterations, whether the tolerance was met, and a bound on the excess objective."""

    w: FloatArray
    objective: float
    n_iter: int
    converged: bool
    gap: float | None


def newton(risk: Risk, ridge: FloatArray, start: FloatArray, tol: float, max_iter: int) -> Solution:
    r"""Minimise \(R(w) + \tfrac12 \sum_i r_i w_i^2\) by Newton's method with backtracking.

    It stops when the Newton decrement (twice the expected gain of the next step) is below `tol` times the objective,
    and takes that step unseen: near the optimum it squares the error.
    """
    w = start
    value, gradient = ridge_objective(risk, ridge, w)
    decrement = np.inf
    for iteration in range(1, max_iter + 1):
        step, decrement = newton_direction(risk, ridge, w, gradient)
        if decrement <= tol * value or decrement <= 1e-300:
            return Solution(w - step, value - decrement / 2, iteration, True, max(decrement, 0.0))
        moved = line_search(risk, ridge, w, value, step, decrement)
        if moved is None:  # rounding stops the descent: the objective is as low as it gets
            return Solution(w, value, iteration, decrement <= 1e-9 * value, decrement)
        w, value, gradient = moved
    return Solution(w, value, max_iter, False, decrement)


def newton_direction(risk: Risk, ridge: FloatArray, w: FloatArray, gradient: FloatArray) -> tuple[FloatArray, float]:
    """Newton's step (to be subtracted) and its decrement."""
    hessian = risk.hessian(w)
    if not isinstance(hessian, np.ndarray):
        step = conjugate_gradients(hessian, ridge, gradient)
        return step, float(gradient @ step)
    hessian.flat[:: len(ridge) + 1] += ridge
    step = _solve_positive(hessian, gradient)
    return step, float(gradient @ step)


def conjugate_gradients(curvature: Products, ridge: FloatArray, right: FloatArray) -> FloatArray:
    r"""Solve \((H + \mathrm{diag}(r)) p = b\) by products with H, each weight in the unit that its curvature gives.

    Up to NEWTON_LIMIT weights the system is solved as if it were factorised, so that compact rows give the weights of
    dense ones; beyond, only as far as a step needs.
    """
    diagonal = curvature.diagonal() + ridge
    unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    exact = len(right) <= NEWTON_LIMIT
    p, residual = np.zeros_like(right), unit * right
    direction, square = residual.copy(), float(residual @ residual)
    least = (1e-11 if exact else 1e-3) ** 2 * square
    for _ in range(3 * len(right) + 50 if exact else MOST_PRODUCTS):
        if square <= least or square < 1e-300:
            break
        along = unit * direction
        image = unit * (curvature @ along + ridge * along)
        bend = float(direction @ image)
        if bend <= 0.0:  # nothing but rounding is left
            break
        length = square / bend
        p += length * direction
        residual -= length * image
        square, before = float(residual @ residual), square
        direction = residual + (square / before) * direction
    return unit * p


def line_search(
    risk: Risk, ridge: FloatArray, w: FloatArray, value: float, step: FloatArray, decrement: float
) -> tuple[FloatArray, float, FloatArray] | None:
    """Go down along the step, shortened until Armijo's rule holds; None where rounding forbids it."""
    length = 1.0
    while length > 1e-14:
        trial = w - length * step
        trial_value, gradient = ridge_objective(risk, ridge, trial)
        if trial_value < value and trial_value <= value - 1e-4 * length * decrement:
            return trial, trial_value, gradient
        # The slope along the step goes from -decrement to `slope`: a secant finds about where it is 0.
        slope = -float(gradient @ step)
        secant = decrement / (decrement + slope) if slope > 0 else 0.5
        length *= min(max(secant, 0.05), 0.7)
    return None


def ridge_objective(risk: Risk, ridge: FloatArray, w: FloatArray) -> tuple[float, FloatArray]:
    """The objective and its gradient."""
    value, gradient = risk.value_gradient(w)
    return value + 0.5 * float(ridge @ (w * w)), gradient + ridge * w


def _solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    _, solution, info = dposv(matrix, right)
    if info == 0 and np.isfinite(solution).all():
        return np.asarray(solution)
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-12)[0])  # no penalty and dependent features


def smoothed_newton(
    smoothed: Callable[[float], HingeRisk],
    ridge: FloatArray,
    tol: float,
    max_iter: int,
    start: tuple[FloatArray, float] | None = None,
) -> tuple[Solution, float]:
    r"""Minimise a hinge risk plus \(\tfrac12 \sum_i r_i w_i^2\) to a relative duality gap of `tol`.

    The hinge is rounded over a width, which is left for a narrower one once its own excess is small against the part of
    the gap (`_gap_parts`) that falls with the width, and kept once that part is small enough. It begins with weights of
    0 and a width of 1, or with those of `start`: then it ends at the minimum of the last width, so that the weights do
    not depend on where it began. It returns the last width too.
    """
    w, width = (np.zeros(len(ridge)), 1.0) if start is None else start
    risk = smoothed(width)
    value, gradient = ridge_objective(risk, ridge, w)
    best = Solution(w, np.inf, 0, False, None)
    lower = -np.inf
    bounded = bool((ridge > 0).all())
    for iteration in range(1, max_iter + 1):
        primal, rounding, excess = _gap_parts(risk, ridge, w, gradient)
        if bounded:
            lower = max(lower, primal - rounding - excess)
        else:
            step, decrement = _bent_direction(smoothed, width, ridge, w, value, gradient)
            excess = decrement
            lower = max(lower, value - decrement)
        if primal < best.objective or best.converged:  # once converged, the weights of the last step are wanted
            best = best._replace(w=w, objective=primal)
        gap = max(best.objective - lower, 0.0)
        reached = gap <= tol * best.objective and (start is None or rounding <= 0.5 * tol * primal)
        best = best._replace(n_iter=iteration, gap=gap, converged=reached)
        done = reached and (start is None or excess <= SETTLED * primal)
        if done and best.w.any():
            break
        if bounded:
            step, decrement = _bent_direction(smoothed, width, ridge, w, value, gradient)
        if done:
            # Small features gain less than the tolerance; the step still orders rows, where zero weights would not.
            best = best._replace(w=-step)
            break
        leave = rounding > 0.5 * tol * primal and decrement <= LEAVE * rounding
        if leave and decrement <= rounding:
            w = w - step  # so near to the minimum that it need not be looked at
        else:
            moved = line_search(risk, ridge, w, value, step, decrement)
            if moved is None and reached:
                break
            leave = leave or moved is None
            if moved is not None:
                w, value, gradient = moved
        if leave:
            if width < 1e-12:
                break
            width *= _narrowing(rounding / (tol * primal))
            risk = smoothed(width)
            value, gradient = ridge_objective(risk, ridge, w)
    return best, width


def _gap_parts(risk: HingeRisk, ridge: FloatArray, w: FloatArray, gradient: FloatArray) -> tuple[float, float, float]:
    r"""The objective of the hinge itself, and the two parts of its duality gap.

    The hinge of width \(\mu\), \(\max_{0 \le a \le 1} a(1-x) - \mu a^2/2\), is smooth; its slopes \(a\) are a feasible
    point of the dual problem of the hinge itself,

    .. math:: D(a) = \sum a - \tfrac12 \sum_i g_i^2 / r_i, \qquad g = \nabla R_\mu(w).

    The gap is \(\sum [h(x) - a(1-x)]\), which falls with the width, plus
    \(\tfrac12 \sum_i (\nabla J_\mu)_i^2 / r_i\), which falls with Newton's steps. Weights that are not penalised (an
    intercept) leave the dual without a finite value; there \(J_\mu(w)\) minus the decrement stands for the bound, about
    \(\min J_\mu \le \min J\).
    """
    sharp, slope = risk.sharp_parts(w)
    primal = sharp + 0.5 * float(ridge @ (w * w))
    rounding = sharp - slope - float((gradient - ridge * w) @ w)
    penalized = ridge > 0
    return primal, rounding, 0.5 * float((gradient[penalized] ** 2 / ridge[penalized]).sum())


def _narrowing(excess: float) -> float:
    """The next width over this one: NARROW, or as much as lets the part of the gap that falls with its square pass.

    In steps of a fifth, so that the last width does not hang on the last digits.
    """
    factor = 1.0
    while factor > NARROW and factor * factor * excess > 0.4:
        factor *= 0.8
    return max(factor, NARROW) if factor < 1.0 else NARROW


def _bent_direction(
    smoothed: Callable[[float], HingeRisk],
    width: float,
    ridge: FloatArray,
    w: FloatArray,
    value: float,
    gradient: FloatArray,
) -> tuple[FloatArray, float]:
    """Newton's step and its decrement, with the curvature of a wider kink where the own one tells too little."""
    step, decrement = newton_direction(smoothed(width), ridge, w, gradient)
    while decrement > 2.0 * value and width < 1e6:
        # More than the whole objective to gain: too few margins lie in the curved piece to tell its shape.
        width /= NARROW
        step, decrement = newton_direction(smoothed(width), ridge, w, gradient)
    return step, decrement


def sampled_newton(risk: LinearRisk, ridge: FloatArray, tol: float, max_iter: int) -> Solution:
    """Minimise a hinge, beginning with a sample of the queries where there are many pairs.

    Wide kinks need few digits, but most of the time, as they bend at most pairs: a sample is as good for them.
    """
    sample = risk.sample()
    if sample is None:
        return smoothed_newton(risk.smoothed, ridge, tol, max_iter)[0]
    part, share = sample
    coarse, width = smoothed_newton(part.smoothed, FIRMER * share * ridge, max(COARSE, tol), max_iter)
    width = NARROW ** round(np.log(width) / np.log(NARROW))  # on the same scale wherever the sample ended
    solution = smoothed_newton(risk.smoothed, ridge, tol, max_iter, (coarse.w, width))[0]
    return solution._replace(n_iter=solution.n_iter + coarse.n_iter)


def quasi_newton(
    risk: Risk, penalty: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, tol: float, max_iter: int
) -> Solution:
    """Minimise a risk plus a smooth penalty by L-BFGS."""

    def objective(w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = risk.value_gradient(w)
        extra, slope = penalty(w)
        return value + extra, gradient + slope

    return _lbfgs(objective, start, None, tol, max_iter)


def proximal_newton(risk: Risk, weights: FloatArray, start: FloatArray, tol: float, max_iter: int) -> Solution:
    r"""Minimise \(R(w) + \sum_i c_i |w_i|\): Newton's quadratic model with the penalty as it is, by coordinate descent.

    It stops when a step would gain less than `tol` times the objective by its own model.
    """
    w = start
    value, gradient = risk.value_gradient(w)
    objective = value + float(weights @ np.abs(w))
    for iteration in range(1, max_iter + 1):
        hessian = risk.hessian(w)
        assert isinstance(hessian, np.ndarray)
        # A trace of a ridge keeps features without curvature (dependent or unused ones) from running away.
        hessian[np.diag_indices_from(hessian)] += 1e-10 * max(float(np.trace(hessian)), 1e-300)
        step = _kernels.lasso.lasso_step(hessian, gradient, w, weights, 1e-3 * tol * max(objective, 1e-300), 10_000)
        promised = -float(gradient @ step + weights @ (np.abs(w + step) - np.abs(w)))
        if promised <= tol * objective:
            return Solution(w, objective, iteration, True, None)
        length = 1.0
        while True:
            trial = w + length * step
            value, slope = risk.value_gradient(trial)
            total = value + float(weights @ np.abs(trial))
            if total < objective and total <= objective - 1e-4 * length * promised:
                break
            length /= 2
            if length < 1e-12:  # rounding stops the descent
                return Solution(w, objective, iteration, promised <= 1e-6 * objective, None)
        w, gradient, objective = trial, slope, total
    return Solution(w, objective, max_iter, False, None)


def sparse_quasi_newton(risk: Risk, weights: FloatArray, tol: float, max_iter: int) -> Solution:
    r"""Minimise \(R(w) + \sum_i c_i |w_i|\): L-BFGS-B on \(w = p - n\) with \(p, n \ge 0\), which is smooth."""
    d = risk.n_weights

    def objective(parts: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = risk.value_gradient(parts[:d] - parts[d:])
        return value + float(weights @ (parts[:d] + parts[d:])), np.concatenate(
            [gradient + weights, weights - gradient]
        )

    solution = _lbfgs(objective, np.zeros(2 * d), [(0.0, None)] * (2 * d), tol, max_iter)
    return solution._replace(w=solution.w[:d] - solution.w[d:])


def _lbfgs(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: list[tuple[float, None]] | None,
    tol: float,
    max_iter: int,
) -> Solution:
    # Scaled so that the first gradient has size 1: the stopping rule then does not depend on the number of pairs.
    scale = max(float(np.abs(objective(start)[1]).max(initial=0.0)), 1e-300)

    def scaled(w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(w)
        return value / scale, gradient / scale

    options = {"maxiter": max(100 * max_iter, 1000), "maxfun": 10**6, "ftol": 1e-3 * tol, "gtol": tol, "maxcor": 20}
    with threadpool_limits(1, user_api="blas"):  # its tiny triangular systems are far slower with threads
        optimum = minimize(scaled, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return Solution(np.asarray(optimum.x), float(optimum.fun) * scale, int(optimum.nit), bool(optimum.success), None)
