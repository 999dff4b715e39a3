"""Baselines against scikit-learn and planted answers."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from rankloom.evaluation.metrics import evaluate
from rankloom.rankers import BestFeature, NaiveBayesRanker, UniformCombination


def make(n_queries=12, n_items=15, d=5, *, best=3, sign=1.0, noise=0.3, grades=3, seed=0):
    """One feature that follows the grades, among features of noise."""
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_items)
    y = random.integers(0, grades, len(qid)).astype(float)
    X = random.normal(size=(len(qid), d))
    X[:, best] = sign * (y + noise * random.normal(size=len(y)))
    return X + 5 * random.normal(size=(n_queries, d))[qid], y, qid


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [1e-9, 0.1])
def test_naive_bayes_equals_scikit_learn_up_to_a_constant(weighted, smoothing):
    X, y, qid = make(grades=2)
    X[:, 0] *= 100
    random = np.random.default_rng(1)
    weight = random.integers(1, 4, len(y)) if weighted else None
    ranker = NaiveBayesRanker(smoothing).fit(X, y, qid, sample_weight=weight)
    copies = np.ones(len(y), dtype=int) if weight is None else weight
    model = GaussianNB(var_smoothing=smoothing).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    probe = random.normal(size=(40, 5))
    odds = model.predict_joint_log_proba(probe) @ [-1.0, 1.0]
    difference = odds - ranker.predict(probe)
    np.testing.assert_allclose(difference, difference[0], rtol=1e-8)
    np.testing.assert_allclose(ranker.means_, model.theta_)
    np.testing.assert_allclose(ranker.variances_, model.var_)


def test_naive_bayes_with_grades_splits_rows_between_both_classes():
    X, y, qid = make(grades=3)
    ranker = NaiveBayesRanker().fit(X, y, qid)
    upper, lower = np.repeat(X, y.astype(int), axis=0), np.repeat(X, 2 - y.astype(int), axis=0)
    np.testing.assert_allclose(ranker.means_, [lower.mean(axis=0), upper.mean(axis=0)])
    np.testing.assert_allclose(ranker.variances_, [lower.var(axis=0), upper.var(axis=0)], rtol=1e-6)


def test_naive_bayes_takes_constant_features():
    X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5]])
    scores = NaiveBayesRanker().fit(X, [0, 0, 0, 1, 1, 1]).predict(X)
    assert np.isfinite(scores).all()
    assert scores[3:].min() > scores[:3].max()
    assert np.isfinite(NaiveBayesRanker().fit(np.ones((4, 2)), [0, 1, 0, 1]).predict(np.ones((1, 2)))).all()


def test_naive_bayes_query_weights_are_repetitions():
    X, y, qid = make(n_queries=3, grades=2)
    times = {0: 2.0, 1: 0.0, 2: 1.0}
    one = NaiveBayesRanker().fit(X, y, qid, query_weight=times)
    rows = np.repeat(np.arange(len(y)), [int(times[query]) for query in qid])
    other = NaiveBayesRanker().fit(X[rows], y[rows], qid[rows])
    np.testing.assert_allclose(one.means_, other.means_)
    np.testing.assert_allclose(one.variances_, other.variances_)


def test_uniform_is_the_mean_and_learns_nothing():
    X, y, qid = make()
    ranker = UniformCombination().fit(X, y, qid)
    np.testing.assert_allclose(ranker.predict(X), X.mean(axis=1))
    np.testing.assert_array_equal(ranker.coef_, UniformCombination().fit(X[::-1], -y).coef_)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("metric", ["pairs", "tau", "AP", "nDCG@5", "swaps"])
@pytest.mark.parametrize("best", [0, 3])
def test_best_feature_finds_the_planted_one(sign, metric, best):
    X, y, qid = make(best=best, sign=sign)
    ranker = BestFeature(metric).fit(X, y, qid)
    assert ranker.feature_ == best
    assert ranker.coef_.tolist() == (sign * np.eye(5)[best]).tolist()
    assert ranker.cv_scores_.shape == (5,)
    assert ranker.cv_scores_.argmax() == best
    np.testing.assert_array_equal(ranker.predict(X), sign * X[:, best])


def test_best_feature_is_judged_on_queries_left_out():
    """Chosen and judged on the same queries, features of noise would look good."""
    X, y, qid = make(n_queries=8, n_items=6, d=40, best=7, noise=0.5, grades=6, seed=2)
    ranker = BestFeature("tau", n_splits=4, random_state=3).fit(X, y, qid)
    noise = np.delete(ranker.cv_scores_, 7)
    alone = [evaluate(y, column, qid, "tau")["tau"] for column in np.delete(X, 7, axis=1).T]
    assert abs(noise.mean()) < 0.05 < np.abs(alone).mean()
    assert ranker.cv_scores_[7] == pytest.approx(evaluate(y, X[:, 7], qid, "tau")["tau"])
    again = BestFeature("tau", n_splits=4, random_state=3).fit(X, y, qid)
    np.testing.assert_array_equal(again.cv_scores_, ranker.cv_scores_)


def test_best_feature_counts_pairs_by_weight():
    X = np.array([[3.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    y = [2, 1, 0]
    assert BestFeature().fit(X, y, sample_weight=[5, 1, 1]).coef_.tolist() == [1.0, 0.0]
    shares = BestFeature().fit(X, y, sample_weight=[5, 1, 2]).cv_scores_
    pairs = {(0, 1): 5.0, (0, 2): 10.0, (1, 2): 2.0}
    up = [sum(w * (X[j, c] > X[k, c]) for (j, k), w in pairs.items()) / 17.0 for c in (0, 1)]
    np.testing.assert_allclose(shares, [max(share, 1 - share) for share in up])


def test_best_feature_with_one_query_and_with_ties():
    assert BestFeature().fit([[1.0, 5.0], [1.0, 4.0], [1.0, 3.0]], [0, 1, 2]).coef_.tolist() == [0.0, -1.0]


def test_best_feature_honours_query_weights():
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * 4)
    y = np.array([1, 0, 1, 0, 0, 1, 0, 1])
    qid = np.repeat([0, 1, 2, 3], 2)
    up = BestFeature().fit(X, y, qid, query_weight={0: 5.0, 1: 5.0})
    down = BestFeature().fit(X, y, qid, query_weight={2: 5.0, 3: 5.0})
    assert X[0] @ up.coef_ > X[1] @ up.coef_
    assert X[0] @ down.coef_ < X[1] @ down.coef_


def test_best_feature_refuses_sample_weights_for_other_metrics():
    X, y, qid = make()
    with pytest.raises(ValueError, match="sample_weight goes with metric='pairs' only"):
        BestFeature("AP").fit(X, y, qid, sample_weight=np.arange(1, len(y) + 1))
    with pytest.raises(ValueError, match="unknown metric 'APP'"):
        BestFeature("APP").fit(X, y, qid)


@pytest.mark.parametrize("ranker", [BestFeature(), NaiveBayesRanker()], ids=str)
def test_nothing_to_learn_from(ranker):
    with pytest.warns(UserWarning, match="no query has rows of two grades"):
        ranker.fit([[1.0, 2.0], [3.0, 4.0]], [1, 0], ["a", "b"])
    scores = ranker.predict([[1.0, 2.0], [1.0, 2.0]])
    assert scores[0] == scores[1]
    assert np.isfinite(scores).all()


def test_rows_too_large_to_be_scored_name_the_column():
    ranker = NaiveBayesRanker().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 1])
    with pytest.raises(ValueError, match=r"the value 1e\+200 in column 1, "):
        ranker.predict([[0.0, 1.0], [0.0, 1e200]])
