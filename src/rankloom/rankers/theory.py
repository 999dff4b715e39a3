"""The theory of the margin framework as tools: is a ranker consistent with its data, and how tight are the bounds?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloom.core import FloatArray
from rankloom.groups import Preferences, check_finite, check_grades, check_weights, group_rows, preferences
from rankloom.rankers._risks import PointRisk, pair_risk
from rankloom.rankers.losses import MarginLoss, get_loss
from rankloom.rankers.margin import median_shift


class Violation(NamedTuple):
    """A feature that orders every pair of the data one way and has a weight that says the opposite."""

    feature: int
    name: str
    direction: int
    weight: float


class Consistency(NamedTuple):
    """How a ranker's weights agree with the features that alone order all pairs right (+1) or wrong (-1)."""

    consistent: bool
    violations: tuple[Violation, ...]
    directions: dict[int, int]

    def __str__(self) -> str:
        head = f"{len(self.directions)} features order all pairs, {len(self.violations)} of them against their weight"
        lines = [
            f"{v.name}: orders all pairs {'up' if v.direction > 0 else 'down'}, weight {v.weight:+.3g}"
            for v in self.violations
        ]
        return "\n".join([head, *lines])


def rank_consistency(ranker: Any, X: ArrayLike, y: ArrayLike, qid: Any = None, *, tol: float = 1e-6) -> Consistency:
    """Find features whose weight contradicts the data (Definition 1 of Yan & Hauptmann 2006).

    A feature that is never lower for the preferred row of any pair, and higher at least once, should not have a
    negative weight; nor the other way round. F-RLR and RankSVM guarantee it, and RLR with a shift per query for two
    grades; classifiers and RLR with a global shift do not.

    Parameters
    ----------
    ranker : a fitted linear ranker, or its weights.
    X, y, qid : the training data.
    tol : weights up to this share of the largest one count as 0.

    Examples
    --------
    >>> X, y = [[1.0, 0.2], [2.0, 0.1], [3.0, 0.5]], [0, 1, 2]
    >>> print(rank_consistency([-1.0, 1.0], X, y))
    1 features order all pairs, 1 of them against their weight
    0: orders all pairs up, weight -1
    """
    coef, names = _weights(ranker)
    rows, prefs = _pairs(X, y, qid, coef)
    if not len(prefs.rows):
        return Consistency(True, (), {})
    upper_least, lower_least = _reduce(np.minimum, rows, prefs)
    upper_most, lower_most = _reduce(np.maximum, rows, prefs)
    up = np.all(upper_least >= lower_most, axis=0) & np.any(upper_most > lower_least, axis=0)
    down = np.all(upper_most <= lower_least, axis=0) & np.any(upper_least < lower_most, axis=0)
    directions = {int(j): 1 for j in np.flatnonzero(up)} | {int(j): -1 for j in np.flatnonzero(down)}
    slack = tol * float(np.abs(coef).max(initial=0.0))
    violations = tuple(
        Violation(j, names[j], sign, float(coef[j])) for j, sign in directions.items() if sign * coef[j] < -slack
    )
    return Consistency(not violations, violations, directions)


def _reduce(function: np.ufunc, rows: FloatArray, prefs: Preferences) -> tuple[FloatArray, FloatArray]:
    """The least or greatest value of each feature in the upper and in the lower half of each split."""
    halves = [(prefs.splits[:, 0], prefs.splits[:, 1]), (prefs.splits[:, 1], prefs.splits[:, 2])]
    padded = np.vstack([rows, rows[-1:]])  # reduceat wants every end to be a row
    upper, lower = (function.reduceat(padded, np.stack(half, axis=1).ravel(), axis=0)[::2] for half in halves)
    return upper, lower


class RiskBounds(NamedTuple):
    """The risk over all pairs between its bounds of eq. 3, all without the penalty."""

    lower: float
    risk: float
    upper: float


def pairwise_risk_bounds(
    ranker: Any,
    X: ArrayLike,
    y: ArrayLike,
    qid: Any = None,
    *,
    loss: str | MarginLoss | Callable[..., Any] = "logistic",
    shift: str = "query",
    sample_weight: ArrayLike | None = None,
) -> RiskBounds:
    r"""Bound the risk over all pairs by sums over rows (eq. 3 of Yan & Hauptmann 2006).

    .. math:: \tfrac12 [RR_{prox}(f) - RR_{prox}(-f)] \le RR(f) \le RR_{prox}(f)

    with \(RR_{prox}\) of eq. 4, each row counted once for each row that it is paired with *in its query*. It holds for
    losses with \(2L(x/2) \ge L(x)\), such as the logistic and the hinge loss, and any shift; for other losses (squared
    hinge, exponential) the numbers are returned but bound nothing.

    Parameters
    ----------
    ranker : a fitted linear ranker, or its weights.
    X, y, qid, sample_weight : the data.
    loss : the margin loss.
    shift : "query", "global" or "none", as in `RankingLogisticRegression`.

    Examples
    --------
    >>> bounds = pairwise_risk_bounds([0.5, -0.2], [[1.0, 0.2], [2.0, 0.1], [3.0, 0.5]], [0, 1, 1])
    >>> bounds.lower <= bounds.risk <= bounds.upper
    True
    """
    chosen = get_loss(loss)
    coef, _ = _weights(ranker)
    rows, prefs = _pairs(X, y, qid, coef, sample_weight)
    if not len(prefs.rows):
        return RiskBounds(0.0, 0.0, 0.0)
    weight = prefs.weight * prefs.scale
    prox = PointRisk(rows - median_shift(rows, prefs, shift), weight * prefs.lower, weight * prefs.higher, chosen)
    upper, mirrored = prox.value_gradient(coef)[0], prox.value_gradient(-coef)[0]
    return RiskBounds(0.5 * (upper - mirrored), pair_risk(rows, prefs, chosen).value_gradient(coef)[0], upper)


def _weights(ranker: Any) -> tuple[FloatArray, list[str]]:
    coef = np.array(getattr(ranker, "coef_", ranker), dtype=np.float64)
    if coef.ndim != 1:
        raise ValueError("a fitted linear ranker (with coef_) or one weight a feature is needed")
    names = getattr(ranker, "feature_names_in_", range(len(coef)))
    return coef, [str(name) for name in names]


def _pairs(
    X: ArrayLike, y: ArrayLike, qid: Any, coef: FloatArray, sample_weight: ArrayLike | None = None
) -> tuple[FloatArray, Preferences]:
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(coef):
        raise ValueError(f"X has the shape {rows.shape}, but there are {len(coef)} weights")
    check_finite(rows, "X")
    groups = group_rows(qid, len(rows))
    prefs = preferences(check_grades(y, len(rows)), groups, check_weights(groups, sample_weight, None)[0])
    return rows[prefs.rows], prefs
