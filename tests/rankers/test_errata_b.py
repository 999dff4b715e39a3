"""Errata B1 to B14 of Merler, Yan and Smith (2009): what holds, what does not, and that the library keeps to it."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from rankloom import Features
from rankloom.datasets import make_weak_models
from rankloom.groups import group_rows, preference_pairs, preferences
from rankloom.rankers import ImbalancedRankBoost, RankBoost, _kernels
from rankloom.rankers._boosting import PairWeights

SEEDS = range(8)
REGULARIZERS = ["squared", "exponential", "gap"]


def problem(seed=0, n=60, d=4, grades=2, queries=1, share=0.3, quantised=False):
    random = np.random.default_rng(seed)
    y = (random.random(n) < share).astype(float) + (random.integers(0, grades - 1, n) if grades > 2 else 0)
    y[:2] = 0, 1
    X = random.normal(size=(n, d)) + 0.6 * y[:, None] * random.choice([-1, 1], d)
    return np.round(X) if quantised else X, y, random.integers(0, queries, n)


def unit(x):
    return (x - x.min()) / np.ptp(x)


def pair_loss(f, y, qid=None):
    high, low = preference_pairs(y, qid).T
    return float(np.exp(f[low] - f[high]).sum())


def distribution(f, y, qid=None):
    """The pairs and C_t, one entry a pair."""
    high, low = preference_pairs(y, qid).T
    mass = np.exp(f[low] - f[high])
    return high, low, mass / mass.sum()


def gain(f, h, y, qid=None):
    high, low, C = distribution(f, y, qid)
    return float(C @ (h[high] - h[low]))


def at_scores(f, y, qid=None):
    """The library's weights of pairs at given scores."""
    prefs = preferences(y, group_rows(qid, len(y)))
    weights = PairWeights(prefs)
    weights.move(f[prefs.rows])
    return weights, prefs.rows


# B1: the sign of r.


@pytest.mark.parametrize("seed", SEEDS)
def test_b1_the_printed_sign_raises_the_loss(seed):
    X, y, _ = problem(seed)
    zero = np.zeros(len(y))
    start = pair_loss(zero, y)
    for j in range(X.shape[1]):
        h = unit(X[:, j])
        printed = -gain(zero, h, y)  # eq. 3: h(x1) - h(x0)
        assert pair_loss(np.arctanh(printed) * h, y) > start
        assert pair_loss(np.arctanh(-printed) * h, y) < start
    ranker = RankBoost(1, "feature", alpha="closed").fit(X, y)
    h = unit(X[:, ranker.features_[0]])
    assert ranker.alphas_[0] == pytest.approx(np.arctanh(gain(zero, h, y)))
    assert np.exp(ranker.log_losses_[0]) == pytest.approx(pair_loss(ranker.alphas_[0] * h, y) / start)
    assert ranker.log_losses_[0] < 0


def test_b1_relevant_rows_weigh_in_favour():
    X, y, qid = problem(1, queries=3)
    weights, rows = at_scores(X[:, 0], y, qid)
    assert (weights.signed[y[rows] == 1] > 0).all()
    assert (weights.signed[y[rows] == 0] < 0).all()


# B2: alpha belongs into the exponent of eq. 6.


@pytest.mark.parametrize("seed", SEEDS)
def test_b2_the_loss_of_a_round_has_its_alpha(seed):
    X, y, _ = problem(seed)
    ranker = ImbalancedRankBoost(3, 0.001).fit(X, y)
    f = ranker.truncated(2).predict(X)
    step = ranker.predict(X) - f  # alpha h I
    high, low, C = distribution(f, y)
    A = (step[high] - step[low]) / ranker.alphas_[2]
    Z = pair_loss(f, y) / pair_loss(0 * f, y)
    assert np.exp(ranker.log_losses_[2]) == pytest.approx(Z * (C @ np.exp(-ranker.alphas_[2] * A)))
    assert np.exp(ranker.log_losses_[2]) != pytest.approx(Z * (C @ np.exp(-A)), rel=1e-3)  # as printed
    assert ranker.log_losses_[2] < ranker.log_losses_[1]


# B3: the range of h.


def test_b3_the_inequality_needs_margins_within_one():
    alpha = np.linspace(-3, 3, 61)[:, None]
    x = np.linspace(-2, 2, 81)
    left, right = 2 * np.exp(-alpha * x), (1 + x) * np.exp(-alpha) + (1 - x) * np.exp(alpha)
    inside = np.abs(x) <= 1 + 1e-12
    assert (left[:, inside] <= right[:, inside] * (1 + 1e-12) + 1e-12).all()
    np.testing.assert_allclose(left[:, np.isclose(np.abs(x), 1)], right[:, np.isclose(np.abs(x), 1)])  # <=, not <
    assert (left[:, ~inside] > right[:, ~inside])[alpha[:, 0] != 0].all()  # half of [-2, 2]


def test_b3_r_may_exceed_one_and_alpha_be_undefined():
    y = np.r_[np.ones(5), np.zeros(20)]
    h = 2 * unit(y + 0.1 * np.random.default_rng(0).random(25)) - 1
    r = gain(np.zeros(25), h, y)
    assert r > 1.5
    with np.errstate(invalid="ignore"):
        assert np.isnan(0.5 * np.log((1 + r) / (1 - r)))
    ranker = ImbalancedRankBoost(1, scaling="paper").fit(h[:, None], y)
    assert ranker.alphas_[0] == pytest.approx(0.25 * np.log((2 + r) / (2 - r)))
    assert ranker.predict(h[:, None]) == pytest.approx(ranker.alphas_[0] * h)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("scaling", "reach"), [("unit", 1.0), ("centred", 1.0), ("paper", 2.0)])
def test_b3_step_and_bound_of_every_range(scaling, reach, seed):
    X, y, _ = problem(seed)
    ranker = ImbalancedRankBoost(1, scaling=scaling).fit(X, y)
    h = ranker.predict(X) / ranker.alphas_[0]
    assert np.ptp(h) == pytest.approx(reach)
    r = gain(np.zeros(len(y)), h, y)
    assert ranker.alphas_[0] == pytest.approx(np.log((reach + r) / (reach - r)) / (2 * reach))
    bound = np.sqrt(1 - (r / reach) ** 2)
    assert ranker.objectives_[0] == pytest.approx(bound)
    assert np.exp(ranker.log_losses_[0]) <= bound * (1 + 1e-12)


def test_b3_ranges_agree_without_cut_offs_and_differ_with_them():
    differ = 0
    for seed in SEEDS:
        X, y, _ = problem(seed)
        one, other = (ImbalancedRankBoost(1, scaling=scaling).fit(X, y).predict(X) for scaling in ("unit", "paper"))
        np.testing.assert_allclose(one - one.mean(), other - other.mean(), atol=1e-12)
        one, other = (
            ImbalancedRankBoost(3, 1e-4, scaling=scaling).fit(X, y).predict(X) for scaling in ("unit", "paper")
        )
        differ += (np.argsort(one) != np.argsort(other)).any()
    assert differ > 0


def test_b3_the_indicator_is_a_weak_ranker_if_h_is_positive():
    """A feature of pure noise gains with h in [0, 1] by what it is asked of, and nothing around 0."""
    random = np.random.default_rng(0)
    y = (random.random(1500) < 0.3).astype(float)
    f = y + random.normal(size=1500)
    kept, noise = f > np.median(f), random.random(1500)
    high, low, C = distribution(np.zeros(1500), y)
    mass = float(C @ (kept[high].astype(float) - kept[low]))
    assert gain(0 * f, noise * kept, y) == pytest.approx(0.5 * mass, abs=0.03)
    assert gain(0 * f, (2 * noise - 1) * kept, y) == pytest.approx(0.0, abs=0.05)
    assert mass > 0.2


# B4: the recursion, not the sum without cut-offs.


def terms(ranker, X):
    share = np.clip((X - ranker.low_) / (ranker.high_ - ranker.low_), 0, 1)
    return [
        alpha * (1 - share[:, j] if turned else share[:, j])
        for j, turned, alpha in zip(ranker.features_, ranker.inverted_, ranker.alphas_, strict=True)
    ]


@pytest.mark.parametrize("inclusive", [True, False])
def test_b4_scores_are_those_of_the_recursion(inclusive):
    data = make_weak_models(2000, 20, random_state=0)
    X, unseen = data.X[::2], data.X[1::2]
    ranker = ImbalancedRankBoost(30, 1e-3, inclusive=inclusive).fit(X, data.y[::2], data.qid[::2])

    def test(f, theta):
        return f >= theta if inclusive else f > theta

    for rows in (X, unseen):
        recursion, printed, plain = np.zeros(1000), np.zeros(1000), np.zeros(1000)
        alive = np.ones(1000, dtype=bool)
        for term, theta in zip(terms(ranker, rows), ranker.thresholds_, strict=True):
            now = test(recursion, theta)
            assert not (now & ~alive).any()  # pruning is absorbing
            alive = now
            printed += term * test(plain, theta)  # eq. 4, line 2
            recursion += term * now
            plain += term
        np.testing.assert_allclose(ranker.predict(rows), recursion, atol=1e-12)
        assert np.mean(np.abs(printed - recursion) > 1e-6) > 0.05


# B5: the first cut-off.


def test_b5_the_printed_first_cut_off_drops_rows():
    X, y, _ = problem(0)
    h = unit(X[:, 0] - 2 * y)  # high where the grade is low
    alpha = np.arctanh(gain(np.zeros(len(y)), h, y))
    assert alpha < 0
    assert (alpha * h >= alpha * h.min()).sum() == 1  # a negative alpha_0: all but one are dropped
    h = 0.1 + 0.9 * (1 - h)
    assert not np.arctanh(gain(np.zeros(len(y)), h, y)) * h.min() <= 0.0  # min h > 0: the first term fails its own test


@pytest.mark.parametrize("scaling", ["unit", "centred", "paper"])
@pytest.mark.parametrize("inclusive", [True, False])
def test_b5_the_first_cut_off_drops_nothing(scaling, inclusive):
    for seed in SEEDS:
        X, y, _ = problem(seed)
        for lam in (0.0, 0.01, 100.0):
            ranker = ImbalancedRankBoost(4, lam, scaling=scaling, inclusive=inclusive).fit(X, y)
            assert ranker.survivors_[0] == 1.0
            assert ranker.thresholds_[0] == np.finfo(float).min
            lazy = Features(np.vstack([X, X.min(axis=0) - 100, X.max(axis=0) + 100]))
            ranker.truncated(1).predict(lazy)
            assert lazy.n_evaluations == len(X) + 2


# B6: cut-offs at the scores of dropped rows are the least that drop them.


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_b6_exclusive_cut_offs_are_never_worse(regularizer):
    better = 0
    for seed in range(20):
        X, y, _ = problem(seed, quantised=seed % 2 == 0)
        options = {"regularizer": regularizer, "tol": 0.0}
        exclusive, inclusive = (ImbalancedRankBoost(2, 0.01, inclusive=kind, **options).fit(X, y) for kind in (0, 1))
        assert exclusive.alphas_[0] == inclusive.alphas_[0]  # the same state
        assert exclusive.objectives_[1] <= inclusive.objectives_[1] + 1e-12
        better += exclusive.objectives_[1] < inclusive.objectives_[1] - 1e-9
    assert better > 0


def test_b6_any_cut_off_between_two_scores_keeps_the_same_rows_and_costs_more():
    f = np.sort(np.random.default_rng(0).random(20))
    for i in range(1, 20):
        between = np.linspace(f[i - 1], f[i], 9)
        assert all((f > theta).sum() == 20 - i for theta in between[:-1])
        assert all((f >= theta).sum() == 20 - i for theta in between[1:])
        assert (np.diff((between - f[0]) ** 2) >= 0).all()


# B7: ties.


def brute_cut(order, f, signed, H, moves, loss, scale, inverted, costs, mirrored, blocks=True):
    """All features, directions and cut-offs; without `blocks` also cut-offs that no number can make."""
    best = (np.inf, -1, 0, 0.0)
    for place in range(len(order)):
        if blocks and place + 1 < len(order) and f[order[place + 1]] == f[order[place]]:
            continue
        kept = order[: place + 1]
        for k in range(H.shape[1]):
            for turned in (False, True) if inverted else (False,):
                h = (-H[kept, k] if mirrored else 1 - H[kept, k]) if turned else H[kept, k]
                r = scale * float(signed[kept] @ h)
                price = costs[k] * (place + 1) / len(f) if len(costs) else 0.0
                value = loss * np.sqrt(1 - np.clip(r, 0, 1) ** 2) + moves[place] + price
                if value < best[0] - 1e-12:
                    best = (value, place, ~k if turned else k, r)
    return best


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
def test_b7_best_cut_is_the_best_that_can_be_made(levels, mirrored, inverted, priced):
    random = np.random.default_rng(levels)
    for _ in range(25):
        n, K = int(random.integers(1, 40)), int(random.integers(1, 9))
        f = random.integers(0, levels, n).astype(float)
        signed = random.normal(size=n)
        signed /= np.abs(signed).sum()
        H = random.random((n, K)) - (0.5 if mirrored else 0.0)
        if random.random() < 0.5:
            H = np.round(H * 3) / 3
        some = random.permutation(n)[: int(random.integers(1, n + 1))]
        order = some[np.argsort(-f[some], kind="stable")]
        moves = np.append(np.sort(random.random(len(order) - 1))[::-1] * random.choice([0.0, 0.01, 1.0]), 0.0)
        costs = random.random(K) * 0.1 if priced else np.empty(0)
        loss = random.random()
        arguments = (order, f, signed, H, moves, loss, 1.0, inverted, costs, mirrored)
        objective, place, which, r = _kernels.boost.best_cut(*arguments)
        expected = brute_cut(*arguments)
        assert objective == pytest.approx(expected[0], abs=1e-11)
        k = which if which >= 0 else ~which
        kept = order[: place + 1]
        assert place + 1 == len(order) or f[order[place + 1]] < f[order[place]]
        h = H[kept, k] if which >= 0 else (-H[kept, k] if mirrored else 1 - H[kept, k])
        found = float(signed[kept] @ h)
        assert r == pytest.approx(max(found, 0.0) if r >= 0 else found, abs=1e-12)
        price = costs[k] * len(kept) / n if priced else 0.0
        value = loss * np.sqrt(1 - np.clip(found, 0, 1) ** 2) + moves[place] + price
        assert value == pytest.approx(objective, abs=1e-11)
        if levels == 1:
            assert len(kept) == len(order)


def test_b7_inside_a_block_r_promises_what_no_cut_off_keeps():
    broken = 0
    for seed in range(30):
        X, y, _ = problem(seed, n=200, quantised=True)
        f = 0.3 * X[:, 0]
        weights, rows = at_scores(f, y)
        H = np.stack([unit(x) for x in X[rows].T], axis=1)
        order = np.argsort(-f[rows], kind="stable")
        arguments = (order, f[rows], weights.signed, H, np.zeros(200), 1.0, 1.0, False, np.empty(0), False)
        naive = brute_cut(*arguments, blocks=False)
        real = _kernels.boost.best_cut(*arguments)
        assert real[3] <= max(naive[3], 0.0) + 1e-12
        broken += naive[3] > real[3] + 1e-6
    assert broken > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_b7_cut_offs_of_quantised_features_keep_whole_blocks(seed):
    X, y, _ = problem(seed, n=200, quantised=True)
    ranker = ImbalancedRankBoost(10, 1e-3).fit(X, y)
    for t in range(1, len(ranker.features_)):
        f = ranker.truncated(t).predict(X)
        assert ranker.survivors_[t] == pytest.approx(np.mean(f > ranker.thresholds_[t]))


# B8: the weight of a pair is a product.


@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("grades", [2, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_b8_sums_over_rows_equal_sums_over_pairs(seed, grades, queries):
    X, y, qid = problem(seed, grades=grades, queries=queries)
    f = X[:, 0]
    weights, rows = at_scores(f, y, qid)
    assert weights.log_loss == pytest.approx(np.log(pair_loss(f, y, qid)), abs=1e-12)
    for cut in (-np.inf, 0.0, 1.0):
        h = X[:, 1] * (f > cut)  # separable with cut-offs too
        assert weights.signed @ h[rows] == pytest.approx(gain(f, h, y, qid), abs=1e-12)


def test_b8_the_printed_denominators_are_swapped():
    X, y, _ = problem(0)
    f, up, down = X[:, 0], y == 1, y == 0
    right = np.where(up, np.exp(-f) / np.exp(-f[up]).sum(), -np.exp(f) / np.exp(f[down]).sum())
    printed = np.where(up, np.exp(-f) / np.exp(f[down]).sum(), -np.exp(f) / np.exp(-f[up]).sum())
    weights, rows = at_scores(f, y)
    np.testing.assert_allclose(weights.signed, right[rows], atol=1e-14)
    assert right[up].sum() == pytest.approx(1)
    assert right[down].sum() == pytest.approx(-1)
    assert printed[up].sum() != pytest.approx(1, abs=0.1)
    assert printed @ X[:, 1] != pytest.approx(gain(f, X[:, 1], y), rel=0.05)


def test_b8_several_queries_weigh_by_their_part_of_the_loss():
    X, y, qid = problem(3, n=120, queries=4)
    f, h = X[:, 0], X[:, 1]
    parts = [(pair_loss(f[qid == q], y[qid == q]), gain(f[qid == q], h[qid == q], y[qid == q])) for q in range(4)]
    total = sum(Z for Z, _ in parts)
    weights, rows = at_scores(f, y, qid)
    assert weights.signed @ h[rows] == pytest.approx(sum(Z / total * r for Z, r in parts), abs=1e-12)


# B9: logarithms, and the loss never rises.


def test_b9_scores_beyond_the_range_of_exp():
    y = np.r_[np.ones(3), np.zeros(4)]
    for size in (1e3, 1e5, 1e200):
        f = size * np.array([1.0, -1.0, 0.5, -0.5, 0.25, 1.0, -1.0])
        weights, rows = at_scores(f, y)
        with np.errstate(over="ignore"):
            assert np.isinf(np.exp(f).sum())  # as written, Z overflows
        high, low = preference_pairs(y).T
        assert weights.log_loss == pytest.approx((f[low] - f[high]).max(), rel=1e-9)
        assert np.isfinite(weights.signed).all()
        assert np.abs(weights.signed).sum() == pytest.approx(2)
        assert rows[np.argmax(weights.signed)] == 1  # the relevant row at the bottom
        assert rows[np.argmin(weights.signed)] == 5  # the irrelevant one at the top


@pytest.mark.parametrize("alpha", ["closed", "exact"])
@pytest.mark.parametrize("scaling", ["unit", "centred", "paper"])
@pytest.mark.parametrize("lam", [0.0, 1e-6, 1e-3, 0.05, 1.0, 1e5])
def test_b9_the_loss_never_rises(lam, scaling, alpha):
    for regularizer in REGULARIZERS:
        X, y, qid = problem(4, n=100, d=6, grades=3, queries=2)
        options = {"regularizer": regularizer, "scaling": scaling, "alpha": alpha, "tol": 0.0}
        losses = np.r_[0.0, ImbalancedRankBoost(60, lam, **options).fit(X, y, qid).log_losses_]
        assert len(losses) > 2
        assert (np.diff(losses) <= 1e-12).all()


@pytest.mark.parametrize("alpha", ["closed", "exact"])
@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_b9_hundreds_of_rounds(weak, alpha):
    X, y, qid = problem(5, n=80, d=6, grades=3, queries=3)
    ranker = RankBoost(600, weak, alpha=alpha, n_thresholds=None).fit(X, y, qid)
    assert (np.diff(np.r_[0.0, ranker.log_losses_]) <= 1e-12).all()
    assert np.isfinite(ranker.alphas_).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_b9_the_loss_of_a_round_is_bounded_by_that_before(seed):
    X, y, _ = problem(seed)
    ranker = ImbalancedRankBoost(8, 0.0, tol=0.0).fit(X, y)
    before = np.exp(np.r_[0.0, ranker.log_losses_[:-1]])
    r = np.tanh(ranker.alphas_)  # of the closed step
    np.testing.assert_allclose(ranker.objectives_, before * np.sqrt(1 - r**2))
    assert (np.exp(ranker.log_losses_) <= ranker.objectives_ * (1 + 1e-12)).all()


def test_b9_lambda_does_not_depend_on_the_size_of_the_data():
    X, y, _ = problem(6)
    once = ImbalancedRankBoost(10, 0.01).fit(X, y)
    thrice = ImbalancedRankBoost(10, 0.01).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    np.testing.assert_allclose(thrice.predict(X), once.predict(X), atol=1e-9)


# B10: convergence and regularisers.


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_b10_not_to_move_costs_nothing(regularizer):
    """Weighed by 1e6, a regulariser that grew where nothing moves would show in the objective."""
    for seed in SEEDS:
        X, y, _ = problem(seed)
        ranker = ImbalancedRankBoost(40, 1e6, regularizer=regularizer, tol=0.0, inclusive=True).fit(X, y)
        assert len(ranker.features_) > 10
        assert (ranker.survivors_ == 1.0).all()
        before = np.exp(np.r_[0.0, ranker.log_losses_[:-1]])
        np.testing.assert_allclose(ranker.objectives_, before * np.sqrt(1 - np.tanh(ranker.alphas_) ** 2))
    literal = sum(np.exp(theta - theta) for theta in ranker.thresholds_[1:])  # printed: exp(0) a round
    assert literal == len(ranker.features_) - 1 > 0


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4])
def test_b10_convergence_is_relative_and_keeps_the_last_term(tol):
    for seed in SEEDS:
        X, y, _ = problem(seed)
        short = ImbalancedRankBoost(300, 0.01, tol=tol).fit(X, y)
        long = ImbalancedRankBoost(300, 0.01, tol=0.0).fit(X, y)
        n = len(short.features_)
        assert n < 300
        change = np.abs(np.diff(long.objectives_)) / np.abs(long.objectives_[:-1])
        assert n == np.flatnonzero(change <= tol)[0] + 2  # the round that changed too little is there
        np.testing.assert_array_equal(short.alphas_, long.alphas_[:n])
        last = short.predict(X) - short.truncated(n - 1).predict(X)
        assert np.abs(last).max() > 0
        assert pair_loss(short.predict(X), y) / pair_loss(0 * y, y) == pytest.approx(np.exp(short.log_losses_[-1]))


# B11: weak rankers that are always right.


@pytest.mark.parametrize("alpha", ["closed", "exact"])
def test_b11_separable_data_stay_finite(alpha):
    y = np.r_[np.ones(5), np.zeros(9)]
    right = np.stack([y, -y], axis=1)
    assert gain(np.zeros(14), unit(y), y) == pytest.approx(1.0)  # the printed alpha is infinite
    rankers = [RankBoost(50, weak, alpha=alpha) for weak in ("threshold", "feature")]
    rankers += [ImbalancedRankBoost(50, scaling=scaling, alpha=alpha) for scaling in ("unit", "centred", "paper")]
    for ranker in rankers:
        for X in (right, right[:, 1:]):
            ranker.fit(X, y)
            scores = ranker.predict(X)
            assert np.isfinite(scores).all()
            assert scores[:5].min() > scores[5:].max()
            assert (np.abs(ranker.alphas_) <= np.arctanh(1 - 1e-9) * (1 + 1e-9)).all()
            assert np.isfinite(ranker.log_losses_).all()


def test_b11_inverted_features_are_an_option():
    y = np.r_[np.ones(20), np.zeros(60)]
    X = (np.random.default_rng(0).normal(size=80) - y)[:, None]
    assert len(ImbalancedRankBoost(5, inverted=False).fit(X, y).features_) == 0
    ranker = ImbalancedRankBoost(1, inverted=True).fit(X, y)
    h = 1 - unit(X[:, 0])
    assert ranker.inverted_.tolist() == [True]
    assert ranker.alphas_[0] == pytest.approx(np.arctanh(gain(np.zeros(80), h, y)))
    assert ranker.alphas_[0] > 0
    np.testing.assert_allclose(ranker.predict(X), ranker.alphas_[0] * h)


# B12: the cost of a round.


def test_b12_one_addition_a_cell_finds_what_direct_sums_find():
    random = np.random.default_rng(0)
    n, K = 150, 6
    f, signed, H = random.random(n), random.normal(size=n) / n, random.random((n, K))
    order = np.argsort(-f)
    direct, scan, running, count = [], [], np.zeros(K), {"direct": 0, "scan": 0}
    for place in range(n):
        direct.append(signed[order[: place + 1]] @ H[order[: place + 1]])
        count["direct"] += K * (place + 1)
        running = running + signed[order[place]] * H[order[place]]
        count["scan"] += K
        scan.append(running)
    np.testing.assert_allclose(scan, direct, atol=1e-14)
    assert count == {"direct": K * n * (n + 1) // 2, "scan": K * n}  # O(K N^2) against O(K N)
    found = _kernels.boost.best_cut(order, f, signed, H, np.zeros(n), 1.0, 1.0, False, np.empty(0), False)
    assert found[3] == pytest.approx(np.max(direct), abs=1e-14)


def test_b12_a_round_touches_active_rows_only():
    random = np.random.default_rng(1)
    n, K = 100, 5
    f, signed, H = random.random(n), random.normal(size=n) / n, random.random((n, K))
    active = np.argsort(-f)[:30]
    poisoned, spoiled = np.full((n, K), np.nan), np.full(n, np.nan)
    poisoned[active], spoiled[active] = H[active], signed[active]
    for costs in (np.empty(0), random.random(K) * 0.01):
        arguments = (np.zeros(30), 1.0, 1.0, True, costs, False)
        assert _kernels.boost.best_cut(active, f, spoiled, poisoned, *arguments) == _kernels.boost.best_cut(
            active, f, signed, H, *arguments
        )


# B13: who passes the last test stands above all others.


@pytest.mark.parametrize("inverted", [True, False])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("alpha", ["closed", "exact"])
def test_b13_survivors_outrank_the_pruned(alpha, inclusive, inverted):
    cut_off = 0
    for seed in range(4):
        data = make_weak_models(1500, 20, random_state=seed)
        turn = np.where(np.arange(20) % 3 == 0, -1.0, 1.0) if inverted else np.ones(20)
        X = data.X * turn
        ranker = ImbalancedRankBoost(40, 1e-3, alpha=alpha, inclusive=inclusive, inverted=inverted)
        ranker.fit(X[::2], data.y[::2], data.qid[::2])
        assert ranker.inverted_.any() == inverted
        assert (ranker.alphas_ > 0).all()
        assert (np.diff(ranker.thresholds_) >= 0).all()
        far = X[1::2] + np.random.default_rng(seed).normal(size=X[1::2].shape)  # mostly outside of the range
        for rows in (X[::2], X[1::2], far):
            before, scores = ranker.truncated(len(ranker.features_) - 1).predict(rows), ranker.predict(rows)
            theta = ranker.thresholds_[-1]
            survives = before >= theta if inclusive else before > theta
            if survives.any() and not survives.all():
                assert scores[survives].min() > scores[~survives].max()
                cut_off += 1
            np.testing.assert_array_equal(scores[~survives], before[~survives])
    assert cut_off > 6


# B14: the exact step.


@pytest.mark.slow
@pytest.mark.parametrize("queries", [1, 4])
@pytest.mark.parametrize("grades", [2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_b14_newton_finds_the_minimum(seed, grades, queries):
    X, y, qid = problem(seed, grades=grades, queries=queries)
    f = 0.5 * X[:, 0]
    weights, rows = at_scores(f, y, qid)
    for h in (unit(X[:, 1]), 2 * unit(X[:, 2]) - 1, unit(X[:, 1]) * (f > 0), (X[:, 3] > 0).astype(float)):
        found = weights.exact_step(h[rows])
        expected = minimize_scalar(lambda a, h=h: np.log(pair_loss(f + a * h, y, qid)), bracket=(-1, 1), tol=1e-12)
        assert found == pytest.approx(expected.x, abs=1e-6)
        closed = np.arctanh(gain(f, unit(h), y, qid)) / np.ptp(h)
        assert pair_loss(f + found * h, y, qid) <= pair_loss(f + closed * h, y, qid) * (1 + 1e-12)
        if set(np.unique(h)) == {0.0, 1.0}:
            assert weights.binary_step(h[rows]) == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_b14_exact_steps_end_lower(weak):
    for seed in range(4):
        data = make_weak_models(1000, 20, random_state=seed)
        closed, exact = (
            RankBoost(60, weak, alpha=alpha, n_thresholds=None).fit(*data).log_losses_[-1]
            for alpha in ("closed", "exact")
        )
        assert exact < closed


def test_b14_in_imbalanced_rankboost():
    X, y, qid = problem(7, n=100, grades=3, queries=2)
    closed, exact = (ImbalancedRankBoost(1, alpha=alpha).fit(X, y, qid) for alpha in ("closed", "exact"))
    h = exact.predict(X) / exact.alphas_[0]
    expected = minimize_scalar(lambda a: np.log(pair_loss(a * h, y, qid)), bracket=(0, 1), tol=1e-12)
    assert exact.alphas_[0] == pytest.approx(expected.x, abs=1e-6)
    assert exact.log_losses_[0] < closed.log_losses_[0]
