"""The spherical problem against descents from many starts and dense decompositions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import rankloom.reranking.spherical as module
from rankloom.reranking.graph import graph_from_similarities, knn_graph
from rankloom.reranking.spherical import secular_root, solve_spherical, spectrum


def problem(n, seed=0, clusters=1, k=6):
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(n, 3)) + 100.0 * random.integers(0, clusters, n)[:, None]
    return knn_graph(vectors, k), random.normal(size=n)


def objective(graph, c, gamma, y):
    return float(2 * gamma * y @ (graph.laplacian @ y) - c @ y)


def descents(graph, c, gamma, starts=4):
    """The least objective that descents on the sphere, y = x / |x|, reach from random starts."""
    L = graph.laplacian.toarray()

    def value_slope(x):
        size = np.linalg.norm(x)
        y = x / size
        slope = 4 * gamma * (L @ y) - c
        return 2 * gamma * y @ L @ y - c @ y, (slope - y * (y @ slope)) / size

    random = np.random.default_rng(1)
    options = {"ftol": 0.0, "gtol": 1e-10, "maxiter": 5000}
    return min(
        minimize(value_slope, random.normal(size=len(c)), jac=True, method="L-BFGS-B", options=options).fun
        for _ in range(starts)
    )


def assert_certified(found, graph, c, gamma):
    assert found.mu >= 0
    assert abs(np.linalg.norm(found.y) - 1) <= 1e-12
    assert found.norm_error <= 1e-12
    residual = 4 * gamma * (graph.laplacian @ found.y) + 2 * found.mu * found.y - c
    size = max(np.linalg.norm(c), 1e-300)
    rounding = 1e-14 * gamma * graph.degrees.max(initial=0.0) * np.sqrt(len(c))
    assert np.linalg.norm(residual) <= 1e-9 * size + rounding
    assert found.residual <= 1e-10
    assert found.objective == pytest.approx(objective(graph, c, gamma, found.y), rel=1e-9, abs=1e-9 * size + rounding)


@pytest.mark.parametrize("gamma", [0.05, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("centred", [True, False])
def test_no_descent_does_better(gamma, centred):
    graph, c = problem(40)
    c = 3 * (c - c.mean()) if centred else c
    found = solve_spherical(graph, c, gamma)
    assert_certified(found, graph, c, gamma)
    assert found.objective == pytest.approx(descents(graph, c, gamma), abs=1e-9)
    others = np.random.default_rng(2).normal(size=(2000, 40))
    others /= np.linalg.norm(others, axis=1)[:, None]
    assert all(objective(graph, c, gamma, y) > found.objective for y in others)


@pytest.mark.slow
@given(
    st.integers(0, 10_000),
    st.integers(1, 40),
    st.integers(1, 4),
    st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 1.0, 30.0, 1e6]),
)
@settings(max_examples=150, deadline=None)
def test_solutions_are_certified(seed, n, clusters, gamma):
    graph, c = problem(n, seed, clusters, k=3)
    kind = seed % 4
    if kind == 1:
        c = c - graph.component_means(c)
    elif kind == 2:
        c = np.zeros(n)
    elif kind == 3:
        c = graph.component_means(c)
    exact = solve_spherical(graph, c, gamma, spectrum=spectrum(graph))
    assert_certified(exact, graph, c, gamma)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DENSE_LIMIT", 0)
        krylov = solve_spherical(graph, c, gamma)
    assert_certified(krylov, graph, c, gamma)
    assert krylov.objective == pytest.approx(exact.objective, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0, 1e8])
@pytest.mark.parametrize("clusters", [1, 5])
def test_lanczos_equals_the_decomposition(gamma, clusters):
    graph, c = problem(500, 3, clusters)
    c = 10 * (c - c.mean()) / np.linalg.norm(c)
    krylov = solve_spherical(graph, c, gamma)
    exact = solve_spherical(graph, c, gamma, spectrum=spectrum(graph))
    assert (krylov.method, exact.method) == ("lanczos", "eigen")
    assert 0 < krylov.n_steps < 500
    assert_certified(krylov, graph, c, gamma)
    np.testing.assert_allclose(krylov.particular, exact.particular, atol=1e-8 * np.abs(exact.particular).max())


@pytest.mark.slow
def test_five_thousand_items():
    random = np.random.default_rng(4)
    graph = knn_graph(random.normal(size=(5000, 16)), 10)
    c = random.normal(size=5000)
    c -= c.mean()
    for gamma in (1.0, 100.0):
        found = solve_spherical(graph, c, gamma)
        assert found.method == "lanczos"
        assert_certified(found, graph, c, gamma)


def test_falls_back_to_the_decomposition_where_lanczos_does_not_converge(monkeypatch):
    """A path: its smallest eigenvalues are so small that 50 steps cannot resolve them."""
    n = 300
    path = graph_from_similarities(np.diag(np.ones(n - 1), 1), normalize=False)
    c = np.random.default_rng(5).normal(size=n)
    c -= c.mean()
    assert solve_spherical(path, c, 1e3).method == "lanczos"
    monkeypatch.setattr(module, "LANCZOS_LIMIT", 50)
    found = solve_spherical(path, c, 1e3)
    assert (found.method, found.n_steps) == ("eigen", 50)
    assert_certified(found, path, c, 1e3)


def test_weakly_connected_parts_do_not_mix_with_the_null_space():
    G = np.kron(np.eye(2), np.ones((5, 5)))
    G[0, 5] = G[5, 0] = 1e-20
    graph = graph_from_similarities(G, normalize=False)
    assert graph.n_components == 1
    _, vectors, n_null = spectrum(graph)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-13)
    np.testing.assert_allclose(vectors[:, :n_null], 1 / np.sqrt(10))
    c = np.random.default_rng(6).normal(size=10)
    for gamma in (0.1, 10.0):
        assert_certified(solve_spherical(graph, c - c.mean(), gamma), graph, c - c.mean(), gamma)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_scale_of_both_parts_does_not_matter(scale):
    graph, c = problem(30)
    expected = solve_spherical(graph, c, 0.7)
    found = solve_spherical(graph, scale * c, 0.7 * scale)
    np.testing.assert_allclose(found.y, expected.y, atol=1e-12)
    assert found.mu == pytest.approx(scale * expected.mu)


def test_nothing_to_agree_with():
    graph, _ = problem(9)
    found = solve_spherical(graph, np.zeros(9), 1.0)
    np.testing.assert_allclose(found.y, 1 / 3)
    assert found.hard
    assert found.objective == pytest.approx(0.0)


def test_one_item_and_no_edges():
    assert solve_spherical(knn_graph([[1.0]]), [-3.0], 2.0).y.tolist() == [-1.0]
    graph = graph_from_similarities(np.zeros((3, 3)))
    np.testing.assert_allclose(solve_spherical(graph, [3.0, 0.0, 4.0], 5.0).y, [0.6, 0.0, 0.8])


def test_roots_need_few_steps():
    random = np.random.default_rng(7)
    for _ in range(200):
        a, eta = 10 ** random.uniform(-6, 6, 20), random.normal(size=20) * 10 ** random.uniform(-8, 0, 20)
        null = 10 ** random.uniform(-12, 0)
        root = secular_root(a, eta, null)
        square = null**2 / (2 * root.mu) ** 2 + np.sum(eta**2 / (2 * (root.mu + a)) ** 2)
        assert square == pytest.approx(1.0, abs=1e-13)
        assert root.n_steps <= 60


@pytest.mark.parametrize(
    ("c", "gamma", "message"),
    [
        ([1.0, np.nan, 0.0], 1.0, "NaN in row 1"),
        ([1.0, 0.0], 1.0, "shape"),
        ([1.0, 0.0, 0.0], -1.0, "gamma"),
        ([1.0, 0.0, 0.0], np.inf, "gamma"),
    ],
)
def test_errors_are_one_line(c, gamma, message):
    with pytest.raises(ValueError, match=message) as caught:
        solve_spherical(knn_graph(np.eye(3), 1), c, gamma)
    assert "\n" not in str(caught.value)


def test_no_items():
    with pytest.raises(ValueError, match="no item"):
        solve_spherical(knn_graph(np.empty((0, 2))), [], 1.0)
