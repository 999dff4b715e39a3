"""The lazy matrix: what it computes, how often, and what it says about it."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score

from rankloom import Features
from rankloom.datasets import make_ranking
from rankloom.rankers import RANKERS, MarginRanker, RankBoost, RankingLogisticRegression, make_ranker

N, WIDTH = 7, 3
TABLE = np.random.default_rng(0).normal(size=(N, WIDTH))


class Recorder:
    """Columns of a table as functions that write down every cell they were asked for."""

    def __init__(self, table):
        self.table = np.asarray(table, dtype=float)
        self.asked = []

    def columns(self):
        return [self._column(j) for j in range(self.table.shape[1])]

    def _column(self, j):
        def column(rows):
            self.asked += [(int(row), j) for row in rows]
            return self.table[rows, j]

        return column

    def features(self, **options):
        return Features(self.columns(), n_rows=len(self.table), **options)

    def counts(self):
        return np.bincount([j for _, j in self.asked], minlength=self.table.shape[1])


# Sources.


def test_array_list_and_mapping_hold_the_same_matrix():
    columns = Recorder(TABLE).columns()
    sources = [
        Features(TABLE),
        Features(TABLE.tolist()),
        Features(columns, n_rows=N),
        Features(tuple(columns), n_rows=np.int64(N)),
        Features(dict(zip("abc", columns, strict=True)), n_rows=N),
    ]
    for lazy in sources:
        assert lazy.shape == (N, WIDTH)
        assert len(lazy) == N
        assert lazy.n_evaluations == 0
        np.testing.assert_array_equal(np.asarray(lazy), TABLE)
        assert lazy.n_evaluations == TABLE.size
    assert sources[0].names == ["f1", "f2", "f3"]
    assert sources[-1].names == ["a", "b", "c"]
    assert Features(dict(zip("abc", columns, strict=True)), n_rows=N, names=["x", "y", "z"]).names == ["x", "y", "z"]


def test_integers_become_doubles():
    lazy = Features(np.arange(6).reshape(3, 2))
    assert lazy.column(0).dtype == np.float64
    assert np.asarray(lazy).dtype == np.float64
    assert np.asarray(lazy, dtype=np.float32).dtype == np.float32
    one = Features([lambda rows: rows], n_rows=3)  # a column of row numbers, integers
    assert one.column(0).dtype == np.float64


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Features([1.0, 2.0]), "two dimensions"),
        (lambda: Features(np.zeros((2, 2, 2))), "two dimensions"),
        (lambda: Features(TABLE, n_rows=N + 1), "rows"),
        (lambda: Features([np.abs]), "n_rows"),
        (lambda: Features([np.abs], n_rows=-1), "n_rows"),
        (lambda: Features([np.abs], n_rows=2.0), "n_rows"),
        (lambda: Features([np.abs], n_rows=True), "n_rows"),
        (lambda: Features(TABLE, names=["a"]), "1 names for 3 columns"),
        (lambda: Features(TABLE, costs=[1.0]), "costs"),
        (lambda: Features(TABLE, costs=[1.0, np.nan, 1.0]), "costs"),
        (lambda: Features(TABLE, costs=[1.0, -1.0, 1.0]), "costs"),
    ],
)
def test_bad_sources_are_one_line_errors(make, part):
    with pytest.raises(ValueError, match=part) as error:
        make()
    assert "\n" not in str(error.value)


def test_no_columns_and_no_rows():
    assert np.asarray(Features({}, n_rows=5)).shape == (5, 0)
    empty = Recorder(np.zeros((0, 2)))
    lazy = empty.features()
    assert np.asarray(lazy).shape == (0, 2)
    assert empty.asked == []
    assert lazy.n_evaluations == 0


# No cell twice.

requests = st.lists(st.tuples(st.integers(0, WIDTH - 1), st.lists(st.integers(0, N - 1), max_size=12)), max_size=12)


@given(requests)
@settings(max_examples=100, deadline=None)
def test_no_cell_is_computed_twice_and_the_ledger_counts_each(asked):
    recorder = Recorder(TABLE)
    lazy = recorder.features(costs=[1.0, 10.0, 100.0])
    for j, rows in asked:
        np.testing.assert_array_equal(lazy.column(j, rows), TABLE[np.array(rows, dtype=int), j])
    wanted = {(row, j) for j, rows in asked for row in rows}
    assert sorted(recorder.asked) == sorted(wanted)
    counts = np.bincount([j for _, j in wanted], minlength=WIDTH)
    np.testing.assert_array_equal(lazy.evaluations, counts)
    assert lazy.n_evaluations == len(wanted)
    assert lazy.cost == counts @ [1.0, 10.0, 100.0]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_unsigned_row_numbers_are_not_computed_twice(dtype):
    recorder = Recorder(TABLE)
    lazy = recorder.features()
    rows = np.array([2, 1, 2], dtype=dtype)
    np.testing.assert_array_equal(lazy.column(0, rows), TABLE[[2, 1, 2], 0])
    assert sorted(recorder.asked) == [(1, 0), (2, 0)]
    assert lazy.n_evaluations == 2


def test_threads_that_ask_for_the_same_column_compute_it_once():
    together = Barrier(4)

    def column(rows):
        sleep(0.005)  # so that the others ask meanwhile
        return 2.0 * rows

    lazy = Features([column], n_rows=50)

    def ask(part):
        together.wait()
        return lazy.column(0, part)

    parts = [np.arange(50), np.arange(0, 50, 2), np.arange(25), None]
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(ask, parts)]
    assert lazy.n_evaluations == 50
    for part, values in zip(parts, found, strict=True):
        np.testing.assert_array_equal(values, 2.0 * (np.arange(50) if part is None else part))


def test_features_of_an_array_reach_other_processes():
    features = Features(np.arange(6.0).reshape(3, 2), names=["a", "b"])
    features.column(1, [2])
    copied = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(copied, features)
    assert copied.names == ["a", "b"]


def test_a_column_that_changes_its_rows_spoils_nothing():
    def careless(rows):
        rows += 1  # row numbers from 1, as in its file
        return rows.astype(float)

    lazy = Features([careless], n_rows=5)
    np.testing.assert_array_equal(lazy.column(0, [0, 2]), [1.0, 3.0])


def test_values_are_copies():
    kept = np.arange(4.0)
    lazy = Features([lambda rows: kept[rows]], n_rows=4)
    lazy.column(0)[:] = 9.0
    np.testing.assert_array_equal(lazy.column(0), np.arange(4.0))
    array = np.eye(3)
    Features(array).column(0)[:] = 9.0
    np.testing.assert_array_equal(array, np.eye(3))


def test_rows_as_masks_lists_and_nothing():
    lazy = Features(TABLE)
    mask = np.arange(N) % 2 == 0
    np.testing.assert_array_equal(lazy.column(1, mask), TABLE[mask, 1])
    np.testing.assert_array_equal(lazy.column(1, mask.tolist()), TABLE[mask, 1])
    assert lazy.column(1, []).shape == (0,)
    assert lazy.column(1, np.zeros(N, dtype=bool)).shape == (0,)
    assert lazy.evaluations[1] == mask.sum()
    np.testing.assert_array_equal(lazy.column(1), TABLE[:, 1])
    assert lazy.evaluations.tolist() == [0, N, 0]


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([-1], "no row -1"),
        ([0, N], f"no row {N}"),
        ([0.0, 1.0], "row numbers"),
        ([[0, 1]], "row numbers"),
        (3, "row numbers"),
        (["0"], "row numbers"),
        ([True] * (N + 1), "mask"),
    ],
)
def test_bad_rows(rows, part):
    recorder = Recorder(TABLE)
    lazy = recorder.features()
    with pytest.raises(ValueError, match=part):
        lazy.column(0, rows)
    assert recorder.asked == []
    assert lazy.n_evaluations == 0


@pytest.mark.parametrize("j", [-1, WIDTH, 100])
def test_bad_columns(j):
    with pytest.raises(ValueError, match=f"no column {j}"):
        Features(TABLE).column(j)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("lazily", [True, False])
def test_a_bad_number_is_named_and_not_kept(bad, lazily):
    table = TABLE.copy()
    table[4, 1] = bad
    names = ["size", "blur", "age"]
    lazy = Recorder(table).features(names=names) if lazily else Features(table, names=names)
    lazy.column(1, [0, 1])
    with pytest.raises(ValueError, match=r"row 4, column 1 \(blur\)"):
        lazy.column(1, [5, 4, 3])
    assert lazy.evaluations[1] == 2
    np.testing.assert_array_equal(lazy.column(1, [3]), table[[3], 1])
    with pytest.raises(ValueError, match="row 4"):
        np.asarray(lazy)


@pytest.mark.parametrize("give", [lambda rows: 1.0, lambda rows: np.zeros((len(rows), 1)), lambda rows: np.zeros(99)])
def test_a_column_of_the_wrong_shape_is_named(give):
    with pytest.raises(ValueError, match="'wide' gave the shape"):
        Features({"wide": give}, n_rows=3).column(0)


def test_reset_forgets():
    recorder = Recorder(TABLE)
    lazy = recorder.features()
    lazy.column(0)
    lazy.reset()
    assert lazy.n_evaluations == 0
    assert lazy.cost == 0.0
    lazy.column(0)
    assert recorder.counts().tolist() == [2 * N, 0, 0]


# Costs.


def test_stated_costs_win_over_time_and_are_copies():
    lazy = Recorder(TABLE).features(costs=[1.0, 2.0, 0.0])
    lazy.column(1, [0, 1])
    lazy.column(2)
    assert lazy.cost == 4.0
    lazy.cell_costs()[:] = 7.0
    np.testing.assert_array_equal(lazy.cell_costs(), [1.0, 2.0, 0.0])
    assert Features(TABLE).cell_costs().tolist() == [1.0] * WIDTH


@pytest.fixture
def clock(monkeypatch):
    """A clock that only goes on while columns are computed: the time of the machine depends on what else it does."""
    now = [0.0]
    monkeypatch.setattr("rankloom.features.perf_counter", lambda: now[0])
    return now


def timed(clock, seconds):
    """A column whose cells take so many seconds each."""

    def column(rows):
        clock[0] += seconds * len(rows)
        return 1.0 * rows

    return column


def test_functions_are_timed(clock):
    slow_column, fast_column = timed(clock, 1e-2), timed(clock, 1e-3)
    lazy = Features({"slow": slow_column, "fast": fast_column, "never": slow_column}, n_rows=10)
    lazy.column(0, [1, 2, 2])
    lazy.column(1)
    costs = lazy.cell_costs()
    np.testing.assert_allclose(costs, [1e-2, 1e-3, np.nan])
    np.testing.assert_allclose(lazy.seconds, [2e-2, 1e-2, 0.0])
    assert lazy.cost == pytest.approx(3e-2)


def test_a_part_knows_what_its_cells_cost(clock):
    slow_column = timed(clock, 1e-2)
    lazy = Features({"slow": slow_column, "fast": timed(clock, 1e-3)}, n_rows=10)
    np.asarray(lazy)
    part = lazy.take([0, 3, 4])
    np.asarray(part)
    np.testing.assert_allclose(part.cell_costs(), [1e-2, 1e-3])
    np.testing.assert_array_equal(part[1:].cell_costs(), lazy.cell_costs())
    assert part.cost == pytest.approx(3 * lazy.cell_costs().sum())
    lazy.reset()
    assert np.isfinite(part.cell_costs()).all()  # its own times, where the whole has none
    assert np.isnan(Features({"slow": slow_column}, n_rows=3)[:2].cell_costs()).all()


# Parts.


@pytest.mark.parametrize("rows", [slice(1, 6, 2), [4, 0, 4], np.arange(N) > 2, np.array([], dtype=int), slice(None)])
def test_parts_have_the_rows_and_are_counted_in_the_whole(rows):
    recorder = Recorder(TABLE)
    lazy = recorder.features(names=["a", "b", "c"], costs=[1.0, 2.0, 3.0])
    part = lazy[rows]
    assert lazy.n_evaluations == 0
    assert part.names == lazy.names
    np.testing.assert_array_equal(part.cell_costs(), lazy.cell_costs())
    np.testing.assert_array_equal(np.asarray(part), TABLE[rows])
    assert part.n_evaluations == TABLE[rows].size
    distinct = len(np.unique(np.arange(N)[rows]))
    assert lazy.n_evaluations == len(recorder.asked) == WIDTH * distinct
    np.asarray(lazy[rows])
    assert len(recorder.asked) == WIDTH * distinct


def test_parts_of_an_array_are_counted_in_the_whole():
    lazy = Features(TABLE)
    lazy.take([1, 2]).column(0)
    assert lazy.evaluations.tolist() == [2, 0, 0]
    part = lazy.take([2, 5])
    np.testing.assert_array_equal(np.asarray(part), TABLE[[2, 5]])
    assert lazy.evaluations.tolist() == [3, 2, 2]
    assert part.cost == part.n_evaluations == 6
    assert np.asarray(Features(np.zeros((4, 0)))[1:3]).shape == (2, 0)


def test_parts_of_parts():
    recorder = Recorder(TABLE)
    part = recorder.features()[[6, 5, 4, 3]][1:3]
    np.testing.assert_array_equal(part.column(2), TABLE[[5, 4], 2])
    assert sorted(recorder.asked) == [(4, 2), (5, 2)]


def test_one_row_number_is_no_part():
    with pytest.raises(ValueError, match="rows"):
        Features(TABLE)[3]
    with pytest.raises(IndexError):
        Features(TABLE)[[N]]


def test_only_copies_become_arrays():
    lazy = Features(TABLE)
    with pytest.raises(ValueError, match="copied"):
        np.asarray(lazy, copy=False)
    dense = np.array(lazy)
    dense[:] = 0.0
    np.testing.assert_array_equal(np.asarray(lazy), TABLE)


def test_repr_says_what_was_computed():
    lazy = Features(TABLE)
    lazy.column(0, [1])
    assert repr(lazy) == f"Features({N} rows, {WIDTH} columns, 1 cells computed)"


# Rankers.


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_takes_it(name):
    data = make_ranking(n_queries=6, n_items=12, n_features=4, n_informative=2, random_state=3)
    recorder, dense = Recorder(data.X), make_ranker(name).fit(data.X, data.y, qid=data.qid)
    lazy = recorder.features(costs=np.ones(4))
    ranker = make_ranker(name).fit(lazy, data.y, qid=data.qid)
    expected = dense.predict(data.X)
    np.testing.assert_allclose(ranker.predict(lazy), expected, rtol=1e-9, atol=1e-9 * np.ptp(expected))
    fresh = Recorder(data.X)
    np.testing.assert_allclose(ranker.predict(fresh.features()), expected, rtol=1e-9, atol=1e-9 * np.ptp(expected))
    assert len(set(fresh.asked)) == len(fresh.asked) <= data.X.size
    with pytest.raises(ValueError, match="features"):
        ranker.predict(Features(data.X[:, :3]))


def test_weights_of_zero_ask_for_nothing():
    data = make_ranking(n_queries=20, n_items=20, n_features=10, n_informative=2, random_state=0)
    sparse = MarginRanker("logistic", penalty="l1", nu=200.0).fit(data.X, data.y, qid=data.qid)
    zero = np.flatnonzero(sparse.coef_ == 0)
    assert 0 < len(zero) < 10
    recorder = Recorder(data.X)
    np.testing.assert_allclose(sparse.predict(recorder.features()), data.X @ sparse.coef_)
    np.testing.assert_array_equal(np.flatnonzero(recorder.counts() == 0), zero)


def test_columns_with_bad_numbers_that_are_not_needed_do_no_harm():
    data = make_ranking(n_queries=20, n_items=20, n_features=10, n_informative=2, random_state=0)
    boosted = RankBoost(3).fit(data.X, data.y, qid=data.qid)
    spoiled = data.X.copy()
    spoiled[:, np.setdiff1d(np.arange(10), boosted.used_features)] = np.nan
    np.testing.assert_allclose(boosted.predict(Features(spoiled)), boosted.predict(data.X))
    spoiled[3, boosted.used_features[0]] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        boosted.predict(Features(spoiled))


@pytest.mark.parametrize("ranker", [RankingLogisticRegression(), RankBoost(5)], ids=str)
def test_cross_validation_of_scikit_learn(ranker):
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 4))
    y = (X[:, 0] + random.normal(size=60) > 0.7).astype(float)
    lazy = Recorder(X).features()
    cv = KFold(3, shuffle=True, random_state=0)
    np.testing.assert_allclose(cross_val_score(ranker, lazy, y, cv=cv), cross_val_score(ranker, X, y, cv=cv))
    np.testing.assert_allclose(cross_val_predict(ranker, lazy, y, cv=cv), cross_val_predict(ranker, X, y, cv=cv))
    assert lazy.n_evaluations == X.size
