"""The scores that marked items teach: a kernel machine beside mean similarities, and what each mark is without."""

from __future__ import annotations

import numpy as np

from rankloom.core import FloatArray

RIDGE = 0.1
MEAN = 1.0  # how much mean similarities count beside the kernel machine
AGAINST = 0.5  # and those to wrong items


def feedback_coefficients(
    gram: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    *,
    trust: FloatArray | None = None,
    machine: bool = True,
    means: bool = True,
) -> FloatArray:
    r"""Coefficients \(\beta\) of a score \(f(p) = \sum_j \beta_j K(p, j)\) over marked items, then a constant.

    The sum of two rules. A kernel machine, ridge regression on the targets with a constant term, both sides of equal
    total weight:

    .. math:: \min_{a, b} \sum_j c_j (t_j - \sum_i a_i K(j, i) - b)^2 + \lambda\, a^\top K a

    is best when there are many marks. The mean similarity to right items less half of that to wrong ones is best when
    there are few.

    Parameters
    ----------
    gram : array of shape (m, m), the similarities K between marked items.
    targets : above 0 for right, below 0 for wrong.
    weights : how much each mark counts.
    trust : what is left of that, from above 0 to 1; unlike weights it is not made up for by other marks of its side.
    machine, means : which of the two rules take part.

    Returns
    -------
    array of shape (m + 1,)

    Examples
    --------
    >>> gram = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> feedback_coefficients(gram, np.array([1.0, 1.0, -1.0]), np.ones(3)).round(2).tolist()
    [0.91, 1.26, -1.66, 0.05]
    """
    m = len(targets)
    trust = np.ones(m) if trust is None else trust
    coefficients = np.zeros(m + 1)
    sides = [(targets > 0, MEAN), (targets < 0, -MEAN * AGAINST)]
    for side, share in sides:
        if side.any() and (means or not (targets < 0).any()):
            coefficients[:m][side] += share * (weights * trust)[side] / weights[side].sum()
    if machine and all(side.any() for side, _ in sides):
        coefficients += np.linalg.solve(_system(gram, targets, weights, trust), np.append(np.sign(targets), 0.0))
    return coefficients


def leave_one_out(gram: FloatArray, targets: FloatArray, weights: FloatArray, trust: FloatArray) -> FloatArray:
    r"""The score that each marked item would get from the other marks alone; parameters as above.

    That of the kernel machine needs no further fit: \(t_j - a_j / (A^{-1})_{jj}\), with A the matrix of its equations.

    References
    ----------
    G. C. Cawley, Leave-one-out cross-validation based model selection criteria for weighted LS-SVMs, IJCNN 2006.

    Examples
    --------
    >>> gram = np.array([[1.0, 0.8, 0.8, 0.1], [0.8, 1.0, 0.8, 0.1], [0.8, 0.8, 1.0, 0.1], [0.1, 0.1, 0.1, 1.0]])
    >>> leave_one_out(gram, np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4), np.ones(4)).round(1).tolist()
    [0.5, 0.5, 1.6, 0.4]
    """
    m = len(targets)
    scores = np.zeros(m)
    sides = [(targets > 0, MEAN), (targets < 0, -MEAN * AGAINST)]
    for side, share in sides:
        own = np.where(side, weights * trust, 0.0)
        others = np.where(side, weights, 0.0).sum() - np.where(side, weights, 0.0)
        similarity = gram @ own - np.diag(gram) * own
        scores += share * np.divide(similarity, others, out=np.zeros(m), where=others > 0)
    if all(side.any() for side, _ in sides):
        inverse = np.linalg.inv(_system(gram, targets, weights, trust))
        signs = np.sign(targets)
        scores += signs - (inverse[:m, :m] @ signs) / np.diag(inverse)[:m]
    return scores


def _system(gram: FloatArray, targets: FloatArray, weights: FloatArray, trust: FloatArray) -> FloatArray:
    """The matrix of the equations of the kernel machine."""
    m = len(targets)
    balanced = weights * trust
    for side in (targets > 0, targets < 0):
        balanced[side] *= m / (2.0 * weights[side].sum())
    system = np.zeros((m + 1, m + 1))
    system[:m, :m] = gram + np.diag(RIDGE / balanced)
    system[m, :m] = system[:m, m] = 1.0
    return system
