"""Queries of any kind in any order, weights, and all preference pairs against loops."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloom.groups import (
    check_finite,
    check_grades,
    check_weights,
    group_rows,
    preference_pairs,
    preferences,
    qid_from_group_sizes,
)
from rankloom.rankers._feature_size import check_largest, check_least

KEYS = st.one_of(
    st.integers(),
    st.text(max_size=3),
    st.tuples(st.integers(0, 2), st.text(max_size=1)),
    st.frozensets(st.integers(0, 2)),
    st.floats(allow_nan=False),
    st.binary(max_size=2),
)
KINDS = st.one_of(*(st.lists(kind, max_size=12) for kind in (st.integers(-3, 3), st.text("abé ", max_size=2), KEYS)))


def slow_pairs(y, qid):
    n = len(y)
    return [(j, k) for j, k in itertools.product(range(n), repeat=2) if qid[j] == qid[k] and y[j] > y[k]]


def as_objects(values):
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value
    return array


def assert_groups(groups, values):
    """Rows share a group exactly where their values are equal; the fields agree with each other."""
    n = len(values)
    assert [groups.keys[code] for code in groups.codes] == list(values)
    assert len(groups) == len(groups.keys) == len(set(values))
    assert sorted(groups.order.tolist()) == list(range(n))
    for number, rows in enumerate(groups):
        assert rows.tolist() == np.flatnonzero(groups.codes == number).tolist()  # in the caller's order
    assert groups.starts[0] == 0
    assert groups.starts[-1] == n


@given(KINDS)
def test_any_hashable_values_group(values):
    assert_groups(group_rows(values, len(values)), values)
    assert_groups(group_rows(tuple(values), len(values)), values)
    assert_groups(group_rows(as_objects(values), len(values)), values)


@given(st.lists(st.integers(-3, 3), max_size=12))
def test_the_container_does_not_matter(values):
    expected = group_rows(values, len(values))
    for container in (
        np.array(values, dtype=np.int32),
        np.array(values, dtype=float),
        pd.Series(values, dtype="int64"),
    ):
        groups = group_rows(container, len(values))
        assert groups.keys == expected.keys
        np.testing.assert_array_equal(groups.codes, expected.codes)


def test_numbers_and_texts_come_sorted_and_others_as_they_appear():
    assert group_rows([10, 9, 10], 3).keys == [9, 10]
    assert group_rows(["b", "a", "b"], 3).keys == ["a", "b"]
    assert group_rows([("b", 1), ("a", 2), ("b", 1)], 3).keys == [("b", 1), ("a", 2)]


def test_values_of_different_types_stay_apart():
    groups = group_rows([1, "1", 1, b"1", ("1",), "1"], 6)
    assert groups.codes.tolist() == [0, 1, 0, 2, 3, 1]
    assert groups.keys == [1, "1", b"1", ("1",)]


def test_pandas_rows_go_by_place_and_not_by_index():
    qid = pd.Series(["b", "a", "b"], index=[2, 0, 1])
    assert_groups(group_rows(qid, 3), ["b", "a", "b"])
    assert_groups(group_rows(pd.Series(["b", "a", "b"], dtype="category"), 3), ["b", "a", "b"])
    assert group_rows(pd.Series([7, 8, 7], dtype="Int64"), 3).codes.tolist() == [0, 1, 0]


def test_two_columns_of_an_array_are_a_tuple_a_row():
    groups = group_rows(np.array([[1, 2], [1, 3], [1, 2]]), 3)
    assert groups.codes.tolist() == [0, 1, 0]
    assert groups.keys == [(1, 2), (1, 3)]
    assert group_rows([[1, 2], [1, 3], [1, 2]], 3).keys == [(1, 2), (1, 3)]


def test_integers_beyond_64_bits_stay_apart():
    assert_groups(group_rows([2**70, 2**70 + 1, 5], 3), [2**70, 2**70 + 1, 5])


def test_no_qid_is_one_query_and_no_row_is_none():
    groups = group_rows(None, 3)
    assert len(groups) == 1
    assert [rows.tolist() for rows in groups] == [[0, 1, 2]]
    assert len(group_rows(None, 0)) == len(group_rows([], 0)) == 0


@pytest.mark.parametrize(
    "qid",
    [
        np.array([1.0, 2.0, np.nan]),
        [1.0, 2.0, float("nan")],
        ["a", "b", None],
        as_objects(["a", ("b",), None]),
        as_objects(["a", 3, float("nan")]),
        pd.Series(["a", "b", None]),
        pd.Series([1, 2, None]),
    ],
    ids=lambda qid: type(qid).__name__,
)
def test_a_missing_qid_raises_with_its_row(qid):
    with pytest.raises(ValueError, match="row 2"):
        group_rows(qid, 3)


def test_bad_qids_raise_with_what_is_wrong():
    with pytest.raises(ValueError, match="hashable, got set in row 1"):
        group_rows(["a", {1}], 2)
    with pytest.raises(ValueError, match="qid has 2 values but there are 3 rows"):
        group_rows([1, 2], 3)
    with pytest.raises(ValueError, match="one value a row, got int"):
        group_rows(7, 1)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_check_finite_names_row_and_column(value, word):
    array = np.zeros((5, 3))
    array[3, 1] = value
    array[4, 0] = value
    with pytest.raises(ValueError, match=rf"X contains .*{word}.* in row 3, column 1"):
        check_finite(array, "X")
    with pytest.raises(ValueError, match=rf"y contains .*{word}.* in row 2$"):
        check_finite(np.array([0.0, 1.0, value]), "y")


def test_check_finite_accepts_huge_values_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_finite(np.full((100, 2), 1.7e308), "X")
        check_finite(np.array([1.7e308, 1.7e308, -1.7e308]), "X")
        check_finite(np.empty((0, 3)), "X")
    array = np.full((100, 2), 1.7e308)
    array[7, 1] = np.inf
    with pytest.raises(ValueError, match="row 7, column 1"):
        check_finite(array, "X")
    opposite = np.array([np.inf, -np.inf])
    with pytest.raises(ValueError, match="row 0"):
        check_finite(opposite, "y")


def test_check_grades():
    assert check_grades([True, False], 2).tolist() == [1.0, 0.0]
    assert check_grades(pd.Series([2, 1], index=[5, 4]), 2).tolist() == [2.0, 1.0]
    for bad, message in (
        (["good", "bad"], "numbers"),
        ([[1, 2], [3, 4]], r"shape \(2, 2\)"),
        ([1.0], "1 grades but there are 2 rows"),
        ([1.0, np.nan], "NaN in row 1"),
    ):
        with pytest.raises(ValueError, match=message):
            check_grades(bad, 2)


def test_weights_default_to_one():
    rows, queries = check_weights(group_rows(["b", "a", "b"], 3), None, None)
    assert rows.tolist() == [1.0, 1.0, 1.0]
    assert queries.tolist() == [1.0, 1.0]


def test_query_weights_by_mapping_or_by_row():
    groups = group_rows(["b", "a", "b"], 3)
    assert check_weights(groups, None, {"b": 2.5})[1].tolist() == [1.0, 2.5]
    assert check_weights(groups, [1, 0, 2], [2.5, 0.5, 2.5])[1].tolist() == [0.5, 2.5]
    assert check_weights(groups, [1, 0, 2], None)[0].tolist() == [1.0, 0.0, 2.0]
    mixed = group_rows([1, "1"], 2)
    assert check_weights(mixed, None, {"1": 3.0})[1].tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("sample_weight", "query_weight", "message"),
    [
        ([1.0, 2.0], None, r"sample_weight must be one number a row: expected shape \(3,\), got \(2,\)"),
        ([1.0, -2.0, 1.0], None, "sample_weight is negative in row 1"),
        ([1.0, 1.0, np.inf], None, "sample_weight contains .*inf.* in row 2"),
        ([1.0, np.nan, 1.0], None, "sample_weight contains NaN in row 1"),
        (None, {"c": 1.0}, "names the query 'c', which has no row"),
        (None, {"a": -1.0}, "finite and not negative"),
        (None, {"a": np.nan}, "finite and not negative"),
        (None, [1.0, 1.0, 2.0], "same for all rows of a query; row 2 differs"),
        (None, [1.0, 1.0], "query_weight must be one number a row"),
        (None, [1.0, -1.0, 1.0], "query_weight is negative in row 1"),
    ],
)
def test_bad_weights_raise(sample_weight, query_weight, message):
    with pytest.raises(ValueError, match=message):
        check_weights(group_rows(["b", "a", "b"], 3), sample_weight, query_weight)


@st.composite
def problems(draw):
    """Grades with few or many levels, queries in any order, weights some of which are 0."""
    n = draw(st.integers(0, 25))
    grades = draw(st.sampled_from([st.integers(0, 1), st.integers(-2, 3), st.floats(-1e6, 1e6), st.floats(0, 1)]))
    y = draw(st.lists(grades, min_size=n, max_size=n))
    qid = draw(st.lists(st.integers(0, draw(st.integers(0, 5))), min_size=n, max_size=n))
    weights = draw(st.sampled_from([st.just(1.0), st.sampled_from([0.0, 0.5, 1.0, 3.0])]))
    weight = draw(st.lists(weights, min_size=n, max_size=n))
    query_weight = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=6, max_size=6))
    return np.array(y, dtype=float), np.array(qid, dtype=int), np.array(weight), np.array(query_weight)


def split_pairs(prefs):
    return [
        (int(prefs.rows[j]), int(prefs.rows[k]))
        for a, m, b in prefs.splits
        for j, k in itertools.product(range(a, m), range(m, b))
    ]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(problems(), st.sampled_from(["pairs", "query"]))
def test_preferences_hold_every_pair_once(problem, normalize):
    y, qid, weight, by_query = problem
    groups = group_rows(qid, len(y))
    query_weight = by_query[np.array(groups.keys, dtype=int)]
    prefs = preferences(y, groups, weight, query_weight, normalize=normalize)
    counts = weight * query_weight[groups.codes] if len(y) else weight
    expected = [(j, k) for j, k in slow_pairs(y, qid) if counts[j] > 0 and counts[k] > 0]

    found = split_pairs(prefs)
    assert len(found) == len(set(found)) == prefs.n_pairs
    assert sorted(found) == sorted(expected)
    assert sorted(set(prefs.rows.tolist())) == sorted({row for pair in expected for row in pair})
    np.testing.assert_array_equal(prefs.query, groups.codes[prefs.rows])
    np.testing.assert_array_equal(prefs.weight, weight[prefs.rows])

    total = {}
    for j, k in expected:
        total[qid[j]] = total.get(qid[j], 0.0) + weight[j] * weight[k]
    for place, row in enumerate(prefs.rows):
        assert prefs.lower[place] == pytest.approx(sum(weight[k] for j, k in expected if j == row))
        assert prefs.higher[place] == pytest.approx(sum(weight[j] for j, k in expected if k == row))
        share = total[qid[row]] if normalize == "query" else 1.0
        assert prefs.scale[place] == pytest.approx(by_query[qid[row]] / share)
    if normalize == "query":
        sums = {}
        for (a, m, b), scale in zip(prefs.splits, prefs.split_scale, strict=True):
            pairs = scale * prefs.weight[a:m].sum() * prefs.weight[m:b].sum()
            sums[qid[prefs.rows[a]]] = sums.get(qid[prefs.rows[a]], 0.0) + pairs
        assert sums == pytest.approx({query: by_query[query] for query in total})


@settings(max_examples=100, deadline=None)
@given(problems())
def test_splits_of_one_depth_do_not_overlap(problem):
    y, qid, weight, _ = problem
    prefs = preferences(y, group_rows(qid, len(y)), weight)
    for depth in np.unique(prefs.depth):
        splits = prefs.splits[prefs.depth == depth]
        splits = splits[np.argsort(splits[:, 0])]
        assert (splits[:-1, 2] <= splits[1:, 0]).all()
    for a, m, b in prefs.splits:
        assert a < m < b
        assert len(set(prefs.query[a:b])) == 1
        assert y[prefs.rows[a:m]].min() > y[prefs.rows[m:b]].max()


@pytest.mark.parametrize("sizes", ["equal", "one large", "growing"])
@pytest.mark.parametrize("levels", [2, 5, 64, 1000])
def test_splits_are_short_for_any_number_of_grades(sizes, levels):
    n = 4000
    shares = {
        "equal": np.ones(levels),
        "one large": np.r_[float(n), np.ones(levels - 1)],
        "growing": 1.5 ** np.arange(levels, dtype=float).clip(0, 40),
    }[sizes]
    counts = 1 + np.floor((n - levels) * shares / shares.sum()).astype(int)
    y = np.repeat(np.arange(levels), counts) * 0.25
    prefs = preferences(y, group_rows(None, len(y)))
    assert len(prefs.splits) == levels - 1
    # Twice the entropy's bound log2 G; one split after the other would make about n G / 2.
    assert (prefs.splits[:, 2] - prefs.splits[:, 0]).sum() <= len(y) * 2 * (np.log2(levels) + 1)


def test_preferences_know_their_normalisations():
    with pytest.raises(ValueError, match="'pairs' or 'query', got 'rows'"):
        preferences(np.zeros(2), group_rows(None, 2), normalize="rows")


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems())
def test_preference_pairs_are_all_pairs_in_order(problem):
    y, qid, *_ = problem
    assert [tuple(pair) for pair in preference_pairs(y, qid).tolist()] == slow_pairs(y, qid)
    assert [tuple(pair) for pair in preference_pairs(y).tolist()] == slow_pairs(y, np.zeros(len(y)))


@pytest.mark.parametrize("most", [1e7, 1e100, 1e299])
def test_features_beyond_a_limit_name_the_column(most):
    rows = np.ones((4, 3))
    check_largest(rows * most, most, "it")
    rows[2, 1] = -2 * most
    with pytest.raises(ValueError, match=r"in column 1, it computes with at most .*; divide the column"):
        check_largest(rows, most, "it")
    check_largest(rows, np.inf, "it")


def test_features_below_a_limit_name_the_column():
    rows = np.array([[0.0, 1.0, 1e-200], [0.0, 1e-300, -1e-210]])
    with pytest.raises(ValueError, match=r"no value beyond 1e-200 in column 2, it computes with at least 1e-100"):
        check_least(rows, 1e-100, "it")
    check_least(rows[:, :2], 1e-100, "it")  # zeros, and small values beside ordinary ones, are fine
    check_least(rows, 0.0, "it")


def test_qid_of_group_sizes():
    sizes = [2, 0, 3]
    assert qid_from_group_sizes(sizes).tolist() == [0, 0, 2, 2, 2]
    assert [len(rows) for rows in group_rows(qid_from_group_sizes(sizes), 5)] == [2, 3]
    assert qid_from_group_sizes([]).tolist() == []
    for bad in ([1.5, 2.0], [-1, 3], [[1, 2]], ["a"], 3):
        with pytest.raises(ValueError, match="one whole number per query"):
            qid_from_group_sizes(bad)


def test_group_sizes_in_place_of_qid_are_noticed():
    with pytest.raises(ValueError, match=r"2 values but there are 5 rows.*qid_from_group_sizes\(sizes\)"):
        group_rows([2, 3], 5)
    with pytest.raises(ValueError, match=r"give one qid per row$"):
        group_rows(["a", "b"], 5)
