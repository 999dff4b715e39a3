"""Imbalanced RankBoost against a twin that tries every feature, every direction and every cut-off on every pair."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from rankloom import Features, evaluate
from rankloom.datasets import make_weak_models
from rankloom.groups import preference_pairs
from rankloom.rankers import ImbalancedRankBoost, RankBoost, load_ranker

RANGES = {"unit": (0.0, 1.0), "centred": (-0.5, 0.5), "paper": (-1.0, 1.0)}
LARGEST = 1 - 1e-9
LARGEST_STEP = np.arctanh(LARGEST)


def make(kind, *, n=60, d=4, seed=0):
    """X, y, qid, weights of rows, of queries."""
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.25).astype(float)
    if "graded" in kind:
        y += random.random(n) < 0.3
    y[:2] = 0, 1
    X = random.normal(size=(n, d)) + 0.7 * y[:, None] * random.choice([-1, 1], d)
    if "ties" in kind:
        X = np.round(X)
    qid = random.integers(0, 6, n) if "queries" in kind else np.zeros(n, dtype=int)
    weight, query_weight = np.ones(n), np.ones(6)
    if "weights" in kind:
        weight, query_weight = random.integers(0, 3, n) * random.uniform(0.5, 2.0, n), random.uniform(0.5, 2.0, 6)
    return X, y, qid, weight, query_weight


class Twin:
    """The corrected algorithm, pair by pair; it goes along with a fitted ranker and checks each of its choices."""

    def __init__(self, ranker, X, y, qid, weight, query_weight):
        self.ranker = ranker
        pairs = preference_pairs(y, qid)
        mass = weight[pairs[:, 0]] * weight[pairs[:, 1]] * query_weight[qid[pairs[:, 0]]]
        (self.high, self.low), self.mass = pairs[mass > 0].T, mass[mass > 0]
        self.rows = np.unique([self.high, self.low])
        least, greatest = RANGES[ranker.scaling]
        low, span = X[self.rows].min(axis=0), np.ptp(X[self.rows], axis=0)
        self.varies = np.flatnonzero(span > 0)
        share = (X - low) / np.where(span > 0, span, 1.0)
        self.H = np.clip(least + (greatest - least) * share, least, greatest)
        self.scale = 1.0 / (greatest - least)

    def turned(self, h):
        return 1.0 - h if self.ranker.scaling == "unit" else -h

    def weak(self, j, inverted):
        return self.turned(self.H[:, j]) if inverted else self.H[:, j]

    def passes(self, f, theta):
        return f >= theta if self.ranker.inclusive else f > theta

    def cuts(self, f, alive, theta, first):
        """Every cut-off with its penalty: to stay, or to move to a score."""
        now = np.unique(f[alive])
        yield theta, 0.0
        if first:
            return
        base = now[0] if self.ranker.regularizer == "gap" or theta == -np.inf else theta
        for cut in now[1:] if self.ranker.inclusive else now[:-1]:
            distance = cut - base
            yield cut, np.expm1(distance) if self.ranker.regularizer == "exponential" else distance**2

    def loss(self, f):
        return float(self.mass @ np.exp(f[self.low] - f[self.high]))

    def gain(self, f, h):
        C = self.mass * np.exp(f[self.low] - f[self.high])
        return self.scale * float(C @ (h[self.high] - h[self.low])) / float(C.sum())

    def options(self, f, alive, theta, omega, price, first):
        """Objective, gain, feature, direction, cut-off and penalty of everything that can be done."""
        relative = self.loss(f) / self.loss(np.zeros(len(f)))
        taught = np.zeros(len(f), dtype=bool)
        taught[self.rows] = True
        for cut, penalty in self.cuts(f, alive & taught, theta, first):
            kept = alive & self.passes(f, cut)
            share = (kept & taught).sum() / taught.sum()
            for j in self.varies:
                for inverted in (False, True) if self.ranker.inverted else (False,):
                    r = self.gain(f, self.weak(j, inverted) * kept)
                    objective = relative * np.sqrt(1 - np.clip(r, 0, 1) ** 2) + self.ranker.lam * (omega + penalty)
                    yield objective + price[j] * share, r, j, inverted, cut, penalty

    def follow(self, n_features):
        ranker, n = self.ranker, len(self.H)
        price = np.zeros(n_features)
        if ranker.costs is not None:
            price = ranker.cost_weight * np.asarray(ranker.costs) / np.mean(ranker.costs)
        f, alive, theta, omega = np.zeros(n), np.ones(n, dtype=bool), -np.inf, 0.0
        first_loss, objectives = self.loss(f), []
        rounds = zip(ranker.features_, ranker.inverted_, ranker.thresholds_, ranker.alphas_, strict=True)
        for t, (j, inverted, cut, alpha) in enumerate(rounds):
            alive = alive & self.passes(f, theta)  # scores may have sunk
            options = list(self.options(f, alive, theta, omega, price, t == 0))
            cut = -np.inf if cut == np.finfo(float).min else cut
            mine = [one for one in options if one[2] == j and one[3] == inverted and one[4] == cut]
            assert len(mine) == 1, f"round {t}: the cut-off {cut} is no score of a row that is still in"
            objective, r, *_, penalty = mine[0]
            assert objective <= min(one[0] for one in options) + 1e-9
            assert ranker.objectives_[t] == pytest.approx(objective, abs=1e-9)
            assert cut >= theta
            theta, omega, alive = cut, omega + penalty, alive & self.passes(f, cut)
            h = self.weak(j, inverted) * alive
            if ranker.alpha == "closed":
                assert alpha == pytest.approx(self.scale * np.arctanh(min(r, LARGEST)), abs=1e-9)
            else:
                self.assert_best_step(f, h, alpha)
            assert self.loss(f + alpha * h) <= self.loss(f) * (1 + 1e-12)
            f = f + alpha * h
            assert ranker.survivors_[t] == pytest.approx(alive[self.rows].mean())
            assert ranker.log_losses_[t] == pytest.approx(np.log(self.loss(f) / first_loss), abs=1e-9)
            objectives.append(objective)
            price[j] = 0.0
        self.assert_stopped_rightly(f, alive & self.passes(f, theta), theta, omega, price, objectives)
        return f

    def assert_best_step(self, f, h, alpha):
        bounds = (-LARGEST_STEP, LARGEST_STEP)
        found = minimize_scalar(
            lambda a: self.loss(f + a * h), bounds=bounds, method="bounded", options={"xatol": 1e-9}
        )
        assert self.loss(f + alpha * h) <= self.loss(f + found.x * h) * (1 + 1e-9)

    def assert_stopped_rightly(self, f, alive, theta, omega, price, objectives):
        ranker = self.ranker
        change = np.abs(np.diff(objectives)) / np.abs(objectives[:-1])
        assert (change[:-1] > ranker.tol).all()
        if len(objectives) < ranker.n_rounds and not (len(change) and change[-1] <= ranker.tol * (1 + 1e-6)):
            best = min(self.options(f, alive, theta, omega, price, not objectives), key=lambda one: one[0])
            assert best[1] <= 1e-9 or np.log(self.loss(f) / self.loss(0 * f)) < -40


def assert_follows(ranker, problem):
    X, y, qid, weight, query_weight = problem
    ranker.fit(X, y, qid, sample_weight=weight, query_weight=query_weight[qid])
    f = Twin(ranker, *problem).follow(X.shape[1])
    np.testing.assert_allclose(ranker.predict(X), f, rtol=1e-9, atol=1e-9)
    return ranker


KINDS = ["plain", "ties", "graded ties", "graded queries", "queries weights"]


@pytest.mark.parametrize("inverted", [True, False])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("regularizer", ["squared", "exponential", "gap"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_round_is_the_best_one(kind, regularizer, inclusive, inverted):
    ranker = ImbalancedRankBoost(6, 0.003, regularizer=regularizer, inclusive=inclusive, inverted=inverted)
    problem = make(kind, n=40, seed=len(kind))
    assert_follows(ranker, problem)
    assert ranker.survivors_[-1] < 1  # something was cut off


@pytest.mark.slow
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("scaling", ["centred", "paper"])
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_every_round_is_the_best_one_in_ranges_with_a_sign(scaling, inclusive, seed):
    problem = make("plain", n=80, d=6, seed=seed)
    assert_follows(ImbalancedRankBoost(25, 0.0005, scaling=scaling, inclusive=inclusive), problem)


@pytest.mark.parametrize("scaling", ["centred", "paper"])
def test_first_rounds_in_ranges_with_a_sign(scaling):
    for inverted in (True, False):
        ranker = assert_follows(ImbalancedRankBoost(2, 0.001, scaling=scaling, inverted=inverted), make("graded"))
        assert len(ranker.features_) == 2


@pytest.mark.parametrize("scaling", ["centred", "paper"])
@pytest.mark.parametrize("inclusive", [True, False])
def test_predict_of_the_training_rows_has_the_training_loss(scaling, inclusive):
    for seed in range(10):
        X, y, *_ = make("plain", n=80, d=6, seed=seed)
        ranker = ImbalancedRankBoost(40, 0.0005, scaling=scaling, inclusive=inclusive).fit(X, y)
        f = ranker.predict(X)
        high, low = preference_pairs(y).T
        assert np.log(np.mean(np.exp(f[low] - f[high]))) == pytest.approx(ranker.log_losses_[-1], abs=1e-9)
        assert (np.diff(ranker.thresholds_) >= 0).all()


@pytest.mark.parametrize("alpha", ["closed", "exact"])
@pytest.mark.parametrize("lam", [0.0, 1e-4, 0.01, 10.0])
def test_weights_of_the_regulariser(lam, alpha):
    ranker = assert_follows(ImbalancedRankBoost(8, lam, alpha=alpha), make("graded queries weights", n=40))
    if lam == 10.0:
        # The lowest row alone may go for nothing: the least cut-off that drops it is its own score.
        assert ranker.survivors_[-1] > 0.8


@pytest.mark.parametrize("cost_weight", [0.0, 0.003, 0.03])
@pytest.mark.parametrize("inverted", [True, False])
def test_costs(cost_weight, inverted):
    problem = make("graded queries", n=40, d=5, seed=3)
    costs = np.array([9.0, 1.0, 0.0, 3.0, 1.0])
    options = {"costs": costs, "cost_weight": cost_weight, "inverted": inverted}
    assert_follows(ImbalancedRankBoost(8, 0.003, **options), problem)


def test_a_cheap_near_duplicate_is_preferred():
    random = np.random.default_rng(0)
    y = (random.random(400) < 0.2).astype(float)
    dear = y + random.normal(size=400)
    X = np.stack([dear, dear + 0.05 * random.normal(size=400), random.normal(size=400)], axis=1)
    best = int(ImbalancedRankBoost(1).fit(X, y).features_[0])
    costs = np.where(np.arange(3) == best, 100.0, 1.0)
    assert best in (0, 1)
    ranker = ImbalancedRankBoost(10, costs=costs, cost_weight=0.1).fit(X, y)
    assert ranker.features_[0] == 1 - best
    assert best not in ranker.used_features


def test_constant_columns_are_never_chosen():
    X, y, *_ = make("plain")
    X = np.insert(X, [0, 2], 5.0, axis=1)
    ranker = ImbalancedRankBoost(20, costs=[0.0, 1, 1, 0.0, 1, 1], cost_weight=0.001).fit(X, y)
    assert not {0, 3} & set(ranker.features_.tolist())
    assert len(ranker.features_) > 0


# Prediction.


def hand_count(ranker, X):
    """Scores and which cells a row-by-row reading of the definition needs."""
    least, greatest = RANGES[ranker.scaling]
    scores, cells = np.zeros(len(X)), set()
    for i, row in enumerate(X):
        for j, inverted, theta, alpha in zip(
            ranker.features_, ranker.inverted_, ranker.thresholds_, ranker.alphas_, strict=True
        ):
            if not (scores[i] >= theta if ranker.inclusive else scores[i] > theta):
                break
            cells.add((i, int(j)))
            h = least + (greatest - least) * ((row[j] - ranker.low_[j]) / (ranker.high_[j] - ranker.low_[j]))
            h = min(max(h, least), greatest)
            scores[i] += alpha * ((1.0 - h if ranker.scaling == "unit" else -h) if inverted else h)
    return scores, cells


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("scaling", ["unit", "centred", "paper"])
def test_only_cells_of_surviving_rows_are_computed(scaling, inclusive):
    data = make_weak_models(900, 12, random_state=0)
    train, test = data.take(slice(0, None, 3)), data.take(slice(1, None, 3))
    ranker = ImbalancedRankBoost(30, 0.001, scaling=scaling, inclusive=inclusive).fit(*train)
    X = test.X + np.random.default_rng(0).normal(size=test.X.shape) * 0.3  # also beyond the range
    scores, cells = hand_count(ranker, X)
    lazy = Features([lambda rows, j=j: X[rows, j] for j in range(12)], n_rows=len(X))
    np.testing.assert_allclose(ranker.predict(lazy), scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ranker.predict(lazy), ranker.predict(X))
    np.testing.assert_array_equal(lazy.evaluations, np.bincount([j for _, j in cells], minlength=12))
    assert lazy.n_evaluations < (0.7 if scaling == "unit" else 0.9) * len(X) * len(ranker.used_features)


@pytest.mark.slow
def test_by_default_nothing_is_given_away_and_what_can_be_saved_is():
    # Weak detectors of a rare concept: cuts cost quality. One good detector: the others are hardly needed.
    weak = make_weak_models(4000, 40, random_state=0)
    rng = np.random.default_rng(0)
    strong = weak.X.copy()
    strong[:, 0] = weak.y + rng.normal(0, 0.05, len(weak.y))
    for X, share in ((weak.X, 1.0), (strong, 0.2)):
        train, test = slice(0, None, 2), slice(1, None, 2)
        ranker = ImbalancedRankBoost(60).fit(X[train], weak.y[train], weak.qid[train])
        full = RankBoost(60).fit(X[train], weak.y[train], weak.qid[train])
        lazy = Features(X[test])
        mine, best = (evaluate(weak.y[test], scores, None, ["AP@100"])["AP@100"]
                      for scores in (ranker.predict(lazy), full.predict(X[test])))  # fmt: skip
        assert mine >= 0.85 * best
        assert lazy.n_evaluations <= share * len(lazy) * len(full.used_features)
    assert ranker.lam_ < 10


@pytest.mark.parametrize("inclusive", [True, False])
def test_survivors_are_those_of_the_training_rows(inclusive):
    data = make_weak_models(800, 15, random_state=1)
    ranker = ImbalancedRankBoost(40, 0.002, inclusive=inclusive).fit(*data)
    assert (np.diff(ranker.survivors_) <= 0).all()
    assert ranker.survivors_[0] == 1.0
    assert ranker.survivors_[-1] < 0.5
    for t in range(len(ranker.features_)):
        f = ranker.truncated(t).predict(data.X) if t else np.zeros(len(data))
        theta = ranker.thresholds_[t]
        assert ranker.survivors_[t] == pytest.approx(np.mean(f >= theta if inclusive else f > theta))


def test_truncated_is_a_prefix_and_leaves_the_ranker_alone():
    data = make_weak_models(500, 10, random_state=2)
    ranker = ImbalancedRankBoost(12, 0.001, tol=0.0).fit(*data)
    before = ranker.predict(data.X)
    for n in (1, 5, 12):
        short = ImbalancedRankBoost(n, 0.001, tol=0.0).fit(*data)
        np.testing.assert_array_equal(ranker.truncated(n).predict(data.X), short.predict(data.X))
    np.testing.assert_array_equal(ranker.predict(data.X), before)
    assert len(ranker.features_) == 12


def test_all_rows_stay_ordered():
    """Pruned rows keep different scores: the order is complete, not only that of the survivors."""
    data = make_weak_models(1000, 20, random_state=3)
    ranker = ImbalancedRankBoost(30, 0.002).fit(*data)
    scores = ranker.predict(data.X)
    assert len(np.unique(scores)) == len(data)
    pruned = scores <= ranker.thresholds_[-1]
    assert 0.3 < pruned.mean() < 1
    high, low = preference_pairs(data.y[pruned]).T
    assert np.mean(scores[pruned][high] > scores[pruned][low]) > 0.5


def test_row_order_and_lists_do_not_matter():
    X, y, qid, *_ = make("graded queries ties", n=120)
    ranker = ImbalancedRankBoost(15, 0.002).fit(X, y, qid)
    order = np.random.default_rng(1).permutation(120)
    other = ImbalancedRankBoost(15, 0.002).fit(X[order].tolist(), y[order], qid[order].tolist())
    np.testing.assert_allclose(other.predict(X), ranker.predict(X), atol=1e-9)


@pytest.mark.parametrize("scaling", ["unit", "centred", "paper"])
def test_json(scaling, tmp_path):
    data = make_weak_models(500, 10, random_state=4)
    ranker = ImbalancedRankBoost(20, scaling=scaling, costs=np.arange(10.0), cost_weight=0.001).fit(*data)
    ranker.save(tmp_path / "ranker.json")
    loaded = load_ranker(tmp_path / "ranker.json")
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))
    one, other = Features(data.X), Features(data.X)
    loaded.predict(one)
    ranker.predict(other)
    np.testing.assert_array_equal(one.evaluations, other.evaluations)


# Extremes.


@pytest.mark.parametrize(
    "scale",
    [
        1e300,
        1e-300,
        1e-310,
        5e-324,
        1.7e308,
    ],
)
@pytest.mark.parametrize("scaling", ["unit", "paper"])
def test_any_scale_teaches_the_same(scale, scaling):
    random = np.random.default_rng(0)
    y = (random.random(80) < 0.3).astype(float)
    base = np.clip(random.integers(-8, 9, (80, 3)) + 4 * y[:, None], -10, 10)
    base /= 10 if scale > 1 else 1
    ranker = ImbalancedRankBoost(3, 0.01, scaling=scaling)
    expected = ranker.fit(base, y).predict(base)
    np.testing.assert_allclose(ranker.fit(scale * base, y).predict(scale * base), expected, atol=1e-9)


def test_values_far_outside_are_clipped_in_silence():
    X, y, *_ = make("plain")
    ranker = ImbalancedRankBoost(5).fit(1e-300 * X, y)
    bounds = np.stack([1e-300 * X.max(axis=0), 1e-300 * X.min(axis=0)])
    np.testing.assert_array_equal(ranker.predict(bounds * 1e308 * 1e3), ranker.predict(bounds * 10))


def test_one_pair_and_nothing_to_learn():
    for scaling in RANGES:
        ranker = ImbalancedRankBoost(300, scaling=scaling).fit([[3.0], [1.0]], [0, 1])
        scores = ranker.predict([[3.0], [1.0]])
        assert scores[1] > scores[0]
        assert np.isfinite(scores).all()
        with pytest.warns(UserWarning, match="nothing to learn"):
            ranker.fit([[3.0], [1.0]], [1, 1])
        assert ranker.predict([[3.0], [1.0]]).tolist() == [0.0, 0.0]
        assert ranker.fit([[3.0], [3.0]], [0, 1]).predict([[3.0], [1.0]]).tolist() == [0.0, 0.0]


def test_without_inverted_features_a_feature_that_is_wrong_is_left_alone():
    y = np.r_[np.ones(10), np.zeros(30)]
    X = -y[:, None] + np.random.default_rng(0).normal(size=(40, 1)) * 0.1
    assert len(ImbalancedRankBoost(5, inverted=False).fit(X, y).features_) == 0
    ranker = ImbalancedRankBoost(5).fit(X, y)
    assert ranker.inverted_.all()
    assert ranker.score(X, y, metric="AP") == 1.0


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"n_rounds": 0}, "n_rounds"),
        ({"n_rounds": True}, "n_rounds"),
        ({"lam": -0.1}, "lam"),
        ({"lam": np.inf}, "lam"),
        ({"tol": -1.0}, "tol"),
        ({"tol": None}, "tol"),
        ({"regularizer": "l2"}, "'squared', 'exponential', 'gap'"),
        ({"alpha": "newton"}, "exact"),
        ({"scaling": "z"}, "'unit', 'centred', 'paper'"),
        ({"cost_weight": 0.1}, "costs"),
        ({"costs": np.ones(3), "cost_weight": 0.1}, "costs"),
        ({"costs": np.full(4, np.nan)}, "costs"),
    ],
)
def test_bad_parameters_are_one_line_errors(options, part):
    X, y, *_ = make("plain")
    with pytest.raises(ValueError, match=part) as error:
        ImbalancedRankBoost(**options).fit(X, y)
    assert "\n" not in str(error.value)


def test_rounds_are_whole_numbers():
    X, y, *_ = make("plain")
    with pytest.raises(ValueError, match="n_rounds"):
        ImbalancedRankBoost(2.5).fit(X, y)
