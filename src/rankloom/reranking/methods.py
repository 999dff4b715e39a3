r"""Visual reranking: new scores for a list, from its scores and from how similar its items look.

Each method is a function of the scores of one list and its graph; `rerank` applies one to the lists of any ranker.
Higher is better, before and after. Scores that are all equal stay so unless the graph tells items apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import solve
from scipy.sparse.linalg import cg

from rankloom.core import FloatArray
from rankloom.groups import check_choice, check_count, check_finite, check_number, group_rows
from rankloom.reranking.graph import Graph, Similarity, knn_graph
from rankloom.reranking.spherical import solve_spherical


def visual_rank(scores: ArrayLike, graph: Graph, *, damping: float = 0.85) -> FloatArray:
    r"""VisualRank: how often a surfer who follows similarities, or starts anew by the text scores, sees an item.

    .. math:: r = d\, S r + (1 - d)\, p, \qquad S_{mn} = W_{mn} / \textstyle\sum_m W_{mn}

    The prior \(p\) is proportional to the scores above the lowest one (even for equal scores). From an item without
    neighbours the surfer starts anew.

    Parameters
    ----------
    scores : the text scores of a list.
    graph : the graph of its items.
    damping : \(d\), the share of steps along similarities, from 0 to below 1; 0 is the order of the text.

    References
    ----------
    Y. Jing and S. Baluja, VisualRank: applying PageRank to large-scale image search, PAMI 30, 2008, eq. 2.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [0.1], [0.2], [0.9]], 2)
    >>> visual_rank([1.0, 0.0, 0.5, 0.9], graph).argsort()[::-1].tolist()
    [1, 2, 0, 3]
    """
    text = _list(scores, graph)
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping must be from 0 to below 1, got {damping!r}")
    if not len(text):
        return text
    prior = _share(text)
    inverse = np.divide(1.0, graph.degrees, out=np.zeros(len(text)), where=graph.degrees > 0)
    alone = graph.degrees == 0
    stationary = prior
    # Each step shrinks the error by the damping at least.
    for _ in range(int(np.ceil(np.log(1e-15) / np.log(max(damping, 1e-15)))) + 1):
        following = (
            damping * (graph.weights @ (inverse * stationary) + stationary[alone].sum() * prior) + (1 - damping) * prior
        )
        change = float(np.abs(following - stationary).sum())
        stationary = following
        if change <= 1e-15:
            break
    return np.asarray(stationary)


def bayesian_rerank(
    scores: ArrayLike, graph: Graph, *, strength: float = 1.0, distance: str = "preference"
) -> FloatArray:
    r"""Bayesian reranking: smooth on the graph, at a small distance from the text ranking.

    .. math:: \min_r \; r^\top L r + c\, \|r - \bar r\|^2 \quad \text{or} \quad
              \min_r \; r^\top L r + \frac cn \sum_{\bar r_i > \bar r_j}
              \Big(1 - \frac{r_i - r_j}{\bar r_i - \bar r_j}\Big)^2

    Both are systems of linear equations. \(\bar r\) are the scores with mean 0 and deviation 1, so their scale does not
    matter; the result has the scale and the mean that the scores had. Differences below a thousandth of the deviation
    count as that much, or two items with nearly the same score would outweigh all others.

    Parameters
    ----------
    scores : the text scores of a list.
    graph : the graph of its items.
    strength : \(c > 0\), how much the text counts.
    distance : "point" (first formula) or "preference" (second one, the paper's preference strength, which compares
        pairs; its equations are dense).

    References
    ----------
    X. Tian, L. Yang, J. Wang, Y. Yang, X. Wu and X.-S. Hua, Bayesian video search reranking, ACM Multimedia 2008,
    sections 4 and 5.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [0.1], [0.2], [0.9]], 2)
    >>> bayesian_rerank([1.0, 0.0, 0.5, 0.9], graph).round(2).tolist()
    [0.72, 0.5, 0.53, 0.64]
    >>> bayesian_rerank([1.0, 0.0, 0.5, 0.9], graph, distance="point").round(2).tolist()
    [0.7, 0.32, 0.48, 0.9]
    """
    text = _list(scores, graph)
    check_number("strength", strength, open_below=True)
    check_choice("distance", distance, ("point", "preference"))
    mean, deviation, standard = _standard(text)
    if deviation == 0.0:
        return text
    n, L = len(text), graph.laplacian
    if distance == "point":
        system = L + strength * sparse.eye_array(n)
        # Conjugate gradients: well conditioned unless the text hardly counts, and then still exact after n steps.
        reranked, failed = cg(system, strength * standard, x0=standard, rtol=1e-13, atol=0.0, maxiter=20 * n)
        if failed:
            reranked = solve(system.toarray(), strength * standard, assume_a="pos")
    else:
        gaps = standard[:, None] - standard
        counted = gaps != 0
        gaps = np.where(counted, np.copysign(np.maximum(np.abs(gaps), 1e-3), gaps), np.inf)
        pairs = -1.0 / gaps**2
        np.fill_diagonal(pairs, -pairs.sum(axis=1))
        # Constants are free; 1/n in all places holds the mean at 0.
        matrix = L.toarray() + (strength / n) * pairs + 1.0 / n
        reranked = solve(matrix, (strength / n) * (1.0 / gaps).sum(axis=1), assume_a="pos")
    return np.asarray(mean + deviation * reranked)


def pseudo_relevance_feedback(
    scores: ArrayLike, vectors: ArrayLike, *, n_examples: int = 10, weight: float = 0.5
) -> FloatArray:
    """Pseudo-relevance feedback: a classifier learns to tell the top of the list from its bottom by visual vectors.

    The classifier is a support vector machine with a Gaussian kernel. Its decision values and the text scores, each
    with mean 0 and deviation 1, are added up. A list of fewer than two scores stays as it is.

    Parameters
    ----------
    scores : the text scores of a list.
    vectors : the visual vector of each item.
    n_examples : items of the top and of the bottom that are taken for right and wrong; at most half of the list each.
    weight : share of the classifier, from 0 (the text) to 1.

    References
    ----------
    R. Yan, A. Hauptmann and R. Jin, Multimedia search with pseudo-relevance feedback, CIVR 2003.

    Examples
    --------
    >>> pseudo_relevance_feedback([4.0, 3.0, 2.0, 1.0], [[0.0], [5.0], [0.1], [5.1]], n_examples=1).round(2).tolist()
    [3.81, 2.19, 2.81, 1.19]
    """
    text, rows = _scores_and_vectors(scores, vectors)
    if not 0.0 <= weight <= 1.0 or n_examples < 1:
        raise ValueError(f"weight must be from 0 to 1 and n_examples >= 1, got {weight!r} and {n_examples!r}")
    mean, deviation, standard = _standard(text)
    if deviation == 0.0:
        return text
    from sklearn.svm import SVC

    count = min(int(n_examples), len(text) // 2)
    order = np.argsort(-text, kind="stable")
    examples = np.concatenate([order[:count], order[-count:]])
    spread = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(spread > 1e-12 * np.abs(rows).max(axis=0, initial=0.0), spread, 1.0)
    classifier = SVC(kernel="rbf").fit(scaled[examples], np.repeat([1, 0], count))
    decision = _standard(np.asarray(classifier.decision_function(scaled), dtype=np.float64))[2]
    return np.asarray(mean + deviation * ((1.0 - weight) * standard + weight * decision))


def smooth_scores(scores: ArrayLike, graph: Graph, *, gamma: float = 1.0) -> FloatArray:
    r"""The ranking step of content-aware ranking: \(\bar z + \|z - \bar z\|\, \hat y\) with
    \(\hat y = \arg\min_{\|y\| = 1} 2 \gamma\, y^\top L y - (z - \bar z)^\top y\).

    It is what `ContentAwareRanker` does with its text scores, here for those of any ranker. To give \(\gamma\) the same
    meaning for every scale of scores, those of the list are first divided by \(\|z - \bar z\|\).

    References
    ----------
    B. Geng, L. Yang and X.-S. Hua, Learning to rank with graph consistency, 2009, eq. 19.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [0.1], [0.2], [0.3]], 2)
    >>> smooth_scores([1.0, 0.0, 0.6, 0.5], graph, gamma=0.3).round(2).tolist()
    [0.89, 0.33, 0.46, 0.42]
    """
    text = _list(scores, graph)
    mean, deviation, standard = _standard(text)
    if deviation == 0.0:
        return text
    size = float(np.linalg.norm(standard))
    return np.asarray(mean + deviation * size * solve_spherical(graph, standard / size, gamma).particular)


# What reranks by a graph, and what by the vectors themselves.
RERANKERS: dict[str, Callable[..., FloatArray]] = {
    "visual_rank": visual_rank,
    "bayesian": bayesian_rerank,
    "bayesian_point": partial(bayesian_rerank, distance="point"),
    "smooth": smooth_scores,
    "prf": pseudo_relevance_feedback,
}


def rerank(
    scores: ArrayLike,
    vectors: ArrayLike,
    qid: Any = None,
    method: str | Callable[..., ArrayLike] = "visual_rank",
    *,
    candidates: int | None = None,
    n_neighbors: int = 10,
    distance: str = "l2",
    similarity: Similarity = "gaussian",
    normalize_graph: bool = True,
    **options: Any,
) -> FloatArray:
    """Rerank the lists of any ranker.

    Parameters
    ----------
    scores : what `ranker.predict` gave, one score per row.
    vectors : the visual vector of each row.
    qid : the query of each row; None makes all rows one list.
    method : a name of `RERANKERS`, or a function of the scores of a list and its `Graph`.
    candidates : only so many items of each list, the best by score, are reranked; the others keep their order below.
    n_neighbors, distance, similarity, normalize_graph : the graph, as for `rankloom.reranking.graph.knn_graph`.
    options : go to the method, such as `damping=0.5`.

    Examples
    --------
    >>> vectors = [[0.0], [0.1], [0.2], [0.9]]
    >>> rerank([1.0, 0.0, 0.5, 0.9], vectors, method="visual_rank", n_neighbors=2).argsort()[::-1].tolist()
    [1, 2, 0, 3]
    """
    text, rows = _scores_and_vectors(scores, vectors)
    if isinstance(method, str) and method not in RERANKERS:
        raise ValueError(f"unknown reranker {method!r}; known are {', '.join(RERANKERS)}, or give a function")
    if candidates is not None:
        check_count("candidates", candidates)
    function = RERANKERS[method] if isinstance(method, str) else method

    def of_list(of_query: FloatArray, chosen: FloatArray) -> FloatArray:
        if function is pseudo_relevance_feedback:
            return np.asarray(function(of_query, chosen, **options))
        graph = knn_graph(chosen, n_neighbors, distance=distance, similarity=similarity, normalize=normalize_graph)
        return np.asarray(function(of_query, graph, **options))

    for members in group_rows(qid, len(text)):
        text[members] = reorder_top(text[members], rows[members], candidates, of_list)
    return text


def reorder_top(
    scores: FloatArray,
    rows: FloatArray,
    candidates: int | None,
    reorder: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """New scores for the best items of a list (all without a limit); the others stay in their order below them.

    >>> reorder_top(np.array([3.0, 2.0, 1.0]), np.empty((3, 0)), 2, lambda scores, rows: -scores).tolist()
    [-3.0, -2.0, -4.0]
    """
    if candidates is None or candidates >= len(scores):
        return reorder(scores, rows)
    order = np.argsort(-scores, kind="stable")
    top, rest = order[:candidates], order[candidates:]
    reordered = np.empty_like(scores)
    reordered[top] = reorder(scores[top], rows[top])
    below = scores[rest] - scores[rest[0]]
    reordered[rest] = (
        reordered[top].min() - max(scores[top[-1]] - scores[rest[0]], 1e-6 * float(np.ptp(scores)) or 1.0) + below
    )
    return reordered


def _scores_and_vectors(scores: ArrayLike, vectors: ArrayLike) -> tuple[FloatArray, FloatArray]:
    text = np.array(scores, dtype=np.float64)
    rows = np.asarray(vectors, dtype=np.float64)
    if text.ndim != 1 or rows.ndim != 2 or len(rows) != len(text):
        raise ValueError(f"one score and one vector an item were expected, got the shapes {text.shape}, {rows.shape}")
    check_finite(text, "scores")
    check_finite(rows, "vectors")
    return text, rows


def _list(scores: ArrayLike, graph: Graph) -> FloatArray:
    text = np.array(scores, dtype=np.float64)
    if text.shape != (len(graph),):
        raise ValueError(f"one score for each of {len(graph)} items was expected, got the shape {text.shape}")
    check_finite(text, "scores")
    return text


def _share(text: FloatArray) -> FloatArray:
    """Scores above the lowest, with the sum 1; even where all are equal."""
    above = text / 2.0 - text.min() / 2.0  # halves: the difference of two finite numbers may overflow
    largest = above.max()
    if largest == 0.0:
        return np.full(len(text), 1.0 / len(text))
    above /= largest
    return np.asarray(above / above.sum())


def _standard(text: FloatArray) -> tuple[float, float, FloatArray]:
    """Mean, deviation, and the scores with mean 0 and deviation 1 (as they are where all are equal)."""
    if len(text) < 2 or text.min() == text.max():
        return (float(text[0]) if len(text) else 0.0), 0.0, np.zeros_like(text)
    mean = float(text.mean())
    centered = text - mean
    largest = float(np.abs(centered).max())
    deviation = largest * float((centered / largest).std())
    return mean, deviation, centered / deviation
