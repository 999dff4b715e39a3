"""Comparisons of rankers against scipy, exact enumeration and slow versions."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from rankloom.evaluation.metrics import Policy, compare, evaluate, evaluate_queries
from rankloom.evaluation.significance import bootstrap_means, compare_values, holm, paired_t_test, sign_flip_test


def rankers(n_queries=40, seed=0):
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 10)
    y = random.integers(0, 3, len(qid))
    noise = random.normal(size=(3, len(qid)))
    return {"good": y + noise[0], "same": y + noise[1], "bad": noise[2]}, y, qid


def test_compare_gathers_what_its_parts_say():
    scores, y, qid = rankers()
    result = compare(scores, y, qid, "nDCG@5", policy="letor4", confidence=0.9, n_permutations=2000, random_state=3)
    assert result.names == ("good", "same", "bad")
    assert (result.metric, result.confidence, result.n_queries) == ("nDCG@5", 0.9, 40)
    for name, given_scores in scores.items():
        values = evaluate_queries(y, given_scores, qid, "nDCG@5", "letor4").values["nDCG@5"]
        np.testing.assert_array_equal(result.values[name], values)
        assert result.means[name] == pytest.approx(evaluate(y, given_scores, qid, "nDCG@5", "letor4")["nDCG@5"])
        low, high = result.intervals[name]
        assert low < result.means[name] < high
    assert [(pair.a, pair.b) for pair in result.pairs] == [("good", "same"), ("good", "bad"), ("same", "bad")]
    for pair in result.pairs:
        a, b = result.values[pair.a], result.values[pair.b]
        assert pair.difference == pytest.approx(a.mean() - b.mean())
        assert pair.interval[0] < pair.difference < pair.interval[1]
        assert pair.p_t == pytest.approx(ttest_rel(a, b).pvalue, rel=1e-9)
        assert pair.p_randomization == sign_flip_test(a - b, 2000, 3)
        assert (pair.wins, pair.losses, pair.ties) == ((a > b).sum(), (a < b).sum(), (a == b).sum())
        assert pair.wins + pair.losses + pair.ties == 40
    np.testing.assert_allclose([p.holm_t for p in result.pairs], slow_holm([p.p_t for p in result.pairs]))
    np.testing.assert_allclose(
        [p.holm_randomization for p in result.pairs], slow_holm([p.p_randomization for p in result.pairs])
    )
    good_bad = result.pairs[1]
    assert good_bad.difference > 0.1
    assert good_bad.holm_t < 0.01
    assert good_bad.holm_randomization < 0.01
    assert result.pairs[0].p_t > 0.05


def test_same_seed_same_result_and_the_other_rankers_do_not_matter():
    scores, y, qid = rankers()
    one = compare(scores, y, qid).to_dict()
    assert compare(scores, y, qid).to_dict() == one
    assert compare(scores, y, qid, random_state=1).to_dict() != one
    two = compare({name: scores[name] for name in ("good", "bad")}, y, qid)
    three = compare(scores, y, qid)
    assert two.intervals["bad"] == three.intervals["bad"]
    assert two.pairs[0].p_randomization == three.pairs[1].p_randomization
    assert two.pairs[0].interval == three.pairs[1].interval


def test_fewer_swaps_win():
    scores, y, qid = rankers()
    pair = compare({"good": scores["good"], "bad": scores["bad"]}, y, qid, "swaps").pairs[0]
    assert pair.difference < 0
    assert pair.wins > pair.losses


def test_skipped_queries_are_left_out():
    y, qid = [1, 0, 0, 0, 0, 1], [1, 1, 2, 2, 3, 3]
    scores = {"a": [2, 1, 2, 1, 2, 1], "b": [1, 2, 2, 1, 2, 1]}
    assert compare(scores, y, qid).n_queries == 3
    result = compare(scores, y, qid, policy=Policy(empty="skip"))
    assert result.n_queries == 2
    assert result.means == {"a": 0.75, "b": 0.5}
    with pytest.raises(ValueError, match="no query to compare on"):
        compare(scores, np.zeros(6), qid, policy=Policy(empty="skip"))


def test_report():
    scores, y, qid = rankers()
    result = compare(scores, y, qid)
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [ranker["name"] for ranker in record["rankers"]] == ["good", "same", "bad"]
    assert record["rankers"][0]["mean"] == result.means["good"]
    assert record["rankers"][0]["values"] == result.values["good"].tolist()
    assert record["pairs"][1]["p_t"] == result.pairs[1].p_t
    assert record["pairs"][1]["interval"] == list(result.pairs[1].interval)
    title, *table, blank, head, first, second, third = str(result).splitlines()
    assert title == "AP on 40 queries, 95% intervals"
    assert len({len(line) for line in table}) == 1, "columns are aligned"
    assert len({len(line) for line in (head, first, second, third)}) == 1
    assert blank == ""
    assert table[1].startswith("good ")
    assert f"{result.means['good']:.4f}" in table[1]
    assert second.startswith("good - bad ")
    assert "<0.0001" in second
    single = compare({"good": scores["good"]}, y, qid)
    assert single.pairs == ()
    assert str(single).splitlines()[-1].startswith("good")


def test_bad_arguments():
    with pytest.raises(ValueError, match="name at least one ranker"):
        compare({}, [1], [1])
    with pytest.raises(ValueError, match="must map the name of each ranker"):
        compare([[1, 2]], [1, 0])
    with pytest.raises(ValueError, match="unknown metric 'foo'"):
        compare({"a": [1]}, [1], metric="foo")
    with pytest.raises(ValueError, match="y has 2 grades but there are 1 rows"):
        compare({"a": [1]}, [1, 0])
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1, got 95"):
        compare_values({"a": [1.0]}, confidence=95)
    with pytest.raises(ValueError, match="n_bootstrap must be at least 1"):
        compare_values({"a": [1.0]}, n_bootstrap=0)
    with pytest.raises(ValueError, match="n_permutations must be at least 1"):
        compare_values({"a": [1.0], "b": [2.0]}, n_permutations=0)
    with pytest.raises(ValueError, match=r"'a' has shape \(2,\), 'b' has \(1,\)"):
        compare_values({"a": [1.0, 2.0], "b": [2.0]})
    with pytest.raises(ValueError, match="values of 'a' are infinite in query 1"):
        compare_values({"a": [1.0, np.inf]})


def test_one_query():
    result = compare({"a": [2, 1], "b": [1, 2]}, [1, 0])
    assert result.intervals["a"] == (1.0, 1.0)
    assert (result.pairs[0].p_t, result.pairs[0].p_randomization) == (1.0, 1.0)
    assert "on 1 query," in str(result)


# The parts


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=2, max_size=30))
def test_t_test_equals_scipy(differences):
    d = np.array(differences)
    if (d == d[0]).all():
        assert paired_t_test(d) == (0.0 if d[0] else 1.0)
        return
    assert paired_t_test(d) == pytest.approx(ttest_rel(d, np.zeros(len(d))).pvalue, rel=1e-7, abs=1e-12)


def enumerate_flips(d):
    """The p value by going through all sign patterns."""
    observed = abs(sum(d))
    sums = [
        abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in itertools.product([1, -1], repeat=len(d))
    ]
    return sum(value >= observed - 1e-9 for value in sums) / len(sums)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_sign_flips_are_exact_on_few_queries(d):
    exact = enumerate_flips(d)
    assert sign_flip_test(d) == exact
    assert sign_flip_test(np.array(d) * 0.1) == exact, "ties survive rounding"
    assert sign_flip_test([*d, 0, 0, 0], 256) == exact, "queries without a difference do not matter"


@pytest.mark.parametrize("seed", range(5))
def test_sampled_sign_flips_approach_the_exact_value(seed):
    d = np.random.default_rng(seed).normal(0.3, 1, 12)
    exact = enumerate_flips(d)
    assert sign_flip_test(d, 4096) == exact
    sampled = sign_flip_test(d, 4095, random_state=seed)
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4095) + 1e-3)


def test_sign_flips_never_give_zero_and_keep_their_level():
    assert sign_flip_test(np.ones(100), 999) == 1 / 1000
    assert sign_flip_test(np.zeros(100)) == 1.0
    random = np.random.default_rng(0)
    p = np.array([sign_flip_test(random.normal(size=30), 500, i) for i in range(400)])
    assert 0.02 < (p <= 0.05).mean() < 0.09


def slow_holm(p_values):
    """Holm's procedure, one hypothesis at a time from the smallest p."""
    left = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, largest = [0.0] * len(p_values), 0.0
    while left:
        largest = max(largest, len(left) * p_values[left[0]])
        corrected[left.pop(0)] = min(1.0, largest)
    return corrected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm(p_values):
    corrected = holm(p_values)
    np.testing.assert_allclose(corrected, slow_holm(p_values))
    assert (corrected >= p_values).all()


@pytest.mark.slow
def test_bootstrap():
    random = np.random.default_rng(0)
    values = random.normal(size=(2, 1600))
    means = bootstrap_means(values, 4000, 0)
    assert means.shape == (2, 4000)
    np.testing.assert_array_equal(means, bootstrap_means(values, 4000, 0))
    assert not np.array_equal(means, bootstrap_means(values, 4000, 1))
    np.testing.assert_allclose(means.mean(axis=1), values.mean(axis=1), atol=0.003)
    np.testing.assert_allclose(means.std(axis=1), values.std(axis=1) / 40, rtol=0.06)
    widths = []
    for n in (25, 100, 400, 1600):
        low, high = compare_values({"a": values[0, :n]}).intervals["a"]
        assert low < values[0, :n].mean() < high
        widths.append(high - low)
    ratios = np.array(widths[:-1]) / widths[1:]
    assert ((ratios > 1.5) & (ratios < 2.7)).all(), "four times the queries halve the interval"
    wide = compare_values({"a": values[0]}, confidence=0.99).intervals["a"]
    narrow = compare_values({"a": values[0]}, confidence=0.5).intervals["a"]
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_bootstrap_covers_the_truth():
    random = np.random.default_rng(1)
    hits = 0
    for i in range(200):
        low, high = compare_values({"a": random.normal(size=50)}, n_bootstrap=300, random_state=i).intervals["a"]
        hits += low <= 0 <= high
    assert 0.88 < hits / 200 < 0.99


def test_values_from_folds():
    folds = [rankers(10, seed) for seed in range(4)]
    values = {
        name: np.concatenate([evaluate_queries(y, scores[name], qid, "AP").values["AP"] for scores, y, qid in folds])
        for name in ("good", "bad")
    }
    result = compare_values(values, metric="AP")
    assert result.n_queries == 40
    assert result.means["good"] == pytest.approx(values["good"].mean())
    missing = {"good": values["good"].copy(), "bad": values["bad"]}
    missing["good"][3] = np.nan
    assert compare_values(missing).n_queries == 39


def test_random_state_may_be_a_generator_of_numbers():
    result = compare_values({"a": [0.1, 0.5, 0.9]}, random_state=np.random.RandomState(0))
    assert result.intervals["a"] == compare_values({"a": [0.1, 0.5, 0.9]}, random_state=0).intervals["a"]
