"""What RankBoost and Imbalanced RankBoost share: weights of pairs in log space, and the step along a weak ranker."""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rankloom.core import FloatArray, IntArray
from rankloom.features import check_costs
from rankloom.groups import Preferences, check_count, check_number
from rankloom.rankers import _kernels

LARGEST = 1.0 - 1e-9  # of r: a weak ranker that is always right would get infinite weight (docs/papers.md, B11)
LARGEST_STEP = float(np.arctanh(LARGEST))  # 10.7
_ORDERED = 40.0  # where the loss has fallen by e^40, all pairs are ordered and nothing is left to learn


Boosted = TypeVar("Boosted")


class PairWeights:
    r"""The distribution \(C_t(x_0, x_1) \propto w_0 w_1 e^{f(x_1) - f(x_0)}\) over all pairs, kept by row.

    Attributes
    ----------
    f : the scores now, in the order of `prefs.rows`.
    signed : what a row weighs in the gain \(r = \sum C (h(x_0) - h(x_1)) = \sum_i \mathrm{signed}_i h(x_i)\).
    log_loss : \(\log \sum w_0 w_1 e^{f(x_1) - f(x_0)}\).
    """

    def __init__(self, prefs: Preferences):
        self._weight, self._splits = prefs.weight, prefs.splits
        self._log_scale = np.log(prefs.split_scale)
        n = len(prefs.rows)
        self._mass = np.empty(int((prefs.splits[:, 2] - prefs.splits[:, 0]).sum()))
        self._share = np.empty(len(prefs.splits))
        self.f: FloatArray = np.zeros(n)
        self.signed: FloatArray = np.empty(n)
        self.log_loss = 0.0
        self.move(np.zeros(n))
        self.first_log_loss = self.log_loss

    def move(self, change: FloatArray) -> None:
        """Add to the scores and weigh all pairs again."""
        self.f += change
        self.log_loss = float(
            _kernels.boost.potentials(
                self.f, self._weight, self._splits, self._log_scale, self._mass, self._share, self.signed
            )
        )

    @property
    def relative_loss(self) -> float:
        """The loss now as a share of the loss before the first step."""
        return float(np.exp(self.log_loss - self.first_log_loss))

    @property
    def ordered(self) -> bool:
        """Whether the loss has all but vanished."""
        return self.log_loss < self.first_log_loss - _ORDERED

    def exact_step(self, h: FloatArray) -> float:
        """The step along h of the smallest loss (docs/papers.md, B14)."""
        return float(_kernels.boost.best_step(h, self._splits, self._mass, self._share, LARGEST_STEP))

    def binary_step(self, active: Any) -> float:
        r"""The same where h is 1 for active rows, else 0: \(\frac12 \ln (W_+ / W_-)\)."""
        right, wrong = _kernels.boost.pair_masses(active, self._splits, self._mass, self._share)
        with np.errstate(divide="ignore"):
            step = 0.5 * (np.log(max(right, 0.0)) - np.log(max(wrong, 0.0)))
        return float(np.clip(step, -LARGEST_STEP, LARGEST_STEP))


def shares(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Where values lie between low, which gives 0, and high, which gives 1; 0 where these are equal."""
    with np.errstate(over="ignore"):  # of values far outside
        width = high - low
        if not np.isfinite(width).all():  # a range beyond the greatest number is taken by halves
            half = np.where(np.isfinite(width), 1.0, 0.5)
            values, low, width = values * half, low * half, high * half - low * half
        return np.divide(values - low, width, out=np.zeros_like(values), where=width > 0)


def feature_prices(costs: ArrayLike | None, cost_weight: float, n_features: int) -> FloatArray:
    """The price of each feature in the objective: its cost over the mean cost, times the weight. Empty for none."""
    check_number("cost_weight", cost_weight)
    if costs is None:
        if cost_weight > 0:
            raise ValueError("cost_weight needs costs, one a feature (Features.cell_costs() measures them)")
        return np.empty(0)
    checked = check_costs(costs, n_features)
    if not checked.any():
        raise ValueError("costs must not all be 0")
    return np.empty(0) if cost_weight == 0 else np.asarray(cost_weight * checked / checked.mean(), dtype=np.float64)


def distinct(features: IntArray) -> IntArray:
    """The features in the order in which they were first chosen."""
    _, first = np.unique(features, return_index=True)
    return np.asarray(features[np.sort(first)], dtype=np.int64)


def truncated(ranker: Boosted, n_rounds: int, names: tuple[str, ...]) -> Boosted:
    """A copy of a boosted ranker with the first entries of the arrays that have one per round."""
    check_count("n_rounds", n_rounds, least=0)
    short = copy(ranker)
    for name in names:
        setattr(short, name, getattr(ranker, name)[:n_rounds])
    return short
