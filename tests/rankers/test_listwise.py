"""ListNet and the scorer that it shares with RankNet."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from sklearn.exceptions import ConvergenceWarning

from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate
from rankloom.groups import group_rows, preferences
from rankloom.model_selection.selection import read_folds, select
from rankloom.rankers._risks import pair_risk
from rankloom.rankers.base import Problem
from rankloom.rankers.listwise import ListNet, ListRisk
from rankloom.rankers.losses import LOSSES
from rankloom.rankers.neural import NetworkRisk, ScoringNetwork, canonical
from tests.data import SHARED, needs_shared


def small_problem(seed=0, **options):
    data = make_ranking(
        **{"n_queries": 6, "n_items": 9, "n_features": 4, "n_informative": 3, "shuffle": True, **options},
        random_state=seed,
    )
    return data.X, data.y, data.qid


def literal_objective(w, X, y, qid, nu, times, query_weight):
    """Section 5 of Cao et al., list by list, with rows repeated as often as they weigh."""
    total = 0.0
    for query in np.unique(qid):
        rows = np.repeat(np.flatnonzero(qid == query), times[qid == query])
        if len(set(y[rows].tolist())) < 2:
            continue
        scores = X[rows] @ w
        P_y = np.exp(y[rows]) / np.exp(y[rows]).sum()
        P_f = np.exp(scores) / np.exp(scores).sum()
        total += query_weight[query] * -sum(p * np.log(q) for p, q in zip(P_y, P_f, strict=True))
    return total + nu * (w**2).sum()


def test_linear_objective_and_minimum_are_those_of_a_literal_transcription():
    X, y, qid = small_problem()
    y[qid == 6] = 1.0
    times = np.random.default_rng(1).integers(0, 4, len(y))
    query_weight = {query: 0.5 + query for query in range(1, 7)}
    ranker = ListNet(nu=0.2).fit(X, y, qid=qid, sample_weight=times, query_weight=query_weight)
    arguments = (X, y, qid, 0.2, times, query_weight)
    found = minimize(literal_objective, np.zeros(4), arguments, method="BFGS", options={"gtol": 1e-8, "eps": 1e-7})
    assert ranker.objective_ == pytest.approx(literal_objective(ranker.coef_, *arguments), rel=1e-10)
    assert ranker.objective_ <= found.fun * (1 + 1e-12)
    np.testing.assert_allclose(ranker.coef_, found.x, atol=1e-5)


def risks(seed=0):
    X, y, qid = small_problem(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    prefs = preferences(y, group_rows(qid, len(y)), weight)
    X, y = X[prefs.rows], y[prefs.rows]
    return X, [ListRisk(X, y, prefs), pair_risk(X, prefs, LOSSES["logistic"])]


@pytest.mark.parametrize("which", [0, 1], ids=["list", "pairs"])
def test_backpropagation_is_the_gradient(which):
    X, both = risks()
    scorer = ScoringNetwork(4, 3)
    risk = NetworkRisk(X, scorer, both[which])
    random = np.random.default_rng(2)
    for _ in range(5):
        w = random.normal(size=scorer.n_weights)
        error = check_grad(lambda w: risk.value_gradient(w)[0], lambda w: risk.value_gradient(w)[1], w)
        assert error <= 1e-5 * np.linalg.norm(risk.value_gradient(w)[1])
        np.testing.assert_allclose(risk.risk.by_score(scorer.scores(X, w))[0], risk.value_gradient(w)[0])


def test_gradient_and_hessian_of_lists():
    _, (risk, _) = risks(3)
    w = np.random.default_rng(4).normal(size=4)
    step = 1e-6 * np.eye(4)
    slopes = [(risk.value_gradient(w + e)[0] - risk.value_gradient(w - e)[0]) / 2e-6 for e in step]
    curvature = [(risk.value_gradient(w + e)[1] - risk.value_gradient(w - e)[1]) / 2e-6 for e in step]
    np.testing.assert_allclose(risk.value_gradient(w)[1], slopes, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(risk.hessian(w), curvature, rtol=1e-6, atol=1e-6)


def test_scores_of_a_network_are_the_formula_and_biases_are_free():
    random = np.random.default_rng(0)
    X, into, bias, out = (random.normal(size=shape) for shape in ((5, 3), (3, 2), 2, 2))
    scorer = ScoringNetwork(3, 2)
    weights = np.concatenate([into.ravel(), bias, out])
    expected = [sum(out[k] * np.tanh(into[:, k] @ x + bias[k]) for k in range(2)) for x in X]
    np.testing.assert_allclose(scorer.scores(X, weights), expected)
    assert scorer.penalized.tolist() == [1.0] * 6 + [0.0] * 2 + [1.0] * 2
    assert ScoringNetwork(3, 0).penalized.tolist() == [1.0] * 3
    assert ScoringNetwork(3, 0).n_weights == 3


def test_a_network_is_fitted_to_a_stationary_point_of_its_objective():
    X, y, qid = small_problem(n_queries=20)
    ranker = ListNet(hidden=3, nu=0.5, tol=1e-13).fit(X, y, qid=qid)
    groups = group_rows(qid, len(y))
    prefs = preferences(y, groups)
    rows = (X[prefs.rows] - ranker.mean_) / ranker.scale_
    scorer = ScoringNetwork(4, 3)
    risk = NetworkRisk(rows, scorer, ListRisk(rows, y[prefs.rows], prefs))
    w = np.concatenate([ranker.hidden_coef_.ravel(), ranker.hidden_bias_, ranker.output_coef_])
    value, gradient = risk.value_gradient(w)
    assert ranker.objective_ == pytest.approx(value + 0.5 * (scorer.penalized * w**2).sum())
    assert np.abs(gradient + scorer.penalized * w).max() < 1e-3
    np.testing.assert_allclose(ranker.predict(X[prefs.rows]), scorer.scores(rows, w))


def test_hidden_units_learn_what_a_line_cannot():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (600, 3))
    y = (np.abs(X[:, 0]) < 0.3).astype(float)
    qid = np.repeat(np.arange(30), 20)
    network, line = (ListNet(hidden, nu=0.01).fit(X, y, qid=qid).score(X, y, qid) for hidden in (4, 0))
    assert network > 0.95
    assert line < 0.7


def test_weights_are_repetition_bit_for_bit():
    X, y, qid = small_problem()
    times = np.random.default_rng(5).integers(0, 4, len(y))
    again = np.random.default_rng(6).permutation(np.repeat(np.arange(len(y)), times))
    for ranker in (ListNet(), ListNet(hidden=3)):
        expected = ranker.fit(X, y, qid=qid, sample_weight=times).predict(X)
        np.testing.assert_array_equal(ranker.fit(X[again], y[again], qid=qid[again]).predict(X), expected)


def test_canonical_order_depends_on_content_alone():
    X, y, qid = small_problem()
    X = np.round(X / 4)  # makes some rows equal
    query_weight = np.arange(7.0)
    random = np.random.default_rng(7)

    def contents(order, names, merge):
        groups = group_rows(names[qid[order]], len(order))
        by_query = query_weight[[list(names).index(key) for key in groups.keys]]
        problem = Problem(X[order], y[order], groups, np.ones(len(order)), by_query)
        rows, groups, weight, by_query = canonical(problem, merge=merge)
        return np.column_stack([X[order][rows], y[order][rows], groups.codes, weight, by_query[groups.codes]])

    for merge in (True, False):
        expected = contents(np.arange(len(y)), np.arange(7), merge)
        found = contents(random.permutation(len(y)), np.array(list("hcagfbx")), merge)
        np.testing.assert_array_equal(found, expected)
    unmerged, merged = contents(np.arange(len(y)), np.arange(7), False), contents(np.arange(len(y)), np.arange(7), True)
    assert len(unmerged) == len(y)
    rows, times = np.unique(unmerged[:, [0, 1, 2, 3, 4, 7]], axis=0, return_counts=True)
    assert len(rows) == len(merged) < len(y)
    np.testing.assert_array_equal(np.sort(times), np.sort(merged[:, 6]))


def test_zero_and_minus_zero_are_one_row():
    problem = Problem(
        np.array([[0.0], [-0.0], [1.0]]), np.array([1.0, 1.0, 0.0]), group_rows(None, 3), np.ones(3), np.ones(1)
    )
    assert sorted(canonical(problem).weight.tolist()) == [1.0, 2.0]


def test_fitting_again_forgets_the_other_kind():
    X, y, qid = small_problem()
    ranker = ListNet(hidden=2).fit(X, y, qid=qid)
    assert not hasattr(ranker, "coef_")
    ranker.set_params(hidden=0).fit(X, y, qid=qid)
    assert not hasattr(ranker, "hidden_coef_")
    np.testing.assert_array_equal(ranker.predict(X), X @ ranker.coef_)
    assert hasattr(ranker.set_params(hidden=2).fit(X, y, qid=qid), "mean_")
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize("hidden", [0, 2])
def test_nothing_to_learn_from(hidden):
    with pytest.warns(UserWarning, match="no query has rows of two grades"):
        ranker = ListNet(hidden).fit([[1.0], [2.0]], [1, 1])
    assert ranker.predict([[1.0], [5.0]]).tolist() == [0.0, 0.0]
    with pytest.warns(UserWarning, match="no query has rows of two grades"):
        ListNet(hidden).fit([[1.0], [2.0]], [0, 1], qid=[1, 1], query_weight={1: 0.0})


@pytest.mark.parametrize("hidden", [0, 3])
def test_extreme_grades_scores_and_constant_features(hidden):
    X = np.array([[1e6, 3.0, 0.0], [-1e6, 3.0, 0.0], [0.0, 3.0, 1e-9], [1.0, 3.0, 2e-9]])
    for grades in ([1e4, -1e4, 3.0, 2.0], [1e308, -1e308, 3.0, 2.0]):
        ranker = ListNet(hidden).fit(X, grades)
        assert np.isfinite(ranker.predict(X)).all()
        assert ranker.predict(X).argmax() == 0


def test_more_features_than_newton_is_for():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 1200))
    y, qid = (X[:, 0] > 0.5).astype(float), np.repeat([1, 2, 3], 20)
    ranker = ListNet(nu=1.0, tol=1e-10).fit(X, y, qid=qid)
    prefs = preferences(y, group_rows(qid, 60))
    _, gradient = ListRisk(X[prefs.rows], y[prefs.rows], prefs).value_gradient(ranker.coef_)
    np.testing.assert_allclose(gradient, -2.0 * ranker.coef_, atol=1e-5)
    assert ranker.coef_.argmax() == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [({"hidden": -1}, "hidden must be"), ({"hidden": 1.5}, "hidden must be"), ({"nu": -1.0}, "nu must be"),
     ({"max_iter": 0}, "max_iter must be")],
)  # fmt: skip
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        ListNet(**params).fit([[1.0], [2.0]], [0, 1])


def test_too_few_steps_are_said():
    X, y, qid = small_problem()
    for hidden in (0, 3):
        with pytest.warns(ConvergenceWarning, match="ListNet stopped after 1 steps; raise max_iter"):
            ListNet(hidden, max_iter=1).fit(X, y, qid=qid)


@pytest.mark.slow
@needs_shared
@pytest.mark.shared
def test_mq2008_is_as_published():
    values = []
    for fold in read_folds(SHARED / "letor-mq2008"):
        grid = {"nu": (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)}
        chosen = select(ListNet, grid, fold.train, fold.validation, "AP", "letor4")
        scores = chosen.ranker.predict(fold.test.X)
        values.append(evaluate(fold.test.y, scores, fold.test.qid, ["AP"], "letor4")["AP"])
    assert np.mean(values) == pytest.approx(0.4775, abs=0.010)
