"""Metrics against slow literal definitions, and what must hold for all of them."""

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from rankloom.evaluation.metrics import METRICS, POLICIES, Policy, compare, evaluate, evaluate_queries, parse_metric

CUT = ["AP", "RR", "nDCG", "P", "ERR"]
BOUNDED = [*CUT, *(f"{name}@{k}" for name in CUT for k in (1, 2, 3, 7)), "MeanNDCG"]
EVERY = [*BOUNDED, "swaps", "tau"]


# One query, its grades from the first to the last rank: the definitions, with loops.


def slow(metric, grades, policy, top_grade):
    name, k = parse_metric(metric)
    n, cut = len(grades), k or len(grades)
    gains = [max(g, 0) if policy.gain == "linear" else 2 ** max(g, 0) - 1 for g in grades]
    relevant = [g >= policy.relevant for g in grades]
    if name == "AP":
        total = sum(sum(relevant[: i + 1]) / (i + 1) for i in range(min(cut, n)) if relevant[i])
        below = sum(relevant) if policy.ap_denominator == "relevant" else min(sum(relevant), cut)
        return total / below if below else None
    if name == "RR":
        if not any(relevant):
            return None
        return next((1 / (i + 1) for i in range(min(cut, n)) if relevant[i]), 0.0)
    if name == "P":
        return sum(relevant[:cut]) / (min(cut, n) if policy.p_denominator == "min" else cut)
    if name == "nDCG":
        return slow_ndcg(gains, k, policy)
    if name == "MeanNDCG":
        values = [slow_ndcg(gains, i, policy) for i in range(1, n + 1)]
        return None if values[0] is None else sum(values) / n
    if name == "ERR":
        if max(grades) <= 0:
            return None
        value, looking = 0.0, 1.0
        for i in range(min(cut, n)):
            stop = (2 ** max(grades[i], 0) - 1) / 2**top_grade
            value += looking * stop / (i + 1)
            looking *= 1 - stop
        return value
    assert name == "swaps"
    return sum(grades[i] < grades[j] for i, j in itertools.combinations(range(n), 2))


def slow_ndcg(gains, k, policy):
    def dcg(values):
        total = 0.0
        for i, value in enumerate(values[:k], start=1):
            total += value / (np.log2(i + 1) if policy.discount == "log2" else (1 if i < 3 else np.log2(i)))
        return total

    if max(gains) == 0:
        return None
    if k is not None and policy.short == "zero" and len(gains) < k:
        return 0.0
    return dcg(gains) / dcg(sorted(gains, reverse=True))


def slow_query(metric, y, scores, policy, top_grade):
    """Apply the rule for ties by brute force: sort, or take the mean over all orders."""
    rows = range(len(y))
    if policy.ties in ("worst", "best"):
        sign = 1 if policy.ties == "worst" else -1
        orders = [sorted(rows, key=lambda i: (-scores[i], sign * y[i]))]
    else:
        orders = [
            p for p in itertools.permutations(rows) if all(scores[a] >= scores[b] for a, b in itertools.pairwise(p))
        ]
    values = [slow(metric, [y[i] for i in order], policy, top_grade) for order in orders]
    if values[0] is None:
        return policy.empty
    return sum(values) / len(values)


def problem(seed, longest=6, n_queries=8):
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), random.integers(1, longest + 1, n_queries))
    qid = random.permutation(qid)
    y = random.integers(-1, 4, len(qid)) * random.integers(0, 2, n_queries)[random.integers(0, n_queries, len(qid))]
    return y.astype(float), random.integers(0, 4, len(qid)).astype(float), qid


@pytest.mark.parametrize("ties", ["worst", "best", "average"])
@pytest.mark.parametrize("name", list(POLICIES))
@pytest.mark.parametrize("seed", range(4))
def test_equal_to_the_definitions_under_ties(seed, name, ties):
    y, scores, qid = problem(seed)
    policy = replace(POLICIES[name], ties=ties)
    metrics = [metric for metric in EVERY if metric != "tau"]
    got = evaluate_queries(y, scores, qid, metrics, policy)
    for metric in metrics:
        expected = [slow_query(metric, y[qid == q], scores[qid == q], policy, max(y.max(), 0)) for q in got.qids]
        np.testing.assert_allclose(got.values[metric], expected, atol=1e-12, err_msg=metric)


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_the_definitions_on_long_lists(seed):
    random = np.random.default_rng(seed)
    qid = random.integers(0, 5, 600)
    y, scores = random.integers(0, 5, 600).astype(float), random.permutation(600).astype(float)
    for policy in POLICIES.values():
        got = evaluate_queries(y, scores, qid, ["AP@20", "nDCG@10", "ERR", "RR", "P@30", "swaps"], policy)
        for metric, values in got.values.items():
            plain = replace(policy, ties="worst")
            expected = [slow_query(metric, y[qid == q], scores[qid == q], plain, 4) for q in got.qids]
            np.testing.assert_allclose(values, expected, rtol=1e-12, err_msg=metric)


@pytest.mark.parametrize("policy", [*POLICIES, Policy(ties="best"), Policy(ties="average")])
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_tau_equals_scipy(levels, policy):
    random = np.random.default_rng(levels)
    qid = random.integers(0, 20, 400)
    y, scores = random.integers(0, levels, 400), random.integers(0, 30, 400) - random.integers(0, 2, 400) * 1e9
    got = evaluate_queries(y, scores, qid, "tau", policy, ids=[str(i) for i in range(400)])
    expected = [kendalltau(y[qid == q], scores[qid == q]).statistic for q in got.qids]
    assert not np.isnan(expected).any()
    np.testing.assert_allclose(got.values["tau"], expected, atol=1e-12)


def test_tau_where_it_is_not_defined():
    assert evaluate([1, 1], [1, 2], None, "tau") == {"tau": 0.0}
    assert evaluate([1, 1], [1, 2], None, "tau", "lightgbm") == {"tau": 1.0}
    assert evaluate([3], [1], None, "tau", "lightgbm") == {"tau": 1.0}
    assert evaluate([1, 2], [1, 1], None, "tau", "lightgbm") == {"tau": 0.0}, "equal scores earn nothing"
    assert np.isnan(evaluate([1, 1], [1, 2], None, "tau", Policy(empty="skip"))["tau"])


@pytest.mark.parametrize("levels", [2, 3, 7, 100])
def test_swaps_by_ids_and_ties(levels):
    random = np.random.default_rng(levels)
    y, scores = random.integers(0, levels, 80), random.integers(0, 6, 80)
    ids = [f"{i:02d}" for i in random.permutation(80)]
    order = sorted(range(80), key=lambda i: (scores[i], ids[i]), reverse=True)
    expected = sum(y[a] < y[b] for a, b in itertools.combinations(order, 2))
    assert evaluate(y, scores, None, "swaps", ids=ids)["swaps"] == expected
    worst, best, mean = (
        evaluate(y, scores, None, "swaps", Policy(ties=ties))["swaps"] for ties in ("worst", "best", "average")
    )
    pairs = list(itertools.combinations(range(80), 2))
    assert best == sum((y[a] - y[b]) * (scores[a] - scores[b]) < 0 for a, b in pairs)
    assert worst - best == sum(y[a] != y[b] and scores[a] == scores[b] for a, b in pairs)
    assert mean == (worst + best) / 2


def test_two_million_tied_pairs_are_exact():
    y = np.tile([0, 1], 2000)
    assert evaluate(y, np.zeros(4000), None, "swaps", Policy(ties="average"))["swaps"] == 2000 * 2000 / 2
    assert evaluate(y, y, None, ["swaps", "tau"]) == {"swaps": 0.0, "tau": 1.0}
    assert evaluate(y, -y, None, ["swaps", "tau"]) == {"swaps": 2000.0 * 2000, "tau": -1.0}


def test_long_tied_blocks():
    """One relevant row among m tied ones stands at each place with probability 1/m."""
    m = 5000
    y = np.arange(m) == 17
    harmonic = (1 / np.arange(1, m + 1)).sum()
    got = evaluate(y, np.zeros(m), None, ["RR", "AP", "RR@10", "P@10", "ERR@10"], Policy(ties="average"))
    top = (1 / np.arange(1, 11)).sum() / m
    expected = {"RR": harmonic / m, "AP": harmonic / m, "RR@10": top, "P@10": 1 / m, "ERR@10": top / 2}
    assert got == pytest.approx(expected, rel=1e-9)


def test_blocks_take_the_precision_at_their_end():
    y, scores = [1, 0, 1, 0], [2, 1, 1, 1]  # one relevant row above, then one among three tied
    got = evaluate(y, scores, None, ["AP", "AP@2", "AP@3"], "sklearn")
    assert got == pytest.approx({"AP": (1 + 2 / 4) / 2, "AP@2": (1 + 2 / 4 / 3) / 2, "AP@3": (1 + 2 / 4 * 2 / 3) / 2})


def test_scores_of_any_size():
    assert evaluate([1, 0, 2], [1e308, -1e308, 1.7e308], None, ["AP", "nDCG"]) == {"AP": 1.0, "nDCG": 1.0}
    assert evaluate([1, 0], [0.0, -0.0], None, "RR") == {"RR": 0.5}, "0 and -0 are tied"
    assert evaluate([1, 0], [1 + 1e-15, 1], None, "RR") == {"RR": 1.0}, "without ids, all 64 bits count"


# Policies


def test_queries_without_a_relevant_row():
    y, scores, qid = [0, 0, 1, 0], [2, 1, 2, 1], ["none", "none", "some", "some"]
    metrics = ["AP", "RR", "nDCG@2", "P@1", "ERR", "MeanNDCG", "tau", "swaps"]
    zero = evaluate_queries(y, scores, qid, metrics, Policy()).values
    one = evaluate_queries(y, scores, qid, metrics, Policy(empty=1)).values
    skip = evaluate_queries(y, scores, qid, metrics, Policy(empty="skip")).values
    for metric in metrics:
        assert zero[metric][0] == 0
        assert one[metric][0] == (0 if metric in ("P@1", "swaps") else 1)
        assert np.isnan(skip[metric][0])
        assert zero[metric][1] == one[metric][1] == skip[metric][1]
    means = evaluate(y, scores, qid, metrics, Policy(empty="skip"))
    assert means == {metric: values[1] for metric, values in zero.items()}
    assert np.isnan(evaluate([0, 0], [1, 2], None, "AP", Policy(empty="skip"))["AP"])


def test_denominators_and_short_lists():
    y, scores = [1, 1, 1], [3, 2, 1]
    assert evaluate(y, scores, None, ["AP@2", "P@4"], Policy()) == pytest.approx({"AP@2": 2 / 3, "P@4": 3 / 4})
    other = Policy(ap_denominator="min", p_denominator="min", short="zero")
    assert evaluate(y, scores, None, ["AP@2", "P@4", "nDCG@4"], other) == {"AP@2": 1.0, "P@4": 1.0, "nDCG@4": 0.0}
    assert evaluate(y, scores, None, "nDCG@4", Policy(short="padded")) == {"nDCG@4": 1.0}


def test_threshold_and_scale():
    y, scores = [1, 2, 3], [3, 2, 1]
    assert evaluate(y, scores, None, "RR", Policy(relevant=3)) == pytest.approx({"RR": 1 / 3})
    assert evaluate(y, scores, None, "P", Policy(relevant=0.5)) == {"P": 1.0}
    assert evaluate([1, 0], [2, 1], None, "ERR", Policy(max_grade=4)) == pytest.approx({"ERR": 1 / 16})
    assert evaluate([1, 0], [2, 1], None, "ERR") == {"ERR": 0.5}
    with pytest.raises(ValueError, match="grade 3, above the policy's max_grade=2"):
        evaluate(y, scores, None, "ERR", Policy(max_grade=2))


def test_gain_and_discount_may_be_functions():
    y, scores = [0, 2, 1], [3, 2, 1]
    own = Policy(gain=lambda grade: grade, discount=lambda rank: np.log2(rank + 1))
    assert evaluate(y, scores, None, "nDCG", own) == evaluate(y, scores, None, "nDCG")
    cubic = Policy(gain=lambda grade: grade**3, discount=lambda rank: rank)
    assert evaluate(y, scores, None, "nDCG", cubic)["nDCG"] == pytest.approx((8 / 2 + 1 / 3) / (8 + 1 / 2))


def test_bad_policies():
    for field in ("gain", "discount", "ties", "short", "empty", "ap_denominator", "p_denominator"):
        with pytest.raises(ValueError, match=rf"{field} must be one of .*got 'nonsense'"):
            Policy(**{field: "nonsense"})
    with pytest.raises(ValueError, match="unknown policy 'trek'; known policies: trec, letor4, sklearn"):
        evaluate([1], [1], policy="trek")
    with pytest.raises(ValueError, match="overflows for grade 2000"):
        evaluate([2000, 1], [1, 2], None, "nDCG", "letor4")
    assert evaluate([2000, 1], [2, 1], None, ["nDCG", "ERR"]) == {"nDCG": 1.0, "ERR": 1.0}


# Names


def test_names():
    assert parse_metric("AP") == ("AP", None)
    assert parse_metric("map@100") == parse_metric("MAP@100") == ("AP", 100)
    assert parse_metric("NDCG@10") == parse_metric("ndcg@10") == parse_metric("nDCG@10") == ("nDCG", 10)
    assert parse_metric("mrr") == parse_metric("RR") == ("RR", None)
    assert parse_metric("Tau") == ("tau", None)
    assert parse_metric("meanndcg") == ("MeanNDCG", None)
    assert list(evaluate([1, 0], [1, 2], None, ["map", "NDCG@2", "Mrr"])) == ["map", "NDCG@2", "Mrr"]
    assert list(evaluate([1, 0], [1, 2], None, "p@1")) == ["p@1"]


@pytest.mark.parametrize("text", ["AP@", "AP@0", "AP@-1", "AP@1.5", "AP@ten", "nDCG@10@5", "P@²", "AP@ 3"])
def test_bad_cutoffs(text):
    with pytest.raises(ValueError, match="whole number from 1"):
        parse_metric(text)


@pytest.mark.parametrize("text", ["", "@10", "recall", "nDCG10", "P 10", "AP:3"])
def test_unknown_names_list_the_known_ones(text):
    with pytest.raises(ValueError, match="known metrics: " + ", ".join(METRICS)):
        parse_metric(text)


def test_other_bad_metrics():
    for text in ("tau@3", "swaps@3", "MeanNDCG@3"):
        with pytest.raises(ValueError, match="takes no cut-off"):
            parse_metric(text)
    with pytest.raises(ValueError, match="got 3; known metrics"):
        evaluate([1], [1], metrics=[3])
    with pytest.raises(ValueError, match="metrics is empty"):
        evaluate([1], [1], metrics=[])


# Input


def test_bad_input():
    with pytest.raises(ValueError, match="no row to evaluate"):
        evaluate([], [])
    with pytest.raises(ValueError, match="y has 2 grades but there are 3 rows"):
        evaluate([1, 0], [1, 2, 3])
    with pytest.raises(ValueError, match="qid has 1 values but there are 2 rows"):
        evaluate([1, 0], [1, 2], [1])
    with pytest.raises(ValueError, match="ids has 1 values but there are 2 rows"):
        evaluate([1, 0], [1, 2], ids=["a"])
    with pytest.raises(ValueError, match="ids: 'a' occurs twice in query 7"):
        evaluate([1, 0], [1, 1], [7, 7], ids=["a", "a"])
    with pytest.raises(ValueError, match="scores contains NaN in row 1"):
        evaluate([1, 0], [1, np.nan])
    with pytest.raises(ValueError, match=r"scores contains infinity \(inf\) in row 0"):
        evaluate([1, 0], [np.inf, -np.inf])
    with pytest.raises(ValueError, match="y contains NaN in row 0"):
        evaluate([np.nan, 0], [1, 2])
    with pytest.raises(ValueError, match="scores must hold numbers"):
        evaluate([1, 0], ["a", "b"])
    with pytest.raises(ValueError, match=r"one number a row, got an array of shape \(1, 2\)"):
        evaluate([1, 0], [[1, 2]])


def test_any_qid_any_order_any_container():
    y, scores = [1, 0, 0, 1], [4, 3, 2, 1]
    plain = evaluate(y, scores, [0, 0, 1, 1])
    assert evaluate(y, scores, ["q", "q", "p", "p"]) == plain
    assert evaluate(y, scores, [("a", 1), ("a", 1), "b", "b"]) == plain
    assert evaluate((1, 0, 0, 1), np.array([[4], [3], [2], [1]], dtype=np.float32), np.array([7, 7, 9, 9])) == plain
    assert evaluate([1, 0, 0, 1], [4, 2, 3, 1], ["a", "b", "a", "b"]) == plain
    assert evaluate(np.array([True, False, False, True]), scores, [0, 0, 1, 1]) == plain
    got = evaluate_queries(y, scores, ["q", "q", "p", "p"], "RR")
    assert dict(zip(got.qids, got.values["RR"].tolist(), strict=True)) == {"q": 1.0, "p": 0.5}


def test_integer_ids_compare_as_text():
    assert evaluate([1, 0], [1, 1], ids=[2, 10], metrics="RR") == {"RR": 1.0}
    assert evaluate([1, 0], [1, 1], ids=["b", "a"], metrics="RR") == {"RR": 1.0}
    assert evaluate([1, 0], [1, 1], ids=[b"a", b"b"], metrics="RR") == {"RR": 0.5}


def test_arguments_are_not_changed():
    y, scores, qid = problem(0)
    before = y.copy(), scores.copy(), qid.copy()
    for policy in POLICIES:
        evaluate(y, scores, qid, EVERY, policy)
    for array, copy in zip((y, scores, qid), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.slow
def test_importing_leaves_numba_alone():
    code = "import sys, rankloom.evaluation.metrics; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What holds for every problem


@st.composite
def problems(draw, tied=True):
    n = draw(st.integers(1, 25))
    y = draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))
    values = st.integers(-4, 4) if tied else st.integers(-1000, 1000)
    scores = draw(st.lists(values, min_size=n, max_size=n, unique=not tied))
    qid = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(y, dtype=float), np.array(scores, dtype=float), np.array(qid)


policies = st.sampled_from([*POLICIES.values(), Policy(ties="best"), Policy(ties="average", gain="exponential")])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(), policies, st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing(data, policy, random):
    y, scores, qid = data
    rows = list(range(len(y)))
    random.shuffle(rows)
    ids = [f"d{i}" for i in range(len(y))]
    assert evaluate(y, scores, qid, EVERY, policy) == evaluate(y[rows], scores[rows], qid[rows], EVERY, policy)
    assert evaluate(y, scores, qid, EVERY, policy, ids=ids) == evaluate(
        y[rows], scores[rows], qid[rows], EVERY, policy, ids=[ids[i] for i in rows]
    )


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(problems(), policies, st.integers(-50, 50))
def test_a_constant_or_a_factor_changes_nothing(data, policy, constant):
    y, scores, qid = data
    plain = evaluate(y, scores, qid, EVERY, policy)
    assert evaluate(y, scores + constant, qid, EVERY, policy) == plain
    assert evaluate(y, scores * 3, qid, EVERY, policy) == plain


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(problems(), policies)
def test_a_query_does_not_see_the_others(data, policy):
    y, scores, qid = data
    policy = replace(policy, max_grade=4)
    got = evaluate_queries(y, scores, qid, EVERY, policy)
    for i, q in enumerate(got.qids):
        alone = evaluate(y[qid == q], scores[qid == q], None, EVERY, policy)
        assert alone == pytest.approx({metric: values[i] for metric, values in got.values.items()}, abs=1e-12)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(), policies)
def test_ranges_and_ties(data, policy):
    y, scores, qid = data
    for metric, values in evaluate_queries(y, scores, qid, BOUNDED, policy).values.items():
        assert (values >= 0).all(), metric
        assert (values <= 1).all(), metric
    assert (np.abs(evaluate_queries(y, scores, qid, "tau", policy).values["tau"]) <= 1).all()
    worst, mean, best = (
        evaluate_queries(y, scores, qid, BOUNDED, replace(policy, ties=ties)).values
        for ties in ("worst", "average", "best")
    )
    for metric in BOUNDED:
        assert (worst[metric] <= mean[metric] + 1e-12).all(), metric
        assert (mean[metric] <= best[metric] + 1e-12).all(), metric


@settings(max_examples=80, deadline=None)
@given(problems(), st.sampled_from(list(POLICIES.values())))
def test_a_perfect_ranking_gets_one(data, policy):
    y, _, qid = data
    policy = replace(policy, empty=1, short="padded", ap_denominator="min")
    metrics = ["AP", "AP@3", "RR", "RR@2", "nDCG", "nDCG@1", "nDCG@5", "MeanNDCG", "tau"]
    for metric, value in evaluate(y, y, qid, metrics, policy).items():
        assert value == pytest.approx(1, abs=1e-12), metric
    assert evaluate(y, y, qid, "swaps", policy) == {"swaps": 0.0}


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(tied=False))
def test_joachims_bound(data):
    """AP >= (sum_{i<=R} sqrt i)^2 / (R (Q + R (R + 1) / 2)) with Q swapped pairs (Joachims 2002)."""
    y, scores, qid = data
    y = (y > 1).astype(float)
    got = evaluate_queries(y, scores, qid, ["AP", "swaps"])
    for i, q in enumerate(got.qids):
        n_relevant = int(y[qid == q].sum())
        if n_relevant:
            roots = np.sqrt(np.arange(1, n_relevant + 1)).sum() ** 2
            bound = roots / (n_relevant * (got.values["swaps"][i] + n_relevant * (n_relevant + 1) / 2))
            assert got.values["AP"][i] >= bound - 1e-12


def test_package_exports():
    import rankloom

    assert rankloom.evaluate is evaluate
    assert rankloom.compare is compare
