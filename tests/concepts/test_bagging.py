"""The base models of boosting: machines as scikit-learn fits them, lazily scored."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from rankloom.concepts.bagging import BaggedSVMs
from rankloom.rankers import ImbalancedRankBoost


def described(n=260, share=0.25, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    colour = rng.normal(size=(n, 6)) + 0.9 * y[:, None]
    shape = rng.normal(size=(n, 4)) + 0.9 * y[:, None]
    return {"colour": colour, "shape": shape}, y


def test_scores_are_kernel_sums_over_items_of_the_bag():
    vectors, y = described()
    bagged = BaggedSVMs(per_descriptor=1, bag_size=80).fit(vectors, y)
    model = bagged.models_[0]
    values = rbf_kernel(vectors["colour"], model.support, gamma=model.gamma) @ model.weights + model.intercept
    np.testing.assert_allclose(model.score(vectors["colour"]), 1 / (1 + np.exp(-2 * values)), rtol=1e-10)
    known = {tuple(row) for row in vectors["colour"]}
    assert all(tuple(row) in known for row in model.support)


def test_a_machine_equals_svc_on_its_bag():
    vectors, _ = described(share=0.5)
    y = np.arange(260) % 2 == 0  # as many of each: the bag is everything
    vectors = {"colour": vectors["colour"] + 1.2 * y[:, None]}
    bagged = BaggedSVMs(per_descriptor=1, bag_size=10**6, C=(1.0,), gamma=(1.0,)).fit(vectors, y)
    model = bagged.models_[0]
    svc = SVC(C=1.0, gamma=model.gamma).fit(vectors["colour"], y)
    expected = 1 / (1 + np.exp(-2 * svc.decision_function(vectors["colour"])))
    np.testing.assert_allclose(model.score(vectors["colour"]), expected, atol=2e-3)


@pytest.mark.slow
def test_lazy_columns_and_range():
    vectors, y = described()
    bagged = BaggedSVMs(bag_size=60).fit(vectors, y)
    lazy = bagged.features(vectors)
    assert lazy.shape == (260, 4)
    assert lazy.names == ["colour 1", "colour 2", "shape 1", "shape 2"]
    some = lazy.column(2, [5, 9, 100])
    assert lazy.n_evaluations == 3
    np.testing.assert_allclose(np.asarray(lazy)[[5, 9, 100], 2], some)
    dense = np.asarray(lazy)
    assert dense.min() > 0
    assert dense.max() < 1
    unseen, truth = described(seed=1)
    for j in range(4):
        assert roc_auc_score(truth, bagged.features(unseen).column(j)) > 0.7


@pytest.mark.slow
def test_workers_and_seeds():
    vectors, y = described()
    alone = BaggedSVMs(bag_size=60, random_state=3).fit(vectors, y)
    calls = []
    together = BaggedSVMs(bag_size=60, random_state=3, n_jobs=2).fit(vectors, y, progress=lambda: calls.append(1))
    assert len(calls) == 4
    for one, other in zip(alone.models_, together.models_, strict=True):
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_array_equal(one.weights, other.weights)
    different = BaggedSVMs(bag_size=60, random_state=4).fit(vectors, y)
    assert not np.array_equal(different.models_[0].support, alone.models_[0].support)


@pytest.mark.slow
def test_boosting_over_base_models_asks_for_few_cells():
    vectors, y = described(n=900, share=0.1)
    half = np.arange(900) < 450
    bagged = BaggedSVMs(bag_size=60).fit({name: values[half] for name, values in vectors.items()}, y[half])
    ranker = ImbalancedRankBoost(20).fit(np.asarray(bagged.features(vectors))[half], y[half])
    lazy = bagged.features({name: values[~half] for name, values in vectors.items()})
    scores = ranker.predict(lazy)
    assert roc_auc_score(y[~half], scores) > 0.85
    assert lazy.n_evaluations < 450 * len(ranker.used_features)
    assert lazy.cell_costs()[ranker.features_[0]] > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda vectors, y: ({}, y), "no descriptor"),
        (lambda vectors, y: ({"a": vectors["colour"][:, 0]}, y), "one vector an item"),
        (lambda vectors, y: ({**vectors, "shape": vectors["shape"][:-1]}, y), "one vector an item"),
        (lambda vectors, y: ({**vectors, "shape": np.full((260, 2), np.nan)}, y), "NaN"),
        (lambda vectors, y: (vectors, y[:-1]), "shape"),
        (lambda vectors, y: (vectors, np.zeros(260)), "of one kind are 0"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        BaggedSVMs().fit(*change(*described()))


def test_vectors_must_match_the_machines():
    vectors, y = described()
    bagged = BaggedSVMs(per_descriptor=1, bag_size=60).fit(vectors, y)
    with pytest.raises(ValueError, match="no vectors of the descriptor 'shape'"):
        bagged.features({"colour": vectors["colour"]})
    with pytest.raises(ValueError, match="have 3 components"):
        bagged.features({**vectors, "shape": vectors["shape"][:, :3]})
