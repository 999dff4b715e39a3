"""Soft cascades: cut-offs that let a finished ranker skip most of its features on most of the rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, metadata_routing
from sklearn.utils.validation import check_is_fitted

from rankloom.core import FloatArray, IntArray
from rankloom.evaluation.metrics import parse_metric
from rankloom.features import Features, check_costs
from rankloom.groups import check_number, preferences
from rankloom.rankers._canonical import hold_out, subset
from rankloom.rankers._cascade_rows import HeldRows
from rankloom.rankers._out_of_fold import Part, SeenRows
from rankloom.rankers.base import ANY_SIZE, AdditiveRanker, Problem, Ranker, refuse_unknown, warn_nothing_to_learn
from rankloom.rankers.boost import RankBoost

# Up to so many rows, so many halvings judge a fitted ranker: five show so little of how much halves differ that the
# error is now and then far too small.
_HALVINGS = ((100_000, 20), (math.inf, 5))
_SPLITS = ((5_000, 27), (100_000, 9), (math.inf, 3))  # up to so many rows, so many judge a ranker not fitted yet


class TradeOff(NamedTuple):
    """A point on the curve of a cascade.

    The mean cost of an item, that as a share of the full cost, the metric, and its loss against the full ranker with
    the standard error; all on rows that the cut-offs had not seen. For a fitted ranker these are halves of the held-out
    rows, each judging the other's cut-offs, and the error is that of a mean of two: more halvings of the same rows show
    how much halves differ, but add no rows. Else they are parts that are held out in turn from ranker and cut-offs; the
    error is that of a mean over parts times `holdout`.
    """

    cost: float
    share: float
    quality: float
    loss: float
    error: float


class SoftCascade(Ranker):
    r"""Learned cut-offs for a finished additive ranker \(F(x) = \sum_j g_j(x_j)\).

    Features are asked in an order of most gain per cost. After each, an item has the estimate

    $$ e_s(x) = \sum_{j \text{ asked}} g_j(x_j) + \sum_{j \text{ not asked}} \bar g_j, $$

    with \(\bar g_j\) the mean over the held-out rows, and if it is not above the cut-off \(c_s\) no more is asked: the
    estimate is its score. All items stay ordered, and those never dropped have the score of the full ranker.

    The cut-offs lie a margin of \(z\) standard deviations below the mean estimate of the items that matter,

    $$ c_s = \sum_i \ell_i e_s(x_i) - z \Big( \sum_i \ell_i \big( e_s(x_i) - \textstyle\sum_k \ell_k e_s(x_k)
       \big)^2 \Big)^{1/2}, $$

    where \(\ell_i\) is how much the metric falls if item i changes places with the last one of the lowest grade, as a
    share of all such falls. Cut-offs fitted closer to the few items that matter lose many like them on other rows.
    Each \(z\) gives a point of quality against cost, measured on rows that its cut-offs had not seen; the stated budget
    chooses the point.

    Parameters
    ----------
    ranker : a fitted additive ranker: `RankBoost` or any linear one; `fit` then needs rows that it has not seen. One
        that is not fitted (None: `RankBoost()`) is fitted, as a copy, on all rows. Its cut-offs are placed by how
        copies fitted on parts of the rows rank the others, and their margin is cross-validated so. Where there are too
        few rows to hold out, or none of them shows a loss, nothing is cut off.
    budget : the share of the metric that may be lost; the cheapest cascade within it is taken.
    confidence : with which the expected loss on lists like the held-out one is within the budget: the loss on held-out
        rows, plus its standard error times the normal quantile of the confidence, must be. A gain on held-out rows
        counts as no loss, since cut-offs that only seem to help have been lucky. A single list may lose more than
        expected: in a short one, one item decides about several percent.
    max_cost : the mean cost of an item that may be spent, instead of `budget`; the best cascade within it is taken.
    metric : what is to be kept, with grades counted 0, 1, 2 ... from the lowest.
    costs : what a cell of each feature costs. By default those that `Features` states or has measured, else 1 each.
    holdout : the share of queries (of rows, if there is one query) that judges a ranker that was not fitted yet.
    random_state : which rows are held out, and how they are halved.

    Attributes
    ----------
    ranker_ : the ranker. order_ : its features as they are asked. cuts_ : the cut-off after each; none after the last.
    curve_ : all points, from the narrowest margin to the full ranker. chosen_ : the number of the point in use.

    References
    ----------
    L. Bourdev, J. Brandt, Robust object detection via soft cascade, CVPR 2005. M. Merler, R. Yan, J. Smith, Imbalanced
    RankBoost for efficiently ranking large-scale image/video collections, CVPR 2009 (section 6 asks for costs).

    Examples
    --------
    >>> from rankloom import Features
    >>> from rankloom.datasets import make_weak_models
    >>> from rankloom.rankers import RankBoost
    >>> data = make_weak_models(9000, random_state=0)
    >>> train, held, test = (data.take(slice(k, None, 3)) for k in range(3))
    >>> full = RankBoost(60, "feature", alpha="closed").fit(*train)
    >>> cascade = SoftCascade(full, budget=0.02).fit(*held)
    >>> lazy = Features(test.X)
    >>> scores = cascade.predict(lazy)
    >>> lazy.n_evaluations < 0.5 * len(test) * len(full.used_features)
    True
    """

    __metadata_request__fit = {"qid": True, "sample_weight": metadata_routing.UNUSED}  # noqa: RUF012

    def __init__(
        self,
        ranker: AdditiveRanker | None = None,
        budget: float = 0.02,
        *,
        confidence: float = 0.9,
        max_cost: float | None = None,
        metric: str = "AP@100",
        costs: ArrayLike | None = None,
        holdout: float = 1 / 3,
        random_state: Any = 0,
    ):
        self.ranker = ranker
        self.budget = budget
        self.confidence = confidence
        self.max_cost = max_cost
        self.metric = metric
        self.costs = costs
        self.holdout = holdout
        self.random_state = random_state

    @property
    def feature_range(self) -> tuple[float, float]:  # type: ignore[override]
        """That of the ranker."""
        return self.ranker.feature_range if isinstance(self.ranker, Ranker) else ANY_SIZE

    def fit(self, X: ArrayLike, y: ArrayLike, qid: Any = None, **unknown: Any) -> Self:
        """Place the cut-offs by graded rows that the ranker was not fitted on.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), or `Features`, whose costs are then known.
        y, qid : as for `Ranker.fit`.
        """
        refuse_unknown("fit", unknown)
        self._features = X if isinstance(X, Features) else None
        try:
            return super().fit(X, y, qid)
        finally:
            del self._features

    def _fit(self, problem: Problem) -> None:
        self._check_parameters()
        self._check_ranker(problem.X.shape[1])
        taught = np.zeros(len(problem.y), dtype=bool)
        taught[preferences(problem.y, problem.groups).rows] = True
        problem = subset(problem, taught)
        costs = self._cell_costs(problem.X.shape[1])
        judged = self.ranker is not None and _is_fitted(self.ranker)
        self.ranker_: AdditiveRanker | None = None
        if judged:
            self.ranker_ = self.ranker
        elif taught.any():
            self.ranker_ = self._learned(problem)
        else:
            warn_nothing_to_learn()
        stages = _Stages.of(self.ranker_, problem.X, costs)
        self.order_, self.means_, self.costs_ = stages.order, stages.means, stages.costs
        self._trade(problem, stages, self._halvings if judged else self._splits)
        self.choose()

    def _learned(self, problem: Problem) -> AdditiveRanker:
        """The ranker, fitted on these rows."""
        made = RankBoost() if self.ranker is None else clone(self.ranker)
        return made.fit(problem.X, problem.y, qid=problem.groups.codes)

    def _check_ranker(self, width: int) -> None:
        ranker: Any = self.ranker
        if ranker is None:
            return
        if not isinstance(ranker, AdditiveRanker):
            got = f"the class {ranker.__name__}" if isinstance(ranker, type) else type(ranker).__name__
            raise ValueError(
                f"a cascade needs a ranker whose score is a sum over features (RankBoost or a linear one), got {got}"
            )
        if _is_fitted(ranker) and ranker.n_features_in_ != width:
            raise ValueError(f"the ranker was fitted on {ranker.n_features_in_} features, X has {width} features")

    def _cell_costs(self, width: int) -> FloatArray:
        given = self.costs
        if given is None:
            given = np.ones(width) if self._features is None else self._features.cell_costs()
        costs = check_costs(given, width)
        return np.maximum(costs, 1e-12 * (costs.max(initial=0.0) or 1.0))

    def _trade(self, problem: Problem, stages: _Stages, points_of: Callable[[Problem, _Stages], _Points]) -> None:
        """Cut-offs and a point of the curve for every margin."""
        full_cost = float(stages.costs.sum())
        self.all_cuts_ = np.full((1, len(self.order_)), _NEVER)
        self.curve_costs_ = np.array([full_cost])
        self.curve_quality_, self.curve_losses_, self.curve_errors_ = np.zeros(1), np.zeros(1), np.zeros(1)
        if not len(self.order_) or not len(problem.y):
            return
        points, apart, cuts = points_of(problem, stages)
        if not points:
            self.curve_quality_ = np.array([stages.rows(problem, self.metric, np.unique(problem.y)).full_quality()])
            return
        shares, qualities = np.array(points).transpose(1, 0, 2)
        self.all_cuts_ = np.maximum(np.vstack([cuts, np.full((1, len(self.order_)), -np.inf)]), _NEVER)
        self.curve_costs_, self.curve_quality_ = full_cost * shares.mean(axis=0), qualities.mean(axis=0)
        self.curve_losses_ = 1.0 - self.curve_quality_ / self.curve_quality_[-1]
        kept = qualities[:, -1:] * (1.0 - self.curve_losses_)
        self.curve_errors_ = (qualities - kept).std(axis=0) / self.curve_quality_[-1] / np.sqrt(apart)

    def _halvings(self, problem: Problem, stages: _Stages) -> _Points:
        """Halves of rows that the ranker has not seen, each judging the other's cut-offs."""
        metric = self._metric_of(problem, 0.5)
        rows = stages.rows(problem, self.metric, np.unique(problem.y))
        paid = np.cumsum(stages.costs)
        points = []
        for seed in check_random_state(self.random_state).randint(2**31, size=_at_most(_HALVINGS, len(problem.y))):
            half = hold_out(problem, 0.5, int(seed))
            if not half.any():
                continue
            first, second = rows.take(half, metric), rows.take(~half, metric)
            # A half of which the full ranker makes nothing has nothing to lose: it neither places nor judges.
            if first.full_quality() > 0 and second.full_quality() > 0:
                points += [first.points(second.cut_offs(), paid), second.points(first.cut_offs(), paid)]
        return _Points(points, 2.0, rows.cut_offs())

    def _splits(self, problem: Problem, stages: _Stages) -> _Points:
        """Parts of the rows, each judging a ranker that had not seen it, with cut-offs that the other parts give."""
        costs, levels = self._cell_costs(problem.X.shape[1]), np.unique(problem.y)
        parts = []
        n_splits = _at_most(_SPLITS, len(problem.y))
        for seed in check_random_state(self.random_state).randint(2**31, size=n_splits):
            held = hold_out(problem, self.holdout, int(seed))
            if not held.any():
                message = "too few rows to hold out a pair: nothing is cut off"
                warnings.warn(message, UserWarning, stacklevel=5)
                break
            learn, judge = subset(problem, ~held), subset(problem, held)
            made = _Stages.of(self._learned(learn), learn.X, costs)
            rows = made.rows(judge, self._metric_of(problem, self.holdout), levels)
            if len(made.order) and rows.full_quality() > 0:
                seen = SeenRows.sampled(learn.X, made.estimates)
                parts.append(Part(held, rows, seen, seen.unseen(rows, np.flatnonzero(held)), np.cumsum(made.costs)))
        points = [
            part.rows.points(part.seen.cut_offs([other.unseen.without(part.held) for other in parts]), part.paid)
            for part in parts
        ]
        cuts = SeenRows.sampled(problem.X, stages.estimates).cut_offs([part.unseen for part in parts])
        return _Points(points, len(points) * self.holdout, cuts)

    def _metric_of(self, problem: Problem, share: float) -> str:
        """The metric of a part of the rows: the top 100 of a list are the top 50 of half of it."""
        metric = parse_metric(self.metric)
        if len(problem.groups) > 1 or metric.k is None:
            return self.metric
        return f"{metric.name}@{math.ceil(round(metric.k * share, 9))}"

    def choose(self, *, budget: float | None = None, max_cost: float | None = None) -> Self:
        """Take another point of the curve, by the loss that is allowed or the mean cost of an item.

        Without either, it is the point that the constructor asked for.
        """
        check_is_fitted(self, "all_cuts_")
        if budget is not None and max_cost is not None:
            raise ValueError("choose by budget or by max_cost, not by both")
        if budget is None and max_cost is None:
            max_cost = self.max_cost
        if max_cost is not None:
            check_number("max_cost", max_cost, open_below=True)
            within = np.flatnonzero(self.curve_costs_ <= max_cost * (1 + 1e-12))
            if not len(within):
                least = self.curve_costs_.min()
                raise ValueError(f"max_cost={max_cost:g} is too little: the cheapest cascade costs {least:.4g} an item")
            self.chosen_ = int(within[np.argmax(self.curve_quality_[within])])
        else:
            allowed = self.budget if budget is None else budget
            check_number("budget", allowed)
            # Down from the full ranker to the first point over the budget: beyond it a point may be within by luck.
            margin = NormalDist().inv_cdf(self.confidence) * self.curve_errors_
            over = np.flatnonzero(np.maximum(self.curve_losses_, 0.0) + margin > allowed)
            within = np.arange(over[-1] + 1 if len(over) else 0, len(self.curve_losses_))
            self.chosen_ = int(within[np.argmin(self.curve_costs_[within])])
        self.cuts_ = self.all_cuts_[self.chosen_]
        return self

    @property
    def curve_(self) -> list[TradeOff]:
        """The points of the trade-off, from the narrowest margin to the full ranker."""
        share = self.curve_costs_ / (self.curve_costs_[-1] or 1.0)
        columns = (self.curve_costs_, share, self.curve_quality_, self.curve_losses_, self.curve_errors_)
        return [TradeOff(*point) for point in zip(*(column.tolist() for column in columns), strict=True)]

    def report(self) -> str:
        """The trade-off as text, with a mark at the point in use."""
        lines = [f"cost an item  of the full  {self.metric:>10}    loss"]
        for number, point in enumerate(self.curve_):
            mark = "  <-" if number == self.chosen_ else ""
            text = f"{point.cost:12.4g}  {point.share:10.1%}  {point.quality:10.4f}"
            lines.append(f"{text}  {point.loss:6.1%} ± {point.error:.1%}{mark}")
        return "\n".join(lines)

    def _predict(self, X: FloatArray, qid: Any) -> FloatArray:
        return self._cascade(len(X), lambda j, rows: X[rows, j])

    def _predict_lazy(self, features: Features, qid: Any) -> FloatArray:
        return self._cascade(len(features), features.column)

    def _cascade(self, n_rows: int, column: Any) -> FloatArray:
        scores, alive = np.full(n_rows, self.means_.sum()), np.arange(n_rows)
        for j, mean, cut in zip(self.order_.tolist(), self.means_, self.cuts_, strict=True):
            assert self.ranker_ is not None  # there is no feature to ask for
            now = scores[alive] + (self.ranker_.contribution(j, column(j, alive)) - mean)
            scores[alive] = now
            alive = alive[now > cut]
            if not len(alive):
                break
        return scores

    def _check_parameters(self) -> None:
        check_number("budget", self.budget)
        for name in ("holdout", "confidence"):
            value = getattr(self, name)
            check_number(name, value, open_below=True)
            if value >= 1:
                raise ValueError(f"{name} must be less than 1, got {value!r}")
        if self.max_cost is not None:
            check_number("max_cost", self.max_cost, open_below=True)
        if parse_metric(self.metric).name == "swaps":
            raise ValueError("metric must be one of which more is better, got 'swaps'")


class _Points(NamedTuple):
    """Shares of the full cost and qualities by margin, of each split; how many count for the error; the cut-offs."""

    each: list[tuple[FloatArray, FloatArray]]
    apart: float
    cuts: FloatArray


class _Stages(NamedTuple):
    """The features of a ranker in the order in which they are asked, with their mean contribution and cost."""

    ranker: AdditiveRanker | None
    order: IntArray
    means: FloatArray
    costs: FloatArray

    @classmethod
    def of(cls, ranker: AdditiveRanker | None, X: FloatArray, costs: FloatArray) -> _Stages:
        """By how much of the score's variance features settle per cost, given those before."""
        used = np.empty(0, dtype=np.int64) if ranker is None else ranker.used_features
        parts = _contributions(ranker, X, used)
        means = parts.mean(axis=0) if len(parts) else np.zeros(len(used))
        order = _by_gain(parts - means, costs[used])
        return cls(ranker, used[order], means[order], costs[used][order])

    def rows(self, problem: Problem, metric: str, levels: FloatArray) -> HeldRows:
        """Rows with their estimates after each stage, and their grades as places among `levels`."""
        grades = np.searchsorted(levels, problem.y).astype(np.float64)  # AP asks which are at least 1
        return HeldRows(self.estimates(problem.X), grades, problem.groups.codes, metric)

    def estimates(self, X: FloatArray) -> FloatArray:
        """The estimates of the score after each stage."""
        parts = _contributions(self.ranker, X, self.order)
        return np.asarray(self.means.sum() + np.cumsum(parts - self.means, axis=1).T)


def _contributions(ranker: AdditiveRanker | None, X: FloatArray, features: IntArray) -> FloatArray:
    parts = [] if ranker is None else [ranker.contribution(j, X[:, j]) for j in features.tolist()]
    return np.stack(parts, axis=1) if parts else np.zeros((len(X), 0))


_NEVER = float(np.finfo(np.float64).min)  # the cut-off that drops nothing: JSON has no infinity


def _at_most(counts: tuple[tuple[float, int], ...], n_rows: int) -> int:
    """The count of the first limit that is not below the number of rows."""
    return next(count for limit, count in counts if n_rows <= limit)


def _is_fitted(ranker: Any) -> bool:
    try:
        check_is_fitted(ranker)
    except NotFittedError:
        return False
    return True


def _by_gain(parts: FloatArray, costs: FloatArray) -> IntArray:
    """Order columns: each time the one that lowers the variance of the sum of the rest most, per cost."""
    covariance = parts.T @ parts / max(len(parts), 1)
    left = covariance.sum(axis=1)
    gain = 2 * left - np.diag(covariance)
    order = np.empty(len(costs), dtype=np.int64)
    open_ = np.ones(len(costs), dtype=bool)
    for position in range(len(costs)):
        worth = np.where(gain > 0, gain / costs, gain * costs)  # of losses the cheaper one is the better, too
        order[position] = j = int(np.argmax(np.where(open_, worth, -np.inf)))
        open_[j] = False
        gain = gain - 2 * covariance[j]
    return order
