r"""The margin framework of Yan & Hauptmann (2006); the rankers that it contains are in `logistic` and `rank_svm`.

Given a convex, decreasing margin loss \(L\), a linear score \(f\) is learned by minimising

.. math:: \sum_q \sum_{j \succ_q k} L(f_j - f_k) + \nu \|w\|^2 \qquad \text{(eq. 2, all pairs)}

or a sum over rows that bounds it (eq. 4, approximate pairs), or the risk of a classifier (eq. 1, pointwise).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankloom.core import FloatArray, IntArray, Matrix
from rankloom.groups import Preferences, check_number, preferences
from rankloom.rankers import _kernels
from rankloom.rankers._compact import NEWTON_LIMIT, CompactRows, Shift, compact_medians, is_compact
from rankloom.rankers._risk_types import LinearRisk, Risk
from rankloom.rankers._risks import Design, PairRisk, PointRisk, pair_risk
from rankloom.rankers._solve import (
    Solution,
    newton,
    proximal_newton,
    quasi_newton,
    sampled_newton,
    sparse_quasi_newton,
)
from rankloom.rankers.base import LinearRanker, Problem, warn_nothing_to_learn
from rankloom.rankers.losses import LOSSES, MarginLoss, get_loss
from rankloom.rankers.parts import Common, Parts, Survey, Taught, total_medians

PAIRS = ("all", "approximate", "pointwise")
SHIFTS = ("query", "global", "none")
SHARP = 1e-3  # width of the hinge's rounded kink where the penalty allows no duality gap

Penalty = str | Callable[[FloatArray], tuple[float, FloatArray]]


class MarginRanker(LinearRanker):
    r"""Any margin loss, over rows or pairs, with any of the penalties: eq. 1, 2 and 4 of Yan & Hauptmann (2006).

    Parameters
    ----------
    loss : "logistic", "hinge", "squared_hinge", "exponential", a `MarginLoss`, or a function
        `margins -> (values, derivatives)`.
    pairs : "all" (eq. 2; exact, and for the named losses without forming a pair), "approximate" (eq. 4; a row counts
        once for each row that it is paired with) or "pointwise" (eq. 1; a classifier with an intercept).
    nu : weight of the penalty; the objective has \(\nu\|w\|^2\), not half of it.
    penalty : "l2", "l1", or a smooth function `w -> (value, gradient)`. With the last two the hinge is rounded over a
        width of 0.001, which changes the objective by less than 0.0005 a pair.
    shift : for approximate pairs: "query" subtracts from each feature its weighted median in the query, "global" the
        one over all queries (the paper's), "none" nothing.
    normalize : "pairs" sums over pairs (the paper's), "query" makes each query's pairs (or rows) weigh 1 together.
    tol : relative accuracy of the objective.
    max_iter : most Newton steps.

    Attributes
    ----------
    coef_ : the weights. `objective_`: the minimum found. `n_iter_`: steps taken.
    gap_ : how far `objective_` may be above the true minimum: a bound by duality for the hinge, Newton's decrement for
        smooth losses, None for quasi-Newton.

    References
    ----------
    R. Yan and A. G. Hauptmann, Efficient margin-based rank learning algorithms for information retrieval, CIVR 2006.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 2]
    >>> MarginRanker("squared_hinge", nu=0.1).fit(X, y).predict(X).argsort().tolist()
    [0, 1, 2]
    """

    takes_compact = True

    def __init__(
        self,
        loss: str | MarginLoss | Callable[..., Any] = "logistic",
        pairs: str = "all",
        *,
        nu: float = 1.0,
        penalty: Penalty = "l2",
        shift: str = "query",
        normalize: str = "pairs",
        tol: float = 1e-6,
        max_iter: int = 200,
    ):
        self.loss = loss
        self.pairs = pairs
        self.nu = nu
        self.penalty = penalty
        self.shift = shift
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter

    @property
    def query_shift_invariant(self) -> bool:  # type: ignore[override]
        """Whether a constant added to a query changes nothing: always for all pairs, else with the shift per query."""
        return self.pairs == "all" or (self.pairs == "approximate" and self.shift == "query")

    @property
    def rank_consistent(self) -> bool:  # type: ignore[override]
        """Theorem 1: wherever a constant added to a query changes nothing, and features are penalised one by one."""
        return self.query_shift_invariant and not callable(self.penalty)

    def _fit(self, problem: Problem) -> None:
        self._check_parameters()
        taught = self._taught(problem)
        if not len(taught.rows):
            warn_nothing_to_learn("all weights are 0")
            self._learn_nothing()
            return
        self._learn(self._risk(taught))

    def _taught(self, problem: Problem) -> Taught:
        """The rows that stand in pairs."""
        prefs = preferences(problem.y, problem.groups, problem.weight, problem.query_weight, normalize=self.normalize)
        return Taught(problem, prefs, prefs.rows)

    def _common(self, taught: Parts, surveys: Sequence[Survey]) -> Common:
        """What a risk of some queries has to know of all: the range of grades, and a shift over all queries."""
        grades = [survey.grades for survey in surveys if survey.grades is not None]
        shift = None
        if self.pairs == "approximate" and self.shift == "global":
            shift = total_medians(taught, len(surveys[0].largest))
        return Common((min(low for low, _ in grades), max(high for _, high in grades)), shift)

    def _risk(self, taught: Taught, common: Common | None = None) -> PointRisk | PairRisk:
        """The risk of the rows that stand in pairs; where they are only a part, with what all have in common."""
        loss, (problem, prefs, _) = get_loss(self.loss), taught
        if self.pairs != "all":
            return PointRisk(*self._rows(problem, prefs, common or Common()), loss)
        rows = _take(problem.X, prefs)
        # A hinge is solved by Newton steps alone, and those of many features by products.
        by_products = is_compact(rows) or (loss is LOSSES["hinge"] and rows.shape[1] > NEWTON_LIMIT)
        return pair_risk(CompactRows(rows) if by_products else rows, prefs, loss)

    def _rows(self, problem: Problem, prefs: Preferences, common: Common) -> tuple[Design, FloatArray, FloatArray]:
        """The rows of a risk without pairs, with the weight of each as a relevant and as an irrelevant one."""
        compact = is_compact(problem.X)
        rows = _take(problem.X, prefs) if compact else problem.X[prefs.rows]
        if self.pairs == "pointwise":
            relevance = unit_grades(problem.y[prefs.rows], common.grades)
            weight = prefs.weight * problem.query_weight[prefs.query]
            if self.normalize == "query":
                weight = weight / np.bincount(prefs.query, prefs.weight)[prefs.query]
            design = CompactRows(rows, intercept=True) if compact else np.hstack([rows, np.ones((len(rows), 1))])
            return design, weight * relevance, weight * (1.0 - relevance)
        weight = prefs.weight * prefs.scale
        if compact:
            rows = CompactRows(rows, shift=compact_shift(rows, prefs, self.shift))
        else:
            rows -= median_shift(rows, prefs, self.shift) if common.shift is None else common.shift
        return rows, weight * prefs.lower, weight * prefs.higher

    def _learn(self, risk: LinearRisk) -> None:
        """Find the weights."""
        self._store(self._minimize(get_loss(self.loss), risk))

    def _learn_nothing(self) -> None:
        """The weights where nothing teaches."""
        self._store(Solution(np.zeros(self.n_features_in_), 0.0, 0, True, 0.0))

    def _minimize(self, loss: MarginLoss, risk: LinearRisk) -> Solution:
        penalized = np.ones(risk.n_weights)
        if self.pairs == "pointwise":
            penalized[-1] = 0.0  # the intercept
        ridge = 2.0 * self.nu * penalized
        if loss is LOSSES["hinge"]:
            if self.penalty == "l2":
                return sampled_newton(risk, ridge, self.tol, self.max_iter)
            # From wide to sharp, each width starting where the one before ended.
            risks: list[Risk] = [risk.smoothed(width) for width in np.geomspace(1.0, SHARP, 9)]
        else:
            risks = [risk]
        by_newton = risk.has_hessian and (risk.compact or risk.n_weights <= NEWTON_LIMIT)
        by_matrix = by_newton and not (risk.compact and risk.chunks is None)
        start = np.zeros(risk.n_weights)
        if callable(self.penalty):
            return quasi_newton(risks[-1], self._own_penalty, start, self.tol, self.max_iter)
        if self.penalty == "l1" and not by_matrix:
            return sparse_quasi_newton(risks[-1], self.nu * penalized, self.tol, self.max_iter)
        if self.penalty == "l1":
            for stage in risks:
                solution = proximal_newton(stage, self.nu * penalized, start, self.tol, self.max_iter)
                start = solution.w
            return solution
        if by_newton:
            return newton(risk, ridge, start, self.tol, self.max_iter)
        return quasi_newton(risk, lambda w: (0.5 * float(ridge @ (w * w)), ridge * w), start, self.tol, self.max_iter)

    def _own_penalty(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The user's penalty of the features' weights; an intercept is free."""
        assert callable(self.penalty)
        value, slope = self.penalty(w[: self.n_features_in_])
        gradient = np.zeros_like(w)
        gradient[: self.n_features_in_] = self.nu * np.asarray(slope)
        return self.nu * value, gradient

    def _store(self, solution: Solution) -> None:
        if not solution.converged:
            excess = "" if solution.gap is None else f" with up to {solution.gap:.1e} of the objective left to gain"
            warnings.warn(
                f"{type(self).__name__} stopped after {solution.n_iter} steps{excess}; raise max_iter, tol or nu",
                ConvergenceWarning,
                stacklevel=5,
            )
        n_features = self.n_features_in_
        self.coef_ = solution.w[:n_features]
        self.objective_ = float(solution.objective)
        self.gap_ = solution.gap
        self.n_iter_ = int(solution.n_iter)

    def _check_parameters(self) -> None:
        if self.pairs not in PAIRS:
            raise ValueError(f"pairs must be one of {', '.join(PAIRS)}, got {self.pairs!r}")
        if not (callable(self.penalty) or self.penalty in ("l1", "l2")):
            raise ValueError(f"penalty must be 'l1', 'l2' or a function, got {self.penalty!r}")
        check_number("nu", self.nu)
        check_number("tol", self.tol, open_below=True)
        check_number("max_iter", self.max_iter, least=1)
        if self.nu == 0 and get_loss(self.loss) is LOSSES["hinge"]:
            raise ValueError("the hinge loss needs nu > 0: without a penalty its weights are not determined")


def unit_grades(y: FloatArray, within: tuple[float, float] | None = None) -> FloatArray:
    """Grades scaled to 0 .. 1, for rankers that see a row as more or less relevant; `within` is the range of all."""
    least, most = within or (y.min(), y.max())
    low, high = least / 2, most / 2  # halves, as the span of grades may be beyond the largest float
    return np.asarray((y / 2 - low) / (high - low))


def _take(X: Matrix, prefs: Preferences) -> Matrix:
    """The rows in the order of the preferences, without a copy where they have it already."""
    n = X.shape[0]
    if len(prefs.rows) == n and bool((prefs.rows[1:] > prefs.rows[:-1]).all()):
        return X
    return X.take(prefs.rows, axis=0) if isinstance(X, np.ndarray) else X[prefs.rows]


def median_shift(rows: FloatArray, prefs: Preferences, shift: str) -> FloatArray:
    r"""The shift \(\alpha\) of each row: weighted medians of the features (eq. 6), per query or over all queries.

    Each row weighs as often as it stands in a pair; the lower median is taken where it is an interval.
    """
    weight, starts = _runs(prefs, shift)
    if shift == "none" or not len(rows):
        return np.zeros((1, rows.shape[1]))
    medians: FloatArray = _kernels.median.column_medians(rows, weight, starts)
    return medians if shift == "global" else np.repeat(medians, np.diff(starts), axis=0)


def compact_shift(rows: Matrix, prefs: Preferences, shift: str) -> Shift | None:
    """The same shift for compact rows."""
    weight, starts = _runs(prefs, shift)
    return None if shift == "none" else compact_medians(rows, weight, starts)


def _runs(prefs: Preferences, shift: str) -> tuple[FloatArray, IntArray]:
    """The weight of each row in its median, and where the rows of each median begin."""
    if shift not in SHIFTS:
        raise ValueError(f"shift must be one of {', '.join(SHIFTS)}, got {shift!r}")
    weight = prefs.weight * (prefs.lower + prefs.higher)
    if shift == "global":
        return weight * prefs.scale, np.array([0, len(weight)])
    return weight, np.append(np.flatnonzero(np.diff(prefs.query, prepend=-1)), len(weight))
