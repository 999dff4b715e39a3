"""Starting weights that a collection teaches itself: a strong descriptor of a sample says what is alike.

Where no strong expert is among those of a collection, weights from elsewhere say little: which of many weak experts
tell depends on the pictures. Marks are not needed to find out. The semantic descriptor need only be known of a sample:
weights are learned so that the experts at hand put its neighbors first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.experts.compact import CompactVectors
from rankloom.experts.expert import EncodedExample, Expert, StoredVectors, expert_rows, experts_of
from rankloom.experts.starting_weights import TEXT_WEIGHTS, prior_weights
from rankloom.rankers import RankingLogisticRegression

LEAST = 100  # items below which there are too few neighbors to learn from
SAMPLE = 1000
_OTHERS = 150  # items of the sample that are no neighbors, for each query


def sampled_rows(present: NDArray[np.bool_]) -> IntArray:
    """The rows that teach: all that are there, or a random choice of them; none if they are too few."""
    rows = np.flatnonzero(present)
    if len(rows) < LEAST:
        return rows[:0]
    return np.sort(np.random.default_rng(0).choice(rows, min(SAMPLE, len(rows)), replace=False))


def taught_weights(
    vectors: Mapping[str, CompactVectors],
    scales: Mapping[str, Mapping[str, float]],
    rows: IntArray,
    teacher: NDArray[np.floating],
) -> dict[str, float]:
    """Weights of the experts of some descriptors, by which the neighbors of a sample come first.

    Two items of the sample are alike if each is among the nearest of the other, by the cosine of the teacher. Scores
    lie as far apart as with the shipped weights, so that the experts of words count as much beside them.

    Parameters
    ----------
    vectors : the stored vectors of all items, by descriptor.
    scales : the scale of each distance, by descriptor.
    rows : the sample, as of `sampled_rows`.
    teacher : what is known of each row of the sample: an array of shape (number of rows, d).

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> looks = random.normal(size=(200, 8))
    >>> vectors = {"good": CompactVectors.of(looks), "bad": CompactVectors.of(random.normal(size=(200, 8)))}
    >>> scales = {name: dict.fromkeys(("l1", "l2", "cosine", "chi2"), 3.0) for name in vectors}
    >>> weights = taught_weights(vectors, scales, np.arange(200), looks)
    >>> weights["good.cosine"] > 10 * abs(weights["bad.cosine"])
    True
    """
    experts = experts_of(sorted(vectors))
    X, y, qid = _examples(experts, vectors, scales, rows, mutual_neighbors(teacher))
    shipped = prior_weights(vectors)
    start = np.array([shipped[expert.name] for expert in experts])
    coef = RankingLogisticRegression().fit(X, y, qid=qid).coef_
    apart = float(np.std(X @ coef))
    if not apart:  # the experts say the same of all pairs
        return shipped
    coef = coef * (float(np.std(X @ start)) / apart)
    return {
        **{expert.name: round(float(weight), 6) for expert, weight in zip(experts, coef, strict=True)},
        **TEXT_WEIGHTS,
    }


def mutual_neighbors(teacher: NDArray[np.floating]) -> list[IntArray]:
    """For each row the others that are among its nearest as it is among theirs; half the root of all are near.

    >>> [near.tolist() for near in mutual_neighbors(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]))]
    [[1], [0], [3], [2]]
    """
    directions = np.asarray(teacher, dtype=np.float64)
    directions = directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    similarity = directions @ directions.T
    np.fill_diagonal(similarity, -np.inf)
    n = len(similarity)
    k = min(max(1, round(n**0.5 / 2)), n - 1)
    near = np.zeros((n, n), dtype=bool)
    np.put_along_axis(near, np.argpartition(-similarity, k - 1, axis=1)[:, :k], True, axis=1)
    return [np.flatnonzero(both) for both in near & near.T]


def _examples(
    experts: Sequence[Expert],
    vectors: Mapping[str, CompactVectors],
    scales: Mapping[str, Mapping[str, float]],
    rows: IntArray,
    neighbors: Sequence[IntArray],
) -> RankingData:
    """Each item of the sample as a query: its neighbors, and some others."""
    random = np.random.default_rng(0)
    queries, chosen, grades = [], [], []
    for place, near in enumerate(neighbors):
        if not len(near):
            continue
        others = np.setdiff1d(np.arange(len(rows)), [place, *near])
        others = random.choice(others, min(_OTHERS, len(others)), replace=False)
        queries.append([EncodedExample(StoredVectors(vectors, int(rows[place])))])
        chosen.append(rows[np.concatenate([near, others])])
        grades.append(np.repeat([1.0, 0.0], [len(near), len(others)]))
    X: FloatArray = expert_rows(experts, vectors, scales, queries, chosen)
    return RankingData(X, np.concatenate(grades), np.repeat(np.arange(len(chosen)), [*map(len, chosen)]))
