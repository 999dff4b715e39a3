"""Errata C1 to C14 of Geng, Yang & Hua (2009): what holds, what the printed version does, and that the library keeps
to what holds. A `literal_` function transcribes the paper.
"""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from rankloom.core import RankingData
from rankloom.evaluation.metrics import evaluate
from rankloom.groups import group_rows
from rankloom.rankers._content_risk import ContentRisk, prepare
from rankloom.rankers._content_solve import cutting_planes, dual_qp
from rankloom.rankers.base import Problem
from rankloom.rankers.content_aware import ContentAwareRanker
from rankloom.reranking.graph import graph_from_similarities, knn_graph, nearest_neighbors
from rankloom.reranking.spherical import secular_root, solve_spherical, spectrum


def vectors_of(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def directed(vectors, k=4):
    """G of the paper: similarities to the k nearest neighbours, which may not be mutual."""
    found = nearest_neighbors(vectors, k)
    G = np.zeros((len(vectors), len(vectors)))
    G[found.source, found.target] = np.exp(-found.distance)
    return G


def unit(y):
    return (y - y.mean()) / np.linalg.norm(y - y.mean())


def sphere_minimum(L, c, gamma, starts=3, seed=0):
    """The least value of 2 gamma y'Ly - c'y that descents with y = x / |x| find."""

    def value_slope(x):
        size = np.linalg.norm(x)
        y = x / size
        slope = 4 * gamma * (L @ y) - c
        return 2 * gamma * y @ L @ y - c @ y, (slope - y * (y @ slope)) / size

    random = np.random.default_rng(seed)
    options = {"ftol": 0.0, "gtol": 1e-10, "maxiter": 3000}
    found = [
        minimize(value_slope, random.normal(size=len(c)), jac=True, method="L-BFGS-B", options=options)
        for _ in range(starts)
    ]
    return min(one.fun for one in found)


def literal_search(eta, values, eps=1e-14):
    """Algorithm 2: ternary search for the multiplier, without gamma. Returns it and the evaluations of g."""

    def g(x):
        return np.sum(eta**2 / (x + values)) + 4 * x

    low, high, evaluations = 0.0, g(1.0) / 4, 0
    while high - low > eps * max(high, 1.0) and evaluations < 2000:
        middle, step = (low + high) / 2, (high - low) / 6
        evaluations += 2
        if g(middle + step) < g(middle - step):
            low = middle - step
        else:
            high = middle + step
    return (low + high) / 2, evaluations


# C1: the graph must be made symmetric.


def test_c1_symmetric_weights_give_the_consistency_term():
    vectors = vectors_of(40)
    G = directed(vectors)
    y = np.random.default_rng(1).normal(size=40)
    term = sum(G[m, n] * (y[m] - y[n]) ** 2 for m in range(40) for n in range(40))
    graph = graph_from_similarities(G, normalize=False)
    assert 2 * y @ (graph.laplacian @ y) == pytest.approx(term, rel=1e-12)
    assert np.linalg.eigvalsh(graph.laplacian.toarray()).min() >= -1e-12
    same = knn_graph(vectors, 4, similarity=lambda d: np.exp(-d), normalize=False)
    np.testing.assert_allclose(same.weights.toarray(), graph.weights.toarray())


def test_c1_the_printed_laplacian_is_not_symmetric_nor_semi_definite_and_has_another_value():
    G = directed(vectors_of(40))
    printed = np.diag(G.sum(axis=1)) - G
    assert np.abs(printed - printed.T).max() > 0.1
    assert np.linalg.eigvalsh((printed + printed.T) / 2).min() < -0.01
    y = np.random.default_rng(1).normal(size=40)
    term = sum(G[m, n] * (y[m] - y[n]) ** 2 for m in range(40) for n in range(40))
    assert abs(2 * y @ printed @ y - term) > 0.1


def test_c1_similarities_must_not_be_negative():
    G = np.array([[0.0, 1.0, -2.0], [1.0, 0.0, 1.0], [-2.0, 1.0, 0.0]])
    assert np.linalg.eigvalsh(np.diag(G.sum(axis=1)) - G).min() < 0
    with pytest.raises(ValueError, match=">= 0"):
        graph_from_similarities(G)


# C2: gamma must not be lost.


@pytest.mark.parametrize("gamma", [0.05, 0.5, 1.0, 5.0])
def test_c2_solution_equals_descents_from_many_starts(gamma):
    graph = knn_graph(vectors_of(30), 4, normalize=False)
    c = np.random.default_rng(2).normal(size=30)
    found = solve_spherical(graph, c, gamma)
    L = graph.laplacian.toarray()
    assert found.objective == pytest.approx(sphere_minimum(L, c, gamma), abs=1e-9)
    values, vectors = np.linalg.eigh(L)
    eta = vectors.T @ c
    assert np.sum(eta**2 / (found.mu + 2 * gamma * values) ** 2) == pytest.approx(4.0, rel=1e-9)
    np.testing.assert_allclose(found.y, 0.5 * np.linalg.solve(2 * gamma * L + found.mu * np.eye(30), c), atol=1e-9)
    others = np.random.default_rng(3).normal(size=(20_000, 30))
    others /= np.linalg.norm(others, axis=1)[:, None]
    assert (2 * gamma * np.einsum("ij,jk,ik->i", others, L, others) - others @ c).min() > found.objective


def test_c2_the_printed_algorithm_is_that_of_gamma_one_half():
    graph = knn_graph(vectors_of(30), 4, normalize=False)
    c = np.random.default_rng(2).normal(size=30)
    L = graph.laplacian.toarray()
    values, vectors = np.linalg.eigh(L)
    mu, _ = literal_search(vectors.T @ c, np.maximum(values, 0.0))
    literal = 0.5 * np.linalg.solve(L + mu * np.eye(30), c)  # eq. 12: whatever gamma is
    np.testing.assert_allclose(literal, solve_spherical(graph, c, 0.5).y, atol=1e-6)
    for gamma in (0.05, 5.0):
        excess = 2 * gamma * literal @ L @ literal - c @ literal - solve_spherical(graph, c, gamma).objective
        assert excess > 0.1


# C3: the hard case.


def test_c3_null_space_is_that_of_components_for_both_graphs():
    vectors = np.concatenate([vectors_of(10, seed) + 1000 * seed for seed in range(3)])
    for normalize in (True, False):
        graph = knn_graph(vectors, 3, normalize=normalize)
        assert graph.n_components == 3
        values = np.linalg.eigvalsh(graph.laplacian.toarray())
        assert (np.abs(values) < 1e-10).sum() == 3
        for component in range(3):
            np.testing.assert_allclose(graph.laplacian @ (graph.components == component).astype(float), 0, atol=1e-12)


@pytest.mark.parametrize("parts", [1, 3])
def test_c3_hard_case(parts):
    vectors = np.concatenate([vectors_of(12, seed) + 1000 * seed for seed in range(parts)])
    graph = knn_graph(vectors, 3)
    c = np.random.default_rng(4).normal(size=len(vectors))
    c -= graph.component_means(c)
    gamma, L = 20.0, graph.laplacian.toarray()
    values, vectors = np.linalg.eigh(L)
    eta = vectors.T @ c
    assert np.sum((eta[parts:] / (2 * gamma * values[parts:])) ** 2) < 4  # no root
    found = solve_spherical(graph, c, gamma)
    assert found.hard
    assert found.mu == 0.0
    assert np.linalg.norm(found.y) == pytest.approx(1.0, abs=1e-14)
    particular = 0.5 * np.linalg.pinv(2 * gamma * L) @ c
    np.testing.assert_allclose(found.particular, particular, atol=1e-12)
    tau = np.sqrt(1 - particular @ particular)
    np.testing.assert_allclose(found.y, particular + tau / np.sqrt(len(c)), atol=1e-12)
    assert found.objective == pytest.approx(sphere_minimum(L, c, gamma), abs=1e-8)
    np.testing.assert_array_equal(found.y, solve_spherical(graph, c, gamma).y)
    assert np.linalg.norm(particular) < 0.5  # what the printed formula returns


def test_c3_the_hard_case_is_the_normal_one():
    """Centred features and targets, connected graphs, gamma 5 and the weights that are learned."""
    data = noisy(5, 40)
    w = ContentAwareRanker(slice(4, None), gamma=5.0).fit(*data).coef_[:4]
    for query in range(5):
        X, target, _ = one_list(data, query)
        graph = knn_graph(data.X[data.qid == query, 4:], 10)
        assert graph.n_components == 1
        assert solve_spherical(graph, X @ w - target, 5.0).hard


# C4: Newton on 1/|y| and its bracket.


def test_c4_ternary_search_stalls_and_newton_does_not():
    graph = knn_graph(vectors_of(50), 5, normalize=False)
    c = np.random.default_rng(5).normal(size=50)
    values, vectors, n_null = spectrum(graph)
    eta = vectors.T @ c
    mu, evaluations = literal_search(eta, values)  # gamma = 1/2
    stalled = abs(np.linalg.norm(0.5 * eta / (mu + values)) - 1)
    root = secular_root(values[n_null:], eta[n_null:], float(np.linalg.norm(eta[:n_null])))
    reached = abs(np.linalg.norm(0.5 * eta / (root.mu + values)) - 1)
    assert stalled > 1e-10
    assert evaluations > 80
    assert reached <= 1e-15
    assert root.n_steps <= 10


def test_c4_bracket():
    random = np.random.default_rng(6)
    looser = []
    for _ in range(200):
        a = np.concatenate([[0.0], random.exponential(size=20)])
        eta = random.normal(size=21) * 10 ** random.uniform(-1, 2)
        mu = secular_root(a[1:], eta[1:], abs(eta[0])).mu
        size = np.linalg.norm(eta)
        low, high = max(abs(eta[0]) / 2, size / 2 - a.max()), size / 2
        assert low * (1 - 1e-12) <= mu <= high * (1 + 1e-12)
        printed = (np.sum(eta**2 / (1 + a)) + 4) / 4
        assert mu <= printed
        looser.append(printed / high)
    assert max(looser) > 10


# C5 to C9: learning.


def noisy(n_queries=4, n=25, seed=0):
    random = np.random.default_rng(seed)
    y = random.choice(3, n_queries * n, p=[0.5, 0.3, 0.2]).astype(float)
    text = random.normal(size=(len(y), 4))
    text[:, 0] += 0.5 * y
    visual = 1.2 * y[:, None] + random.normal(size=(len(y), 3))
    return RankingData(np.hstack([text, visual]), y, np.repeat(np.arange(n_queries), n))


def made(data, gamma, C=1.0):
    groups = group_rows(data.qid, len(data))
    problem = Problem(data.X, data.y, groups, np.ones(len(data)), np.ones(len(groups)))
    return ContentRisk(prepare(problem, np.arange(4), lambda X: knn_graph(X[:, 4:], 10)), gamma, C)


def one_list(data, query):
    one = data.qid == query
    X = data.X[one, :4]
    return X - X.mean(axis=0), unit(data.y[one]), knn_graph(data.X[one, 4:], 10).laplacian.toarray()


def test_c5_slack_is_relative_to_the_target():
    data, gamma = noisy(), 0.7
    risk = made(data, gamma)
    w = np.random.default_rng(7).normal(size=4)
    cuts = risk.cuts(w)
    for query in range(4):
        X, target, L = one_list(data, query)
        z = X @ w

        def score(y, z=z, L=L):
            return z @ y - 2 * gamma * y @ L @ y

        worst = 1 - sphere_minimum(L, z - target, gamma)  # max of Delta + F, the printed H
        slack = cuts.b[query] - cuts.u[query] @ w
        assert slack == pytest.approx(worst - score(target), abs=1e-8)
        assert slack >= 0
        assert abs(slack - worst) > 1e-3  # the printed H is off by F(y*)
        assert 1 - target @ target + score(target) - score(target) == pytest.approx(0.0, abs=1e-12)  # H(y*) = 0


def test_c6_weights_are_the_combination_of_constraints():
    risk = made(noisy(), 0.3)
    fit = cutting_planes(risk, np.zeros(4), 1e-9, 500, n_slacks=False)
    value, gradient = made(noisy(), 0.3).value_gradient(fit.w)
    np.testing.assert_allclose(fit.w, -gradient, atol=1e-3)  # w = sum alpha u = C sum u at the optimum
    assert value + 0.5 * fit.w @ fit.w == pytest.approx(fit.objective)
    u, b = np.random.default_rng(8).normal(size=(5, 4)), np.full(5, 3.0)
    alpha = dual_qp(u, b, np.arange(5), np.full(5, 0.4))
    w = alpha @ u
    assert w.shape == (4,)  # and not a list of scores
    slacks = np.maximum(b - u @ w, 0)
    assert 0.5 * w @ w + 0.4 * slacks.sum() == pytest.approx(b @ alpha - 0.5 * w @ w, abs=1e-9)


def test_c7_a_margin_of_one_for_every_other_list_is_infeasible():
    """F is continuous: arbitrarily near y* no weights can leave a margin of 1, but Delta is as small there."""
    data, gamma = noisy(), 0.5
    X, target, L = one_list(data, 0)
    random = np.random.default_rng(9)
    for _ in range(20):
        w = 100 * random.normal(size=4)
        near = target + 1e-9 * random.normal(size=len(target))
        near /= np.linalg.norm(near)
        margin = (X @ w) @ (target - near) - 2 * gamma * (target @ L @ target - near @ L @ near)
        assert abs(margin) < 1e-3
        assert 1 - target @ near < 1e-12


def test_c8_iterations_stay_below_the_theorem():
    """With C times the sum of the slacks, n C stands for the theorem's C."""
    data, gamma, C, tol = noisy(), 0.5, 1.0, 1e-3
    risk = made(data, gamma, C)
    fit = cutting_planes(risk, np.zeros(4), tol, 5000, n_slacks=True)
    eps, n, radius, worst = 0.1 * tol * fit.objective / (4 * C), 4, 0.0, 0.0
    for query in range(4):
        X, target, L = one_list(data, query)
        radius = max(radius, 2 * np.linalg.norm(X, 2))
        worst = max(worst, 2 + 2 * gamma * target @ L @ target)
    assert fit.n_cuts <= max(2 * n * worst / eps, 8 * n * C * worst * radius**2 / eps**2)
    assert fit.gap <= tol * fit.objective


def test_c9_loss_is_one_minus_the_cosine():
    data = noisy()
    risk = made(data, 0.0)
    cuts = risk.cuts(np.zeros(4))  # the worst y is the opposite of the target
    np.testing.assert_allclose(cuts.b, 2.0)
    ranker = ContentAwareRanker(slice(4, None), 0.4).fit(*data)
    one = data.qid == 0
    X, _, L = one_list(data, 0)
    z = X @ ranker.coef_[:4]
    found = ranker.predict(data.X[one])
    # Eq. 19 predicts by eq. 4, with the graph, and not by eq. 3.
    assert np.corrcoef(found, z)[0, 1] < 0.999
    smooth = (found - found.mean()) / np.linalg.norm(z)
    assert smooth @ smooth <= 1 + 1e-12
    assert 0.8 * (smooth @ L @ smooth) - z @ smooth == pytest.approx(sphere_minimum(L, z, 0.4), abs=1e-8)


# C10: targets from grades.


def test_c10_targets_are_centred_unit_grades():
    data = noisy()
    groups = group_rows(data.qid, len(data))
    lists = prepare(Problem(data.X, data.y, groups, np.ones(len(data)), np.ones(4)), np.arange(4), None)
    for query, (a, b) in enumerate(zip(lists.starts[:-1], lists.starts[1:], strict=True)):
        np.testing.assert_allclose(lists.target[a:b], unit(data.y[data.qid == query]), atol=1e-14)
        np.testing.assert_allclose(lists.text[a:b].sum(axis=0), 0.0, atol=1e-12)


def test_c10_equal_grades_are_skipped():
    data = noisy()
    y = data.y.copy()
    y[data.qid == 2] = 1.0
    found = ContentAwareRanker(slice(4, None)).fit(data.X, y, data.qid)
    expected = ContentAwareRanker(slice(4, None)).fit(*data.take(data.qid != 2))
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-8)


def test_c10_offset_of_a_feature_does_not_matter_but_would_without_centring():
    data = noisy()
    moved = data.X.copy()
    moved[:, :4] += np.random.default_rng(10).normal(size=(4, 4))[data.qid]
    first, second = (
        ContentAwareRanker(slice(4, None), 0.3, tol=1e-13).fit(X, data.y, data.qid).coef_ for X in (data.X, moved)
    )
    np.testing.assert_allclose(second, first, atol=1e-6)

    def uncentred(X):
        """The text-only learner with centred targets but features as they are."""

        def objective(w):
            total = 0.5 * w @ w
            for query in range(4):
                one = data.qid == query
                z, target = X[one, :4] @ w, unit(data.y[one])
                total += 1 + np.linalg.norm(z - target) - target @ z
            return total

        return minimize(objective, np.zeros(4), options={"gtol": 1e-9}).x

    assert np.abs(uncentred(moved) - uncentred(data.X)).max() > 1e-3


# C11: gamma = 0.


def test_c11_closed_form_and_its_zero():
    data = noisy()
    risk = made(data, 0.0)
    w = np.random.default_rng(11).normal(size=4)
    expected = []
    for query in range(4):
        X, target, _ = one_list(data, query)
        z = X @ w
        expected.append(1 + np.linalg.norm(z - target) - target @ z)
    cuts = risk.cuts(w)
    np.testing.assert_allclose(cuts.b - cuts.u @ w, expected, atol=1e-13)
    target = unit(np.array([0.0, 1.0, 2.0, 2.0]))
    problem = Problem(target[:, None], target, group_rows(None, 4), np.ones(4), np.ones(1))
    exact = ContentRisk(prepare(problem, np.arange(1), None), 0.0, 1.0)
    slacks = [exact.value_gradient(np.array([s]))[0] for s in (0.5, 0.99, 1.0, 1.5, 7.0)]
    np.testing.assert_allclose(slacks, [1.0, 0.02, 0.0, 0.0, 0.0], atol=1e-12)


def test_c11_limit_is_continuous():
    data = noisy()
    w = np.random.default_rng(12).normal(size=4)
    values = [made(data, gamma).value_gradient(w)[0] for gamma in (0.0, 1e-9)]
    assert values[0] == pytest.approx(values[1], abs=1e-6)
    coefs = [ContentAwareRanker(slice(4, None), gamma, tol=1e-13).fit(*data).coef_ for gamma in (0.0, 1e-9)]
    np.testing.assert_allclose(coefs[1], coefs[0], atol=1e-6)


# C12: the primal is smooth, and strong convexity certifies.


@pytest.mark.parametrize("gamma", [0.0, 0.3, 4.0])
def test_c12_gradient_and_certificate(gamma):
    data = noisy(seed=1)
    risk = made(data, gamma, 2.0)
    best = ContentAwareRanker(slice(4, None), gamma, C=2.0, tol=1e-13).fit(*data)
    random = np.random.default_rng(13)
    for _ in range(10):
        w = random.normal(size=4)
        value, gradient = risk.value_gradient(w)
        numeric = approx_fprime(w, lambda v: risk.value_gradient(v)[0], 1e-7)
        np.testing.assert_allclose(gradient, numeric, atol=1e-4)
        total = gradient + w
        excess = value + 0.5 * w @ w - best.objective_
        assert 0 <= excess <= 0.5 * total @ total
    cuts = risk.cuts(w)
    np.testing.assert_allclose(risk.value_gradient(w)[1], -2.0 * cuts.u.sum(axis=0), atol=1e-12)


# C13: outliers of a graph that is not normalised.


def outliers(seed, offset, d, n_queries=12, n=60):
    """Noisy text; pictures of relevant items are alike, those of others scattered, so that they have low degrees."""
    random = np.random.default_rng(seed)
    y = (random.random(n_queries * n) < 0.3).astype(float)
    text = random.normal(size=(len(y), 2))
    text[:, 0] += 0.7 * y
    visual = random.normal(size=(len(y), d)) * np.where(y > 0, 0.5, 2.0)[:, None] + offset * y[:, None]
    return RankingData(np.hstack([text, visual]), y, np.repeat(np.arange(n_queries), n))


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "d"), [(0.0, 4), (1.5, 4)])
def test_c13_normalised_graphs_hold_outliers_down(offset, d):
    train, test = outliers(0, offset, d), outliers(1, offset, d)

    def quality(gamma, normalize):
        ranker = ContentAwareRanker(slice(2, None), gamma, normalize_graph=normalize).fit(*train)
        return evaluate(test.y, ranker.predict(test.X, test.qid), test.qid, ["nDCG@10"])["nDCG@10"]

    text = quality(0.0, True)
    best, printed = ([quality(gamma, normalize) for gamma in (0.1, 0.3, 1.0, 10.0)] for normalize in (True, False))
    assert max(best) > text + 0.02
    assert max(best) > max(printed) + 0.1
    if offset == 0:
        assert max(printed) < text - 0.1  # worse than the text, whatever gamma is


def test_c13_normalised_graphs_have_no_unit():
    vectors = vectors_of(30)
    for factor in (1e-3, 1e3):
        first = knn_graph(vectors, 5)
        second = knn_graph(
            vectors, 5, similarity=lambda d, factor=factor: factor * np.exp(-0.5 * (d / np.median(d)) ** 2)
        )
        np.testing.assert_allclose(second.weights.toarray(), first.weights.toarray(), atol=1e-12)


# C14: gamma counts relative to |z|; C hardly matters.


def test_c14_gamma_is_relative_to_the_length_of_the_scores():
    graph = knn_graph(vectors_of(30), 4)
    z = unit(np.random.default_rng(14).normal(size=30))
    for factor in (0.1, 7.0):
        same, other = solve_spherical(graph, factor * z, 0.3 * factor), solve_spherical(graph, z, 0.3)
        np.testing.assert_allclose(same.y, other.y, atol=1e-10)
    weak, strong = (solve_spherical(graph, factor * z, 0.3) for factor in (0.5, 50.0))
    assert strong.y @ z > weak.y @ z + 0.05


def test_c14_c_hardly_matters():
    train, test = noisy(12, 40, seed=2), noisy(12, 40, seed=3)
    values = []
    for C in (1.0, 10.0):
        scores = ContentAwareRanker(slice(4, None), 0.3, C).fit(*train).predict(test.X, test.qid)
        values.append(evaluate(test.y, scores, test.qid, ["nDCG@10"])["nDCG@10"])
    assert values[0] == pytest.approx(values[1], abs=0.02)
