from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ndcg_score

from rankloom.datasets import make_ranking
from rankloom.groups import group_rows, preference_pairs


def test_shapes_and_grades():
    data = make_ranking(7, 50, 6)
    assert data.X.shape == (350, 6)
    assert data.feature_names == ["f1", "f2", "f3", "f4", "f5", "f6"]
    assert data.qid.tolist() == np.repeat(np.arange(1, 8), 50).tolist()
    for rows in group_rows(data.qid, len(data)):
        assert np.unique(data.y[rows], return_counts=True)[1].tolist() == [40, 5, 5]


@pytest.mark.parametrize("n_items", [1, 2, 3, 10])
@pytest.mark.parametrize("grades", [2, 3, 5])
@pytest.mark.parametrize("relevant_share", [0.01, 0.5, 0.99])
def test_every_query_has_both_sides(n_items, grades, relevant_share):
    y = make_ranking(3, n_items, 5, grades=grades, relevant_share=relevant_share).y.reshape(3, n_items)
    assert set(np.unique(y)) <= set(range(grades))
    if n_items > 1:
        assert (y.max(axis=1) > 0).all()
        assert (y.min(axis=1) == 0).all()


def test_deterministic_and_shuffled():
    data, again, other = make_ranking(5), make_ranking(5), make_ranking(5, random_state=1)
    assert data.X.tobytes() == again.X.tobytes()
    assert data.y.tolist() == again.y.tolist()
    assert data.X.tobytes() != other.X.tobytes()
    mixed = make_ranking(5, shuffle=True, string_qid=True)
    assert mixed.qid.tolist() != sorted(mixed.qid.tolist())
    assert set(mixed.qid.tolist()) == {"q1", "q2", "q3", "q4", "q5"}
    back = np.lexsort(mixed.X.T)
    order = np.lexsort(data.X.T)
    np.testing.assert_array_equal(mixed.X[back], data.X[order])
    np.testing.assert_array_equal(mixed.y[back], data.y[order])


def test_without_noise_a_line_orders_every_query():
    data = make_ranking(20, 20, 4, n_informative=2, noise=0.0)
    pairs = preference_pairs(data.y, data.qid)
    difference = data.X[pairs[:, 0]] - data.X[pairs[:, 1]]
    model = LogisticRegression(C=1e6, fit_intercept=False, max_iter=5000)
    model.fit(np.vstack([difference, -difference]), np.repeat([1, 0], len(difference)))
    assert (difference @ model.coef_[0] > 0).mean() > 0.999
    assert np.abs(model.coef_[0][2:]).max() < 0.1 * np.abs(model.coef_[0][:2]).min()


def test_offsets_hurt_the_pooled_classifier_and_not_the_pairs():
    both = make_ranking(120, 20, 10, n_informative=3, noise=0.5, grades=2)
    data, test = both.take(both.qid <= 60), both.take(both.qid > 60)
    pairs = preference_pairs(data.y, data.qid)
    difference = data.X[pairs[:, 0]] - data.X[pairs[:, 1]]
    pairwise = LogisticRegression(fit_intercept=False)
    pairwise.fit(np.vstack([difference, -difference]), np.repeat([1, 0], len(difference)))
    pooled = LogisticRegression().fit(data.X, data.y)
    by_query = test.y.reshape(60, 20)
    quality = [ndcg_score(by_query, (test.X @ model.coef_[0]).reshape(60, 20), k=5) for model in (pairwise, pooled)]
    assert quality[0] > 0.75
    assert quality[0] > quality[1]
    assert pooled.score(data.X, data.y) < 0.9  # a classifier gains little over "never relevant" (0.8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_queries": 0}, "n_queries must be a whole number of at least 1, got 0"),
        ({"n_items": 2.5}, "n_items must be"),
        ({"n_features": True}, "n_features must be"),
        ({"n_informative": 21}, "n_informative=21 is more than n_features=20"),
        ({"grades": 1}, "grades must be a whole number of at least 2"),
        ({"noise": -1}, "noise must be"),
        ({"noise": np.nan}, "noise must be"),
        ({"relevant_share": 0}, "relevant_share must lie between 0 and 1"),
        ({"relevant_share": 1.0}, "relevant_share must lie between 0 and 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_ranking(**arguments)
