"""Errata A1 to A12 of Yan & Hauptmann (2006): what holds, what does not, and that the library keeps to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloom.evaluation.metrics import evaluate
from rankloom.groups import group_rows, preference_pairs, preferences
from rankloom.rankers import (
    FullRankingLogisticRegression,
    LogisticRegressionRanker,
    MarginRanker,
    RankingLogisticRegression,
    RankSVM,
    pairwise_risk_bounds,
    rank_consistency,
)
from rankloom.rankers._risks import pair_risk
from rankloom.rankers.losses import LOSSES
from rankloom.rankers.margin import median_shift

FRLR, RLR = FullRankingLogisticRegression, RankingLogisticRegression


def separable(random, grades=2, queries=2, d=2, informative=0.0):
    """A small problem whose first feature alone orders every pair of each query, but not of all rows together."""
    sizes = random.integers(grades, 6, queries)
    qid = np.repeat(np.arange(queries), sizes)
    y = np.concatenate([np.r_[np.arange(grades), random.integers(0, grades, size - grades)] for size in sizes])
    X = 2.0 * random.normal(size=(len(y), d))
    X[:, 1] += informative * y
    for query in range(queries):
        rows = np.flatnonzero(qid == query)
        values = random.exponential(3.0, len(rows)) ** 2 if informative else X[rows, 0]
        X[rows[np.argsort(y[rows], kind="stable")], 0] = np.sort(values)
    X += 3.0 * random.normal(size=(queries, d))[qid]
    return X, y.astype(float), qid


def violations(ranker, n_problems, **kind):
    """In how many random problems the ranker contradicts a feature that orders all pairs."""
    random = np.random.default_rng(0)
    count = 0
    for _ in range(n_problems):
        X, y, qid = separable(random, **kind)
        ranker.set_params(nu=10 ** random.uniform(-2, 1))
        report = rank_consistency(ranker.fit(X, y, qid), X, y, qid, tol=1e-4)
        assert report.directions[0] == 1
        count += not report.consistent
    return count


# A1: the counts are those of the query.


def prox(f, y, qid, upper, lower):
    """RR_prox of eq. 4 for the logistic loss, with given counts of relevant and irrelevant rows of each query."""
    loss = LOSSES["logistic"].value
    return sum(
        lower[query] * loss(f[(qid == query) & (y > 0)]).sum()
        + upper[query] * loss(-f[(qid == query) & (y == 0)]).sum()
        for query in np.unique(qid)
    )


def test_a1_counts_are_those_of_the_query():
    random = np.random.default_rng(1)
    broken = 0
    for _ in range(400):
        sizes = random.integers(2, 12, 3)
        qid = np.repeat(np.arange(3), sizes)
        y = np.concatenate([np.r_[1, 0, random.random(size - 2) < random.uniform(0.1, 0.9)] for size in sizes])
        f = random.normal(size=len(y)) * random.choice([0.1, 1.0, 5.0]) + (2 * y - 1) * random.uniform(0, 4)
        upper, lower = (np.bincount(qid, y == grade) for grade in (1, 0))
        risk = sum(LOSSES["logistic"].value(f[j] - f[k]) for j, k in preference_pairs(y, qid))
        found = pairwise_risk_bounds([1.0], f[:, None], y, qid, shift="none")
        assert found.upper == pytest.approx(prox(f, y, qid, upper, lower))
        assert found.risk == pytest.approx(risk)
        assert found.upper >= risk * (1 - 1e-12)
        broken += prox(f, y, qid, np.full(3, upper.mean()), np.full(3, lower.mean())) < risk * (1 - 1e-9)
    assert broken > 0  # with mean counts it is no bound


def test_a1_queries_of_one_class_have_no_influence_at_all():
    random = np.random.default_rng(2)
    X, y, qid = separable(random)
    more = (
        np.vstack([X, 100 * random.normal(size=(7, 2))]),
        np.r_[y, np.ones(4), np.zeros(3)],
        np.r_[qid, [8] * 4, [9] * 3],
    )
    for ranker in (RLR(), RLR(shift="global"), FRLR(), RankSVM()):
        np.testing.assert_array_equal(ranker.fit(*more).coef_, ranker.fit(X, y, qid).coef_)


# A2: consistency needs a shift a query.

COUNTEREXAMPLE = (
    np.array([[-0.66, 4.24], [-1.61, -0.93], [-1.71, -0.04], [-1.75, 1.66], [3.47, 6.63], [2.56, 2.88]]),
    np.array([1, 0, 0, 0, 1, 0]),
    np.array([1, 1, 1, 1, 2, 2]),
)


def test_a2_global_shift_breaks_consistency():
    X, y, qid = COUNTEREXAMPLE
    paper = RLR(nu=0.0166, shift="global").fit(X, y, qid)  # the weights stated are those of more decimals
    np.testing.assert_allclose(paper.coef_, [-1.083, 3.331], atol=0.06)
    report = rank_consistency(paper, X, y, qid)
    assert [(v.feature, v.direction) for v in report.violations] == [(0, 1)]
    ours = RLR(nu=0.0166).fit(X, y, qid)
    np.testing.assert_allclose(ours.coef_, [2.026, 2.001], atol=0.06)
    assert rank_consistency(ours, X, y, qid).consistent


@pytest.mark.slow
def test_a2_random_problems():
    assert violations(RLR(shift="global"), 400) > 0
    assert violations(LogisticRegressionRanker(), 400) > 0
    assert violations(RLR(), 400) == 0
    assert violations(FRLR(), 400) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "ranker",
    [
        RLR(normalize="query"),
        FRLR(normalize="query"),
        RankSVM(),
        RankSVM(loss="squared_hinge"),
        MarginRanker("exponential"),
        MarginRanker("logistic", penalty="l1", tol=1e-10),
        MarginRanker("squared_hinge", "approximate"),
    ],
    ids=str,
)
def test_a2_consistency_of_the_family(ranker):
    assert violations(ranker, 60) == 0
    assert violations(ranker, 30, queries=4, d=4) == 0


def test_a2_a_shift_a_query_makes_offsets_of_queries_irrelevant():
    random = np.random.default_rng(3)
    X, y, qid = separable(random, queries=4)
    offsets = np.round(8 * random.normal(size=(4, 2)))[qid]
    X = np.round(64 * X) / 64  # so that adding the offsets is exact
    np.testing.assert_allclose(RLR().fit(X + offsets, y, qid).coef_, RLR().fit(X, y, qid).coef_, atol=1e-12)
    paper = RLR(shift="global")
    assert np.abs(paper.fit(X + offsets, y, qid).coef_ - paper.fit(X, y, qid).coef_).max() > 0.01


# A3: more than two grades.


@pytest.mark.slow
@pytest.mark.parametrize("queries", [1, 3])
def test_a3_with_three_grades_only_all_pairs_are_consistent(queries):
    assert violations(RLR(), 200, grades=3, queries=queries, informative=3.0) > 0
    assert violations(FRLR(), 200, grades=3, queries=queries, informative=3.0) == 0
    assert violations(RankSVM(), 50, grades=3, queries=queries, informative=3.0) == 0
    assert violations(RLR(), 200, grades=2, queries=queries, informative=3.0) == 0


def test_a3_rows_count_by_lower_and_higher_rows():
    y, qid = np.array([0, 1, 1, 2, 0, 5]), np.array([0, 0, 0, 0, 1, 1])
    prefs = preferences(y.astype(float), group_rows(qid, 6))
    lower, higher = np.zeros(6), np.zeros(6)
    lower[prefs.rows], higher[prefs.rows] = prefs.lower, prefs.higher
    assert lower.tolist() == [0, 1, 1, 3, 0, 1]
    assert higher.tolist() == [3, 1, 1, 0, 1, 0]


# A4: where the proof is valid.


def test_a4_a_feature_without_information_has_weight_zero():
    random = np.random.default_rng(4)
    X, y, qid = separable(random, queries=3)
    X = np.column_stack([X, 5.0 * random.normal(size=3)[qid]])  # constant within each query
    assert RLR(0.1).fit(X, y, qid).coef_[2] == 0.0
    for ranker in (FRLR(0.1), RankSVM(0.1), RankSVM(0.1, "squared_hinge"), MarginRanker("exponential", nu=0.1)):
        assert abs(ranker.fit(X, y, qid).coef_[2]) <= 1e-7
    assert abs(RLR(0.1, shift="global").fit(X, y, qid).coef_[2]) > 1e-6
    assert 2 not in rank_consistency(np.ones(3), X, y, qid).directions


def test_a4_ties_are_fine():
    random = np.random.default_rng(5)
    for _ in range(100):
        X, y, qid = separable(random)
        X[:, 0] = y * (random.random(2) < 0.7)[qid]  # 0 or 1, and constant in some queries
        if not X[:, 0].any():
            continue
        for ranker in (RLR(0.1), FRLR(0.1)):
            assert rank_consistency(ranker.fit(X, y, qid), X, y, qid, tol=1e-6).violations == ()


def test_a4_a_penalty_that_sees_signs_can_break_it():
    X, y, qid = separable(np.random.default_rng(6))
    biased = MarginRanker(penalty=lambda w: (float((w + 9.0) @ (w + 9.0)), 2 * (w + 9.0)), nu=100.0)
    assert not rank_consistency(biased.fit(X, y, qid), X, y, qid).consistent


# A5: the condition of Theorem 2.


@pytest.mark.parametrize(
    ("name", "share"), [("logistic", 0.0), ("hinge", 0.0), ("squared_hinge", 0.2), ("exponential", 0.2)]
)
def test_a5_pair_bounds_hold_for_logistic_and_hinge_only(name, share):
    random = np.random.default_rng(7)
    a, b = 4 * random.normal(size=(2, 100_000))
    loss = LOSSES[name].value
    outside = loss(a) + loss(b) < loss(a + b) * (1 - 1e-12) - 1e-12
    assert outside.mean() == 0.0 if share == 0.0 else outside.mean() > share
    if share == 0.0:
        lower = 0.5 * (loss(a) + loss(b) - loss(-a) - loss(-b))
        assert (lower <= loss(a + b) + 1e-12).all()
    assert LOSSES[name].subadditive == (share == 0.0)


@pytest.mark.parametrize(("name", "threshold"), [("exponential", -2 * np.log(2)), ("squared_hinge", -np.sqrt(2))])
def test_a5_the_condition_fails_from_the_stated_threshold(name, threshold):
    loss = LOSSES[name].value
    x = np.arange(-40_000, 40_000) / 10_000
    fails = x[2 * loss(x / 2) < loss(x)]
    assert fails.max() == pytest.approx(threshold, abs=1.1e-4)
    assert (2 * loss(x / 2) >= loss(x))[x > threshold].all()


def test_a5_the_zero_one_loss_has_the_bounds_without_being_convex():
    a, b = 4 * np.random.default_rng(7).normal(size=(2, 100_000))

    def loss(x):
        return (x <= 0).astype(float)

    assert (2 * loss(a / 2) >= loss(a)).all()
    assert (loss(a) + loss(b) >= loss(a + b)).all()
    assert (0.5 * (loss(a) + loss(b) - loss(-a) - loss(-b)) <= loss(a + b)).all()
    assert (loss((a + b) / 2) > (loss(a) + loss(b)) / 2).any()


# A6: the lower bound of the logistic loss.


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["query", "global", "none"]))
def test_a6_the_lower_bound_is_minus_half_of_the_margins(seed, shift):
    random = np.random.default_rng(seed)
    X, y, qid = separable(random, grades=3, queries=3)
    w = random.normal(size=2)
    f = X @ w
    margins = np.array([f[j] - f[k] for j, k in preference_pairs(y, qid)])
    bounds = pairwise_risk_bounds(w, X, y, qid, shift=shift)
    assert bounds.lower == pytest.approx(-0.5 * margins.sum(), abs=1e-10 * np.abs(margins).sum())
    assert bounds.risk == pytest.approx(LOSSES["logistic"].value(margins).sum())


# A7: the constant, and the medians.


def test_a7_the_tight_constant_is_twice_log_two():
    x = np.linspace(-50, 50, 100_001)
    both = LOSSES["logistic"].value(x) + LOSSES["logistic"].value(-x)
    assert (both <= 2 * np.log(2) + np.abs(x) + 1e-12).all()
    assert (both - np.abs(x)).max() == pytest.approx(2 * np.log(2), abs=1e-12)


@pytest.mark.parametrize("shift", ["query", "global"])
def test_a7_medians_minimise_the_absolute_distances(shift):
    random = np.random.default_rng(8)
    X, y, qid = separable(random, grades=3, queries=3)
    prefs = preferences(y, group_rows(qid, len(y)))
    rows, weight = X[prefs.rows], prefs.weight * (prefs.lower + prefs.higher)
    alpha = np.broadcast_to(median_shift(rows, prefs, shift), rows.shape)
    least = weight @ np.abs(rows - alpha)
    for query in np.unique(prefs.query) if shift == "query" else [None]:
        chosen = np.ones(len(rows), dtype=bool) if query is None else prefs.query == query
        for candidate in rows[chosen]:  # an optimum lies at one of the values
            moved = np.where(chosen[:, None], candidate, alpha)
            assert (weight @ np.abs(rows - moved) >= least - 1e-9).all()


def test_a7_medians_of_single_features_are_best_for_a_bound_only():
    """The distance of scores from a shift is least at the median of the scores, not at that of each feature."""
    random = np.random.default_rng(9)
    X, y = random.exponential(size=(40, 2)), np.arange(40) % 2.0
    prefs = preferences(y, group_rows(None, 40))
    rows, weight = X[prefs.rows], prefs.lower + prefs.higher
    w = np.array([1.0, 1.0])
    by_feature = weight @ np.abs(rows @ w - median_shift(rows, prefs, "global")[0] @ w)
    by_score = weight @ np.abs(rows @ w - median_shift((rows @ w)[:, None], prefs, "global")[0, 0])
    assert by_score < 0.98 * by_feature
    assert by_feature <= weight @ np.abs(rows - median_shift(rows, prefs, "global")) @ np.abs(w)


# A8: linear losses.


@pytest.mark.parametrize(("constant", "equal"), [(0.0, True), (1.0, False)])
def test_a8_all_parts_are_equal_for_a_linear_loss_without_constant(constant, equal):
    random = np.random.default_rng(9)
    X, y, qid = separable(random, grades=3, queries=3)
    bounds = pairwise_risk_bounds(
        random.normal(size=2), X, y, qid, loss=lambda x: (constant - 2 * x, np.full_like(x, -2.0))
    )
    assert (bounds.upper == pytest.approx(bounds.risk)) == equal
    assert (bounds.lower == pytest.approx(bounds.risk)) == equal


# A9: the median of the repeated values.


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=15))
def test_a9_the_shift_is_the_lower_median_of_the_repeated_values(table):
    qid, y, x = (np.array(column) for column in zip(*table, strict=True))
    prefs = preferences(y.astype(float), group_rows(qid, len(y)))
    if not len(prefs.rows):
        return
    rows = x[prefs.rows, None].astype(float)
    repeated = {}
    for row in prefs.rows:
        others = np.sum((qid == qid[row]) & (y != y[row]))
        repeated.setdefault(qid[row], []).extend([x[row]] * int(others))

    def lower_median(values):
        return sorted(values)[(len(values) - 1) // 2]

    assert median_shift(rows, prefs, "global")[0, 0] == lower_median(np.concatenate(list(repeated.values())))
    found = median_shift(rows, prefs, "query")[:, 0]
    assert found.tolist() == [lower_median(repeated[qid[row]]) for row in prefs.rows]


# A10: tau, swaps and average precision.


@pytest.mark.slow
def test_a10_tau_counts_swaps_and_they_bound_average_precision():
    random = np.random.default_rng(10)
    slack = np.inf
    for _ in range(500):
        n = int(random.integers(2, 12))
        grade, f = random.permutation(n), random.permutation(n) / 3.0
        found = evaluate(grade, f, None, ["tau", "swaps"])
        swapped = sum(f[j] < f[k] for j, k in preference_pairs(grade))
        assert found["swaps"] == swapped
        assert found["tau"] == pytest.approx(1 - 4 * swapped / (n * (n - 1)))
        y = np.r_[1, 0, random.random(n - 2) < 0.4].astype(int)
        found, relevant = evaluate(y, f, None, ["AP", "swaps"]), y.sum()
        ranks = 1 + np.array([(f > score).sum() for score in f[y == 1]])
        assert found["swaps"] == ranks.sum() - relevant * (relevant + 1) / 2  # few swaps are low mean ranks
        below = np.sqrt(np.arange(1, relevant + 1)).sum() ** 2
        bound = below / (relevant * (found["swaps"] + relevant * (relevant + 1) / 2))
        assert found["AP"] >= bound - 1e-12
        slack = min(slack, found["AP"] - bound)
    assert slack == pytest.approx(0.0, abs=1e-12)


def test_a10_a_tied_pair_is_swapped_in_the_worst_case():
    assert evaluate([1, 0], [0.5, 0.5], None, "swaps", "trec")["swaps"] == 1.0
    assert evaluate([1, 0], [0.5, 0.5], None, "swaps", "sklearn")["swaps"] == 0.5


# A11: what nu means.


@pytest.mark.parametrize("ranker", [FRLR, RLR, RankSVM])
def test_a11_normalised_by_query_nu_does_not_depend_on_the_number_of_pairs(ranker):
    random = np.random.default_rng(11)
    X, y, qid = separable(random, queries=3)
    y = np.where(random.random(len(y)) < 0.2, 1 - y, y)
    twice = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(qid, 2)  # four times the pairs

    def coef(nu, normalize, data):
        return ranker(nu, normalize=normalize, tol=1e-8).fit(*data).coef_

    np.testing.assert_allclose(coef(0.3, "query", twice), coef(0.3, "query", (X, y, qid)), atol=1e-3)
    np.testing.assert_allclose(coef(1.2, "pairs", twice), coef(0.3, "pairs", (X, y, qid)), atol=1e-3)
    assert np.abs(coef(0.3, "pairs", twice) - coef(0.3, "pairs", (X, y, qid))).max() > 0.01


def test_a11_every_query_weighs_the_same():
    y, qid = np.array([1, 0, 1, 1, 0, 0, 0]), np.array([0, 0, 1, 1, 1, 1, 1])
    prefs = preferences(y.astype(float), group_rows(qid, 7), normalize="query")
    assert (prefs.scale * prefs.lower)[prefs.query == 0].sum() == pytest.approx(1.0)
    assert (prefs.scale * prefs.lower)[prefs.query == 1].sum() == pytest.approx(1.0)


# A12: exact over all pairs, with an absolute error.


@pytest.mark.parametrize("gap", [0.0, 5.0, 20.0, 30.0, 36.0])
def test_a12_the_error_is_absolute_and_proportional_to_the_pairs(gap):
    n = 1500
    y = np.repeat([1.0, 0.0], n)
    f = np.random.default_rng(12).uniform(0, 1, 2 * n) + gap * y
    risk = pair_risk(f[:, None], preferences(y, group_rows(None, 2 * n)), LOSSES["logistic"])
    value, gradient = risk.by_score(f)
    margins = f[:n, None] - f[None, n:]
    exact = LOSSES["logistic"].value(margins).sum()
    assert abs(value - exact) <= 4e-16 * n * n * max(1.0, exact / (n * n) * 10)
    slopes = LOSSES["logistic"].derivative(margins)
    assert np.abs(gradient[:n] - slopes.sum(axis=1)).max() <= 4e-15 * n
    assert np.abs(gradient[n:] + slopes.sum(axis=0)).max() <= 4e-15 * n
