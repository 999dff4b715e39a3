"""Marks that the other marks of a search contradict: probably mistakes, worth a second look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray
from rankloom.engine.kernel_machine import leave_one_out

SURE = 0.85  # the probability of the opposite from which a mark is contradicted: of one that says right,
SURE_OF_WRONG = 0.75  # and of one that says wrong, which hides what was looked for if it is a mistake
FEWEST = 5  # marks of the other kind without which nothing is
TRUST = 0.1  # what is left of the weight of a contradicted mark
_PASSES = 2  # in the second one those that were found weigh little, so that they no longer cover for each other
_SLOPE = 0.5  # the penalties of slope and constant
_CONSTANT = 1e-3
_STEPS, _LEAST_STEP = 15, 1e-13  # of Newton's method


def contradicted_marks(
    gram: FloatArray, targets: FloatArray, weights: FloatArray, base: FloatArray, fallible: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which marks the others contradict.

    Each mark has the score that its item would get from the other marks alone. How often marks of such a score are
    right is estimated from all marks of the search. So a search whose marks cannot be told by their looks contradicts
    nothing, and one in which they can finds the odd ones out.

    Parameters
    ----------
    gram, targets, weights : the marks, as for `feedback_coefficients`.
    base : what the experts add to the score of each.
    fallible : the marks that may be mistakes; the others are sure.

    Examples
    --------
    >>> gram = np.kron(np.eye(2), np.full((12, 12), 0.8)) + 0.2 * np.eye(24)
    >>> targets = np.repeat([1.0, -1.0], 12)
    >>> targets[[3, 20]] *= -1.0
    >>> found = contradicted_marks(gram, targets, np.ones(24), np.zeros(24), np.ones(24, dtype=bool))
    >>> np.flatnonzero(found).tolist()
    [3, 20]
    """
    found = np.zeros(len(targets), dtype=bool)
    right, wrong = targets > 0, targets < 0
    enough = (wrong & (right[fallible].sum() >= FEWEST)) | (right & (wrong[fallible].sum() >= FEWEST))
    if not (right.any() and wrong.any() and np.any(fallible & enough)):
        return found
    for _ in range(_PASSES):
        trust = np.where(found, TRUST, 1.0)
        scores = leave_one_out(gram, targets, weights, trust) + base
        p = _probability_right(scores, right, trust)
        rarer = max(1.0, wrong.sum() / right.sum())  # where few are right, being rare says nothing against them
        found = fallible & enough & np.where(right, rarer * p * SURE < (1.0 - p) * (1.0 - SURE), p > SURE_OF_WRONG)
    return found


def _probability_right(scores: FloatArray, right: NDArray[np.bool_], weights: FloatArray) -> FloatArray:
    """How probable a mark of each score is right: logistic regression by Newton's method, never falling."""
    spread = float(scores.std()) or 1.0
    X = np.column_stack([(scores - scores.mean()) / spread, np.ones(len(scores))])
    penalty = np.array([_SLOPE, _CONSTANT])
    coef = np.zeros(2)
    for _ in range(_STEPS):
        p = _logistic(X @ coef)
        gradient = X.T @ (weights * (p - right)) + penalty * coef
        hessian = (X * (weights * p * (1.0 - p))[:, None]).T @ X + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        coef = coef - step
        if np.abs(step).max() < _LEAST_STEP:
            break
    coef[0] = max(coef[0], 0.0)
    return _logistic(X @ coef)


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -30.0, 30.0))))
