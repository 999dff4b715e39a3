"""Splits by query, alone and inside scikit-learn's cross-validation and searches."""

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate
from rankloom.model_selection.splitters import QueryKFold, QueryShuffleSplit
from rankloom.rankers import RankingLogisticRegression

X, Y, QID = make_ranking(15, 8, 4, n_informative=3, string_qid=True, shuffle=True, random_state=3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", ("c", 1), 4, 5.5, "4"]), min_size=1, max_size=30), st.booleans(), st.data())
def test_folds_keep_queries_whole_and_cover_all_rows(qid, shuffle, data):
    n_queries = len(set(qid))
    if n_queries < 2:
        return
    n_splits = data.draw(st.integers(2, n_queries))
    rows = np.zeros((len(qid), 1))
    splits = list(QueryKFold(n_splits, shuffle=shuffle, random_state=1).split(rows, qid=qid))
    assert len(splits) == n_splits
    for train, test in splits:
        assert len(train) > 0
        assert len(test) > 0
        assert sorted([*train, *test]) == list(range(len(qid)))
        assert not {qid[i] for i in train} & {qid[i] for i in test}
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(qid)))
    sizes = [len({qid[i] for i in test}) for _, test in splits]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("test_size", [0.1, 0.3, 0.5])
def test_random_splits_keep_queries_whole(test_size):
    splits = list(QueryShuffleSplit(20, test_size=test_size, random_state=0).split(X, qid=QID))
    assert len(splits) == 20
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(len(X)))
        assert not set(QID[train]) & set(QID[test])
        assert len(set(QID[test])) == round(test_size * 15)
    assert len({tuple(test) for _, test in splits}) > 1


@pytest.mark.parametrize(
    "make", [QueryKFold, lambda **seed: QueryKFold(shuffle=True, **seed), lambda **seed: QueryShuffleSplit(5, **seed)]
)
def test_the_same_seed_gives_the_same_splits(make):
    def tests(seed):
        return [test.tolist() for _, test in make(random_state=seed).split(X, qid=QID)]

    assert tests(4) == tests(4)
    same_splitter = make(random_state=4)
    assert [t.tolist() for _, t in same_splitter.split(X, qid=QID)] == tests(4)
    if make is not QueryKFold:
        assert tests(4) != tests(5)


@pytest.mark.parametrize("splitter", [QueryKFold(3), QueryShuffleSplit(3, random_state=0)])
def test_qid_comes_by_either_name(splitter):
    by_qid = list(splitter.split(X, qid=QID))
    with pytest.warns(UserWarning, match="unless it gets qid too"):
        by_groups = list(splitter.split(X, groups=QID))
    for (_, one), (_, other) in zip(by_qid, by_groups, strict=True):
        np.testing.assert_array_equal(one, other)
    assert splitter.get_n_splits() == splitter.get_n_splits(X, Y, qid=QID) == 3


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match="QueryKFold needs the query of each row"):
        next(QueryKFold(2).split(X))
    with pytest.raises(ValueError, match="16 folds cannot be made of 15 queries"):
        next(QueryKFold(16).split(X, qid=QID))
    with pytest.raises(ValueError, match="n_splits=1"):
        next(QueryKFold(1).split(X, qid=QID))
    with pytest.raises(ValueError, match="empty part"):
        next(QueryShuffleSplit(2, test_size=0.01).split(X, qid=QID))
    with pytest.raises(ValueError, match="3 values but there are 120 rows"):
        next(QueryKFold(2).split(X, qid=["a", "b", "a"]))


def by_hand(splitter, ranker, part="test"):
    scores = []
    for train, test in splitter.split(X, qid=QID):
        fitted = ranker.fit(X[train], Y[train], qid=QID[train])
        rows = test if part == "test" else train
        scores.append(evaluate(Y[rows], fitted.predict(X[rows]), QID[rows], "nDCG@10")["nDCG@10"])
    return scores


@pytest.mark.parametrize("splitter", [QueryKFold(3), QueryShuffleSplit(2, random_state=0)])
def test_cross_validate_routes_qid(splitter):
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            RankingLogisticRegression(), X, Y, cv=splitter, params={"qid": QID}, return_train_score=True
        )
    np.testing.assert_allclose(found["test_score"], by_hand(splitter, RankingLogisticRegression()), rtol=1e-12)
    np.testing.assert_allclose(
        found["train_score"], by_hand(splitter, RankingLogisticRegression(), "train"), rtol=1e-12
    )


def test_cross_validate_passes_sample_weights():
    weight = np.where(np.arange(len(X)) % 3, 1.0, 5.0)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            RankingLogisticRegression(),
            X,
            Y,
            cv=QueryKFold(3),
            params={"qid": QID, "sample_weight": weight},
            return_estimator=True,
        )
    for ranker, (train, _) in zip(found["estimator"], QueryKFold(3).split(X, qid=QID), strict=True):
        alone = RankingLogisticRegression().fit(X[train], Y[train], QID[train], sample_weight=weight[train])
        np.testing.assert_array_equal(ranker.coef_, alone.coef_)


def test_grid_search_routes_qid():
    values = [1e-3, 1.0, 1e5]
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(RankingLogisticRegression(), {"nu": values}, cv=QueryKFold(3))
        search.fit(X, Y, qid=QID)
        score = search.score(X, Y, qid=QID)
    expected = [np.mean(by_hand(QueryKFold(3), RankingLogisticRegression(nu=nu))) for nu in values]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-12)
    assert len(set(expected)) > 1
    alone = RankingLogisticRegression(nu=values[int(np.argmax(expected))]).fit(X, Y, QID)
    np.testing.assert_array_equal(search.best_estimator_.coef_, alone.coef_)
    assert score == alone.score(X, Y, QID)


def test_pipelines_route_qid():
    with sklearn.config_context(enable_metadata_routing=True):
        fitted = make_pipeline(StandardScaler(), RankingLogisticRegression()).fit(X, Y, qid=QID)
        scores = fitted.predict(X, qid=QID)
        value = fitted.score(X, Y, qid=QID)
        folds = cross_validate(fitted, X, Y, params={"qid": QID}, cv=QueryKFold(3))["test_score"]
    scaled = StandardScaler().fit_transform(X)
    alone = RankingLogisticRegression().fit(scaled, Y, QID)
    np.testing.assert_array_equal(fitted[-1].coef_, alone.coef_)
    np.testing.assert_array_equal(scores, alone.predict(scaled))
    assert value == evaluate(Y, scores, QID, "nDCG@10")["nDCG@10"]
    assert len(folds) == 3
    assert np.isfinite(folds).all()


def test_without_routing_groups_split_but_the_ranker_sees_one_query():
    with pytest.warns(UserWarning, match="sees all rows as one query"):
        found = cross_validate(RankingLogisticRegression(), X, Y, groups=QID, cv=QueryKFold(3), return_estimator=True)
    for (train, test), ranker, score in zip(
        QueryKFold(3).split(X, qid=QID), found["estimator"], found["test_score"], strict=True
    ):
        alone = RankingLogisticRegression().fit(X[train], Y[train])
        np.testing.assert_array_equal(ranker.coef_, alone.coef_)
        assert score == pytest.approx(evaluate(Y[test], alone.predict(X[test]), None, "nDCG@10")["nDCG@10"])


def test_score_without_qid_after_many_queries_raises():
    ranker = RankingLogisticRegression().fit(X, Y, QID)
    with pytest.raises(ValueError, match="fitted on 15 queries but score"):
        ranker.score(X, Y)
    assert ranker.score(X, Y, QID, metric="AP") == evaluate(Y, ranker.predict(X), QID, "AP")["AP"]
    one = RankingLogisticRegression().fit(X, Y)
    assert one.score(X, Y) == evaluate(Y, one.predict(X), None, "nDCG@10")["nDCG@10"]


def test_groups_of_scikit_learn_do_not_reach_fit_and_a_warning_says_so():
    """The documented way gives the results of every query; groups= makes all rows of a fold one query."""
    data = make_ranking(60, 15, 4, n_informative=3, random_state=4)
    ranker, splitter = RankingLogisticRegression(), QueryKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        right = cross_val_score(ranker, data.X, data.y, cv=splitter, params={"qid": data.qid})
        search = GridSearchCV(ranker, {"nu": [1.0]}, cv=splitter).fit(data.X, data.y, qid=data.qid)
    expected = []
    for train, test in splitter.split(data.X, qid=data.qid):
        fitted = ranker.fit(data.X[train], data.y[train], qid=data.qid[train])
        values = evaluate(data.y[test], fitted.predict(data.X[test]), data.qid[test], "nDCG@10")
        expected.append(values["nDCG@10"])
    np.testing.assert_allclose(right, expected, rtol=1e-12)
    assert search.best_score_ == pytest.approx(np.mean(expected))
    with pytest.warns(UserWarning, match="fit without qid treats all 600 rows as one query"):
        wrong = cross_val_score(ranker, data.X, data.y, groups=data.qid, cv=GroupKFold(3))
    assert not np.allclose(wrong, right, atol=0.01)
    with pytest.warns(UserWarning, match=r"fit without qid .* groups= does not reach fit"):
        GridSearchCV(ranker, {"nu": [1.0]}, cv=GroupKFold(3)).fit(data.X, data.y, groups=data.qid)
