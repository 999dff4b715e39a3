"""Rank consistency and risk bounds against loops over pairs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloom.rankers import (
    FullRankingLogisticRegression,
    NaiveBayesRanker,
    RankingLogisticRegression,
    pairwise_risk_bounds,
    rank_consistency,
)
from rankloom.rankers.losses import LOSSES


def slow_pairs(y, qid):
    n = len(y)
    return [(j, k) for j in range(n) for k in range(n) if qid[j] == qid[k] and y[j] > y[k]]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), *[st.integers(0, 2)] * 3), min_size=1, max_size=8))
def test_directions_are_those_of_all_pairs(table):
    qid, y, *columns = (np.array(column) for column in zip(*table, strict=True))
    X = np.column_stack(columns).astype(float)
    differences = np.array([X[j] - X[k] for j, k in slow_pairs(y, qid)]).reshape(-1, 3)
    expected = {
        c: int(np.sign(differences[:, c].sum()))
        for c in range(3)
        if differences[:, c].any() and ((differences[:, c] >= 0).all() or (differences[:, c] <= 0).all())
    }
    coef = np.array([1.0, -1.0, 0.0])
    report = rank_consistency(coef, X, y, qid)
    assert report.directions == expected
    assert {v.feature for v in report.violations} == {c for c in expected if coef[c] * expected[c] < 0}
    assert report.consistent == (not report.violations)


def test_a_report_says_what_is_wrong():
    X = pd.DataFrame({"text": [3.0, 2.0, 5.0, 4.0], "anchor": [0.0, 1.0, 0.0, 1.0], "noise": [1.0, 2.0, 2.0, 1.0]})
    y, qid = [1, 0, 1, 0], ["a", "a", "b", "b"]
    ranker = FullRankingLogisticRegression().fit(X, y, qid)
    good = rank_consistency(ranker, X, y, qid)
    assert good.consistent
    assert good.directions == {0: 1, 1: -1}
    assert str(good) == "2 features order all pairs, 0 of them against their weight"
    ranker.coef_ = np.array([-0.5, 0.25, 1.0])
    bad = rank_consistency(ranker, X, y, qid)
    assert [(v.name, v.direction, v.weight) for v in bad.violations] == [("text", 1, -0.5), ("anchor", -1, 0.25)]
    assert str(bad).splitlines()[1:] == [
        "text: orders all pairs up, weight -0.5",
        "anchor: orders all pairs down, weight +0.25",
    ]


def test_small_weights_count_as_zero():
    X, y = [[1.0, 0.0], [0.0, 1.0]], [1, 0]
    assert rank_consistency([-1e-8, -1.0], X, y).consistent
    assert not rank_consistency([-1e-8, -1.0], X, y, tol=0.0).consistent
    assert rank_consistency([0.0, 0.0], X, y).consistent


def test_no_pair_is_consistent_and_free():
    assert rank_consistency([-1.0], [[1.0], [2.0]], [1, 1]).directions == {}
    assert pairwise_risk_bounds([-1.0], [[1.0], [2.0]], [1, 1]) == (0.0, 0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("shift", ["query", "global", "none"])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_risk_lies_between_its_bounds(loss, shift):
    for seed in range(60):
        random = np.random.default_rng(seed)
        n = int(random.integers(4, 40))
        X = random.normal(size=(n, 3)) * random.choice([0.1, 1.0, 10.0])
        y, qid = random.integers(0, int(random.integers(2, 5)), n), random.integers(0, 4, n)
        w, weight = random.normal(size=3), random.uniform(0.1, 3.0, n)
        bounds = pairwise_risk_bounds(w, X, y, qid, loss=loss, shift=shift, sample_weight=weight)
        f = X @ w
        risk = sum(weight[j] * weight[k] * LOSSES[loss].value(f[j] - f[k]) for j, k in slow_pairs(y, qid))
        rounding = 1e-10 * (abs(bounds.upper) + abs(bounds.lower) + 1)
        assert bounds.risk == pytest.approx(risk)
        assert bounds.lower <= risk + rounding
        assert risk <= bounds.upper + rounding


@pytest.mark.parametrize("loss", ["squared_hinge", "exponential"])
def test_other_losses_are_not_bounded(loss):
    X, y = np.array([[-2.0], [2.0]]), [1, 0]
    bounds = pairwise_risk_bounds([1.0], X, y, loss=loss, shift="none")
    assert bounds.risk > bounds.upper


def test_the_upper_bound_is_what_rlr_minimises():
    random = np.random.default_rng(1)
    X, y, qid = random.normal(size=(60, 3)), random.integers(0, 3, 60), random.integers(0, 3, 60)
    weight = random.integers(1, 4, 60)
    for shift in ("query", "global", "none"):
        ranker = RankingLogisticRegression(0.5, shift).fit(X, y, qid, sample_weight=weight)
        bounds = pairwise_risk_bounds(ranker, X, y, qid, shift=shift, sample_weight=weight)
        assert bounds.upper + 0.5 * ranker.coef_ @ ranker.coef_ == pytest.approx(ranker.objective_)


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match=r"shape \(2, 1\), but there are 2 weights"):
        rank_consistency([1.0, 2.0], [[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="X contains NaN in row 1, column 0"):
        pairwise_risk_bounds([1.0], [[1.0], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="unknown loss"):
        pairwise_risk_bounds([1.0], [[1.0], [2.0]], [0, 1], loss="no")
    with pytest.raises((ValueError, TypeError)):
        rank_consistency(NaiveBayesRanker().fit([[1.0], [2.0]], [0, 1]), [[1.0], [2.0]], [0, 1])
