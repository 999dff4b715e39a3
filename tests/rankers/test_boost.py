"""RankBoost against a twin that goes through every pair and every cut."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.exceptions import NotFittedError

from rankloom import Features
from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate
from rankloom.groups import preference_pairs
from rankloom.rankers import (
    ImbalancedRankBoost,
    LambdaMART,
    RankBoost,
    RankingLogisticRegression,
    load_ranker,
    select_features,
)
from rankloom.rankers._thresholds import Thresholds

LARGEST_STEP = np.arctanh(1 - 1e-9)


def make(kind, *, n=70, d=4, seed=0):
    """X, y, qid and the weights of rows and queries of a random problem."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 4 if "graded" in kind else 2, n).astype(float)
    y[:2] = 0, 1
    X = random.normal(size=(n, d)) + 0.4 * y[:, None] * random.normal(size=d)
    if "ties" in kind:
        X = np.round(X)
    qid = random.integers(0, 8, n) if "queries" in kind else np.zeros(n, dtype=int)
    weight, query_weight = np.ones(n), np.ones(8)
    if "weights" in kind:
        weight, query_weight = random.integers(0, 4, n) * random.uniform(0.2, 2.0, n), random.uniform(0.5, 2.0, 8)
    return X, y, qid, weight, query_weight


class Pairs:
    """The loss over an explicit list of pairs."""

    def __init__(self, y, qid=None, weight=None, query_weight=None):
        self.high, self.low = preference_pairs(y, qid).T
        self.weight = np.ones(len(self.high))
        if weight is not None:
            self.weight = weight[self.high] * weight[self.low]
        if query_weight is not None:
            self.weight = self.weight * query_weight[qid[self.high]]
        keep = self.weight > 0
        self.high, self.low, self.weight = self.high[keep], self.low[keep], self.weight[keep]
        self.rows = np.unique([self.high, self.low])

    def loss(self, f):
        return float(self.weight @ np.exp(f[self.low] - f[self.high]))

    def distribution(self, f):
        mass = self.weight * np.exp(f[self.low] - f[self.high])
        return mass / mass.sum()

    def gain(self, f, h):
        return float(self.distribution(f) @ (h[self.high] - h[self.low]))

    def best_step(self, f, h):
        found = minimize_scalar(
            lambda alpha: self.loss(f + alpha * h),
            bounds=(-LARGEST_STEP, LARGEST_STEP),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return float(found.x)


def candidates(X, rows, weak):
    """Every weak ranker as a column, with its feature."""
    for j in range(X.shape[1]):
        if weak == "feature":
            span = np.ptp(X[rows, j])
            if span > 0:
                yield j, (X[:, j] - X[rows, j].min()) / span
        else:
            for cut in np.unique(X[rows, j])[:-1]:
                yield j, (X[:, j] > cut).astype(float)


def edges(ranker):
    """One a round; None where the feature itself is used."""
    return ranker.thresholds_ if ranker.weak == "threshold" else [None] * len(ranker.features_)


def follow(ranker, X, pairs, price=None, most=None):
    """Check every round of a fitted ranker against all that it could have done; return the scores."""
    pool = list(candidates(X, pairs.rows, ranker.weak))
    feature = np.array([j for j, _ in pool])
    columns = np.array([h for _, h in pool])
    price = np.zeros(X.shape[1]) if price is None else price
    used = np.zeros(X.shape[1], dtype=bool)
    f, first = np.zeros(len(X)), pairs.loss(np.zeros(len(X)))
    for j, edge, alpha, log_loss in zip(
        ranker.features_, edges(ranker), ranker.alphas_, ranker.log_losses_, strict=True
    ):
        mass = pairs.distribution(f)
        r = (columns[:, pairs.high] - columns[:, pairs.low]) @ mass
        value = -0.5 * np.log1p(-(np.minimum(np.abs(r), 1 - 1e-9) ** 2)) - np.where(used, 0.0, price)[feature]
        if most is not None and used.sum() >= most:
            value = np.where(used[feature], value, -np.inf)
        h = columns[feature == j][0] if ranker.weak == "feature" else (X[:, j] > edge).astype(float)
        mine = pairs.gain(f, h)
        worth = -0.5 * np.log1p(-(min(abs(mine), 1 - 1e-9) ** 2)) - (0.0 if used[j] else price[j])
        assert worth >= value.max() - 1e-6 * (1 + abs(value.max()))
        if ranker.alpha == "closed":
            assert alpha == pytest.approx(np.clip(np.arctanh(mine), -LARGEST_STEP, LARGEST_STEP), abs=1e-9)
        else:
            best = pairs.best_step(f, h)
            assert pairs.loss(f + alpha * h) <= pairs.loss(f + best * h) * (1 + 1e-10)
        assert pairs.loss(f + alpha * h) <= pairs.loss(f) * (1 + 1e-12)
        f = f + alpha * h
        assert log_loss == pytest.approx(np.log(pairs.loss(f) / first), abs=1e-9)
        used[j] = True
    return f


def assert_same_order(found, expected):
    """Equal up to a constant: a linear score leaves out what it subtracts."""
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), rtol=1e-9, atol=1e-9)


KINDS = ["plain", "ties", "graded", "queries", "graded queries", "graded queries weights ties", "weights"]


@pytest.mark.parametrize("alpha", ["closed", "exact"])
@pytest.mark.parametrize("weak", ["threshold", "feature"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_every_round_is_the_best_one(kind, weak, alpha):
    for seed in range(2):
        X, y, qid, weight, query_weight = make(kind, seed=seed)
        ranker = RankBoost(12, weak, alpha=alpha, n_thresholds=None)
        ranker.fit(X, y, qid, sample_weight=weight, query_weight=query_weight[qid])
        assert len(ranker.features_) == 12
        f = follow(ranker, X, Pairs(y, qid, weight, query_weight))
        assert_same_order(ranker.predict(X), f)
        assert len(ranker.thresholds_) == (12 if weak == "threshold" else 0)


def test_the_loss_is_no_less_than_the_swapped_pairs():
    X, y, qid, *_ = make("graded queries")
    ranker = RankBoost(12).fit(X, y, qid)
    high, low = preference_pairs(y, qid).T
    f = ranker.predict(X)
    assert np.mean(f[high] <= f[low]) <= np.mean(np.exp(f[low] - f[high]))
    assert np.log(np.mean(np.exp(f[low] - f[high]))) == pytest.approx(ranker.log_losses_[-1])


def test_exact_steps_lower_the_loss_more_at_first():
    X, y, qid, *_ = make("graded queries")
    for weak in ("threshold", "feature"):
        closed, exact = (
            RankBoost(1, weak, alpha=alpha, n_thresholds=None).fit(X, y, qid) for alpha in ("closed", "exact")
        )
        assert exact.features_[0] == closed.features_[0]
        assert exact.log_losses_[0] < closed.log_losses_[0]


def test_limited_thresholds_are_a_choice_of_all():
    X, y, *_ = make("plain", n=200)
    ranker = RankBoost(30, n_thresholds=5).fit(X, y)
    for j in range(X.shape[1]):
        edges = np.unique(ranker.thresholds_[ranker.features_ == j])
        assert len(edges) <= 5
        shares = np.array([(X[:, j] > edge).mean() for edge in edges])
        np.testing.assert_allclose(shares * 6, np.round(shares * 6), atol=0.05)  # sixths of the rows


@pytest.mark.parametrize("limit", [1, 2, 3, 7, None])
def test_edges_lie_between_values_and_never_on_the_far_side(limit):
    random = np.random.default_rng(0)
    columns = [
        random.normal(size=90),
        np.r_[np.zeros(80), np.ones(10)],
        np.nextafter(1.0, 2.0) ** random.integers(0, 2, 90),  # neighbours: no number between them
        5e-324 * random.integers(0, 3, 90),
        1e300 * random.choice([-1.0, 1.0], 90),
        np.full(90, 3.0),
    ]
    X = np.stack(columns, axis=1)
    cuts = Thresholds.of(X, np.ones(90), limit)
    for j in range(X.shape[1]):
        edges = cuts.edges[cuts.offsets[j] : cuts.offsets[j + 1]]
        values = np.unique(X[:, j])
        assert len(edges) == min(len(values) - 1, len(values) if limit is None else limit)
        above = [(values > edge).sum() for edge in edges]
        assert all(0 < count < len(values) for count in above)
        assert all(one > other for one, other in pairwise(above))  # no cut twice


def direct(cuts, X, signed):
    return np.array([signed @ (X[:, j] > edge) for j, edge in zip(cuts.feature, cuts.edges, strict=True)])


def assert_gains(X, limit, seed=0, weight=None):
    signed = np.random.default_rng(seed).normal(size=len(X))
    weight = np.ones(len(X)) if weight is None else weight
    cuts = Thresholds.of(X, weight, limit)
    np.testing.assert_allclose(cuts.gains(signed), direct(cuts, X, signed), rtol=1e-9, atol=1e-9)
    return cuts


@pytest.mark.parametrize("limit", [1, 2, 6, 15, 63, 255, 256, 300, None])
def test_packed_histograms_equal_direct_sums(limit):
    random = np.random.default_rng(1)
    n = 1000
    X = np.stack(
        [
            np.full(n, 2.0),
            random.normal(size=n),
            random.integers(0, 2, n),
            random.integers(0, 3, n),
            np.zeros(n),
            random.integers(0, 13, n),
            np.round(random.normal(size=n), 1),
            random.normal(size=n),
            np.full(n, -1.0),
        ],
        axis=1,
    )
    for order in (np.arange(9), np.arange(9)[::-1], random.permutation(9)):
        assert_gains(X[:, order], limit)
    assert_gains(X, limit, weight=random.uniform(0.1, 9.0, n))


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 127, 129])
def test_packed_histograms_of_few_rows(n):
    random = np.random.default_rng(n)
    assert_gains(random.integers(0, 5, (n, 11)).astype(float), None)
    assert_gains(random.normal(size=(n, 3)), 4)


def test_packed_histograms_of_many_binary_and_constant_columns():
    random = np.random.default_rng(2)
    assert_gains(random.integers(0, 2, (500, 60)).astype(float), 15)
    assert len(assert_gains(np.ones((50, 4)), 15).edges) == 0


@pytest.mark.slow
def test_packed_histograms_of_more_values_than_16_bits_hold():
    random = np.random.default_rng(3)
    n = 66_000
    X = np.stack([np.zeros(n), random.permutation(n), random.integers(0, 2, n)], axis=1).astype(float)
    signed = random.normal(size=n)
    cuts = Thresholds.of(X, np.ones(n), None)
    assert len(cuts.edges) == n
    by_value = np.cumsum(signed[np.argsort(-X[:, 1])])[:-1][::-1]  # above the edge after the value 0, 1, ...
    np.testing.assert_allclose(cuts.gains(signed)[:-1], by_value, atol=1e-9)
    assert cuts.gains(signed)[-1] == pytest.approx(signed @ X[:, 2])
    assert_gains(np.stack([X[:, 1] // 1000, X[:, 2]], axis=1), None)


# Stopping.


def prefixes(ranker, X, metric, y, qid):
    """The metric of the first 1, 2, ... rounds."""
    scores, values = np.zeros(len(X)), []
    for j, edge, alpha in zip(ranker.features_, edges(ranker), ranker.alphas_, strict=True):
        x = X[:, j]
        h = (x - ranker.low_[j]) / (ranker.high_[j] - ranker.low_[j]) if edge is None else x > edge
        scores = scores + alpha * h
        values.append(evaluate(y, scores, qid, [metric])[metric])
    return np.array(values)


@pytest.mark.parametrize("metric", ["AP", "nDCG@10", "swaps"])
@pytest.mark.parametrize("weak", ["threshold", "feature"])
@pytest.mark.parametrize("patience", [None, 4])
def test_the_best_round_on_watched_rows_is_kept(weak, patience, metric):
    data = make_ranking(n_queries=30, n_items=15, noise=2.0, random_state=0)
    train, held = data.take(data.qid <= 3), data.take(data.qid > 3)
    watched = (held.X, held.y, held.qid)
    options = {"n_thresholds": 15, "metric": metric, "alpha": "exact"}
    ranker = RankBoost(60, weak, patience=patience, **options).fit(train.X, train.y, train.qid, validation=watched)
    everything = RankBoost(60, weak, **options).fit(train.X, train.y, train.qid)
    values = prefixes(everything, held.X, metric, held.y, held.qid)
    np.testing.assert_allclose(ranker.curve_, values[: len(ranker.curve_)])
    sign = -1 if metric == "swaps" else 1
    best = int(np.argmax(sign * ranker.curve_)) + 1
    assert len(ranker.features_) == len(ranker.alphas_) == len(ranker.log_losses_) == best
    np.testing.assert_array_equal(ranker.alphas_, everything.alphas_[:best])
    assert len(ranker.curve_) == (60 if patience is None else min(60, best + patience))
    assert ranker.score(held.X, held.y, held.qid, metric=metric) == pytest.approx(values[best - 1], rel=0.02)  # equal
    # scores may be told apart by the order in which they were added up
    assert best < 60  # else the data would not test it


def test_patience_holds_out_whole_queries_of_its_own():
    data = make_ranking(n_queries=30, n_items=15, noise=2.0, random_state=1)
    one = RankBoost(200, patience=5, random_state=3).fit(data.X, data.y, data.qid)
    order = np.random.default_rng(0).permutation(len(data))
    same = RankBoost(200, patience=5, random_state=3).fit(data.X[order], data.y[order], data.qid[order])
    np.testing.assert_allclose(one.curve_, same.curve_)
    assert 0 < len(one.features_) <= len(one.curve_) < 200
    assert np.argmax(one.curve_) + 1 == len(one.features_)


@pytest.mark.parametrize("n", [2, 3])
def test_patience_with_a_handful_of_rows(n):
    X = np.arange(n, dtype=float)[:, None]
    ranker = RankBoost(5, patience=2).fit(X, np.r_[np.zeros(n - 1), 1.0])
    assert np.argmax(ranker.predict(X)) == n - 1


def test_patience_with_few_relevant_rows_of_one_query():
    random = np.random.default_rng(0)
    y = np.r_[1.0, 1.0, np.zeros(60)]
    X = random.normal(size=(62, 6))
    X[:, :5] += y[:, None]
    rankers = [RankBoost(30, "feature", patience=3, random_state=seed).fit(X, y) for seed in range(8)]
    assert all(ranker.curve_.max() > 0 for ranker in rankers)  # each grade was held out
    assert np.mean([len(ranker.features_) > 1 for ranker in rankers]) > 0.5  # one row may be ranked best at once


def test_rows_of_no_weight_have_no_say_in_when_to_stop():
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(12), 20)
    X = random.normal(size=(240, 4))
    y = (X[:, 0] + random.normal(size=240) > 0.8).astype(float)
    more = np.vstack([X, 3 * random.normal(size=(60, 4))]), np.r_[y, random.integers(0, 2, 60)]
    weight = np.r_[np.ones(240), np.zeros(60)]
    ranker = RankBoost(60, patience=3).fit(X, y, qid)
    other = RankBoost(60, patience=3).fit(*more, np.r_[qid, random.integers(0, 12, 60)], sample_weight=weight)
    np.testing.assert_allclose(other.curve_, ranker.curve_)
    np.testing.assert_allclose(other.predict(X), ranker.predict(X))


def test_validation_without_qid_is_one_query():
    X, y, *_ = make("plain")
    ranker = RankBoost(5).fit(X, y, validation=(X, y, None))
    assert len(ranker.curve_) == 5
    with pytest.raises(ValueError, match="features"):
        RankBoost(5).fit(X, y, validation=(X[:, :2], y, None))
    with pytest.raises(ValueError, match="y has"):
        RankBoost(5).fit(X, y, validation=(X, y[1:], None))


def test_validation_of_two_parts_is_one_query():
    X, y, *_ = make("plain")
    two, three = (RankBoost(5).fit(X, y, validation=watched) for watched in ((X, y), (X, y, None)))
    np.testing.assert_array_equal(two.curve_, three.curve_)


@pytest.mark.parametrize("spoil", [lambda X, y: (X,), lambda X, y: X, lambda X, y: "Xy", lambda X, y: (X, 0 * y)])
def test_bad_validation_is_a_one_line_error(spoil):
    X, y, *_ = make("plain")
    with pytest.raises(ValueError, match="validation") as error:
        RankBoost(5).fit(X, y, validation=spoil(X, y))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("weak", ["threshold", "feature"])
@pytest.mark.parametrize("kind", ["graded", "graded queries"])
def test_the_watch_knows_only_the_order_of_grades(kind, weak):
    X, y, qid, *_ = make(kind, n=200)
    ranker = RankBoost(40, weak, patience=4).fit(X, y, qid)
    assert ranker.curve_.max() > 0
    for grades in (0.1 * y, y - 3, 10 * y**2):
        other = RankBoost(40, weak, patience=4).fit(X, grades, qid)
        np.testing.assert_array_equal(other.curve_, ranker.curve_)
        np.testing.assert_array_equal(other.predict(X), ranker.predict(X))
        watched = RankBoost(40, weak).fit(X, grades, qid, validation=(X, grades, qid))
        np.testing.assert_array_equal(watched.curve_, RankBoost(40, weak).fit(X, y, qid, validation=(X, y, qid)).curve_)


def test_watched_rows_of_weight_two_count_twice():
    X, y, qid, *_ = make("graded queries", n=200)
    times = np.random.default_rng(0).integers(0, 4, 200)
    twice = np.repeat(np.arange(200), times)
    ranker = RankBoost(60, patience=5).fit(X, y, qid, sample_weight=times)
    other = RankBoost(60, patience=5).fit(X[twice], y[twice], qid[twice])
    np.testing.assert_allclose(ranker.curve_, other.curve_)
    for weight in (0.5 * times, 1e9 * times):  # no number of rows: they count once
        assert len(RankBoost(60, patience=5).fit(X, y, qid, sample_weight=weight).curve_) > 5


# Which features.


@pytest.mark.parametrize("weak", ["threshold", "feature"])
@pytest.mark.parametrize("most", [1, 2, 4, 10])
def test_max_features(weak, most):
    X, y, qid, *_ = make("graded queries", d=6)
    ranker = RankBoost(25, weak, max_features=most, n_thresholds=None).fit(X, y, qid)
    assert len(ranker.used_features) == most if most <= 4 else len(ranker.used_features) > 3
    follow(ranker, X, Pairs(y, qid), most=most)


@pytest.mark.parametrize("weak", ["threshold", "feature"])
@pytest.mark.parametrize("cost_weight", [0.0, 0.01, 0.1, 10.0])
def test_prices_are_paid_once(weak, cost_weight):
    X, y, qid, *_ = make("graded queries", d=6, seed=4)
    costs = np.array([5.0, 1.0, 0.0, 2.0, 8.0, 1.0])
    ranker = RankBoost(15, weak, n_thresholds=None, costs=costs, cost_weight=cost_weight).fit(X, y, qid)
    follow(ranker, X, Pairs(y, qid), price=cost_weight * costs / costs.mean())
    if cost_weight == 0:
        free = RankBoost(15, weak, n_thresholds=None).fit(X, y, qid)
        np.testing.assert_array_equal(free.features_, ranker.features_)


@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_a_cheap_near_duplicate_is_preferred(weak):
    random = np.random.default_rng(0)
    y = (random.random(400) < 0.3).astype(float)
    dear = y + random.normal(size=400)
    X = np.stack([dear, dear + 0.1 * random.normal(size=400), random.normal(size=400)], axis=1)
    X = X[:, [1, 0, 2]] if RankBoost(1, weak).fit(X, y).features_[0] == 1 else X
    costs = [100.0, 1.0, 1.0]
    assert RankBoost(20, weak).fit(X, y).features_[0] == 0
    ranker = RankBoost(20, weak, costs=costs, cost_weight=0.1).fit(X, y)
    assert ranker.features_[0] == 1
    assert 0 not in ranker.used_features
    assert ranker.score(X, y, metric="AP") > 0.85 * RankBoost(20, weak).fit(X, y).score(X, y, metric="AP")


def test_a_free_feature_pays_nothing():
    random = np.random.default_rng(0)
    y = (random.random(200) < 0.3).astype(float)
    X = np.stack([y + random.normal(size=200), random.normal(size=200)], axis=1)
    ranker = RankBoost(30, costs=[0.0, 1.0], cost_weight=1e6).fit(X, y)
    assert ranker.used_features.tolist() == [0]
    assert len(ranker.features_) == 30


def test_select_features_takes_the_order_of_boosting_or_of_weights():
    X, y, qid, *_ = make("graded queries", d=8, n=200)
    ranker = RankBoost(40).fit(X, y, qid)
    order = list(dict.fromkeys(ranker.features_.tolist()))
    for n in range(1, len(order) + 1):
        assert select_features(ranker, n).tolist() == order[:n]
    linear = RankingLogisticRegression().fit(X, y, qid)
    assert select_features(linear, 3).tolist() == np.argsort(-np.abs(linear.coef_))[:3].tolist()
    imbalanced = ImbalancedRankBoost(30).fit(X, y, qid)
    assert select_features(imbalanced, 1)[0] == imbalanced.features_[0]
    with pytest.raises(ValueError, match=f"uses {len(order)} features"):
        select_features(ranker, len(order) + 1)
    for bad in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="n must be"):
            select_features(ranker, bad)


def test_select_features_refuses_what_it_cannot_read():
    with pytest.raises(NotFittedError):
        select_features(RankBoost(), 1)
    X, y, *_ = make("plain")
    for bad in (LambdaMART(n_estimators=2).fit(X, y), LambdaMART(), RankBoost, "rankboost"):
        with pytest.raises((ValueError, NotFittedError)):
            select_features(bad, 1)
    with pytest.raises(ValueError, match="LambdaMART"):
        select_features(LambdaMART(), 1)


@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_truncated_is_what_fewer_rounds_give(weak):
    X, y, qid, *_ = make("graded queries")
    ranker = RankBoost(12, weak).fit(X, y, qid)
    before = ranker.predict(X)
    for n in (1, 5, 12):
        np.testing.assert_array_equal(ranker.truncated(n).predict(X), RankBoost(n, weak).fit(X, y, qid).predict(X))
    assert ranker.truncated(0).predict(X).tolist() == [0.0] * len(X)
    np.testing.assert_array_equal(ranker.predict(X), before)


# Scores.


@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_only_used_columns_are_asked_for(weak):
    X, y, *_ = make("plain", d=10)
    ranker = RankBoost(4, weak).fit(X, y)
    lazy = Features(X)
    np.testing.assert_allclose(ranker.predict(lazy), ranker.predict(X))
    expected = np.isin(np.arange(10), ranker.features_) * len(X)
    np.testing.assert_array_equal(lazy.evaluations, expected)
    assert 0 < lazy.n_evaluations < X.size


@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_contributions_add_up_to_the_score(weak):
    X, y, *_ = make("ties")
    ranker = RankBoost(30, weak, n_thresholds=None).fit(X, y)
    new = np.random.default_rng(5).normal(size=(50, 4)) * 3
    total = sum(ranker.contribution(j, new[:, j]) for j in range(4))
    np.testing.assert_allclose(total, ranker.predict(new))


def test_a_value_on_the_edge_is_below_it():
    X = np.array([[0.0], [0.0], [2.0], [2.0]])
    ranker = RankBoost(1).fit(X, [0, 0, 1, 1])
    edge = ranker.thresholds_[0]
    assert 0.0 <= edge < 2.0
    on, above = ranker.predict([[edge], [np.nextafter(edge, 9)]])
    assert on == 0.0 < above == ranker.alphas_[0]


@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_json(weak, tmp_path):
    X, y, *_ = make("plain")
    ranker = RankBoost(5, weak, costs=np.ones(4), cost_weight=0.01, patience=3).fit(X, y, validation=(X, y, None))
    ranker.save(tmp_path / "ranker.json")
    loaded = load_ranker(tmp_path / "ranker.json")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert str(loaded.get_params()) == str(ranker.get_params())
    np.testing.assert_array_equal(loaded.thresholds_, ranker.thresholds_)
    assert json.loads((tmp_path / "ranker.json").read_text())["ranker"] == "RankBoost"


# Extremes.


@pytest.mark.parametrize("alpha", ["closed", "exact"])
@pytest.mark.parametrize(
    ("weak", "scale"),
    [
        ("threshold", 1e300),
        ("threshold", 1.7e308),
        ("threshold", 1e-310),
        ("threshold", 5e-324),
        ("feature", 1e300),
        ("feature", 1e-300),
        ("feature", 1.7e308),
        ("feature", 1e-310),
        ("feature", 5e-324),
    ],
)
def test_any_scale_teaches_the_same(weak, scale, alpha):
    random = np.random.default_rng(0)
    y = (random.random(80) < 0.3).astype(float)
    base = np.clip(random.integers(-8, 9, (80, 3)) + 4 * y[:, None], -10, 10)
    base /= 10 if scale > 1 else 1
    ranker = RankBoost(10, weak, alpha=alpha, n_thresholds=None)
    expected = ranker.fit(base, y).predict(base)
    found = ranker.fit(scale * base, y).predict(scale * base)
    assert np.isfinite(found).all()
    assert_same_order(found, expected)


@pytest.mark.parametrize(
    ("weak", "offset"),
    [
        ("threshold", 1e12),
        ("feature", 1e3),
        ("feature", 1e15),
    ],
)
def test_an_offset_changes_nothing(weak, offset):
    random = np.random.default_rng(0)
    y = (random.random(80) < 0.3).astype(float)
    X = np.stack([random.integers(0, 2, 80) + 2 * y, random.normal(size=80) + y], axis=1)
    moved = X + np.array([offset, 0.0])  # small whole numbers stay exact
    expected = RankBoost(20, weak).fit(X, y).predict(X)
    assert_same_order(RankBoost(20, weak).fit(moved, y).predict(moved), expected)


@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_two_values_at_the_ends_of_all_numbers(weak):
    X = np.array([[-1.7e308], [1.7e308], [-1.7e308], [1.7e308]])
    scores = RankBoost(3, weak).fit(X, [0, 1, 0, 1]).predict(X)
    assert np.isfinite(scores).all()
    assert scores[1] > scores[0]


def test_scores_of_values_far_outside_are_numbers():
    X, y, *_ = make("plain")
    ranker = RankBoost(20, "feature").fit(1e-300 * X, y)
    assert np.isfinite(ranker.predict(np.sign(X) * 1.7e308)).all()


def test_no_feature_is_asked_for_that_is_not_worth_its_price():
    """The first is taken at any price; once it has nothing left to say the others are too dear."""
    y = np.r_[np.zeros(20), np.ones(20)]
    X = np.stack([np.r_[np.zeros(15), np.ones(25)], np.r_[np.zeros(20), 1.0, np.zeros(19)]], axis=1)
    ranker = RankBoost(50, alpha="exact", costs=[1.0, 1.0], cost_weight=9.0).fit(X, y)
    assert ranker.used_features.tolist() == [0]
    assert len(ranker.features_) < 50
    assert RankBoost(50, alpha="exact").fit(X, y).used_features.tolist() == [0, 1]


def test_constant_and_equal_columns():
    random = np.random.default_rng(0)
    y = np.r_[np.ones(10), np.zeros(30)]
    good = y + random.normal(size=40)
    X = np.stack([np.full(40, 7.0), good, good, np.full(40, 1e300)], axis=1)
    for weak in ("threshold", "feature"):
        ranker = RankBoost(10, weak).fit(X, y)
        assert ranker.used_features.tolist() == [1]  # the first of equals
        assert RankBoost(10, weak).fit(X[:, [0, 3]], y).predict(X[:, [0, 3]]).tolist() == [0.0] * 40


def test_features_that_vary_only_outside_of_pairs_teach_nothing():
    X = np.array([[0.0], [0.0], [5.0], [6.0]])
    for weak in ("threshold", "feature"):
        ranker = RankBoost(5, weak).fit(X, [0, 1, 1, 1], qid=[1, 1, 2, 2])
        assert len(ranker.features_) == 0
        assert ranker.predict(X).tolist() == [0.0] * 4


@pytest.mark.parametrize("weak", ["threshold", "feature"])
@pytest.mark.parametrize("alpha", ["closed", "exact"])
def test_one_pair(weak, alpha):
    ranker = RankBoost(500, weak, alpha=alpha).fit([[3.0], [1.0]], [0, 1])
    scores = ranker.predict([[3.0], [1.0]])
    assert np.isfinite(scores).all()
    assert scores[1] > scores[0]
    assert np.abs(ranker.alphas_).max() <= LARGEST_STEP * (1 + 1e-9)
    assert len(ranker.features_) < 10  # nothing is left to learn


def test_thousands_of_tiny_queries():
    random = np.random.default_rng(0)
    n = 6000
    qid = np.repeat(np.arange(n // 2), 2)
    y = np.tile([0.0, 1.0], n // 2)
    X = np.round(random.normal(size=(n, 3)) + 0.5 * y[:, None], 1)
    for weak in ("threshold", "feature"):
        ranker = RankBoost(4, weak, alpha="exact", n_thresholds=None).fit(X, y, qid)
        follow(ranker, X, Pairs(y, qid))


def test_nothing_to_learn_is_said_once():
    for options in ({}, {"patience": 3}, {"weak": "feature"}):
        with pytest.warns(UserWarning, match="nothing to learn") as said:
            ranker = RankBoost(5, **options).fit([[1.0], [2.0]], [1, 1])
        assert len(said) == 1
        assert ranker.predict([[1.0], [2.0]]).tolist() == [0.0, 0.0]
        assert len(ranker.used_features) == 0


def test_huge_weights_only_matter_by_their_proportions():
    X, y, *_ = make("plain")
    expected = RankBoost(5).fit(X, y).log_losses_
    for weight in (1e-150, 1e150):
        np.testing.assert_allclose(RankBoost(5).fit(X, y, sample_weight=np.full(70, weight)).log_losses_, expected)


def test_hundreds_of_rounds_of_hopeless_data_stay_finite():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = random.integers(0, 2, 60)
    for weak in ("threshold", "feature"):
        for alpha in ("closed", "exact"):
            ranker = RankBoost(800, weak, alpha=alpha, n_thresholds=None).fit(X, y)
            assert (np.diff(ranker.log_losses_) <= 1e-12).all()
            assert np.isfinite(ranker.predict(1e6 * X)).all()


# Parameters.


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"n_rounds": 0}, "n_rounds"),
        ({"n_rounds": None}, "n_rounds"),
        ({"n_rounds": "9"}, "n_rounds"),
        ({"n_rounds": np.inf}, "n_rounds"),
        ({"weak": "stump"}, "'threshold', 'feature'"),
        ({"alpha": "newton"}, "'exact', 'closed'|'closed', 'exact'"),
        ({"n_thresholds": 0}, "n_thresholds"),
        ({"max_features": 0}, "max_features"),
        ({"patience": 0}, "patience"),
        ({"validation_share": 0.0}, "validation_share"),
        ({"validation_share": 1.0}, "validation_share"),
        ({"metric": "accuracy"}, "accuracy"),
        ({"cost_weight": 1.0}, "costs"),
        ({"cost_weight": -1.0, "costs": np.ones(4)}, "cost_weight"),
        ({"cost_weight": np.nan, "costs": np.ones(4)}, "cost_weight"),
        ({"costs": np.ones(3)}, "costs"),
        ({"costs": [1.0, 1.0, np.inf, 1.0]}, "costs"),
        ({"costs": [1.0, 1.0, -1.0, 1.0]}, "costs"),
        ({"costs": np.zeros(4)}, "costs"),
    ],
)
def test_bad_parameters_are_one_line_errors(options, part):
    X, y, *_ = make("plain")
    with pytest.raises(ValueError, match=part) as error:
        RankBoost(**options).fit(X, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["n_rounds", "n_thresholds", "max_features", "patience"])
def test_counts_are_whole_numbers(name):
    X, y, *_ = make("plain")
    with pytest.raises(ValueError, match=name):
        RankBoost(**{name: 2.5}).fit(X, y)


def test_a_failed_fit_leaves_no_traces():
    X, y, *_ = make("plain")
    ranker = RankBoost(3)
    with pytest.raises(ValueError, match="n_rounds"):
        RankBoost(0).fit(X, y, validation=(X, y, None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit(X, y, validation=(X, y, None))
    assert not [name for name in vars(ranker) if name.startswith("_") and not name.startswith("__")]
