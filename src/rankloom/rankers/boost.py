"""RankBoost: weak rankers, each a feature or a feature cut at a threshold, added up one by one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankloom.core import FloatArray, IntArray
from rankloom.evaluation.metrics import evaluate, parse_metric
from rankloom.groups import (
    Groups,
    Preferences,
    check_choice,
    check_count,
    check_grades,
    check_number,
    group_rows,
    preferences,
)
from rankloom.rankers import _kernels
from rankloom.rankers._boosting import LARGEST, PairWeights, distinct, feature_prices, shares, truncated
from rankloom.rankers._canonical import hold_out, subset
from rankloom.rankers._thresholds import Thresholds
from rankloom.rankers.base import ANY_SIZE, AdditiveRanker, Problem, Weights, refuse_unknown, warn_nothing_to_learn

_NO_GAIN = 1e-12
FARTHEST = 1e100
_MOST_COPIES = 100
_TIE = 1e-10  # gains that differ by less than this share are equal: the first feature wins, whatever the order of rows


class RankBoost(AdditiveRanker):
    r"""RankBoost of Freund et al., for two or more grades and any number of queries, without forming a pair.

    Minimises \(\sum_{(x_0, x_1)} e^{-(F(x_0) - F(x_1))}\) over all pairs of a query in which \(x_0\) has the higher
    grade. Each round adds the weak ranker \(h\) of the largest \(|r|\) with the step \(\alpha\):

    $$ r = \sum C_t(x_0, x_1) (h(x_0) - h(x_1)), \quad F \leftarrow F + \alpha h, $$

    $$ \alpha = \tfrac12 \ln \frac{1 + r}{1 - r} \ \text{("closed")} \quad \text{or} \quad
       \alpha = \arg\min_\alpha Z(\alpha) \ \text{("exact")}. $$

    The weight \(C_t\) of a pair is a product of weights of its rows (docs/papers.md, B8), so a round costs one pass
    over the features. All weights are kept as logarithms.

    Parameters
    ----------
    n_rounds : number of weak rankers at most.
    weak : "threshold", a feature that is cut at an edge (1 above, 0 below), or "feature", the feature itself, brought
        to [0, 1] by the least and the greatest value in the training rows. The latter gives a linear score.
    alpha : "closed", the minimum of an upper bound, or "exact" (1-D Newton; for thresholds in closed form), which
        lowers the training loss faster and ranked unseen queries a little worse in our measurements.
    n_thresholds : how many edges a feature has at most, at equal shares of the rows; None for all.
    max_features : how many different features are used at most.
    costs, cost_weight : what a cell of each feature costs, and how much a feature of mean cost must lower the
        logarithm of the loss to be worth asking for. A feature that is already used costs nothing more. The first
        round takes the best feature even if it is not worth its price; later ones stop where none is.
    patience : stop after so many rounds without a better `metric` on held-out queries (or rows, of a single query), and
        keep the rounds up to the best. None runs all rounds, and so do rows too few to hold out a pair.
    validation_share : the share held out for that, where `fit` gets no `validation`.
    metric : what is compared, with grades counted 0, 1, 2 ... from the lowest of the training rows. Watched rows of
        weight 0 are left out, those of a whole weight count as often; other weights mean nothing to a metric.
    random_state : which queries are held out.

    Attributes
    ----------
    features_, thresholds_, alphas_ : the weak rankers: feature, edge and step of each round. There are no edges where
        the features themselves are used.
    low_, high_ : the values of each feature that are brought to 0 and 1 there.
    log_losses_ : the logarithm of the loss, relative to that of no ranker, after each round.
    curve_ : the metric on held-out rows after each round, where they are watched.

    References
    ----------
    Y. Freund, R. Iyer, R. Schapire, Y. Singer, An efficient boosting algorithm for combining preferences, JMLR 4, 2003.
    M. Merler, R. Yan, J. Smith, Imbalanced RankBoost for efficiently ranking large-scale image/video collections, CVPR
    2009, figure 2 and equations 1-3.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> X, y, qid = make_ranking(random_state=0)
    >>> ranker = RankBoost(n_rounds=50).fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid) > 0.5)
    True
    """

    feature_range = ANY_SIZE

    def __init__(
        self,
        n_rounds: int = 100,
        weak: str = "threshold",
        *,
        alpha: str = "closed",
        n_thresholds: int | None = 15,
        max_features: int | None = None,
        costs: ArrayLike | None = None,
        cost_weight: float = 0.0,
        patience: int | None = None,
        validation_share: float = 0.2,
        metric: str = "AP",
        random_state: Any = 0,
    ):
        self.n_rounds = n_rounds
        self.weak = weak
        self.alpha = alpha
        self.n_thresholds = n_thresholds
        self.max_features = max_features
        self.costs = costs
        self.cost_weight = cost_weight
        self.patience = patience
        self.validation_share = validation_share
        self.metric = metric
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        validation: Any = None,
        **unknown: Any,
    ) -> Self:
        """Learn from graded rows.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight : as for `Ranker.fit`.
        validation : rows to watch, `(X, y, qid)`, or `(X, y)` of one query: the rounds after the best `metric` on them
            are dropped.
        """
        refuse_unknown("fit", unknown)
        self._watched = validation
        try:
            return super().fit(X, y, qid, sample_weight=sample_weight, query_weight=query_weight)
        finally:
            del self._watched

    def _fit(self, problem: Problem) -> None:
        self._check_parameters()
        price = feature_prices(self.costs, self.cost_weight, problem.X.shape[1])
        problem, watch = self._watch(problem)
        prefs = preferences(problem.y, problem.groups, problem.weight, problem.query_weight)
        rounds: list[tuple[int, float, float, float]] = []
        self.low_, self.high_ = np.empty(0), np.empty(0)
        if len(prefs.rows):
            rounds = self._boost(problem.X[prefs.rows], prefs, price, watch)
        else:
            warn_nothing_to_learn()
        if watch is not None:
            rounds = rounds[: watch.best_round]
        self.features_ = np.array([entry[0] for entry in rounds], dtype=np.int64)
        self.thresholds_ = np.array([entry[1] for entry in rounds if self.weak == "threshold"], dtype=np.float64)
        self.alphas_ = np.array([entry[2] for entry in rounds], dtype=np.float64)
        self.log_losses_ = np.array([entry[3] for entry in rounds], dtype=np.float64)
        self.curve_ = np.array([] if watch is None else watch.curve, dtype=np.float64)

    def _watch(self, problem: Problem) -> tuple[Problem, _Watch | None]:
        """The rows to learn from, and those to watch."""
        if self._watched is None and self.patience is None:
            return problem, None
        taught = preferences(problem.y, problem.groups, problem.weight, problem.query_weight).rows
        levels = np.unique(problem.y[taught])
        if self._watched is not None:
            X, grades, groups = self._check_validation(self._watched)
            return problem, _Watch(X, grades, groups.codes, levels, self.metric)
        held = hold_out(problem, self.validation_share, self.random_state)
        if not held.any():
            return problem, None
        rows = np.repeat(np.flatnonzero(held), _copies(problem.weight[held]))
        watch = _Watch(problem.X[rows], problem.y[rows], problem.groups.codes[rows], levels, self.metric)
        return subset(problem, ~held), watch

    def _check_validation(self, validation: Any) -> tuple[FloatArray, FloatArray, Groups]:
        if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
            raise ValueError(f"validation must be (X, y, qid), or (X, y) of one query; got {type(validation).__name__}")
        X = self._check_rows(validation[0], reset=False)
        grades = check_grades(validation[1], len(X))
        groups = group_rows(validation[2] if len(validation) == 3 else None, len(X))
        if not len(preferences(grades, groups).rows):
            raise ValueError("no query of validation has rows of two grades: no round would be better than another")
        return X, grades, groups

    def _boost(
        self, X: FloatArray, prefs: Preferences, price: FloatArray, watch: _Watch | None
    ) -> list[tuple[int, float, float, float]]:
        """Feature, edge, step and logarithm of the loss of each round."""
        pool = _Cuts(X, prefs.weight, self.n_thresholds) if self.weak == "threshold" else _LinearFeatures(X)
        if isinstance(pool, _LinearFeatures):
            self.low_, self.high_ = pool.low, pool.high
        weights = PairWeights(prefs)
        used = np.zeros(X.shape[1], dtype=bool)
        most = X.shape[1] if self.max_features is None else self.max_features
        rounds: list[tuple[int, float, float, float]] = []
        for _ in range(self.n_rounds):
            allowed = None if used.sum() < most else used
            weak = _choose(pool.gains(weights.signed), pool.feature, price, used, allowed)
            if weak is None or weights.ordered:
                break
            h = pool.values(weak, X)
            if self.alpha == "closed":
                step = float(np.arctanh(np.clip(weights.signed @ h, -LARGEST, LARGEST)))
            elif self.weak == "threshold":
                step = weights.binary_step(h)
            else:
                step = weights.exact_step(h)
            weights.move(step * h)
            j = int(pool.feature[weak])
            used[j] = True
            rounds.append((j, pool.edge(weak), step, weights.log_loss - weights.first_log_loss))
            if watch is not None and watch.step(step * pool.values(weak, watch.X), self.patience):
                break
        return rounds

    def _check_parameters(self) -> None:
        check_choice("weak", self.weak, ("threshold", "feature"))
        check_choice("alpha", self.alpha, ("exact", "closed"))
        for name in ("n_rounds", "n_thresholds", "max_features", "patience"):
            value = getattr(self, name)
            if value is not None or name == "n_rounds":
                check_count(name, value)
        check_number("validation_share", self.validation_share, open_below=True)
        if self.validation_share >= 1:
            raise ValueError(f"validation_share must be less than 1, got {self.validation_share!r}")
        parse_metric(self.metric)

    def truncated(self, n_rounds: int) -> RankBoost:
        """A copy with the first rounds only."""
        return truncated(self, n_rounds, ("features_", "thresholds_", "alphas_", "log_losses_"))

    @property
    def used_features(self) -> IntArray:
        """The features of the weak rankers, in the order in which they were first chosen."""
        return distinct(self.features_)

    def contribution(self, j: int, values: FloatArray) -> FloatArray:
        """What values of feature j add to the score, over all rounds that use it."""
        chosen = self.features_ == j
        steps = self.alphas_[chosen]
        if not len(steps):
            return np.zeros(len(values))
        if self.weak == "feature":
            return np.asarray(steps.sum() * _linear(values, self.low_[j], self.high_[j]), dtype=np.float64)
        edges = self.thresholds_[chosen]
        order = np.argsort(edges, kind="stable")
        level = np.concatenate([[0.0], np.cumsum(steps[order])])
        return np.asarray(level[np.searchsorted(edges[order], values)], dtype=np.float64)

    def _predict(self, X: FloatArray, qid: Any) -> FloatArray:
        scores = np.zeros(len(X))
        for j in self.used_features.tolist():
            scores += self.contribution(j, X[:, j])
        return scores


class _Cuts:
    """Weak rankers that are 1 where a feature lies above an edge."""

    def __init__(self, X: FloatArray, weight: FloatArray, limit: int | None):
        self._cuts = Thresholds.of(X, weight, limit)
        self.feature = self._cuts.feature

    def gains(self, signed: FloatArray) -> FloatArray:
        return self._cuts.gains(signed)

    def edge(self, number: int) -> float:
        return float(self._cuts.edges[number])

    def values(self, number: int, X: FloatArray) -> FloatArray:
        return np.asarray(X[:, self.feature[number]] > self._cuts.edges[number], dtype=np.float64)


class _LinearFeatures:
    """Weak rankers that are the features, brought to [0, 1]."""

    def __init__(self, X: FloatArray):
        self.low, self.high = X.min(axis=0), X.max(axis=0)
        # Half the memory to read each round; the step is computed from the full values.
        self._H = shares(X, self.low, self.high).astype(np.float32)
        self.feature = np.arange(X.shape[1])

    def gains(self, signed: FloatArray) -> FloatArray:
        gains = np.empty(len(self.feature))
        _kernels.boost.feature_gains(self._H, signed, gains)
        return gains

    def edge(self, number: int) -> float:
        return float("nan")

    def values(self, number: int, X: FloatArray) -> FloatArray:
        return _linear(X[:, number], self.low[number], self.high[number])


def _linear(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The share of the range, also outside of it; bounded, so that sums of any values are numbers."""
    return np.clip(shares(values, low, high), -FARTHEST, FARTHEST)


def _copies(weight: FloatArray) -> IntArray:
    """How often a watched row counts: a row of weight 2 like two, but metrics know no fractions of rows."""
    countable = bool((weight == np.round(weight)).all()) and weight.max() <= _MOST_COPIES
    return weight.astype(np.int64) if countable else np.ones(len(weight), dtype=np.int64)


def _choose(gains: FloatArray, feature: IntArray, price: FloatArray, used: Any, allowed: Any) -> int | None:
    """The number of the weak ranker with the largest gain, less its price; None if none has any.

    The first is taken at any price, for without it nothing would be ranked.
    """
    if not len(gains):
        return None
    size = np.abs(gains)
    if allowed is not None:
        size = np.where(allowed[feature], size, 0.0)
    if len(price):
        value = -0.5 * np.log1p(-(np.minimum(size, LARGEST) ** 2)) - np.where(used, 0.0, price)[feature]
        value = np.where(size > _NO_GAIN, value, -np.inf)
    else:
        value = size
    best = float(value.max())
    if used.any() and best <= 0:
        return None
    first = int(np.argmax(value >= best - _TIE * abs(best)))
    return first if size[first] > _NO_GAIN and best > -np.inf else None


class _Watch:
    """Scores held-out rows after every round and remembers the best round."""

    def __init__(self, X: FloatArray, y: FloatArray, codes: IntArray, levels: FloatArray, metric: str):
        self.X, self._codes, self._metric = X, codes, metric
        # The place of a grade among those to learn from: AP asks which are at least 1, and grades may be any numbers.
        self._y = np.searchsorted(levels, y).astype(np.float64)
        self._sign = -1.0 if parse_metric(metric).name == "swaps" else 1.0
        self._scores = np.zeros(len(y))
        self.curve: list[float] = []
        self.best_round = 0

    def step(self, change: FloatArray, patience: int | None) -> bool:
        """Add to the scores; returns whether to stop."""
        self._scores += change
        value = evaluate(self._y, self._scores, self._codes, [self._metric])[self._metric]
        self.curve.append(value)
        if self.best_round == 0 or self._sign * value > self._sign * self.curve[self.best_round - 1]:
            self.best_round = len(self.curve)
        return patience is not None and len(self.curve) - self.best_round >= patience


def select_features(ranker: Any, n: int) -> IntArray:
    """The n features that matter most to a fitted ranker, most important first.

    A boosted ranker chose its features one by one, and that order is taken: a feature enters when it lowers the loss
    more than any other, given those before it. Features of other rankers are ordered by the size of their weights, so
    scale the columns alike before fitting. Geng et al. (2009) choose 164 of 1,011 text features by boosting.

    Parameters
    ----------
    ranker : a fitted `RankBoost`, `ImbalancedRankBoost` or linear ranker.
    n : how many. An error says so if the ranker uses fewer.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> X, y, qid = make_ranking(n_informative=3, random_state=0)
    >>> sorted(select_features(RankBoost(n_rounds=50).fit(X, y, qid=qid), 3).tolist())
    [0, 1, 2]
    """
    check_count("n", n)
    if not hasattr(type(ranker), "used_features"):
        raise ValueError(f"{type(ranker).__name__} does not say which features it uses; boosted and linear rankers do")
    check_is_fitted(ranker)
    used: IntArray = ranker.used_features
    if hasattr(ranker, "coef_"):
        used = used[np.argsort(-np.abs(ranker.coef_[used]), kind="stable")]
    if len(used) < n:
        raise ValueError(f"the ranker uses {len(used)} features, {n} were asked for; fit it with more rounds")
    return used[:n]
