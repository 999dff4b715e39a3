r"""Margin losses: convex, decreasing functions of the margin \(x = f(d_j) - f(d_k)\) (or \(x = \pm f(d)\))."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from rankloom.core import FloatArray

ArrayFunction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class MarginLoss:
    r"""A margin loss \(L\) and its derivatives, each a function of an array.

    Parameters
    ----------
    name : what error messages call it.
    value, derivative : \(L\) and \(L'\) (any subgradient where there is a kink).
    curvature : \(L''\), or None; with it rankers take Newton steps, without it quasi-Newton ones.
    subadditive : whether \(2 L(x/2) \ge L(x)\), the condition of Theorem 2 of Yan & Hauptmann (2006) for the bounds of
        their eq. 3. It holds for the logistic and the hinge loss; it fails for the squared hinge below
        \(-\sqrt 2\) and for the exponential below \(-2 \ln 2\).
    """

    name: str
    value: ArrayFunction
    derivative: ArrayFunction
    curvature: ArrayFunction | None = None
    subadditive: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process a loss of ours is the one of that process, which the kernels know."""
        if LOSSES.get(self.name) is self:
            return get_loss, (self.name,)
        return MarginLoss, (self.name, self.value, self.derivative, self.curvature, self.subadditive)


def _logistic_curvature(x: FloatArray) -> FloatArray:
    p = expit(-x)
    return np.asarray(p * (1.0 - p))


LOSSES: dict[str, MarginLoss] = {
    "logistic": MarginLoss(
        "logistic", lambda x: np.logaddexp(0.0, -x), lambda x: -expit(-x), _logistic_curvature, subadditive=True
    ),
    "hinge": MarginLoss(
        "hinge", lambda x: np.maximum(0.0, 1.0 - x), lambda x: np.where(x < 1.0, -1.0, 0.0), subadditive=True
    ),
    "squared_hinge": MarginLoss(
        "squared_hinge",
        lambda x: np.maximum(0.0, 1.0 - x) ** 2,
        lambda x: -2.0 * np.maximum(0.0, 1.0 - x),
        lambda x: np.where(x < 1.0, 2.0, 0.0),
    ),
    "exponential": MarginLoss("exponential", lambda x: np.exp(-x), lambda x: -np.exp(-x), lambda x: np.exp(-x)),
}


def smoothed_hinge(width: float) -> MarginLoss:
    r"""The hinge with its kink rounded over `width` \(\mu\): \(\max_{0 \le a \le 1} a(1-x) - \mu a^2 / 2\).

    >>> smoothed_hinge(0.5).value(np.array([0.0, 0.75, 1.0])).tolist()
    [0.75, 0.0625, 0.0]
    """

    def value(x: FloatArray) -> FloatArray:
        t = 1.0 - x
        return np.where(t <= 0.0, 0.0, np.where(t <= width, t * t / (2.0 * width), t - width / 2.0))

    def derivative(x: FloatArray) -> FloatArray:
        return -np.clip((1.0 - x) / width, 0.0, 1.0)

    def curvature(x: FloatArray) -> FloatArray:
        return np.where((x < 1.0) & (x >= 1.0 - width), 1.0 / width, 0.0)

    return MarginLoss("smoothed hinge", value, derivative, curvature)


def get_loss(loss: str | MarginLoss | Callable[[FloatArray], tuple[FloatArray, FloatArray]]) -> MarginLoss:
    """Return the loss of a name, a `MarginLoss` as it is, or a function `x -> (values, derivatives)` as a loss.

    >>> get_loss("hinge").value(np.array([0.0, 2.0])).tolist()
    [1.0, 0.0]
    """
    if isinstance(loss, MarginLoss):
        return loss
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"unknown loss {loss!r}; known are {', '.join(LOSSES)}, or pass a function")
        return LOSSES[loss]
    if callable(loss):
        function = loss
        return MarginLoss(getattr(loss, "__name__", "custom"), lambda x: function(x)[0], lambda x: function(x)[1])
    raise ValueError(f"loss must be a name, a MarginLoss or a function, got {type(loss).__name__}")
