"""Content-aware ranking: passes to a certified gap, cutting planes, and inference with and without a decomposition."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Bar, at_least, at_most, many, seconds
from rankloom.rankers.content_aware import ContentAwareRanker
from rankloom.reranking.graph import knn_graph
from rankloom.reranking.spherical import solve_spherical, spectrum

TITLE = "Content-aware ranking"
TEXT, VISUAL = 164, 16  # the text features of the paper; visual components


def run() -> list[Bar]:
    return [*learning(), *inference(), *long_list()]


def problem(n_queries: int = 50, n: int = 250, apart: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three grades; ten text features know them a little, and pictures of a grade lie around a place of the query."""
    random = np.random.default_rng(0)
    y = random.choice(3, n_queries * n, p=[0.6, 0.25, 0.15]).astype(float)
    qid = np.repeat(np.arange(n_queries), n)
    text = random.normal(size=(len(y), TEXT))
    text[:, :10] += 0.5 * y[:, None]
    places = apart * random.normal(size=(n_queries, 3, VISUAL))
    visual = places[qid, y.astype(int)] + 0.7 * random.normal(size=(len(y), VISUAL))
    return np.hstack([text, visual]), y, qid


def learning() -> list[Bar]:
    bars = []
    visual = slice(TEXT, None)
    data = problem()
    for gamma in (0.1, 1.0, 10.0):
        ranker = ContentAwareRanker(visual, gamma).fit(*data)
        what = f"50 x 250 x {TEXT}, gamma={gamma:g}"
        bars.append(at_most("3e", f"passes of L-BFGS, {what}", ranker.n_passes_, 50, ""))
        bars.append(at_most("3e", f"certified relative gap, {what}", ranker.gap_ / ranker.objective_, 1e-8, ""))
        if gamma == 1.0:
            planes = ContentAwareRanker(visual, gamma, solver="cutting_plane", tol=1e-6).fit(*data)
            excess = abs(planes.objective_ - ranker.objective_) / ranker.objective_
            bars.append(at_most("3e", f"objective of cutting planes against L-BFGS, {what}", excess, 1e-6, ""))
            bars.append(
                Bar("3e", f"passes of cutting planes to a gap of 1e-6, {what}", "-", str(planes.n_passes_), None)
            )
    # Pictures so far apart that the graphs fall into components: the objective has kinks.
    ranker = ContentAwareRanker(visual, 1.0).fit(*problem(apart=1.0))
    what = "graphs of several components"
    bars.append(at_most("3e", f"certified relative gap, {what}", ranker.gap_ / ranker.objective_, 1e-8, ""))
    bars.append(Bar("3e", f"passes of L-BFGS and Newton, {what}", "-", str(ranker.n_passes_), None))
    return bars


def inference() -> list[Bar]:
    bars = []
    random = np.random.default_rng(1)
    graph = knn_graph(random.normal(size=(1000, VISUAL)), 10)
    z = random.normal(size=1000)
    z -= z.mean()
    z /= np.linalg.norm(z)
    for gamma in (0.1, 1.0, 100.0):
        slow, fast = seconds(
            lambda gamma=gamma: solve_spherical(graph, z, gamma, spectrum=spectrum(graph)),
            many(lambda gamma=gamma: solve_spherical(graph, z, gamma), 10),
            repeats=3,
        )
        found = solve_spherical(graph, z, gamma)
        what = f"1,000 items, gamma={gamma:g}"
        bars.append(at_least("3f", f"inference, {what}, eigh + solve / Lanczos", slow / (fast / 10), 10))
        bars.append(at_most("3f", f"error of the norm, {what}", found.norm_error, 1e-12, ""))
        bars.append(at_most("3f", f"relative residual, {what}", found.residual, 1e-10, ""))
    return bars


def long_list() -> list[Bar]:
    random = np.random.default_rng(2)
    vectors = random.normal(size=(5000, 64))
    graph = knn_graph(vectors, 10)
    z = random.normal(size=5000)
    z -= z.mean()
    found = solve_spherical(graph, z, 10.0)
    build, solve = seconds(lambda: knn_graph(vectors, 10), lambda: solve_spherical(graph, z, 10.0), repeats=3)
    return [
        at_most("3f", "error of the norm, 5,000 items", found.norm_error, 1e-12, ""),
        at_most("3f", "relative residual, 5,000 items", found.residual, 1e-10, ""),
        Bar("3f", "5,000 items: exact graph, seconds", "-", f"{build:.3g}", None),
        Bar("3f", "5,000 items: solution, seconds", "-", f"{solve:.3g}", None),
    ]
