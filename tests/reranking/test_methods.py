"""Rerankers against their equations written out, and that any ranker can be followed by any of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate
from rankloom.rankers import ListNet, RankingLogisticRegression
from rankloom.reranking.graph import graph_from_similarities, knn_graph
from rankloom.reranking.methods import (
    RERANKERS,
    bayesian_rerank,
    pseudo_relevance_feedback,
    rerank,
    smooth_scores,
    visual_rank,
)
from rankloom.reranking.spherical import solve_spherical


def noisy(seed=0, n=60):
    """A list whose items look like their grade, with text scores that hardly know it."""
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.3).astype(float)
    vectors = 2.0 * y[:, None] + random.normal(size=(n, 4))
    return y, vectors, 0.7 * y + random.normal(size=n)


def test_visual_rank_is_the_stationary_distribution():
    _, vectors, scores = noisy()
    G = knn_graph(vectors, 5).weights.toarray()
    G[7] = G[:, 7] = 0.0
    graph = graph_from_similarities(G, normalize=False)
    found = visual_rank(scores, graph, damping=0.8)
    prior = (scores - scores.min()) / (scores - scores.min()).sum()
    S = np.where(
        graph.degrees > 0, graph.weights.toarray() / np.where(graph.degrees > 0, graph.degrees, 1), prior[:, None]
    )
    surfer = 0.8 * S + 0.2 * prior[:, None]
    np.testing.assert_allclose(surfer.sum(axis=0), 1.0)
    values, vectors = np.linalg.eig(surfer)
    stationary = np.real(vectors[:, np.argmax(np.real(values))])
    np.testing.assert_allclose(found, stationary / stationary.sum(), atol=1e-12)
    np.testing.assert_allclose(visual_rank(scores, graph, damping=0.0), prior)


@pytest.mark.parametrize("distance", ["point", "preference"])
def test_bayesian_rerank_minimises_its_objective(distance):
    _, vectors, scores = noisy(1, 15)
    graph = knn_graph(vectors, 4)
    L = graph.laplacian.toarray()
    standard = (scores - scores.mean()) / scores.std()

    def objective(r):
        if distance == "point":
            far = ((r - standard) ** 2).sum()
        else:
            far = sum(
                (1 - (r[i] - r[j]) / (standard[i] - standard[j])) ** 2
                for i in range(15)
                for j in range(15)
                if standard[i] > standard[j]
            ) / len(r)
        return r @ L @ r + 0.3 * far

    found = bayesian_rerank(scores, graph, strength=0.3, distance=distance)
    best = minimize(objective, standard, options={"gtol": 1e-9})
    mine = (found - scores.mean()) / scores.std()
    assert objective(mine) <= best.fun + 1e-9
    np.testing.assert_allclose(mine - mine.mean(), best.x - best.x.mean(), atol=1e-3)


@pytest.mark.parametrize("distance", ["point", "preference"])
def test_bayesian_rerank_with_strong_text_is_the_text(distance):
    _, vectors, scores = noisy(2)
    found = bayesian_rerank(scores, knn_graph(vectors, 5), strength=1e9, distance=distance)
    np.testing.assert_allclose(found, scores, atol=1e-3)


def test_smooth_scores_is_the_step_of_content_aware_ranking():
    _, vectors, scores = noisy(3)
    graph = knn_graph(vectors, 5)
    centred = scores - scores.mean()
    y = solve_spherical(graph, centred / np.linalg.norm(centred), 0.2).y
    found = smooth_scores(scores, graph, gamma=0.2)
    np.testing.assert_allclose(np.corrcoef(found, y)[0, 1], 1.0)
    np.testing.assert_allclose(smooth_scores(scores, graph, gamma=0.0), scores)


@pytest.mark.parametrize("method", RERANKERS)
def test_pictures_help_noisy_text(method):
    before, after = [], []
    for seed in range(10):
        y, vectors, scores = noisy(seed)
        before.append(evaluate(y, scores, None, ["AP"])["AP"])
        after.append(evaluate(y, rerank(scores, vectors, method=method), None, ["AP"])["AP"])
    assert np.mean(after) > np.mean(before) + 0.01


@pytest.mark.parametrize("method", RERANKERS)
@given(st.integers(0, 10_000), st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_any_list_has_finite_scores_in_any_order_of_rows(method, seed, n):
    random = np.random.default_rng(seed)
    vectors = random.integers(0, 3, (n, 2)) + (0.0 if seed % 2 else 1e-3 * random.normal(size=(n, 2)))
    scores = np.zeros(n) if seed % 3 == 0 else random.normal(size=n)
    found = rerank(scores, vectors, method=method, n_neighbors=3)
    assert found.shape == (n,)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, rerank(scores, vectors, method=method, n_neighbors=3))
    order = random.permutation(n)
    if seed % 3:  # a classifier's examples depend on the order of equal scores
        again = rerank(scores[order], vectors[order], method=method, n_neighbors=3)
        np.testing.assert_allclose(again, found[order], atol=1e-6)


@pytest.mark.parametrize("method", RERANKERS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_equal_scores_and_equal_vectors(method, n):
    found = rerank(np.full(n, 3.0), np.zeros((n, 2)), method=method)
    assert np.ptp(found) <= 1e-12
    spread = rerank(np.arange(float(n)), np.zeros((n, 2)), method=method)
    assert (np.diff(spread) >= -1e-9).all()


@pytest.mark.parametrize("method", RERANKERS)
def test_only_candidates_move(method):
    _, vectors, scores = noisy(4)
    found = rerank(scores, vectors, method=method, candidates=20)
    order = np.argsort(-scores)
    top, rest = order[:20], order[20:]
    assert found[top].min() > found[rest].max()
    assert (np.diff(found[rest]) < 0).all()
    np.testing.assert_allclose(np.argsort(found[top]), np.argsort(rerank(scores[top], vectors[top], method=method)))


@pytest.mark.parametrize("ranker", [RankingLogisticRegression(), ListNet()])
def test_any_ranker_followed_by_any_reranker(ranker):
    data = make_ranking(6, 15, 5, n_informative=2, string_qid=True, shuffle=True)
    scores = ranker.fit(data.X, data.y, data.qid).predict(data.X)
    for method in [*RERANKERS, lambda scores, graph: scores + graph.degrees]:
        found = rerank(scores, data.X[:, 3:], data.qid, method, n_neighbors=4)
        for query in np.unique(data.qid):
            one = data.qid == query
            np.testing.assert_allclose(found[one], rerank(scores[one], data.X[one, 3:], None, method, n_neighbors=4))


def test_options_reach_the_method():
    y, vectors, scores = noisy(5)
    graph = knn_graph(vectors, 7, distance="cosine")
    found = rerank(scores, vectors, method="visual_rank", n_neighbors=7, distance="cosine", damping=0.3)
    np.testing.assert_allclose(found, visual_rank(scores, graph, damping=0.3))
    found = rerank(scores, vectors, method="prf", weight=0.0)
    np.testing.assert_allclose(found, scores)
    assert y.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rerank([1.0, np.nan], [[0.0], [1.0]]), "NaN in row 1"),
        (lambda: rerank([1.0, 0.0], [[0.0], [np.inf]]), "row 1"),
        (lambda: rerank([1.0], [[0.0], [1.0]]), "shapes"),
        (lambda: rerank([1.0, 0.0], [[0.0], [1.0]], method="no"), "known are visual_rank"),
        (lambda: rerank([1.0, 0.0], [[0.0], [1.0]], candidates=0), "candidates"),
        (lambda: rerank([1.0, 0.0], [[0.0], [1.0]], qid=[1]), "qid"),
        (lambda: visual_rank([1.0, 0.0], knn_graph([[0.0], [1.0]]), damping=1.0), "damping"),
        (lambda: visual_rank([1.0], knn_graph([[0.0], [1.0]])), "shape"),
        (lambda: bayesian_rerank([1.0, 0.0], knn_graph([[0.0], [1.0]]), strength=0.0), "strength"),
        (lambda: bayesian_rerank([1.0, 0.0], knn_graph([[0.0], [1.0]]), distance="l2"), "distance"),
        (lambda: pseudo_relevance_feedback([1.0, 0.0], [[0.0], [1.0]], weight=2.0), "weight"),
        (lambda: pseudo_relevance_feedback([1.0, np.nan], [[0.0], [1.0]]), "NaN"),
    ],
)
def test_errors_are_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
