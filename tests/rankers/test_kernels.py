"""Kernels against slow twins that go through every pair."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloom.groups import group_rows, preferences
from rankloom.rankers import _kernels
from rankloom.rankers._kernels.panels import aligned, cut, empty, fill, sweep
from rankloom.rankers._risks import QuadraticPairs, pair_risk
from rankloom.rankers.losses import LOSSES, smoothed_hinge

LOGISTIC = LOSSES["logistic"]


def make(n, grades, *, queries=1, weighted=False, normalize="pairs", seed=0):
    """The layout of a random problem: preferences, and the grade and query of each of their rows."""
    random = np.random.default_rng(seed)
    y = random.integers(0, grades, n).astype(float)
    y[:2] = 0, 1
    qid = random.integers(0, queries, n)
    weight = random.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    query_weight = random.uniform(0.5, 2.0, queries) if weighted else np.ones(queries)
    groups = group_rows(qid, n)
    prefs = preferences(y, groups, weight, query_weight[: len(groups)], normalize=normalize)
    return prefs, y[prefs.rows]


def two_halves(n_upper, n_lower):
    y = np.r_[np.ones(n_upper), np.zeros(n_lower)]
    return preferences(y, group_rows(None, len(y))), y


def pair_weights(prefs, grade):
    """The matrix of pair weights: entry (j, k) is not 0 where j is preferred to k in the same query."""
    preferred = (grade[:, None] > grade[None, :]) & (prefs.query[:, None] == prefs.query[None, :])
    return preferred * prefs.scale[:, None] * prefs.weight[:, None] * prefs.weight[None, :]


def slow(f, prefs, grade, loss):
    """Value and gradient by score, pair after pair."""
    weights = pair_weights(prefs, grade)
    j, k = np.nonzero(weights)
    pairs, margins = weights[j, k], f[j] - f[k]
    slopes = pairs * loss.derivative(margins)
    gradient = np.bincount(j, slopes, len(f)) - np.bincount(k, slopes, len(f))
    return float(np.sum(pairs * loss.value(margins))), gradient


def slow_hessian(f, X, prefs, grade, loss):
    weights = pair_weights(prefs, grade)
    hessian = np.zeros((X.shape[1], X.shape[1]))
    for j, k in zip(*np.nonzero(weights), strict=True):
        difference = X[j] - X[k]
        hessian += weights[j, k] * loss.curvature(np.array(f[j] - f[k])) * np.outer(difference, difference)
    return hessian


def slow_loops(f, prefs, grade, loss):
    """The twin of the twin: two nested loops, for a problem of a few rows."""
    value, gradient = 0.0, np.zeros(len(f))
    for j in range(len(f)):
        for k in range(len(f)):
            if prefs.query[j] == prefs.query[k] and grade[j] > grade[k]:
                w = prefs.scale[j] * prefs.weight[j] * prefs.weight[k]
                value += w * float(loss.value(np.array(f[j] - f[k])))
                slope = w * float(loss.derivative(np.array(f[j] - f[k])))
                gradient[j] += slope
                gradient[k] -= slope
    return value, gradient


def by_score(f, prefs, loss):
    """Value and gradient by score of the kernel of a loss (a width is a smoothed hinge)."""
    risk = pair_risk(f[:, None], prefs, LOSSES["hinge"] if isinstance(loss, float) else loss)
    if isinstance(loss, float):
        risk = risk.smoothed(loss)
    if isinstance(risk, QuadraticPairs):
        value, gradient, *_ = _kernels.hinge.value_gradient(
            f, prefs.weight, risk.sorted.sort(f), risk.splits, risk.scales, risk.depths, risk.pieces
        )
        return value, gradient
    return risk.by_score(f)


def hessian(f, X, prefs, loss):
    """The Hessian of the kernel at the scores f, which X w with w = (1, 0, ...) gives."""
    Z = np.ascontiguousarray(np.column_stack([f, X]))
    risk = pair_risk(Z, prefs, LOSSES["hinge"] if isinstance(loss, float) else loss)
    if isinstance(loss, float):
        risk = risk.smoothed(loss)
    return risk.hessian(np.eye(Z.shape[1])[0])[1:, 1:]


def assert_close(found, expected, rtol):
    np.testing.assert_allclose(found[0], expected[0], rtol=rtol)
    scale = np.abs(expected[1]).max()
    assert np.abs(found[1] - expected[1]).max() <= rtol * scale


def as_loss(loss):
    return smoothed_hinge(loss) if isinstance(loss, float) else loss


EVERY = [*LOSSES.values(), 0.5, 0.01]


def name_of(loss):
    return str(loss) if isinstance(loss, float) else loss.name


each = pytest.mark.parametrize("loss", EVERY, ids=name_of)


@each
def test_all_twins_agree_on_few_rows(loss):
    prefs, grade = make(30, 4, queries=3, weighted=True, normalize="query")
    f = np.random.default_rng(1).normal(size=len(grade)).round(1)  # with ties
    expected = slow_loops(f, prefs, grade, as_loss(loss))
    assert_close(slow(f, prefs, grade, as_loss(loss)), expected, 1e-12)
    assert_close(by_score(f, prefs, loss), expected, 1e-12)


@each
@pytest.mark.parametrize("grades", [2, 5, 10**6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_value_and_gradient(loss, grades, weighted, ties):
    prefs, grade = make(400, grades, queries=7, weighted=weighted, normalize="query" if weighted else "pairs")
    f = 3.0 * np.random.default_rng(2).normal(size=len(grade))
    if ties:
        f = np.round(f)  # also margins of exactly 1, the hinge's kink
    expected = slow(f, prefs, grade, as_loss(loss))
    assert_close(by_score(f, prefs, loss), expected, 1e-10)


@pytest.mark.parametrize("loss", [loss for loss in EVERY if loss is not LOSSES["hinge"]], ids=name_of)
@pytest.mark.parametrize(("grades", "weighted"), [(2, False), (4, True), (10**6, True)])
@pytest.mark.parametrize("queries", [1, 3])
def test_hessian(loss, grades, weighted, queries):
    prefs, grade = make(
        150 if queries > 1 else 300,
        grades,
        queries=queries,
        weighted=weighted,
        normalize="query" if weighted else "pairs",
    )
    random = np.random.default_rng(3)
    f, X = random.normal(size=len(grade)), random.normal(size=(len(grade), 4))
    expected = slow_hessian(f, X, prefs, grade, as_loss(loss))
    np.testing.assert_allclose(hessian(f, X, prefs, loss), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("rows", [60, 3000])
def test_halves_are_sorted_anew_and_from_their_old_order(rows):
    prefs, grade = make(rows, 5, queries=3)
    risk = pair_risk(np.zeros((len(grade), 1)), prefs, LOSSES["hinge"])
    assert risk.sorted.short == (rows == 60)
    random = np.random.default_rng(0)
    f = random.normal(size=len(grade))
    for change in (0.0, 0.1, 5.0):
        f = f + change * random.normal(size=len(f)).round(1)
        order = risk.sorted.sort(f)
        for (a, m, b), depth in zip(risk.splits.tolist(), risk.depths.tolist(), strict=True):
            for first, last in ((a, m), (m, b)):
                part = order[depth, first:last]
                assert sorted(part.tolist()) == list(range(first, last))
                assert (np.diff(f[part]) >= 0).all()


def test_hessian_is_the_slope_of_the_gradient():
    prefs, grade = make(200, 5, queries=4, weighted=True)
    random = np.random.default_rng(4)
    X, w = random.normal(size=(len(grade), 3)), random.normal(size=3)
    for loss in (LOSSES["logistic"], LOSSES["exponential"]):
        risk = pair_risk(X, prefs, loss)
        h = 1e-5
        steps = h * np.eye(3)
        slopes = [(risk.value_gradient(w + e)[1] - risk.value_gradient(w - e)[1]) / (2 * h) for e in steps]
        np.testing.assert_allclose(risk.hessian(w), slopes, rtol=1e-5)


# The logistic kernel at any scale, by both of its ways.

SCALES = [1e-3, 0.1, 1.0, 10.0, 100.0, 1e3, 1e6, 1e9]


def logistic_ways(f, prefs):
    """Value and gradient by the direct and by the binned way, whatever the kernel would choose."""
    values, slopes, _ = _kernels.logistic.tables()
    split = prefs.splits[0]
    a, m, b = (int(number) for number in split)
    direct, binned = np.zeros(len(f)), np.zeros(len(f))
    kernel = _kernels.logistic
    first = kernel._direct(f, prefs.weight, a, m, b, prefs.split_scale[0], np.empty(len(f)), direct)
    bins, place = kernel.occupied(f, a, b, *kernel.bins_of(f, a, b))
    second = kernel._binned(f, prefs.weight, a, m, b, prefs.split_scale[0], bins, place, values, slopes, binned)
    return (first, direct), (second, binned)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("weighted", [False, True])
def test_direct_and_binned_ways_equal_the_pairs(scale, weighted):
    prefs, grade = make(300, 2, weighted=weighted, seed=5)
    f = scale * np.random.default_rng(6).normal(size=len(grade))
    direct, binned = logistic_ways(f, prefs)
    expected = slow(f, prefs, grade, LOGISTIC)
    assert_close(direct, expected, 1e-12)
    assert_close(binned, expected, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_upper", "n_lower", "scales"),
    [(300, 700, SCALES), (2000, 3000, [1e-3, 1.0, 30.0, 1e9]), (1, 20000, [1.0, 50.0])],
)
def test_large_splits(n_upper, n_lower, scales):
    prefs, _ = two_halves(n_upper, n_lower)
    n = n_upper + n_lower
    for scale in scales:
        f = scale * np.random.default_rng(7).normal(size=n)
        f[::7] = f[0]
        margins = f[:n_upper, None] - f[None, n_upper:]
        slopes = LOGISTIC.derivative(margins)
        expected = float(LOGISTIC.value(margins).sum()), np.r_[slopes.sum(axis=1), -slopes.sum(axis=0)]
        assert_close(by_score(f, prefs, LOGISTIC), expected, 1e-10)


def test_the_kernel_takes_both_ways():
    cheaper = _kernels.logistic._direct_is_cheaper
    assert cheaper(3, 4, 5)
    assert not cheaper(2000, 3000, 8)
    assert not cheaper(300, 700, 8)


@pytest.mark.parametrize("distance", [0.0, 20.0, 36.9, 37.5, 38.5, 39.5, 200.0, 1e7])
@pytest.mark.parametrize("sign", [-1, 1])
def test_two_clusters_with_empty_bins_between(distance, sign):
    prefs, grade = two_halves(200, 300)
    random = np.random.default_rng(8)
    f = random.uniform(-1.0, 1.0, 500) + sign * distance * (grade > 0)
    expected = slow(f, prefs, grade, LOGISTIC)
    value, gradient = by_score(f, prefs, LOGISTIC)
    # The error is absolute, about 1e-16 a pair (docs/papers.md, A12).
    assert abs(value - expected[0]) <= 1e-13 * expected[0] + 1e-15 * 60000
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-15 * 60000)


def test_scores_on_a_far_and_bumpy_axis():
    prefs, grade = two_halves(400, 600)
    random = np.random.default_rng(9)
    f = random.choice([-1e12, -5e3, -40.0, 0.0, 38.0, 39.0, 77.0, 1e4, 3e8], 1000) + random.uniform(0, 1, 1000)
    assert_close(by_score(f, prefs, LOGISTIC), slow(f, prefs, grade, LOGISTIC), 1e-12)


def test_a_large_common_score_does_not_cancel():
    prefs, grade = two_halves(400, 600)
    f = 2.0**30 + np.random.default_rng(10).integers(-400, 400, 1000) / 8.0  # exact in floating point
    assert_close(by_score(f, prefs, LOGISTIC), slow(f - 2.0**30, prefs, grade, LOGISTIC), 1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.integers(1, 39))
def test_logistic_on_any_scores(scores, n_upper):
    n_upper = min(n_upper, len(scores) - 1)
    prefs, grade = two_halves(n_upper, len(scores) - n_upper)
    f = np.array(scores)
    expected = slow(f, prefs, grade, LOGISTIC)
    for value, gradient in logistic_ways(f, prefs):
        assert abs(value - expected[0]) <= 1e-12 * expected[0] + 1e-12
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e3])
def test_binned_hessian_equals_the_pairs(scale):
    prefs, grade = two_halves(300, 700)
    assert not _kernels.logistic._direct_is_cheaper(300, 700, 10)
    random = np.random.default_rng(11)
    f, X = scale * random.normal(size=1000), random.normal(size=(1000, 3))
    h = pair_weights(prefs, grade) * LOGISTIC.curvature(f[:, None] - f[None, :])
    expected = X.T @ ((h.sum(axis=0) + h.sum(axis=1))[:, None] * X) - X.T @ (h + h.T) @ X
    np.testing.assert_allclose(hessian(f, X, prefs, LOGISTIC), expected, atol=1e-6 * np.abs(expected).max())


def test_error_of_the_series_a_pair():
    values, slopes, curvatures = _kernels.logistic.tables()
    u, v = np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 9), indexing="ij")
    for table, g, tolerance in (
        (values, LOGISTIC.value, 1e-14),
        (slopes, lambda x: -LOGISTIC.derivative(x), 1e-14),
        (curvatures, LOGISTIC.curvature, 1e-6),
    ):
        for distance in (-38, -20, -3, -1, 0, 1, 2, 15, 38):
            k = table[distance + _kernels.logistic.REACH]
            series = np.polynomial.chebyshev.chebval2d(u, v, k)
            exact = g(distance + (u - v) / 2)
            assert np.abs(series - exact).max() <= tolerance * max(1.0, np.abs(exact).max())


# The piecewise quadratic kernel.


@pytest.mark.parametrize("loss", [LOSSES["hinge"], LOSSES["squared_hinge"], 1.0, 1e-3, 1e-6], ids=name_of)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0, 1e6])
def test_hinges_at_any_scale(loss, scale):
    prefs, grade = make(500, 4, queries=3, weighted=True, seed=12)
    f = scale * np.random.default_rng(13).normal(size=len(grade))
    assert_close(by_score(f, prefs, loss), slow(f, prefs, grade, as_loss(loss)), 1e-9)


@pytest.mark.parametrize("width", [1.0, 0.1, 1e-3])
def test_the_smoothed_hinge_returns_the_hinge_and_its_dual(width):
    prefs, grade = make(300, 3, queries=4, weighted=True, seed=14)
    f = np.random.default_rng(15).normal(size=len(grade))
    risk = pair_risk(f[:, None], prefs, LOSSES["hinge"]).smoothed(width)
    risk.value_gradient(np.ones(1))
    sharp, dual = risk.sharp_parts(np.ones(1))
    weights = pair_weights(prefs, grade)
    margins = f[:, None] - f[None, :]
    assert sharp == pytest.approx(float((weights * LOSSES["hinge"].value(margins)).sum()))
    assert dual == pytest.approx(float(-(weights * smoothed_hinge(width).derivative(margins)).sum()))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-6, 6)), min_size=2, max_size=30))
def test_hinges_with_many_ties_and_kinks(rows):
    grade = np.array([row[0] for row in rows], dtype=float)
    prefs = preferences(grade, group_rows(None, len(rows)))
    if not len(prefs.rows):
        return
    f = np.array([row[1] for row in rows])[prefs.rows] / 2.0
    for loss in (LOSSES["hinge"], LOSSES["squared_hinge"], 0.5):
        found, expected = by_score(f, prefs, loss), slow(f, prefs, grade[prefs.rows], as_loss(loss))
        np.testing.assert_allclose(found[0], expected[0], atol=1e-9)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-9)


# The exponential kernel.


def test_the_exponential_takes_the_widest_range_that_its_pairs_allow():
    prefs, grade = two_halves(50, 60)
    f = np.where(grade > 0, 2000.0, -2000.0) + np.random.default_rng(16).normal(size=110)
    assert by_score(f, prefs, LOSSES["exponential"])[0] == 0.0
    f = np.where(grade > 0, 1e6, 1e6 + 600.0) + np.random.default_rng(16).normal(size=110)
    assert_close(by_score(f, prefs, LOSSES["exponential"]), slow(f, prefs, grade, LOSSES["exponential"]), 1e-9)


# Counts of ordered pairs.


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(1, 4)), min_size=2, max_size=30))
def test_ordered_pairs_with_ties_counted_half(rows):
    grade, feature, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    prefs = preferences(grade, group_rows(None, len(rows)), weight)
    f = feature[prefs.rows]
    found = _kernels.order.ordered_weight(f, prefs.weight, prefs.splits)
    for (a, m, b), ordered in zip(prefs.splits, found, strict=True):
        pairs = prefs.weight[a:m, None] * prefs.weight[None, m:b]
        assert ordered == (pairs * ((f[a:m, None] > f[m:b]) + 0.5 * (f[a:m, None] == f[m:b]))).sum()


# Weighted medians.


def slow_median(values, counts):
    """The lower median of a multiset that holds each value as often as its count."""
    repeated = np.sort(np.repeat(values, counts))
    return repeated[(len(repeated) - 1) // 2]


def medians(X, weight, starts):
    return _kernels.median.column_medians(
        np.ascontiguousarray(X, dtype=float), np.asarray(weight, dtype=float), np.asarray(starts)
    )


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 5)), min_size=1, max_size=80))
def test_median_equals_the_median_of_the_repeated_values(rows):
    values, counts = (np.array(column) for column in zip(*rows, strict=True))
    assert medians(values[:, None], counts, [0, len(rows)])[0, 0] == slow_median(values, counts)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(1000),
        np.arange(1000)[::-1],
        np.zeros(1000),
        np.r_[np.arange(500), np.arange(500)[::-1]],
        np.r_[np.arange(500)[::-1], np.arange(500)],
        np.tile([0, 1], 500),
        np.repeat([1e300, -1e300], 500),
        np.random.default_rng(17).permutation(1000),
    ],
)
@pytest.mark.parametrize("heavy", ["equal", "first", "last", "random"])
def test_median_of_sorted_and_tied_columns(values, heavy):
    counts = np.ones(1000, dtype=int)
    if heavy == "random":
        counts = np.random.default_rng(18).integers(1, 9, 1000)
    elif heavy != "equal":
        counts[0 if heavy == "first" else -1] = 2000
    assert medians(np.asarray(values)[:, None], counts, [0, 1000])[0, 0] == slow_median(values, counts)


def test_medians_of_runs_and_columns():
    random = np.random.default_rng(19)
    X, counts, starts = random.normal(size=(200, 3)).round(1), random.integers(1, 6, 200), [0, 1, 40, 41, 200]
    before = X.copy()
    found = medians(X, counts, starts)
    assert found.shape == (4, 3)
    for g, (a, b) in enumerate(itertools.pairwise(starts)):
        for c in range(3):
            assert found[g, c] == slow_median(X[a:b, c], counts[a:b])
    np.testing.assert_array_equal(X, before)


def test_an_exact_half_takes_the_lower_value():
    assert medians([[1.0], [2.0], [3.0], [4.0]], [1, 1, 1, 1], [0, 4])[0, 0] == 2.0
    assert medians([[5.0], [1.0]], [3, 3], [0, 2])[0, 0] == 1.0


@pytest.mark.parametrize("d", [1, 5, 8, 17, 40, 41, 48, 50, 104])
def test_a_sweep_updates_and_multiplies(d):
    rng = np.random.default_rng(d)
    square, long = rng.normal(size=(d, d)), (d + 15) // 16 * 16
    vectors = aligned(3, long)
    vectors[:] = 0.0
    known, x, found = vectors
    known[:d], x[:d] = rng.normal(size=(2, d))
    panels = cut(d)
    assert panels[:-1, 2].sum() == -(-d // 8)
    matrix = aligned(panels[-1, 0] // 8, 8).reshape(-1)
    assert all(array.ctypes.data % 64 == 0 for array in (matrix, known, x, found))
    fill(matrix, panels, square)
    sweep(matrix, panels, known, 0.3, x, found)
    result = np.empty((d, d))
    empty(matrix, panels, result)
    expected = square - 0.3 * np.outer(known[:d], known[:d])
    np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found[:d], expected.T @ x[:d], rtol=1e-12, atol=1e-12)
    assert not found[d:].any()

    square[0, 0] = -0.0
    fill(matrix, panels, square)
    known[:] = 0.0
    sweep(matrix, panels, known, 0.0, x, found)
    empty(matrix, panels, result)
    assert result.tobytes() == square.tobytes()
