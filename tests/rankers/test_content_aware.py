"""Content-aware ranking: its objective written out, its solvers against each other, and what it accepts."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import rankloom.rankers._content_risk as risk_module
from rankloom.core import RankingData
from rankloom.evaluation.metrics import evaluate
from rankloom.groups import group_rows
from rankloom.rankers import UniformCombination, load_ranker
from rankloom.rankers._content_risk import ContentRisk, prepare
from rankloom.rankers._content_solve import dual_qp
from rankloom.rankers.base import Problem
from rankloom.rankers.content_aware import ContentAwareRanker, select_content_aware
from rankloom.reranking.graph import knn_graph
from rankloom.reranking.spherical import solve_spherical

VISUAL = slice(4, None)


def problem(n_queries=6, n=20, apart=1.0, seed=0, noise=1.0):
    """Four text features, the first of which knows the grade a little, and three visual ones around it."""
    random = np.random.default_rng(seed)
    y = random.choice(3, n_queries * n, p=[0.5, 0.3, 0.2]).astype(float)
    qid = np.repeat(np.arange(n_queries), n)
    text = random.normal(size=(len(y), 4))
    text[:, 0] += y / noise
    centres = apart * random.normal(size=(n_queries, 3, 3))
    visual = centres[qid, y.astype(int)] + random.normal(size=(len(y), 3))
    return RankingData(np.hstack([text, visual]), y, qid)


def objective(data, w, gamma, C):
    """The objective written out, list by list."""
    total = 0.5 * w @ w
    for query in np.unique(data.qid):
        one = data.qid == query
        X, grades = data.X[one, :4], data.y[one]
        target = (grades - grades.mean()) / np.linalg.norm(grades - grades.mean())
        z = (X - X.mean(axis=0)) @ w
        lists = knn_graph(data.X[one, 4:], 3)
        L = lists.laplacian.toarray()
        y = solve_spherical(lists, z - target, gamma).y
        value = 1 - target @ y + z @ y - 2 * gamma * y @ L @ y - z @ target + 2 * gamma * target @ L @ target
        total += C * max(value, 0.0)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.0, 0.05, 1.0, 20.0])
@pytest.mark.parametrize("apart", [0.5, 8.0])
def test_no_weights_do_better(gamma, apart):
    """With clusters far apart the graphs have several components, and the objective kinks."""
    data = problem(apart=apart)
    parts = [knn_graph(data.X[data.qid == query, 4:], 3).n_components for query in range(6)]
    assert (max(parts) > 1) == (apart == 8.0)
    ranker = ContentAwareRanker(VISUAL, gamma, C=2.0, n_neighbors=3).fit(*data)
    w = ranker.coef_[:4]
    assert not ranker.coef_[4:].any()
    assert ranker.objective_ == pytest.approx(objective(data, w, gamma, 2.0), rel=1e-10)
    assert ranker.gap_ <= 1e-8 * ranker.objective_
    found = minimize(lambda v: objective(data, v, gamma, 2.0), w, method="Nelder-Mead", options={"maxfev": 60})
    assert found.fun >= ranker.objective_ * (1 - 1.1e-8)
    random = np.random.default_rng(1)
    others = w + random.normal(size=(30, 4)) * 10.0 ** random.uniform(-4, 0, (30, 1))
    assert min(objective(data, one, gamma, 2.0) for one in others) >= ranker.objective_ * (1 - 1.1e-8)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("apart", [0.5, 8.0])
def test_solvers_reach_the_same_objective(gamma, apart):
    data = problem(apart=apart, seed=2)
    smooth = ContentAwareRanker(VISUAL, gamma, n_neighbors=3).fit(*data)
    for slacks in ("one", "n"):
        planes = ContentAwareRanker(VISUAL, gamma, n_neighbors=3, solver="cutting_plane", slacks=slacks).fit(*data)
        assert planes.objective_ == pytest.approx(smooth.objective_, rel=2e-8)
        assert planes.gap_ <= 1e-8 * planes.objective_
        assert planes.n_cuts_ > 0
        np.testing.assert_allclose(planes.coef_, smooth.coef_, atol=2e-3 * np.abs(smooth.coef_).max())


def test_lists_of_two_are_a_hinge():
    """At gamma 0, two rows have the slack max(0, 2 - 2 s): kinks at the optimum, where L-BFGS alone would stop."""
    random = np.random.default_rng(3)
    X, y, qid = random.normal(size=(80, 3)), np.tile([0.0, 1.0], 40), np.repeat(np.arange(40), 2)
    ranker = ContentAwareRanker(C=5.0).fit(X, y, qid)
    assert ranker.gap_ <= 1e-8 * ranker.objective_
    differences = (X[1::2] - X[::2]) / np.sqrt(2)  # s = w . (x1 - x0) / sqrt 2
    found = ranker.coef_
    hinge = 0.5 * found @ found + 5.0 * np.maximum(0, 2 - 2 * differences @ found).sum()
    assert ranker.objective_ == pytest.approx(hinge, rel=1e-9)


def test_dual_programme_against_a_general_solver():
    random = np.random.default_rng(4)
    u, b = random.normal(size=(12, 3)), random.random(12)
    owner, caps = np.repeat([0, 1, 2], 4), np.array([0.2, 1.0, 3.0])
    alpha = dual_qp(u, b, owner, caps)
    assert (alpha >= 0).all()
    assert (np.bincount(owner, alpha) <= caps * (1 + 1e-12)).all()
    constraints = [{"type": "ineq", "fun": lambda a, i=i: caps[i] - a[owner == i].sum()} for i in range(3)]
    found = minimize(
        lambda a: 0.5 * (a @ u) @ (a @ u) - b @ a,
        np.zeros(12),
        bounds=[(0, None)] * 12,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert b @ alpha - 0.5 * (alpha @ u) @ (alpha @ u) == pytest.approx(-found.fun, abs=1e-8)


def lists_of(data, gamma=1.0, width=0.0, weight=None):
    groups = group_rows(data.qid, len(data))
    weights = np.ones(len(groups)) if weight is None else weight
    made = prepare(
        Problem(data.X, data.y, groups, np.ones(len(data)), weights), np.arange(4), lambda X: knn_graph(X[:, 4:], 5)
    )
    return ContentRisk(made, gamma, 1.5, width)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 3.0])
@pytest.mark.parametrize("width", [0.0, 0.3])
@pytest.mark.parametrize("apart", [0.5, 8.0])
def test_gradient_and_hessian_by_finite_differences(gamma, width, apart):
    risk = lists_of(problem(3, apart=apart), gamma, width)
    w = np.random.default_rng(5).normal(size=4)
    slopes = [(risk.value_gradient(w + e)[0] - risk.value_gradient(w - e)[0]) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(risk.value_gradient(w)[1], slopes, atol=1e-7)
    curves = [(risk.value_gradient(w + e)[1] - risk.value_gradient(w - e)[1]) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(risk.hessian(w), curves, atol=1e-6)


def test_long_lists_are_learned_without_a_decomposition(monkeypatch):
    data = problem(2, 150)
    expected = ContentAwareRanker(VISUAL, 0.5).fit(*data)
    monkeypatch.setattr(risk_module, "SPECTRUM_LIMIT", 10)
    found = ContentAwareRanker(VISUAL, 0.5).fit(*data)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-8)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-4)


def test_query_weights_repeat_queries():
    data = problem(4)
    twice = np.flatnonzero(data.qid == 1)
    repeated = RankingData(
        np.vstack([data.X, data.X[twice]]), np.append(data.y, data.y[twice]), np.append(data.qid, np.full(20, 9))
    )
    expected = ContentAwareRanker(VISUAL).fit(*repeated)
    found = ContentAwareRanker(VISUAL).fit(*data, query_weight={1: 2.0})
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)
    without = ContentAwareRanker(VISUAL).fit(*data, query_weight={1: 0.0})
    np.testing.assert_allclose(
        without.coef_, ContentAwareRanker(VISUAL).fit(*data.take(data.qid != 1)).coef_, atol=1e-5
    )


def test_prediction_is_that_of_each_list():
    data = problem()
    ranker = ContentAwareRanker(VISUAL, 0.3).fit(*data)
    scores = ranker.predict(data.X, data.qid)
    order = np.random.default_rng(6).permutation(len(data))
    names = np.array([f"q{q}" for q in data.qid])
    np.testing.assert_allclose(ranker.predict(data.X[order], names[order]), scores[order], atol=1e-9)
    for query in range(3):
        one = data.qid == query
        np.testing.assert_allclose(ranker.predict(data.X[one]), scores[one], atol=1e-12)
        text = data.X[one] @ ranker.coef_
        y = solve_spherical(knn_graph(data.X[one, 4:], 10), text - text.mean(), 0.3).y
        assert np.corrcoef(scores[one], y)[0, 1] == pytest.approx(1.0)


def test_scores_turn_into_text_scores():
    data = problem()
    ranker = ContentAwareRanker(VISUAL, 0.3).fit(*data)
    text = data.X @ ranker.coef_
    np.testing.assert_allclose(ranker.set_params(gamma=1e-9).predict(data.X, data.qid), text, atol=1e-7)
    np.testing.assert_array_equal(ranker.set_params(gamma=0.0).predict(data.X, data.qid), text)


def test_pictures_help_noisy_text():
    train, test = problem(20, 40, 2.0, seed=7, noise=2.0), problem(20, 40, 2.0, seed=8, noise=2.0)
    values = []
    for gamma in (0.0, 1.0):
        scores = ContentAwareRanker(VISUAL, gamma).fit(*train).predict(test.X, test.qid)
        values.append(evaluate(test.y, scores, test.qid, ["nDCG@10"])["nDCG@10"])
    assert values[1] > values[0] + 0.03


def test_candidates():
    data = problem(3, 30)
    ranker = ContentAwareRanker(VISUAL, 1.0, candidates=8).fit(*data)
    scores = ranker.predict(data.X, data.qid)
    for query in range(3):
        rows = np.flatnonzero(data.qid == query)
        order = rows[np.argsort(-(data.X[rows] @ ranker.coef_))]
        top, rest = order[:8], order[8:]
        assert scores[top].min() > scores[rest].max()
        assert (np.diff(scores[rest]) < 0).all()
        alone = ContentAwareRanker(VISUAL, 1.0).fit(*data).predict(data.X[top])
        np.testing.assert_allclose(scores[top], alone, atol=1e-9)


def test_without_visual_columns_gamma_means_nothing():
    data = problem()
    first, second = (ContentAwareRanker(gamma=gamma).fit(data.X[:, :4], data.y, data.qid) for gamma in (0.0, 7.0))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    same = ContentAwareRanker(VISUAL, 0.0).fit(*data)
    np.testing.assert_array_equal(same.coef_[:4], first.coef_)


def test_columns_may_be_named_in_any_way():
    data = problem(3)
    expected = ContentAwareRanker(VISUAL).fit(*data)
    for visual in ([4, 5, 6], (6, 5, 4), np.array([-1, -2, -3]), slice(-3, None)):
        np.testing.assert_allclose(ContentAwareRanker(visual).fit(*data).coef_, expected.coef_, atol=1e-12)


def test_selection_by_validation():
    train, validation = problem(8, 30, 2.0, seed=9, noise=2.0), problem(8, 30, 2.0, seed=10, noise=2.0)
    found = select_content_aware(train, validation, visual=VISUAL, gammas=(0.0, 0.5, 5.0), Cs=(0.1, 1.0), tol=1e-10)
    assert len(found.tries) == 6
    for gamma, C, value in found.tries:
        ranker = ContentAwareRanker(VISUAL, gamma, C, tol=1e-10).fit(*train)
        assert ranker.score(*validation) == pytest.approx(value, abs=1e-9)
    best = max(value for _, _, value in found.tries)
    assert found.ranker.score(*validation) == pytest.approx(best, abs=1e-9)
    assert (found.ranker.gamma, found.ranker.C, best) in [(g, c, pytest.approx(v)) for g, c, v in found.tries]


@pytest.mark.parametrize("gamma", [0.0, 1e-12, 1e12])
@pytest.mark.parametrize("kind", ["constant text", "constant pictures", "equal rows", "one big feature"])
def test_odd_data(gamma, kind):
    data = problem(4, 8)
    X = data.X.copy()
    if kind == "constant text":
        X[:, :4] = 3.0
    elif kind == "constant pictures":
        X[:, 4:] = 3.0
    elif kind == "equal rows":
        X[::2] = X[0]
    else:
        X[:, 1] = 1e6 * X[:, 0]
    ranker = ContentAwareRanker(VISUAL, gamma).fit(X, data.y, data.qid)
    scores = ranker.predict(X, data.qid)
    assert np.isfinite(scores).all()
    assert ranker.gap_ <= 1e-6 * ranker.objective_
    if kind == "constant text":
        assert not ranker.coef_.any()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_short_lists(n):
    ranker = ContentAwareRanker(VISUAL).fit(*problem(10, 3))
    assert np.isfinite(ranker.predict(np.arange(7.0 * n).reshape(n, 7))).all()
    data = problem(10, n, seed=11)
    if n > 1:
        assert np.isfinite(ContentAwareRanker(VISUAL).fit(*data).predict(data.X, data.qid)).all()


def test_nothing_to_learn():
    with pytest.warns(UserWarning, match="nothing to learn"):
        ranker = ContentAwareRanker(VISUAL).fit(np.random.default_rng(0).normal(size=(5, 7)), np.ones(5))
    assert not ranker.coef_.any()
    assert ranker.predict(np.eye(7)).tolist() == [0.0] * 7


def test_few_passes_are_said():
    with pytest.warns(ConvergenceWarning, match="max_passes"):
        ContentAwareRanker(VISUAL, max_passes=2).fit(*problem())


def test_saved_and_loaded(tmp_path):
    data = problem(3)
    for visual in (VISUAL, [4, 5, 6]):
        ranker = ContentAwareRanker(visual, 0.4, candidates=7).fit(*data)
        ranker.save(tmp_path / "car.json")
        loaded = load_ranker(tmp_path / "car.json", classes=[ContentAwareRanker])
        np.testing.assert_array_equal(loaded.predict(data.X, data.qid), ranker.predict(data.X, data.qid))
        assert loaded.n_passes_ == ranker.n_passes_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": -1.0}, "gamma must be"),
        ({"gamma": np.nan}, "gamma must be"),
        ({"C": 0.0}, "C must be"),
        ({"tol": 0.0}, "tol"),
        ({"solver": "sgd"}, "solver must be 'lbfgs' or 'cutting_plane'"),
        ({"slacks": "two"}, "slacks must be"),
        ({"candidates": 0}, "candidates"),
        ({"max_passes": 0}, "max_passes"),
        ({"visual": [9]}, "n_features=7"),
        ({"visual": "all"}, "n_features=7"),
        ({"visual": slice(9, None)}, "no visual column"),
        ({"visual": slice(None)}, "no text column"),
        ({"visual": [5], "n_neighbors": 0}, "n_neighbors"),
        ({"visual": [5], "distance": "l3"}, "known are l2, cosine"),
        ({"visual": [5], "similarity": "no"}, "known are gaussian"),
    ],
)
def test_bad_parameters_are_named_in_one_line(params, message):
    with pytest.raises(ValueError, match=message) as caught:
        ContentAwareRanker(**params).fit(*problem(2))
    assert "\n" not in str(caught.value)


def test_beats_the_sum_of_all_features():
    train, test = problem(20, 40, seed=12), problem(20, 40, seed=13)
    scores = [
        ranker.fit(*train).predict(test.X, qid=test.qid)
        for ranker in (ContentAwareRanker(VISUAL), UniformCombination())
    ]
    values = [evaluate(test.y, one, test.qid, ["nDCG@10"])["nDCG@10"] for one in scores]
    assert values[0] > values[1]
