"""From decision values to probabilities, by Platt's sigmoid."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from rankloom.core import FloatArray


class Sigmoid(NamedTuple):
    r"""The increasing map \(v \mapsto 1 / (1 + e^{-(a v + b)})\)."""

    slope: float
    offset: float

    def __call__(self, values: FloatArray) -> FloatArray:
        """The probabilities of decision values."""
        return np.asarray(expit(self.slope * values + self.offset), dtype=np.float64)


def fit_sigmoid(values: FloatArray, y: NDArray[np.bool_]) -> tuple[Sigmoid, bool]:
    r"""The sigmoid of the largest likelihood, and whether the values tell the classes apart at all.

    The targets are \((n_+ + 1) / (n_+ + 2)\) and \(1 / (n_- + 2)\) instead of 1 and 0, so that a few examples which are
    told apart without an error do not make for certainty. Where a higher value means less, the slope would not be
    positive; then values are squashed as they are, since the order must stay.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines, 1999. H.-T. Lin, C.-J. Lin, R. Weng, A note on Platt's
    probabilistic outputs for support vector machines, Machine Learning 68, 2007.
    """
    n_positive, n_negative = int(y.sum()), int((~y).sum())
    target = np.where(y, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    center, spread = float(values.mean()), float(values.std()) or 1.0
    x = (values - center) / spread

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        z = parameters[0] * x + parameters[1]
        error = expit(z) - target
        return float((np.logaddexp(0.0, z) - target * z).sum()), np.array([error @ x, error.sum()])

    start = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])
    optimum: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    slope, offset = optimum.x.tolist()
    good = slope > 1e-6
    if not good:
        slope, offset = 1.0, float(start[1])
    return Sigmoid(slope / spread, offset - slope * center / spread), good
