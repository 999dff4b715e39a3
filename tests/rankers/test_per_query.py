"""One ranker a query: section 5 of Yan & Hauptmann (2006)."""

import numpy as np
import pytest

from rankloom.rankers import FullRankingLogisticRegression, RankingLogisticRegression, fit_per_query


def make(positives, negatives=10, seed=0):
    """Queries with so many positive rows each, in any order of rows."""
    random = np.random.default_rng(seed)
    qid = np.concatenate([[f"q{number}"] * (count + negatives) for number, count in enumerate(positives)])
    y = np.concatenate([np.r_[np.ones(count), np.zeros(negatives)] for count in positives])
    order = random.permutation(len(y))
    return random.normal(size=(len(y), 3)), y[order], qid[order]


def test_each_query_has_its_own_weights():
    X, y, qid = make([12, 15, 10])
    fitted = fit_per_query(FullRankingLogisticRegression(nu=0.5), X, y, qid)
    assert set(fitted.rankers) == {"q0", "q1", "q2"}
    assert fitted.skipped == ()
    scores = fitted.predict(X, qid)
    for query, ranker in fitted.rankers.items():
        rows = qid == query
        alone = FullRankingLogisticRegression(nu=0.5).fit(X[rows], y[rows])
        np.testing.assert_array_equal(ranker.coef_, alone.coef_)
        np.testing.assert_allclose(scores[rows], alone.predict(X[rows]), rtol=1e-12)
    some = np.flatnonzero(qid == "q1")[:3]
    np.testing.assert_allclose(fitted.predict(X[some], qid[some]), scores[some], rtol=1e-12)


def test_queries_with_few_positives_are_skipped():
    X, y, qid = make([9, 10, 0, 11])
    fitted = fit_per_query(RankingLogisticRegression(), X, y, qid)
    assert set(fitted.rankers) == {"q1", "q3"}
    assert set(fitted.skipped) == {"q0", "q2"}
    assert set(fit_per_query(RankingLogisticRegression(), X, y, qid, min_positives=9).rankers) == {"q0", "q1", "q3"}


def test_queries_without_another_row_are_skipped():
    X, y, qid = make([12, 12])
    y[qid == "q0"] = 1
    assert fit_per_query(RankingLogisticRegression(), X, y, qid).skipped == ("q0",)


def test_the_grade_of_a_positive_row_is_a_choice():
    X, y, qid = make([12])
    y[y == 1] = np.repeat([1.0, 2.0], 6)
    assert fit_per_query(RankingLogisticRegression(), X, y, qid, min_positives=7).skipped == ()
    assert fit_per_query(RankingLogisticRegression(), X, y, qid, min_positives=7, relevant=2).skipped == ("q0",)


def test_a_query_without_ranker_is_named():
    X, y, qid = make([12, 3])
    fitted = fit_per_query(RankingLogisticRegression(), X, y, qid)
    with pytest.raises(ValueError, match="no ranker for the query 'q1': it was skipped in training"):
        fitted.predict(X, qid)
    with pytest.raises(ValueError, match="no ranker for the query 'new': it was not in the training data"):
        fitted.predict(X[:1], ["new"])


def test_the_given_ranker_stays_as_it_is():
    X, y, qid = make([12])
    ranker = RankingLogisticRegression(nu=3.0)
    fitted = fit_per_query(ranker, X, y, qid)
    assert not hasattr(ranker, "coef_")
    assert fitted.rankers["q0"].nu == 3.0


def test_any_hashable_query():
    X, y, qid = make([12, 12])
    names = [("a", 1) if query == "q0" else 7 for query in qid]
    fitted = fit_per_query(RankingLogisticRegression(), X, y, names)
    assert set(fitted.rankers) == {("a", 1), 7}
    assert np.isfinite(fitted.predict(X, names)).all()
