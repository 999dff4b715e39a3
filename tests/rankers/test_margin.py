"""The rankers of the margin framework against scikit-learn and scipy on explicit pairs and rows."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rankloom.datasets import make_ranking
from rankloom.groups import group_rows, preferences
from rankloom.rankers import (
    FullRankingLogisticRegression,
    LogisticRegressionRanker,
    MarginRanker,
    RankingLogisticRegression,
    RankSVM,
)
from rankloom.rankers._risks import pair_risk
from rankloom.rankers._solve import smoothed_newton
from rankloom.rankers.losses import LOSSES, MarginLoss, smoothed_hinge

FRLR, RLR, LR = FullRankingLogisticRegression, RankingLogisticRegression, LogisticRegressionRanker


def make(n=60, d=4, grades=2, queries=1, seed=0):
    """Noisy rows in any order; with several queries also offsets that only pooled learners see."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    qid = random.integers(0, queries, n)
    utility = X[:, 0] - 0.5 * X[:, 1] + random.normal(size=n)
    y = np.digitize(utility, np.quantile(utility, np.arange(1, grades) / grades)).astype(float)
    y[:2], qid[:2] = (0, grades - 1), 0
    return X + random.normal(size=(queries, d))[qid], y, qid


# Every objective of the framework is sum_i c_i L(M_i . w) + nu * penalty(w), written out here with loops.


def slow_pairs(X, y, qid, weight=None, query_weight=None, normalize="pairs"):
    """One row of M a pair."""
    weight = np.ones(len(y)) if weight is None else weight
    margins, counts = [], []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        pairs = [(j, k) for j in rows for k in rows if y[j] > y[k]]
        found = np.array([weight[j] * weight[k] for j, k in pairs])
        if normalize == "query" and found.sum():
            found = found / found.sum()
        margins += [X[j] - X[k] for j, k in pairs]
        counts += (found * (1.0 if query_weight is None else query_weight[query])).tolist()
    return np.array(margins), np.array(counts)


def slow_median(values, weight):
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    return values[order][np.flatnonzero(below >= below[-1] / 2 - 1e-9 * below[-1])[0]]


def slow_rows(X, y, qid, shift="query", weight=None, query_weight=None, normalize="pairs"):
    """Two rows of M a row: as the preferred one of its pairs, and as the other."""
    weight = np.ones(len(y)) if weight is None else weight
    same = qid[:, None] == qid[None, :]
    lower = (same & (y[:, None] > y[None, :])) @ weight
    higher = (same & (y[:, None] < y[None, :])) @ weight
    scale = np.ones(len(y))
    for query in np.unique(qid):
        rows = qid == query
        total = (weight * lower)[rows].sum()
        scale[rows] = (1.0 if query_weight is None else query_weight[query]) / (
            total if normalize == "query" and total else 1.0
        )
    counts = weight * (lower + higher)
    Z = np.array(X)
    for c in range(X.shape[1]):
        if shift == "global":
            Z[:, c] -= slow_median(X[:, c], counts * scale)
        elif shift == "query":
            for query in np.unique(qid[counts > 0]):
                rows = qid == query
                Z[rows, c] -= slow_median(X[rows, c], counts[rows])
    return np.vstack([Z, -Z]), np.r_[weight * lower * scale, weight * higher * scale]


def slow_points(X, y, qid):
    """Rows with an intercept, more or less relevant; of queries that hold two grades."""
    rows = np.array([len(set(y[qid == query])) > 1 for query in qid])
    Z = np.column_stack([X, np.ones(len(X))])[rows]
    relevance = (y[rows] - y[rows].min()) / np.ptp(y[rows])
    return np.vstack([Z, -Z]), np.r_[relevance, 1 - relevance]


SLOW = {"all": slow_pairs, "approximate": slow_rows, "pointwise": slow_points}


def value(w, M, c, loss, nu, penalty):
    return float(c @ loss.value(M @ w)) + nu * penalty(w)


def scipy_minimum(M, c, loss, nu, penalty, slope):
    """The least value and its weights, by L-BFGS from 0 and again from there; with the l1 norm on w = p - n."""
    d = M.shape[1]

    def smooth(w):
        return value(w, M, c, loss, nu, penalty), M.T @ (c * loss.derivative(M @ w)) + nu * slope(w)

    def split(v):
        f, g = value(v[:d] - v[d:], M, c, loss, 0.0, penalty), M.T @ (c * loss.derivative(M @ (v[:d] - v[d:])))
        penalised = slope(np.ones(d))
        return f + nu * penalised @ (v[:d] + v[d:]), np.r_[g + nu * penalised, nu * penalised - g]

    sparse = penalty is L1[0] or penalty is L1_FREE[0]
    w = np.zeros(2 * d if sparse else d)
    for _ in range(6):
        options = {"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 30}
        bounds = [(0, None)] * (2 * d) if sparse else None
        w = minimize(split if sparse else smooth, w, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    w = w[:d] - w[d:] if sparse else w
    return value(w, M, c, loss, nu, penalty), w


L2 = (lambda w: float(w @ w), lambda w: 2 * w)
L1 = (lambda w: float(np.abs(w).sum()), np.sign)
L2_FREE = (lambda w: L2[0](w[:-1]), lambda w: np.r_[2 * w[:-1], 0.0])
L1_FREE = (lambda w: L1[0](w[:-1]), lambda w: np.r_[np.sign(w[:-1]), 0.0])
MINE = (lambda w: float(np.sum(w**4 + w**2)), lambda w: 4 * w**3 + 2 * w)
MINE_FREE = (lambda w: MINE[0](w[:-1]), lambda w: np.r_[MINE[1](w[:-1]), 0.0])
PENALTIES = {"l2": ("l2", L2), "l1": ("l1", L1), "mine": (lambda w: (MINE[0](w), MINE[1](w)), MINE)}


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("pairs", ["all", "approximate", "pointwise"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "mine"])
def test_every_objective_is_minimised(loss, pairs, penalty):
    X, y, qid = make(n=50, grades=3, queries=4, seed=1)
    nu = 0.7
    given, reference = PENALTIES[penalty]
    if pairs == "pointwise":
        reference = {"l2": L2_FREE, "l1": L1_FREE, "mine": MINE_FREE}[penalty]
    tol = 1e-6 if loss == "hinge" and penalty == "l2" else 1e-10
    ranker = MarginRanker(loss, pairs, nu=nu, penalty=given, tol=tol, max_iter=1000).fit(X, y, qid)
    M, c = SLOW[pairs](X, y, qid)
    if loss == "hinge":
        # The smoothed hinge is below the hinge by at most half of its width: both sides of the true minimum.
        width = 1e-4
        least, w = scipy_minimum(M, c, smoothed_hinge(width), nu, *reference)
        most = least + c.sum() * width / 2 + (0.0 if penalty == "l2" else c.sum() * 1e-3 / 2)
        weights = ranker.coef_ if pairs != "pointwise" else np.r_[ranker.coef_, best_intercept(M, c, ranker.coef_)]
        ours = value(weights, M, c, LOSSES[loss], nu, reference[0])
        assert least * (1 - 1e-9) <= ours <= most * (1 + tol)
    else:
        least, w = scipy_minimum(M, c, LOSSES[loss], nu, *reference)
        assert ranker.objective_ == pytest.approx(least, rel=1e-8)
        np.testing.assert_allclose(ranker.coef_, w[: X.shape[1]], atol=2e-5)


def best_intercept(M, c, coef):
    """The best intercept of the hinge is at one of its kinks."""
    n = len(M) // 2
    scores = M[:n, :-1] @ coef
    candidates = np.r_[1 - scores, -1 - scores]
    losses = [value(np.r_[coef, b], M, c, LOSSES["hinge"], 0.0, L2[0]) for b in candidates]
    return candidates[int(np.argmin(losses))]


# scikit-learn as the oracle.


def sklearn_pairs(M, c, nu):
    """Logistic regression without intercept on pairs, every second one turned round."""
    sign = np.where(np.arange(len(M)) % 2, -1.0, 1.0)
    model = LogisticRegression(C=1 / (2 * nu), fit_intercept=False, tol=1e-12, max_iter=1000, solver="newton-cholesky")
    return model.fit(M * sign[:, None], sign > 0, sample_weight=c).coef_[0]


@pytest.mark.parametrize("normalize", ["pairs", "query"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("grades", "queries"), [(2, 1), (2, 5), (5, 1), (5, 5), (60, 2)])
@pytest.mark.parametrize("nu", [0.01, 3.0])
def test_frlr_equals_scikit_learn_on_pairs(grades, queries, weighted, normalize, nu):
    X, y, qid = make(grades=grades, queries=queries, seed=2)
    random = np.random.default_rng(3)
    weight = random.uniform(0.2, 2.0, len(y)) if weighted else None
    by_query = dict(enumerate(random.uniform(0.5, 2.0, queries))) if weighted else None
    ranker = FRLR(nu, normalize=normalize).fit(X, y, qid, sample_weight=weight, query_weight=by_query)
    M, c = slow_pairs(X, y, qid, weight, by_query, normalize)
    np.testing.assert_allclose(ranker.coef_, sklearn_pairs(M, c, nu), atol=1e-6)
    assert ranker.objective_ == pytest.approx(value(ranker.coef_, M, c, LOSSES["logistic"], nu, L2[0]), rel=1e-8)


@pytest.mark.parametrize("shift", ["query", "global", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("normalize", ["pairs", "query"])
@pytest.mark.parametrize(("grades", "queries"), [(2, 1), (2, 5), (4, 5)])
def test_rlr_equals_scikit_learn_on_shifted_rows(shift, weighted, normalize, grades, queries):
    X, y, qid = make(n=60, grades=grades, queries=queries, seed=4)
    weight = np.random.default_rng(5).integers(1, 4, len(y)).astype(float) if weighted else None
    by_query = {0: 2.0} | dict.fromkeys(range(1, queries), 0.5) if weighted else None
    nu = 0.3
    ranker = RLR(nu, shift, normalize=normalize).fit(X, y, qid, sample_weight=weight, query_weight=by_query)
    M, c = slow_rows(X, y, qid, shift, weight, by_query, normalize)
    n = len(X)
    model = LogisticRegression(C=1 / (2 * nu), fit_intercept=False, tol=1e-12, max_iter=1000, solver="newton-cholesky")
    model.fit(np.vstack([M[:n], M[:n]]), np.repeat([1, 0], n), sample_weight=c)
    np.testing.assert_allclose(ranker.coef_, model.coef_[0], atol=1e-6)
    assert ranker.objective_ == pytest.approx(value(ranker.coef_, M, c, LOSSES["logistic"], nu, L2[0]), rel=1e-8)


def test_lr_equals_scikit_learn_with_an_intercept():
    X, y, qid = make(n=200, queries=6, seed=6)
    weight = np.random.default_rng(7).uniform(0.2, 2.0, len(y))
    model = LogisticRegression(C=1 / (2 * 0.8), tol=1e-12, max_iter=1000, solver="newton-cholesky")
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(LR(0.8).fit(X, y, qid, sample_weight=weight).coef_, model.coef_[0], atol=1e-6)


@pytest.mark.parametrize(("grades", "queries"), [(2, 1), (4, 5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_ranksvm_equals_scikit_learn_on_pairs(grades, queries, weighted):
    X, y, qid = make(grades=grades, queries=queries, seed=8)
    weight = np.random.default_rng(9).uniform(0.2, 2.0, len(y)) if weighted else None
    M, c = slow_pairs(X, y, qid, weight)
    sign = np.where(np.arange(len(M)) % 2, -1.0, 1.0)
    model = LinearSVC(C=1 / (2 * 0.5), loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10, max_iter=10000)
    expected = model.fit(M * sign[:, None], sign > 0, sample_weight=c).coef_[0]
    ranker = RankSVM(0.5, "squared_hinge", tol=1e-10).fit(X, y, qid, sample_weight=weight)
    np.testing.assert_allclose(ranker.coef_, expected, atol=1e-6)


# RankSVM and its certificate.


def dual_bounds(M, c, nu):
    """Both sides of the hinge's minimum, from the dual max sum(a) - |M'a|^2 / (4 nu), 0 <= a <= c.

    By an interior point method: Newton steps on the dual less mu (log a + log(c - a)), with mu going to 0.
    """

    def barrier(a, mu):
        s = M.T @ a
        return float(s @ s) / (4 * nu) - a.sum() - mu * (np.log(a).sum() + np.log(c - a).sum())

    a, mu = c / 2, 1.0
    while mu > 1e-11 * c.sum() / len(c):
        for _ in range(100):
            gradient = M @ (M.T @ a) / (2 * nu) - 1.0 - mu / a + mu / (c - a)
            step = np.linalg.solve(M @ M.T / (2 * nu) + np.diag(mu / a**2 + mu / (c - a) ** 2), -gradient)
            if -gradient @ step < 1e-3 * mu:
                break
            length = 1.0
            while (
                (inside := a + length * step).min() <= 0
                or (c - inside).min() <= 0
                or (barrier(inside, mu) > barrier(a, mu) + 0.1 * length * gradient @ step)
            ):
                length /= 2
                if length < 1e-12:  # rounding is all that is left
                    inside = a
                    break
            a = inside
            if length < 1e-12:
                break
        mu *= 0.2
    w = M.T @ a / (2 * nu)
    return a.sum() - nu * float(w @ w), value(w, M, c, LOSSES["hinge"], nu, L2[0])


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-7])
@pytest.mark.parametrize(("grades", "weighted"), [(2, False), (4, True)])
def test_the_gap_of_ranksvm_is_a_true_bound(nu, tol, grades, weighted):
    X, y, qid = make(n=30, grades=grades, queries=2, seed=10)
    weight = np.random.default_rng(11).uniform(0.2, 2.0, len(y)) if weighted else None
    ranker = RankSVM(nu, tol=tol).fit(X, y, qid, sample_weight=weight)
    M, c = slow_pairs(X, y, qid, weight)
    lower, upper = dual_bounds(M, c, nu)
    assert 0 <= upper - lower <= 1e-8 * upper  # the oracle has converged
    assert ranker.objective_ == pytest.approx(value(ranker.coef_, M, c, LOSSES["hinge"], nu, L2[0]), rel=1e-12)
    assert 0 <= ranker.gap_ <= tol * ranker.objective_
    rounding = 1e-9 * upper
    assert ranker.objective_ >= lower - rounding  # no objective is below the minimum
    assert ranker.objective_ - ranker.gap_ <= upper + rounding  # and no certified bound is above it


def test_ranksvm_equals_linear_svc():
    X, y, qid = make(n=40, queries=2, seed=12)
    M, c = slow_pairs(X, y, qid)
    sign = np.where(np.arange(len(M)) % 2, -1.0, 1.0)
    model = LinearSVC(C=1 / (2 * 2.0), loss="hinge", fit_intercept=False, tol=1e-7, max_iter=10**6, random_state=0)
    expected = model.fit(M * sign[:, None], sign > 0).coef_[0]
    ranker = RankSVM(2.0, tol=1e-8).fit(X, y, qid)
    np.testing.assert_allclose(ranker.coef_, expected, atol=1e-3)
    assert ranker.objective_ <= value(expected, M, c, LOSSES["hinge"], 2.0, L2[0]) * (1 + 1e-8)


def test_the_objective_without_certificate_is_the_one_of_the_weights():
    X, y, qid = make(grades=3, queries=3, seed=13)
    M, c = slow_pairs(X, y, qid)
    for loss in ("logistic", "squared_hinge", "exponential"):
        for tol in (1e-3, 1e-8):
            ranker = MarginRanker(loss, nu=0.5, tol=tol).fit(X, y, qid)
            actual = value(ranker.coef_, M, c, LOSSES[loss], 0.5, L2[0])
            assert abs(ranker.objective_ - actual) <= 2 * tol * actual


# Losses and penalties of one's own.


@pytest.mark.parametrize("pairs", ["all", "approximate", "pointwise"])
@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "exponential"])
def test_a_loss_of_ones_own_equals_the_named_one(pairs, name):
    X, y, qid = make(grades=3, queries=3, seed=14)
    named = LOSSES[name]

    def function(x):
        return named.value(x), named.derivative(x)

    expected = MarginRanker(name, pairs, tol=1e-12).fit(X, y, qid)
    for loss in (function, MarginLoss("mine", named.value, named.derivative)):
        ranker = MarginRanker(loss, pairs, tol=1e-12).fit(X, y, qid)
        np.testing.assert_allclose(ranker.coef_, expected.coef_, atol=1e-5)
        assert ranker.objective_ == pytest.approx(expected.objective_, rel=1e-9)


def test_a_loss_of_ones_own_may_have_a_curvature():
    X, y, qid = make(grades=3, queries=3, seed=14)
    named = LOSSES["logistic"]
    mine = MarginLoss("mine", named.value, named.derivative, named.curvature)
    for pairs in ("approximate", "pointwise", "all"):
        expected = MarginRanker("logistic", pairs, tol=1e-12).fit(X, y, qid).coef_
        np.testing.assert_allclose(MarginRanker(mine, pairs, tol=1e-12).fit(X, y, qid).coef_, expected, atol=1e-5)


@pytest.mark.parametrize("pairs", ["all", "approximate"])
def test_a_penalty_of_ones_own_equals_the_named_one(pairs):
    X, y, qid = make(grades=3, queries=3, seed=15)
    mine = MarginRanker("logistic", pairs, penalty=lambda w: (w @ w, 2 * w), nu=2.0, tol=1e-12).fit(X, y, qid)
    named = MarginRanker("logistic", pairs, nu=2.0, tol=1e-12).fit(X, y, qid)
    np.testing.assert_allclose(mine.coef_, named.coef_, atol=1e-6)


@pytest.mark.parametrize("pairs", ["all", "approximate"])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "exponential"])
def test_l1_gives_exact_zeros_at_a_true_optimum(pairs, loss):
    X, y, qid = make(n=80, d=10, grades=3, queries=3, seed=16)
    M, c = SLOW[pairs](X, y, qid)
    nu = 0.3 * np.abs(M.T @ (c * LOSSES[loss].derivative(np.zeros(len(M))))).max()
    ranker = MarginRanker(loss, pairs, nu=nu, penalty="l1", tol=1e-10).fit(X, y, qid)
    zero = ranker.coef_ == 0.0
    assert 0 < zero.sum() < 10
    # 0 is in the subdifferential: slope -nu sign(w) where w is not 0, within +-nu where it is.
    slope = M.T @ (c * LOSSES[loss].derivative(M @ ranker.coef_))
    np.testing.assert_allclose(slope[~zero], -nu * np.sign(ranker.coef_[~zero]), rtol=1e-4)
    assert (np.abs(slope[zero]) <= nu * (1 + 1e-6)).all()
    all_zero = MarginRanker(loss, pairs, nu=4 * nu, penalty="l1").fit(X, y, qid)
    assert not all_zero.coef_.any()


# Weights, order, names.

RANKERS = [
    FRLR(0.5),
    FRLR(0.5, normalize="query"),
    RLR(0.5),
    RLR(0.5, "global"),
    RLR(0.5, normalize="query"),
    RankSVM(0.5, tol=1e-7),
    RankSVM(0.5, "squared_hinge"),
    MarginRanker("exponential", nu=0.5),
    MarginRanker("hinge", "approximate", nu=0.5, tol=1e-5),
    MarginRanker("squared_hinge", penalty="l1", nu=0.5, tol=1e-11),
    LR(0.5),
]
rankers = pytest.mark.parametrize("ranker", RANKERS, ids=str)


def fitted(ranker, *arguments, **weights):
    """The weights, and how far they may be from the optimum: J(w) - J* >= nu |w - w*|^2."""
    ranker.fit(*arguments, **weights)
    hinge = getattr(ranker, "loss", "") == "hinge"
    return ranker.coef_, np.sqrt(ranker.gap_ / ranker.nu) if hinge else 1e-5


def assert_same(found, expected):
    (one, one_error), (other, other_error) = found, expected
    assert np.abs(one - other).max() <= (one_error + other_error) * (1 + np.abs(other).max())


def assert_differ(found, expected):
    assert np.abs(found[0] - expected[0]).max() > 1e-3


@rankers
def test_a_weight_is_a_repetition_of_rows(ranker):
    X, y, qid = make(n=50, grades=3, queries=3, seed=17)
    counts = np.random.default_rng(18).integers(0, 4, len(y))
    weighted = fitted(ranker, X, y, qid, sample_weight=counts)
    assert_same(weighted, fitted(ranker, np.repeat(X, counts, axis=0), np.repeat(y, counts), np.repeat(qid, counts)))
    assert_differ(weighted, fitted(ranker, X, y, qid))


@rankers
def test_a_query_weight_is_a_repetition_of_queries(ranker):
    X, y, qid = make(n=50, grades=3, queries=4, seed=19)
    times = {0: 1, 1: 3, 2: 0, 3: 2}
    weighted = fitted(ranker, X, y, qid, query_weight=times)
    assert_same(fitted(ranker, X, y, qid, query_weight=[times[query] for query in qid]), weighted)
    copies = [(row, (int(qid[row]), copy)) for row in range(len(y)) for copy in range(times[qid[row]])]
    rows = [row for row, _ in copies]
    assert_same(weighted, fitted(ranker, X[rows], y[rows], [name for _, name in copies]))
    assert_differ(weighted, fitted(ranker, X, y, qid))


@rankers
def test_order_of_rows_and_names_of_queries_do_not_matter(ranker):
    X, y, qid = make(n=60, grades=3, queries=4, seed=20)
    expected = fitted(ranker, X, y, qid)
    shuffled = np.random.default_rng(21).permutation(len(y))
    assert_same(fitted(ranker, X[shuffled], y[shuffled], qid[shuffled]), expected)
    names = [("z", 1), "a", 7.5, frozenset()]
    assert_same(fitted(ranker, X, y, [names[number] for number in qid]), expected)
    assert_same(fitted(ranker, X, y, [f"query {9 - number}" for number in qid]), expected)


@rankers
def test_only_the_order_of_grades_matters_to_pairs(ranker):
    if isinstance(ranker, LR):
        pytest.skip("a classifier reads grades as numbers")
    X, y, qid = make(n=60, grades=4, queries=3, seed=22)
    assert_same(fitted(ranker, X, np.exp(3 * y) - 1e5, qid), fitted(ranker, X, y, qid))


@rankers
def test_queries_of_one_grade_teach_nothing(ranker):
    X, y, qid = make(n=60, grades=3, queries=4, seed=23)
    more = np.vstack([X, 50 + X[:5], X[:1] - 90])
    found = fitted(ranker, more, np.r_[y, np.ones(5), 2.0], np.r_[qid, np.full(5, 99), 100])
    assert_same(found, fitted(ranker, X, y, qid))


@rankers
def test_fit_changes_no_argument(ranker):
    X, y, qid = make(n=60, grades=3, queries=4, seed=24)
    order = np.lexsort((-y, qid))  # the layout of the kernels: no copy is made
    for rows in (order, np.arange(60)):
        given = np.ascontiguousarray(X[rows]), y[rows].copy(), qid[rows].copy(), np.ones(60)
        copies = [array.copy() for array in given]
        ranker.fit(given[0], given[1], given[2], sample_weight=given[3])
        for array, before in zip(given, copies, strict=True):
            np.testing.assert_array_equal(array, before)


# Edges.


@rankers
@pytest.mark.parametrize("qid", [None, [1, 1, 2, 2, 3]])
def test_nothing_to_learn_from(ranker, qid):
    y = np.ones(5) if qid is None else [1, 1, 0, 0, 2]
    with pytest.warns(UserWarning, match="no query has rows of two grades"):
        ranker.fit(np.arange(10.0).reshape(5, 2), y, qid)
    assert ranker.coef_.tolist() == [0.0, 0.0]
    assert ranker.predict([[1.0, 2.0]]).tolist() == [0.0]


@pytest.mark.parametrize(
    "ranker", [FRLR(0), RLR(0), LR(0), RankSVM(0, "squared_hinge"), MarginRanker("exponential", nu=0)], ids=str
)
def test_no_penalty_on_separable_data_ends(ranker):
    X = np.column_stack([np.arange(20.0), np.tile([0.0, 1.0], 10)])
    y = (np.arange(20) >= 10).astype(float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(X, y)
    assert {w.category for w in caught} <= {ConvergenceWarning}
    assert np.isfinite(ranker.coef_).all()
    assert (ranker.predict(X)[10:].min()) > ranker.predict(X)[:10].max()


@pytest.mark.parametrize("ranker", [FRLR(0), RLR(0), RankSVM(0, "squared_hinge"), LR(0)], ids=str)
def test_no_penalty_on_dependent_features(ranker):
    X, y, qid = make(n=80, d=2, grades=2, queries=2, seed=25)
    alone = ranker.fit(X, y, qid).predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both = ranker.fit(np.column_stack([X, X[:, 0], np.full(80, 3.0)]), y, qid)
    scores = both.predict(np.column_stack([X, X[:, 0], np.full(80, 3.0)]))
    np.testing.assert_allclose(scores - scores.mean(), alone - alone.mean(), atol=1e-3)


def test_too_few_steps_warn():
    X, y, qid = make(n=60, grades=3, queries=2, seed=26)
    with pytest.warns(ConvergenceWarning, match=r"RankSVM stopped after 2 steps.*raise max_iter, tol or nu"):
        RankSVM(1e-3, tol=1e-9, max_iter=2).fit(X, y, qid)
    with pytest.warns(ConvergenceWarning, match="FullRankingLogisticRegression stopped after 1 steps"):
        FRLR(1e-3, max_iter=1).fit(X, y, qid)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (MarginRanker("hing"), "unknown loss 'hing'; known are logistic, hinge"),
        (MarginRanker(loss=3), "loss must be a name"),
        (MarginRanker(pairs="some"), "pairs must be one of all, approximate, pointwise, got 'some'"),
        (MarginRanker(penalty="l3"), "penalty must be 'l1', 'l2' or a function, got 'l3'"),
        (RLR(shift="mean"), "shift must be one of query, global, none, got 'mean'"),
        (RLR(nu=-1.0), "nu must be a number >= 0, got -1.0"),
        (RLR(nu=np.nan), "nu must be a number"),
        (FRLR(normalize="rows"), "normalize must be 'pairs' or 'query', got 'rows'"),
        (RankSVM(nu=0.0), "hinge loss needs nu > 0"),
        (RankSVM(loss="logistic"), "loss must be 'hinge' or 'squared_hinge', got 'logistic'"),
    ],
    ids=str,
)
def test_bad_parameters_raise(ranker, message):
    with pytest.raises(ValueError, match=message):
        ranker.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0], [np.nan]], [0, 1]), "X contains NaN in row 1, column 0"),
        (([[0.0], [1.0]], [0, np.inf]), "y contains .*inf.* in row 1"),
        (([[0.0], [1.0]], [0, 1, 2]), "y has 3 grades but there are 2 rows"),
        (([[0.0], [1.0]], [0, 1], [1]), "qid has 1 values but there are 2 rows"),
        (([[0.0], [1.0]], None), "requires y"),
    ],
)
def test_bad_data_raise(arguments, message):
    with pytest.raises(ValueError, match=message):
        RLR().fit(*arguments)
    with pytest.raises(ValueError, match="sample_weight is negative in row 1"):
        RLR().fit([[0.0], [1.0]], [0, 1], sample_weight=[1, -1])


def test_features_that_are_many():
    """Beyond NEWTON_LIMIT features no d x d matrix is made; the result is the same."""
    X, y, qid = make(n=40, d=1005, grades=2, queries=2, seed=27)
    ranker = FRLR(1.0, tol=1e-10).fit(X, y, qid)
    M, c = slow_pairs(X, y, qid)
    gradient = M.T @ (c * LOSSES["logistic"].derivative(M @ ranker.coef_)) + 2 * ranker.coef_
    assert np.abs(gradient).max() <= 1e-4 * np.abs(M.T @ c).max()


LONG = """
import resource, sys
import numpy as np
from rankloom.rankers import FullRankingLogisticRegression, RankSVM

def make(n):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, (X @ [1.0, -0.5, 0.0] + random.normal(size=n) > 0).astype(float)

peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if sys.platform != "darwin" else 1)
X, y = make(200_000)
for ranker in (FullRankingLogisticRegression(), RankSVM(tol=1e-4)):
    ranker.fit(X[:2000], y[:2000])
before = peak()
for ranker in (FullRankingLogisticRegression(), RankSVM(tol=1e-4)):
    ranker.fit(X, y)
    print(peak() - before, *ranker.coef_)
"""


@pytest.mark.slow
def test_one_list_of_200000_rows_takes_memory_of_rows():
    pytest.importorskip("resource")
    # In a process of its own: the whole memory is seen, also what compiled code takes.
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        used, *coef = (float(number) for number in line.split())
        assert used < 60 * 200_000 * 3 * 8  # 10,000,000,000 pairs would take 80 GB a number
        # The direction of a noisy linear utility: the order of w and the sign of w are known.
        direction = np.array(coef) / np.linalg.norm(coef)
        np.testing.assert_allclose(direction, np.array([1, -0.5, 0]) / np.sqrt(1.25), atol=0.02)


@pytest.mark.parametrize("nu", [50.0, 0.05])
def test_a_sample_of_the_queries_begins_and_leaves_no_trace(nu):
    X, y, qid = make_ranking(n_queries=400, n_items=12, n_features=6, n_informative=3, noise=1.0, random_state=3)
    prefs = preferences(y, group_rows(qid, len(y)))
    risk = pair_risk(X[prefs.rows], prefs, LOSSES["hinge"])
    part, share = risk.sample()
    chosen = np.isin(qid, np.unique(qid)[::8])
    assert share == pytest.approx(preferences(y[chosen], group_rows(qid[chosen], chosen.sum())).n_pairs / prefs.n_pairs)
    w = np.linspace(-1.0, 1.0, 6)
    own = preferences(y[chosen], group_rows(qid[chosen], chosen.sum()))
    expected = pair_risk(X[chosen][own.rows], own, LOSSES["hinge"]).value_gradient(w)
    found = part.value_gradient(w)
    assert found[0] == pytest.approx(expected[0])
    np.testing.assert_allclose(found[1], expected[1])

    ranker = RankSVM(nu).fit(X, y, qid)
    assert ranker.gap_ <= 1e-5 * ranker.objective_
    exact = smoothed_newton(risk.smoothed, np.full(6, 2 * nu), 1e-7, 500)[0]
    assert exact.objective <= ranker.objective_ + 1e-12 <= exact.objective * (1 + 1e-5)
    renamed = RankSVM(nu).fit(X, y, (7 * qid) % 401)  # another eighth of the queries
    np.testing.assert_allclose(renamed.coef_, ranker.coef_, atol=2e-4 * np.abs(ranker.coef_).max())


def test_no_sample_of_few_queries_or_of_many_features():
    for n_queries, n_features in ((300, 6), (400, 70)):
        X, y, qid = make_ranking(n_queries=n_queries, n_items=12, n_features=n_features, random_state=3)
        prefs = preferences(y, group_rows(qid, len(y)))
        assert pair_risk(X[prefs.rows], prefs, LOSSES["hinge"]).sample() is None
