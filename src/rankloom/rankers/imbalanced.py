"""Imbalanced RankBoost: boosting that spends its features on the top of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from rankloom.core import FloatArray, IntArray
from rankloom.evaluation.metrics import evaluate
from rankloom.features import Features
from rankloom.groups import Preferences, check_choice, check_count, check_number, preferences
from rankloom.rankers import _kernels
from rankloom.rankers._boosting import LARGEST, PairWeights, distinct, feature_prices, shares, truncated
from rankloom.rankers._canonical import canonical, hold_out, subset
from rankloom.rankers.base import ANY_SIZE, Problem, Ranker, warn_nothing_to_learn

# Where the values of a feature lie, from the least to the greatest of the training rows.
RANGES = {"unit": (0.0, 1.0), "centred": (-0.5, 0.5), "paper": (-1.0, 1.0)}
_PER_ROUND = (
    "features_", "inverted_", "thresholds_", "alphas_", "survivors_", "objectives_", "log_losses_",
)  # fmt: skip
_REGULARIZERS = ("squared", "exponential", "gap")
_NO_CUTS = 1e6
_LAMBDAS = (3.0, 1.0, 0.1, 0.01)  # that "auto" tries, each of which cuts more, as long as little is lost
_ENOUGH = 20_000  # rows of those that are there choose
_SPLITS, _HELD = 3, 1 / 3  # how often rows are held out to choose, and the share of them


class ImbalancedRankBoost(Ranker):
    r"""Imbalanced RankBoost of Merler et al.: every round asks one more feature of fewer, higher ranked rows.

    $$ f_t(x) = f_{t-1}(x) + \alpha_t h_t(x) I[f_{t-1}(x) > \theta_t], \quad \theta_t \ge \theta_{t-1}. $$

    A row that fails a test keeps its score and is never looked at again; all rows stay ordered. Feature and cut-off of
    a round are chosen together, over all features and all cut-offs between different scores, to minimise

    $$ L'_t = \frac{Z_t}{Z_0} \sqrt{1 - r_t^2} + \lambda \Omega(\theta), \quad
       r_t = \sum C_t(x_0, x_1) \big( h(x_0) I[x_0] - h(x_1) I[x_1] \big), $$

    with \(Z_t\) the loss \(\sum e^{-(f(x_0) - f(x_1))}\) over all pairs of a query in which \(x_0\) has the higher
    grade. This is the paper with its slips B1 to B11 (docs/papers.md) corrected. An inverted feature is \(1 - h\), so
    that with the range "unit" scores only grow, and every row that passes the last test stands above every row that
    does not (B13).

    `predict` of `Features` computes the cells of surviving rows only.

    Parameters
    ----------
    n_rounds : number of rounds at most.
    lam : weight of the regulariser, as a share of the number of pairs: the paper's lambda of 1e5, for its about 2
        million pairs, is 0.05 here. "auto" chooses it: from no cuts at all on, lambdas that cut more and more are
        tried as long as they lose no more than `budget` on held-out rows. What one costs and loses differs much between
        problems.
    regularizer : \(\Omega\), a sum over the rounds of "squared" \((\theta_t - \theta_{t-1})^2\), "exponential"
        \(e^{\theta_t - \theta_{t-1}} - 1\), or "gap" \((\theta_t - \min\{f > \theta_{t-1}\})^2\); 0 where it stays.
    tol : stop when \(L'\) changes by less than this share in a round.
    alpha : "closed", \(\frac12 \ln \frac{1 + r}{1 - r}\), the paper's, or "exact" (1-D Newton, B14).
    scaling : the range of a feature's values over the training rows: "unit" [0, 1], "centred" [-1/2, 1/2] or "paper"
        [-1, 1]. They differ, because a term that is cut off counts 0 (B3). Values outside are clipped.
    inclusive : test \(f \ge \theta\) with cut-offs at scores of kept rows, as printed, instead of \(f > \theta\) with
        cut-offs at scores of dropped ones, which is the least cut-off that drops them (B6).
    inverted : whether a feature may also count the other way round.
    budget : the share of AP@100 that the choice of `lam` may lose against no cuts; what is above the lowest grade is
        relevant.
    costs, cost_weight : what a cell of each feature costs, and the weight of that cost in the objective: a feature of
        mean cost, asked of all rows, must lower the loss by this share to be chosen.

    Attributes
    ----------
    features_, inverted_, thresholds_, alphas_ : feature, direction, cut-off and step of each round. The first cut-off
        is the least number: it drops nothing.
    low_, high_ : the least and the greatest value of each feature in the training rows.
    survivors_ : the share of the training rows that each round asked for its feature.
    lam_ : the weight of the regulariser in use.
    objectives_ : L' of each round. log_losses_ : the logarithm of the loss after each round, relative to no ranker.

    References
    ----------
    M. Merler, R. Yan, J. Smith, Imbalanced RankBoost for efficiently ranking large-scale image/video collections, CVPR
    2009, figure 3 and equations 4-17.

    Examples
    --------
    >>> from rankloom import Features
    >>> from rankloom.datasets import make_weak_models
    >>> data = make_weak_models(random_state=0)
    >>> train, test = data.take(slice(0, None, 2)), data.take(slice(1, None, 2))
    >>> ranker = ImbalancedRankBoost(n_rounds=40, lam=0.1).fit(*train)
    >>> lazy = Features(test.X)
    >>> scores = ranker.predict(lazy)
    >>> lazy.n_evaluations < 0.5 * len(test) * len(ranker.used_features)
    True
    """

    features_: IntArray
    inverted_: NDArray[np.bool_]
    thresholds_: FloatArray
    alphas_: FloatArray
    low_: FloatArray
    high_: FloatArray
    survivors_: FloatArray
    objectives_: FloatArray
    log_losses_: FloatArray

    feature_range = ANY_SIZE

    def __init__(
        self,
        n_rounds: int = 200,
        lam: float | str = "auto",
        *,
        regularizer: str = "squared",
        tol: float = 1e-6,
        alpha: str = "closed",
        scaling: str = "unit",
        inclusive: bool = False,
        inverted: bool = True,
        budget: float = 0.02,
        costs: ArrayLike | None = None,
        cost_weight: float = 0.0,
    ):
        self.n_rounds = n_rounds
        self.lam = lam
        self.regularizer = regularizer
        self.tol = tol
        self.alpha = alpha
        self.scaling = scaling
        self.inclusive = inclusive
        self.inverted = inverted
        self.budget = budget
        self.costs = costs
        self.cost_weight = cost_weight

    def _fit(self, problem: Problem) -> None:
        self._check_parameters()
        self.lam_ = self._chosen_lam(problem) if self.lam == "auto" else float(self.lam)
        price = feature_prices(self.costs, self.cost_weight, problem.X.shape[1])
        prefs = preferences(problem.y, problem.groups, problem.weight, problem.query_weight)
        rounds: list[tuple[int, bool, float, float, float, float, float]] = []
        if len(prefs.rows):
            X = problem.X[prefs.rows]
            self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
            varies = np.flatnonzero(self.high_ > self.low_)
            H = np.ascontiguousarray(self._scaled(X[:, varies], varies))
            rounds = self._boost(H, varies, prefs, price[varies] if len(price) else price) if len(varies) else []
        else:
            warn_nothing_to_learn()
            self.low_, self.high_ = np.zeros(problem.X.shape[1]), np.zeros(problem.X.shape[1])
        columns = [*zip(*rounds, strict=True)] if rounds else [()] * len(_PER_ROUND)
        for name, column in zip(_PER_ROUND, columns, strict=True):
            kind = {"features_": np.int64, "inverted_": bool}.get(name, np.float64)
            setattr(self, name, np.array(column, dtype=kind))

    def _chosen_lam(self, problem: Problem) -> float:
        """The last of the lambdas that keep to the budget on rows held out, each cutting more; else no cuts.

        Its loss is that of several splits, and a standard deviation more: these share rows, and say little more than
        one.
        """
        rows, groups, weight, query_weight = canonical(problem)  # equal rows are one: on one side of a split
        distinct_rows = Problem(problem.X[rows], problem.y[rows], groups, weight, query_weight)
        if len(rows) > _ENOUGH:
            distinct_rows = subset(distinct_rows, hold_out(distinct_rows, _ENOUGH / len(rows), 0))
        splits = [hold_out(distinct_rows, _HELD, seed) for seed in range(_SPLITS)]
        if not all(held.any() for held in splits):
            return _NO_CUTS
        parts = [(subset(distinct_rows, ~held), subset(distinct_rows, held)) for held in splits]
        full = self._held_quality(_NO_CUTS, parts, problem)
        chosen = _NO_CUTS
        for lam in _LAMBDAS:
            lost = (full - self._held_quality(lam, parts, problem)) / (full.mean() or 1.0)
            if not lost.mean() + lost.std(ddof=1) <= self.budget:
                break
            chosen = lam
        return chosen

    def _held_quality(self, lam: float, parts: Sequence[tuple[Problem, Problem]], problem: Problem) -> FloatArray:
        """AP@100 of the second of each two parts, learned from the first."""
        lowest, values = problem.y.min(), []
        for learn, judge in parts:
            ranker = clone(self).set_params(lam=lam)
            ranker.fit(learn.X, learn.y, qid=learn.groups.codes, sample_weight=learn.weight)
            relevant = (judge.y > lowest).astype(np.float64)
            found = evaluate(relevant, ranker.predict(judge.X), judge.groups.codes, ["AP@100"])
            values.append(found["AP@100"])
        return np.array(values)

    def _boost(
        self, H: FloatArray, features: IntArray, prefs: Preferences, price: FloatArray
    ) -> list[tuple[int, bool, float, float, float, float, float]]:
        least, greatest = RANGES[self.scaling]
        scale = 1.0 / (greatest - least)  # brings r to [-1, 1] (B3)
        mirrored = self.scaling != "unit"
        weights = PairWeights(prefs)
        used = np.zeros(H.shape[1], dtype=bool)
        alive, theta, omega, before = np.arange(len(H)), -np.inf, 0.0, np.nan
        rounds: list[tuple[int, bool, float, float, float, float, float]] = []
        for t in range(self.n_rounds):
            f = weights.f
            alive = alive[self._passes(f[alive], theta)]  # scores may have sunk, but for the range "unit"
            if not len(alive):
                break
            order = alive[np.argsort(-f[alive], kind="stable")]
            cuts, penalties = self._cuts(f[order], theta)
            moves = self.lam_ * (omega + penalties)
            if t == 0:
                moves[:-1] = np.inf  # no restriction on the first term (B5)
            costs = np.where(used, 0.0, price) if len(price) else price
            objective, last, which, r = _kernels.boost.best_cut(
                order, f, weights.signed, H, moves, weights.relative_loss, scale, self.inverted, costs, mirrored
            )
            if r <= 1e-12 or weights.ordered:
                break
            j, turned = (int(which), False) if which >= 0 else (int(~which), True)
            alive, theta, omega = order[: last + 1], float(cuts[last]), omega + float(penalties[last])
            h = np.zeros(len(H))
            h[alive] = _turn(H[alive, j], mirrored) if turned else H[alive, j]
            step = weights.exact_step(h) if self.alpha == "exact" else scale * float(np.arctanh(min(r, LARGEST)))
            weights.move(step * h)
            used[j] = True
            rounds.append(
                (
                    int(features[j]),
                    turned,
                    max(theta, float(np.finfo(np.float64).min)),
                    step,
                    len(alive) / len(H),
                    objective,
                    weights.log_loss - weights.first_log_loss,
                )
            )
            if abs(before - objective) <= self.tol * abs(before):  # after the step, which would be lost (B10)
                break
            before = objective
        return rounds

    def _cuts(self, scores: FloatArray, theta: float) -> tuple[FloatArray, FloatArray]:
        """The cut-off that keeps the rows up to each place of the sorted list, and its penalty; the last keeps all."""
        cuts = scores.copy() if self.inclusive else np.append(scores[1:], theta)
        cuts[-1] = theta
        base = scores[-1] if self.regularizer == "gap" or not np.isfinite(theta) else theta
        with np.errstate(over="ignore", invalid="ignore"):
            distance = np.where(np.isfinite(cuts), cuts - base, 0.0)
            penalties = np.expm1(distance) if self.regularizer == "exponential" else distance**2
        penalties[-1] = 0.0
        return cuts, penalties

    def _passes(self, scores: FloatArray, theta: float) -> NDArray[np.bool_]:
        return scores >= theta if self.inclusive else scores > theta

    def _scaled(self, X: FloatArray, features: Any) -> FloatArray:
        least, greatest = RANGES[self.scaling]
        share = shares(X, self.low_[features], self.high_[features])
        with np.errstate(over="ignore"):
            return np.clip(least + (greatest - least) * share, least, greatest)

    def truncated(self, n_rounds: int) -> ImbalancedRankBoost:
        """A copy with the first rounds only."""
        return truncated(self, n_rounds, _PER_ROUND)

    @property
    def used_features(self) -> IntArray:
        """The features of all rounds, in the order in which they were first chosen."""
        return distinct(self.features_)

    def _predict(self, X: FloatArray, qid: Any) -> FloatArray:
        return self._cascade(len(X), lambda j, rows: X[rows, j])

    def _predict_lazy(self, features: Features, qid: Any) -> FloatArray:
        return self._cascade(len(features), features.column)

    def _cascade(self, n_rows: int, column: Any) -> FloatArray:
        mirrored = self.scaling != "unit"
        scores, alive = np.zeros(n_rows), np.arange(n_rows)
        rounds = zip(self.features_.tolist(), self.inverted_.tolist(), self.thresholds_, self.alphas_, strict=True)
        for j, turned, theta, step in rounds:
            alive = alive[self._passes(scores[alive], theta)]
            if not len(alive):
                break
            h = self._scaled(column(j, alive), j)
            scores[alive] += step * (_turn(h, mirrored) if turned else h)
        return scores

    def _check_parameters(self) -> None:
        check_count("n_rounds", self.n_rounds)
        if self.lam != "auto":
            check_number("lam", self.lam)
        check_number("tol", self.tol)
        check_number("budget", self.budget)
        check_choice("regularizer", self.regularizer, _REGULARIZERS)
        check_choice("alpha", self.alpha, ("exact", "closed"))
        check_choice("scaling", self.scaling, tuple(RANGES))


def _turn(h: FloatArray, mirrored: bool) -> FloatArray:
    return -h if mirrored else 1.0 - h
