"""What solvers ask of a risk, whether its rows are here or in parts elsewhere."""

from __future__ import annotations

from typing import Protocol

from rankloom.core import FloatArray
from rankloom.rankers._compact import Products


class Risk(Protocol):
    """A convex function of the weights."""

    n_weights: int
    has_hessian: bool

    def value_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient."""

    def hessian(self, w: FloatArray) -> FloatArray | Products:
        """The second derivatives (generalised where the loss has kinks in its slope); by products for compact rows."""


class HingeRisk(Risk, Protocol):
    """A risk with a smoothed hinge, which knows a point of the dual problem of the hinge itself."""

    def sharp_parts(self, w: FloatArray) -> tuple[float, float]:
        """The risk of the hinge itself, and the sum of the smoothed slopes -L' (the dual variables)."""


class RowsRisk(Risk, Protocol):
    """A risk of linear scores; with compact rows Newton steps are possible for any number of weights."""

    compact: bool


class LinearRisk(RowsRisk, Protocol):
    """A risk of a margin ranker: what its solvers may ask for."""

    chunks: list[slice] | None

    def smoothed(self, width: float) -> HingeRisk:
        """The same risk with a smoothed hinge, for the hinge."""

    def sample(self) -> tuple[LinearRisk, float] | None:
        """A part of the queries, and its share of the weight of all pairs; None where there is no use for it."""
