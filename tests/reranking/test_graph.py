"""Neighbour graphs against brute force, and the edges of what they accept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from rankloom.reranking.graph import (
    SIMILARITIES,
    Graph,
    combine_distances,
    graph_from_distances,
    graph_from_similarities,
    knn_graph,
    nearest_neighbors,
)


def brute_force(vectors, k, name):
    """The pairs of the k nearest and of those as near, by explicit distances."""
    apart = cdist(vectors, vectors, "euclidean" if name == "l2" else "cosine")
    np.fill_diagonal(apart, np.inf)
    last = np.sort(apart, axis=1)[:, min(k, len(vectors) - 1) - 1]
    return {(i, j): apart[i, j] for i, j in zip(*np.nonzero(apart <= last[:, None] * (1 + 1e-12)), strict=True)}


@pytest.mark.parametrize("name", ["l2", "cosine"])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (40, 5), (300, 10), (30, 100)])
def test_neighbours_are_exact(name, n, k):
    vectors = np.random.default_rng(n).normal(size=(n, 7)) + 3.0
    found = nearest_neighbors(vectors, k, distance=name)
    expected = brute_force(vectors, k, name)
    assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == set(expected)
    for i, j, apart in zip(*found, strict=True):
        assert apart == pytest.approx(expected[i, j], abs=1e-12)


def test_neighbours_far_from_the_origin_are_exact():
    """Products of matrices lose all digits here: 1e8 away, distances of 1e-6 are below the rounding of squares."""
    vectors = 1e8 + np.round(np.random.default_rng(0).normal(size=(60, 3)), 3) * 2.0**-10
    found = nearest_neighbors(vectors, 4)
    assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == set(brute_force(vectors, 4, "l2"))


@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_ties_and_duplicates_do_not_depend_on_the_order(seed, n, k):
    random = np.random.default_rng(seed)
    vectors = random.integers(0, 3, (n, 2)).astype(float)
    order = random.permutation(n)
    first, second = (
        knn_graph(rows, k, similarity="exponential").weights.toarray() for rows in (vectors, vectors[order])
    )
    np.testing.assert_allclose(second, first[np.ix_(order, order)], atol=1e-14)
    found = nearest_neighbors(vectors, k)
    assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == set(brute_force(vectors, k, "l2"))
    same = (vectors[found.source] == vectors[found.target]).all(axis=1)
    assert (found.distance[same] == 0).all()
    assert (found.distance[~same] > 0).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_scale_of_vectors_does_not_matter(scale):
    vectors = np.random.default_rng(1).normal(size=(30, 4))
    expected = knn_graph(vectors, 4).weights.toarray()
    np.testing.assert_allclose(knn_graph(scale * vectors, 4).weights.toarray(), expected, rtol=1e-9)


def test_zero_vectors_are_at_right_angles_to_others():
    vectors = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.1], [0.0, 0.0], [-1.0, -1.0]]
    found = nearest_neighbors(vectors, 4, distance="cosine")
    apart = {(i, j): d for i, j, d in zip(*found, strict=True)}
    assert apart[0, 3] == 0.0
    assert [apart[0, 1], apart[4, 3]] == pytest.approx([1.0, 1.0])
    assert apart[1, 4] == pytest.approx(1.0 + np.sqrt(0.5))


def test_weighted_sum_of_distances():
    random = np.random.default_rng(2)
    first, second = random.normal(size=(20, 3)), random.normal(size=(20, 5))
    matrices = [cdist(one, one) for one in (first, second)]
    joined = np.hstack([first, second])
    assert combine_distances(matrices, [2.0, 0.5]) == pytest.approx(2 * matrices[0] + 0.5 * matrices[1])
    only = graph_from_distances(matrices, 4, weights=[1.0, 0.0]).weights.toarray()
    np.testing.assert_allclose(only, knn_graph(first, 4).weights.toarray(), atol=1e-12)
    whole = graph_from_distances(cdist(joined, joined), 4).weights.toarray()
    np.testing.assert_allclose(whole, knn_graph(joined, 4).weights.toarray(), atol=1e-12)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("similarity", [*SIMILARITIES, lambda distance: 1 / (1 + distance)])
def test_laplacian_is_semi_definite_with_constants_of_components_as_null_space(normalize, similarity):
    vectors = np.concatenate([np.random.default_rng(3).normal(size=(12, 2)) + place for place in (0, 50, 100)])
    graph = knn_graph(vectors, 3, similarity=similarity, normalize=normalize)
    L, W = graph.laplacian.toarray(), graph.weights.toarray()
    np.testing.assert_array_equal(W, W.T)
    assert (W >= 0).all()
    assert not W.diagonal().any()
    values = np.linalg.eigvalsh(L)
    assert values[0] > -1e-12
    null = graph.null_space.toarray()
    np.testing.assert_allclose(null.T @ null, np.eye(graph.n_components), atol=1e-12)
    np.testing.assert_allclose(L @ null, 0.0, atol=1e-12)
    assert graph.n_components >= 3
    assert (values < 1e-9).sum() == graph.n_components
    y = np.random.default_rng(4).normal(size=len(W))
    np.testing.assert_allclose(graph.component_means(y), null @ (null.T @ y), atol=1e-12)


def test_normalised_weights():
    G = np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    W = (G + G.T) / 2
    degrees = W.sum(axis=1)
    expected = W / np.sqrt(np.outer(degrees, degrees))
    np.testing.assert_allclose(graph_from_similarities(G).weights.toarray(), expected)
    np.testing.assert_allclose(graph_from_similarities(1e-200 * G).weights.toarray(), expected)


def test_median_is_the_scale_of_the_gaussian():
    distance = np.array([0.0, 1.0, 2.0, 5.0])
    np.testing.assert_allclose(SIMILARITIES["gaussian"](distance), np.exp(-0.5 * (distance / 2.0) ** 2))
    assert SIMILARITIES["gaussian"](np.zeros(3)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_items(n):
    graph = knn_graph(np.arange(float(2 * n)).reshape(n, 2), 5)
    assert len(graph) == n
    assert graph.n_components == min(n, 1)
    assert graph.laplacian.shape == (n, n)


def test_isolated_and_equal_items():
    lonely = graph_from_similarities(np.diag([1.0, 2.0, 3.0]))
    assert lonely.n_components == 3
    assert lonely.weights.nnz == 0
    equal = knn_graph(np.ones((6, 3)), 2)
    assert equal.n_components == 1
    np.testing.assert_allclose(equal.weights.toarray(), (1 - np.eye(6)) / 5)


def test_large_graph_stays_sparse():
    graph = knn_graph(np.random.default_rng(5).normal(size=(3000, 8)), 5)
    assert graph.weights.nnz <= 2 * 5 * 3000
    assert isinstance(graph, Graph)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: knn_graph([[0.0], [np.nan]], 1), "NaN in row 1"),
        (lambda: knn_graph([0.0, 1.0], 1), "matrix"),
        (lambda: knn_graph([[0.0], [1.0]], 0), "n_neighbors"),
        (lambda: knn_graph([[0.0], [1.0]], 1.5), "n_neighbors"),
        (lambda: knn_graph([[0.0], [1.0]], 1, distance="l7"), "known are l2, cosine"),
        (lambda: knn_graph([[0.0], [1.0]], 1, similarity="no"), "known are gaussian"),
        (lambda: knn_graph([[0.0], [1.0]], 1, similarity=lambda d: -d), ">= 0"),
        (lambda: knn_graph([[0.0], [1.0]], 1, similarity=lambda d: d * np.nan), "finite"),
        (lambda: knn_graph([[0.0], [1.0]], 1, similarity=lambda d: 1.0), "shape"),
        (lambda: graph_from_distances([[0.0, 1.0]], 1), "square"),
        (lambda: graph_from_distances([[0.0, -1.0], [1.0, 0.0]], 1), "negative"),
        (lambda: graph_from_distances([[0.0, np.inf], [1.0, 0.0]], 1), "row 0"),
        (lambda: graph_from_distances([np.eye(2)] * 2, 1, weights=[1.0]), "weights"),
        (lambda: graph_from_distances([np.eye(2)] * 2, 1, weights=[1.0, -1.0]), "weights"),
        (lambda: graph_from_similarities([[0.0, -1.0], [0.0, 0.0]]), ">= 0"),
        (lambda: graph_from_similarities([[0.0, 1.0]]), "square"),
    ],
)
def test_errors_are_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
