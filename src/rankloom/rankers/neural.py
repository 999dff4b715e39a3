r"""What ListNet and RankNet share: a scorer that is linear or has one hidden layer, and its training.

Rows are first brought into an order that depends on their content alone, and equal rows of a query become one row with
the sum of their weights. A network has many minima, and training would end in another one if sums were rounded
differently; so permuted rows, renamed queries and rows that are repeated instead of weighted give the same bits.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from rankloom.core import FloatArray, Matrix
from rankloom.groups import Preferences, check_count, check_number, preferences
from rankloom.rankers._canonical import canonical
from rankloom.rankers._compact import NEWTON_LIMIT, CompactRows, is_compact, scores
from rankloom.rankers._risk_types import RowsRisk
from rankloom.rankers._risks import Design
from rankloom.rankers._solve import Solution, newton, quasi_newton
from rankloom.rankers.base import Problem, Ranker, warn_nothing_to_learn
from rankloom.rankers.parts import Common, Parts, Survey, Taught


class ScoreRisk(RowsRisk, Protocol):
    """A risk that is a function of the scores, and of linear weights through them."""

    def by_score(self, f: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient by score."""


class ScoringNetwork(NamedTuple):
    r"""Scores \(f(x) = \lambda \cdot x\), or \(\sum_k v_k \tanh(u_k \cdot x + b_k)\) with `hidden` units.

    All weights are one vector: \(\lambda\), or \(u\) (a row per feature), \(b\) and \(v\) one after another. The output
    has no bias: a ranking would not see it.
    """

    n_features: int
    hidden: int

    @property
    def n_weights(self) -> int:
        """The number of weights."""
        return (self.n_features + 2) * self.hidden if self.hidden else self.n_features

    @property
    def penalized(self) -> FloatArray:
        """1 for each weight that the penalty counts, 0 for the biases."""
        ones = np.ones(self.n_weights)
        self.layers(ones)[1][:] = 0.0 if self.hidden else 1.0
        return ones

    def layers(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Views of the weights of a network: into the units, their biases, out of them."""
        into, bias, out = np.split(weights, [self.n_features * self.hidden, (self.n_features + 1) * self.hidden])
        return into.reshape(self.n_features, self.hidden), bias, out

    def start(self, random_state: Any) -> FloatArray:
        """Weights to start from: 0 for linear scores; Glorot and Bengio's (2010) uniform ones for a network."""
        weights = np.zeros(self.n_weights)
        if self.hidden:
            random = check_random_state(random_state)
            for layer, width in zip(self.layers(weights)[::2], (self.n_features, 1), strict=True):
                limit = np.sqrt(6.0 / (self.hidden + width))
                layer[...] = random.uniform(-limit, limit, layer.shape)
        return weights

    def scores(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """The score of each row."""
        if not self.hidden:
            return X @ weights
        return self.units(X, weights) @ self.layers(weights)[2]

    def units(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """The activation of each hidden unit for each row."""
        into, bias, _ = self.layers(weights)
        activation = X @ into
        activation += bias
        return np.asarray(np.tanh(activation, out=activation))

    def gradient(self, X: FloatArray, weights: FloatArray, units: FloatArray, slopes: FloatArray) -> FloatArray:
        """Backpropagation: the gradient by weight of a network, from its units and the gradient by score."""
        out = self.layers(weights)[2]
        below = (1.0 - units * units) * (slopes[:, None] * out)
        return np.concatenate([(X.T @ below).ravel(), below.sum(axis=0), slopes @ units])


class NetworkRisk:
    """A risk of scores, as a function of the weights of a network."""

    def __init__(self, X: FloatArray, scorer: ScoringNetwork, risk: ScoreRisk):
        self.X, self.scorer, self.risk = X, scorer, risk
        self.n_weights = scorer.n_weights

    def value_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient."""
        units = self.scorer.units(self.X, w)
        value, slopes = self.risk.by_score(units @ self.scorer.layers(w)[2])
        return value, self.scorer.gradient(self.X, w, units, slopes)


class NetworkRanker(Ranker):
    """Base of ListNet and RankNet. A subclass stores its parameters and defines `_risk_of(X, y, prefs)`."""

    hidden: int
    nu: float
    normalize: str = "pairs"
    tol: float
    max_iter: int
    random_state: Any

    @property
    def query_shift_invariant(self) -> bool:  # type: ignore[override]
        """Whether a constant added to a query changes nothing: only for linear scores."""
        return self.hidden == 0

    @property
    def takes_compact(self) -> bool:  # type: ignore[override]
        """Whether sparse and float32 rows stay as they are: only for linear scores, as a network standardises them."""
        return self.hidden == 0

    @abstractmethod
    def _risk_of(self, X: Design, y: FloatArray, prefs: Preferences) -> ScoreRisk:
        """The risk of the rows that teach, which are in the order of the preferences."""

    def _fit(self, problem: Problem) -> None:
        self._check_parameters()
        self._forget_weights()
        taught = self._taught(problem)
        if not len(taught.rows):
            warn_nothing_to_learn()
            self._learn_nothing()
        elif self.hidden:
            self._learn_network(taught)
        else:
            self._learn(self._risk(taught))

    def _taught(self, problem: Problem) -> Taught:
        """The rows of two grades, in an order that their content gives."""
        rows, groups, weight, query_weight = canonical(problem)
        prefs = preferences(problem.y[rows], groups, weight, query_weight, normalize=self.normalize)
        return Taught(problem, prefs, rows[prefs.rows])

    def _common(self, taught: Parts, surveys: Sequence[Survey]) -> Common:
        """What a risk of some queries has to know of all: nothing."""
        return Common()

    def _risk(self, taught: Taught, common: Common | None = None) -> ScoreRisk:
        """The risk of linear scores."""
        X, y = taught.problem.X[taught.rows], taught.problem.y[taught.rows]
        return self._risk_of(CompactRows(X) if is_compact(X) else X, y, taught.prefs)

    def _learn(self, risk: RowsRisk) -> None:
        """Find the weights of linear scores."""
        self._store(self._solve(risk), ScoringNetwork(self.n_features_in_, 0))

    def _learn_network(self, taught: Taught) -> None:
        """Find the weights of a network."""
        X, y, prefs = taught.problem.X[taught.rows], taught.problem.y[taught.rows], taught.prefs
        scorer = ScoringNetwork(X.shape[1], self.hidden)
        # A linear score may have any scale of the features, but a unit of tanh is flat away from 0.
        self.mean_ = np.average(X, axis=0, weights=prefs.weight)
        self.scale_ = np.sqrt(np.average((X - self.mean_) ** 2, axis=0, weights=prefs.weight))
        self.scale_[self.scale_ <= 1e-12 * np.abs(X).max(axis=0)] = 1.0
        X = (X - self.mean_) / self.scale_
        self._store(self._descend(NetworkRisk(X, scorer, self._risk_of(X, y, prefs)), scorer), scorer)

    def _learn_nothing(self) -> None:
        """The weights where nothing teaches."""
        scorer = ScoringNetwork(self.n_features_in_, self.hidden)
        self._store(Solution(np.zeros(scorer.n_weights), 0.0, 0, True, 0.0), scorer)

    def _forget_weights(self) -> None:
        """Forget those of an earlier fit, with or without a hidden layer."""
        for name in ("coef_", "mean_", "scale_", "hidden_coef_", "hidden_bias_", "output_coef_"):
            if hasattr(self, name):
                delattr(self, name)

    def _solve(self, risk: RowsRisk) -> Solution:
        """Linear scores: the risk is convex."""
        start = np.zeros(risk.n_weights)
        if risk.compact or risk.n_weights <= NEWTON_LIMIT:
            return newton(risk, np.full_like(start, 2.0 * self.nu), start, self.tol, self.max_iter)
        return quasi_newton(risk, lambda w: (self.nu * float(w @ w), 2.0 * self.nu * w), start, self.tol, self.max_iter)

    def _descend(self, risk: NetworkRisk, scorer: ScoringNetwork) -> Solution:
        """A network: L-BFGS from random weights down to a minimum near them."""
        ridge = self.nu * scorer.penalized
        start = scorer.start(self.random_state)

        def objective(w: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = risk.value_gradient(w)
            return (value + float(ridge @ (w * w))) / scale, (gradient + 2.0 * ridge * w) / scale

        scale = 1.0
        scale = max(objective(start)[0], 1e-300)  # the stopping rule then does not depend on the number of pairs
        options = {"maxiter": self.max_iter, "maxfun": 10 * self.max_iter, "ftol": self.tol, "gtol": 0.1 * self.tol}
        # With threads the tiny triangular systems inside of L-BFGS cost up to 100 times as much on a busy machine.
        with threadpool_limits(1, user_api="blas"):  # scikit-learn brings threadpoolctl along
            optimum = minimize(objective, start, jac=True, method="L-BFGS-B", options={**options, "maxcor": 20})
        return Solution(
            np.asarray(optimum.x), float(optimum.fun) * scale, int(optimum.nit), bool(optimum.success), None
        )

    def _store(self, solution: Solution, scorer: ScoringNetwork) -> None:
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after {solution.n_iter} steps; raise max_iter, tol or nu",
                ConvergenceWarning,
                stacklevel=5,
            )
        if self.hidden:
            into, self.hidden_bias_, self.output_coef_ = (part.copy() for part in scorer.layers(solution.w))
            self.hidden_coef_ = into
            if not hasattr(self, "mean_"):
                self.mean_, self.scale_ = np.zeros(scorer.n_features), np.ones(scorer.n_features)
        else:
            self.coef_ = solution.w
        self.objective_ = float(solution.objective)
        self.gap_ = solution.gap
        self.n_iter_ = int(solution.n_iter)

    def _predict(self, X: Matrix, qid: Any) -> FloatArray:
        if hasattr(self, "coef_"):
            return scores(X, self.coef_)
        weights = np.concatenate([self.hidden_coef_.ravel(), self.hidden_bias_, self.output_coef_])
        return ScoringNetwork(*self.hidden_coef_.shape).scores((X - self.mean_) / self.scale_, weights)

    def _check_parameters(self) -> None:
        check_count("hidden", self.hidden, least=0)
        check_number("nu", self.nu)
        check_number("max_iter", self.max_iter, least=1)
