"""LambdaMART behind the extra `trees`."""

import sys

import numpy as np
import pytest
from sklearn.base import clone

from rankloom import RankingData
from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate
from rankloom.groups import group_rows
from rankloom.model_selection.selection import read_folds, select
from rankloom.rankers import load_ranker
from rankloom.rankers.base import Problem
from rankloom.rankers.lambdamart import LambdaMART, _booster, _lists, label_gains, labels_of
from rankloom.rankers.neural import canonical
from tests.data import SHARED, needs_shared

lightgbm = pytest.importorskip("lightgbm")


def test_is_lightgbm_on_sorted_rows(capfd):
    data = make_ranking(n_queries=30, n_items=20, grades=4, shuffle=True, string_qid=True, random_state=1)
    groups = group_rows(data.qid, len(data))
    rows, groups, *_ = canonical(Problem(data.X, data.y, groups, np.ones(600), np.ones(30)), merge=False)
    peer = lightgbm.LGBMRanker(
        n_estimators=25,
        num_leaves=7,
        learning_rate=0.2,
        min_child_samples=5,
        deterministic=True,
        force_row_wise=True,
        n_jobs=1,
        verbose=-1,
    )
    peer.fit(data.X[rows], data.y[rows].astype(int), group=np.diff(groups.starts))
    ranker = LambdaMART(25, 7, 0.2, 5).fit(*data)
    expected = peer.booster_.predict(data.X)
    np.testing.assert_array_equal(ranker.predict(data.X), expected)
    assert len(np.unique(expected)) > 100
    assert not any(capfd.readouterr())


def test_any_order_and_names_of_queries_teach_the_same_bits():
    data = make_ranking(n_queries=20, n_items=15, random_state=2)
    expected = LambdaMART(20).fit(*data).predict(data.X)
    order = np.random.default_rng(0).permutation(len(data))
    names = np.array([f"q{(int(q) * 7) % 23}" for q in data.qid], dtype=object)
    mixed = RankingData(data.X[order], data.y[order], names[order])
    np.testing.assert_array_equal(LambdaMART(20).fit(*mixed).predict(data.X), expected)


def test_lists_over_the_limit_of_lightgbm():
    random = np.random.default_rng(0)
    n = 25_000
    X = random.normal(size=(n + 30, 3))
    y = (X[:, 0] + 0.5 * random.normal(size=len(X)) > 2.5).astype(float)
    y[-1] = 1.0
    qid = np.array(["long"] * n + ["short"] * 30)
    with pytest.raises(lightgbm.basic.LightGBMError):
        lightgbm.LGBMRanker(verbose=-1, n_jobs=1).fit(X, y.astype(int), group=[n, 30])
    ranker = LambdaMART(5).fit(X, y, qid=qid)
    assert ranker.score(X, y, qid, metric="AP") > 0.3 > 2 * y.mean()
    np.testing.assert_array_equal(LambdaMART(5).fit(X, y, qid=qid).predict(X), ranker.predict(X))
    assert not np.array_equal(LambdaMART(5, random_state=1).fit(X, y, qid=qid).predict(X), ranker.predict(X))


def test_long_lists_are_dealt_out_evenly():
    query = np.repeat([3, 5, 9], [4, 23, 10])
    labels = np.tile([0, 0, 0, 1], 10)[:37]
    places, lengths = _lists(query, labels, 10, np.random.RandomState(0))
    assert lengths == [4, 8, 8, 7, 10]
    assert sorted(places.tolist()) == list(range(37))
    assert places[:4].tolist() == [0, 1, 2, 3]
    for part in np.split(places, np.cumsum(lengths)[:-1]):
        assert len(set(query[part].tolist())) == 1
        assert (np.diff(part) > 0).all()
    positives = [labels[part].sum() for part in np.split(places, np.cumsum(lengths)[:-1])][1:4]
    assert max(positives) - min(positives) <= 1


def _labels(y):
    grades = np.unique(y)
    return labels_of(y, grades), label_gains(grades)


def test_grades_for_lightgbm():
    labels, gains = _labels(np.array([0.0, 30.0, 4.0]))
    assert labels.tolist() == [0, 30, 4]
    assert gains is None
    for grades in ([-1.0, 7.5, 0.0], [31.0, 1000.0, 40.0], [0.1, 0.3, 0.2]):
        labels, gains = _labels(np.array(grades))
        assert labels.tolist() == [0, 2, 1]
        assert gains is None
    labels, gains = _labels(np.arange(40) / 8)
    assert labels.tolist() == gains == list(range(40))


def test_many_float_grades_and_none_of_their_gains_in_the_model():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 3))
    y = X[:, 0] - 5.0 + 0.1 * random.normal(size=2000)
    qid = np.repeat(np.arange(100), 20)
    ranker = LambdaMART(30).fit(X, y, qid=qid)
    assert np.corrcoef(ranker.predict(X), y)[0, 1] > 0.8
    assert "label_gain" not in ranker.model_


def test_a_query_of_weight_two_counts_twice():
    data = make_ranking(n_queries=20, n_items=30, random_state=4)
    exact_bins = {"max_bin": 2000, "min_data_in_bin": 1}  # otherwise a repeated row moves the bounds of bins
    ranker = LambdaMART(10, num_leaves=4, min_child_samples=1, options=exact_bins)
    twice = np.concatenate([np.arange(len(data)), np.flatnonzero(data.qid == 3)])
    names = np.where(np.arange(len(twice)) < len(data), data.qid[twice], 99)
    weighted = clone(ranker).fit(*data, query_weight={3: 2.0}).predict(data.X)
    repeated = clone(ranker).fit(data.X[twice], data.y[twice], qid=names).predict(data.X)
    plain = clone(ranker).fit(*data).predict(data.X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)
    assert np.abs(weighted - plain).max() > 0.01
    without = data.take(data.qid != 3)
    np.testing.assert_array_equal(
        clone(ranker).fit(*data, query_weight={3: 0.0}).predict(data.X), clone(ranker).fit(*without).predict(data.X)
    )


def test_takes_no_sample_weight():
    with pytest.raises(TypeError, match="sample_weight"):
        LambdaMART().fit([[1.0], [2.0]], [0, 1], sample_weight=[1, 2])


def test_without_lightgbm_the_error_says_what_to_install(monkeypatch):
    data = make_ranking(n_queries=10, n_items=10, random_state=5)
    fitted = LambdaMART(2, min_child_samples=2).fit(*data)
    _booster.cache_clear()
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"pip install 'rankloom\[trees\]'"):
        LambdaMART().fit(*data)
    with pytest.raises(ImportError, match=r"pip install 'rankloom\[trees\]'"):
        fitted.predict(data.X)


def test_json_holds_the_trees(tmp_path):
    data = make_ranking(n_queries=20, n_items=20, random_state=6)
    ranker = LambdaMART(7, options={"lambda_l2": 1.0}).fit(*data)
    ranker.save(tmp_path / "trees.json")
    _booster.cache_clear()
    loaded = load_ranker(tmp_path / "trees.json", classes=[LambdaMART])
    assert loaded.options == {"lambda_l2": 1.0}
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))
    assert lightgbm.Booster(model_str=loaded.model_).num_trees() == 7
    assert set(vars(loaded)) == set(vars(ranker))


def test_nothing_to_learn_from():
    with pytest.warns(UserWarning, match="no query has rows of two grades"):
        ranker = LambdaMART().fit([[1.0], [2.0]], [1, 1])
    assert ranker.predict([[1.0], [5.0]]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("params", "message"), [({"max_list": 20_000}, "max_list"), ({"n_estimators": 0}, "at least")])
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        LambdaMART(**params).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.slow
@needs_shared
@pytest.mark.shared
def test_mq2008_first_fold():
    fold = read_folds(SHARED / "letor-mq2008")[0]
    grid = {"num_leaves": (4, 8), "learning_rate": (0.05, 0.1)}
    chosen = select(LambdaMART, grid, fold.train, fold.validation, "AP", "letor4")
    values = evaluate(fold.test.y, chosen.ranker.predict(fold.test.X), fold.test.qid, ["AP"], "letor4")
    assert values["AP"] > 0.44
