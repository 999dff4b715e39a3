"""Neighbour graphs against brute force, and diffusion against dense algebra."""

import numpy as np
import pytest

from rankloom.engine.diffusion import best_rows
from rankloom.engine.neighbors import RESOLUTION, NeighborGraph, build_graph


def points(n=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


def similarity(X):
    return lambda item: -np.linalg.norm(X - X[item], axis=1).astype(np.float32)


def brute_force(X, present, k):
    found = []
    for item in range(len(X)):
        rounded = np.round(similarity(X)(item) / RESOLUTION)
        order = [j for j in np.argsort(-rounded, kind="stable").tolist() if j != item and present[j]]
        found.append((order + [-1] * k)[:k] if present[item] else [-1] * k)
    return found


@pytest.mark.parametrize("k", [1, 5, 70])
def test_exact(k):
    X, present = points(), np.random.default_rng(1).random(60) < 0.8
    assert build_graph(similarity(X), present, k).ids.tolist() == brute_force(X, present, k)


def test_incremental_equals_rebuilt():
    X, rng = points(80), np.random.default_rng(2)
    present = np.ones(80, dtype=bool)
    graph = build_graph(similarity(X[:50]), present[:50], 6)
    for size in (51, 60, 80):
        present[rng.choice(size, 3, replace=False)] = False
        asked = []

        def counted(item, size=size, asked=asked):
            asked.append(item)
            return similarity(X[:size])(item)

        graph = build_graph(counted, present[:size], 6, known=graph)
        assert graph.ids.tolist() == brute_force(X[:size], present[:size], 6)
        assert len(asked) < size  # not everything was computed again


def test_an_item_that_comes_back_is_found_again():
    X, present = points(40), np.ones(40, dtype=bool)
    present[7] = False
    graph = build_graph(similarity(X), present, 5)
    present[7] = True
    assert build_graph(similarity(X), present, 5, known=graph).ids.tolist() == brute_force(X, present, 5)


def test_diffusion_against_dense_algebra():
    X = points(50)
    graph = build_graph(similarity(X), np.ones(50, dtype=bool), 6)
    A = np.zeros((50, 50))
    for row, neighbours in enumerate(graph.ids):
        for rank, column in enumerate(neighbours):
            A[row, column] = 1 / (1 + rank)
    W = (A + A.T) / 2
    S = W / np.sqrt(np.outer(W.sum(1), W.sum(1)))
    start = np.zeros(50)
    start[[3, 9]] = 1.0, 0.5
    np.testing.assert_allclose(graph.operator().toarray(), S, atol=1e-12)
    found = graph.diffuse(start, 0.9)
    np.testing.assert_allclose(found, np.linalg.solve(np.eye(50) - 0.9 * S, start), atol=1e-6)
    np.testing.assert_allclose(found, start + 0.9 * S @ found, atol=1e-6)  # what each neighbour adds, sums up
    np.testing.assert_allclose(graph.diffuse(start, 0.0), start, atol=1e-9)
    with pytest.raises(ValueError, match="alpha"):
        graph.diffuse(start, 1.0)


def test_isolated_items_get_nothing():
    graph = NeighborGraph(np.array([[1], [0], [-1]], np.int32), np.array([[1.0], [1.0], [-np.inf]], np.float32))
    found = graph.diffuse(np.array([1.0, 0.0, 0.0]))
    assert found[0] > found[1] > 0
    assert found[2] == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_best_rows_are_those_of_a_whole_sort(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, 60) / 4.0  # with many ties
    rows = np.flatnonzero(rng.random(60) < 0.7)
    expected = sorted(rows.tolist(), key=lambda row: (-scores[row], row))
    for n in (1, 2, 11, len(rows)):
        assert best_rows(scores, rows, n).tolist() == expected[:n]


@pytest.mark.parametrize("kind", ["spread", "ties", "rising", "unknown"])
def test_the_best_of_many_rows_are_those_of_a_whole_sort(kind):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=40_000)
    if kind == "ties":
        scores = np.round(scores, 1)
    if kind == "rising":
        scores = np.sort(scores)
    if kind == "unknown":
        scores[::7] = np.nan
    for rows in (np.arange(40_000), np.flatnonzero(rng.random(40_000) < 0.7)):
        expected = rows[np.argsort(-scores[rows], kind="stable")]
        for n in (1, 300, 20_000):
            assert np.array_equal(best_rows(scores, rows, n), expected[:n])
