"""RankNet. (Its gradients are tested with ListNet's.)"""

import numpy as np
import pytest

from rankloom.datasets import make_ranking
from rankloom.groups import preference_pairs
from rankloom.rankers import FullRankingLogisticRegression, load_ranker
from rankloom.rankers.neural import ScoringNetwork
from rankloom.rankers.ranknet import RankNet


@pytest.mark.parametrize("nu", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("normalize", ["pairs", "query"])
def test_linear_is_full_ranking_logistic_regression(nu, normalize):
    data = make_ranking(n_queries=30, grades=4, shuffle=True, string_qid=True, random_state=1)
    weight = np.random.default_rng(0).integers(0, 3, len(data))
    weights = {"sample_weight": weight, "query_weight": {data.qid[0]: 2.5}}
    found = RankNet(nu=nu, normalize=normalize).fit(*data, **weights)
    expected = FullRankingLogisticRegression(nu, normalize=normalize).fit(*data, **weights)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5 * np.abs(expected.coef_).max())
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)


def test_objective_of_a_network_is_the_sum_over_explicit_pairs():
    data = make_ranking(n_queries=8, n_items=10, n_features=4, n_informative=2, shuffle=True, random_state=2)
    ranker = RankNet(hidden=3, nu=0.3).fit(*data)
    f = ranker.predict(data.X)
    better, worse = preference_pairs(data.y, data.qid).T
    weights = (ranker.hidden_coef_**2).sum() + (ranker.output_coef_**2).sum()
    assert ranker.objective_ == pytest.approx(np.log1p(np.exp(f[worse] - f[better])).sum() + 0.3 * weights, rel=1e-9)


def test_hidden_units_find_an_interaction_and_go_through_json(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, 7.0]  # any scale will do
    y = (X[:, 0] * (X[:, 1] - 5.0) > 0).astype(int)
    qid = np.repeat(np.arange(40), 20)
    assert RankNet().fit(X, y, qid=qid).score(X, y, qid, metric="AP") < 0.8
    ranker = RankNet(hidden=8).fit(X, y, qid=qid)
    assert ranker.score(X, y, qid, metric="AP") > 0.95
    ranker.save(tmp_path / "ranknet.json")
    loaded = load_ranker(tmp_path / "ranknet.json", classes=[RankNet])
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))


def test_the_first_weights_follow_the_seed():
    data = make_ranking(n_queries=10, n_items=10, random_state=3)
    one, same, other = (RankNet(hidden=3, nu=0.1, random_state=seed).fit(*data).hidden_coef_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not ScoringNetwork(3, 2).start(0)[6:8].any()  # biases begin at 0


def test_bad_parameters():
    with pytest.raises(ValueError, match="normalize must be"):
        RankNet(normalize="rows").fit([[1.0], [2.0]], [0, 1])
