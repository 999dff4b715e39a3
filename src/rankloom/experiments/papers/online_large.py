"""Search among a million distractors, by the weights of many methods at once: section 5.4 of Wan et al. (2015).

Distractors are made in blocks and forgotten: every search goes over a block while it is at hand, and all that is kept
of it is how many distractors stand before each relevant item. AP and precision need no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory, Parallel, delayed
from joblib import hash as joblib_hash
from numpy.typing import NDArray
from sklearn.utils.validation import check_memory

from rankloom.core import FloatArray, IntArray
from rankloom.experiments.labeled import LabeledCollection
from rankloom.experts.compact import CompactVectors

PLACES = (10, 20, 50, 100)
BLOCK = 20_000  # distractors that are made at a time, and whose counts are kept
_AT_HAND = 1_000  # of these, as vectors of single precision: more would leave the processor's cache
Progress = Callable[[str], None]


class Search(NamedTuple):
    """A query with the weights of each method.

    Parameters
    ----------
    vectors : the query, by descriptor.
    weights : array of shape (n_experts, n_methods).
    relevant : what the relevant items score, each column in ascending order; of shape (n_relevant, n_methods).
    before : how many irrelevant items of the collection stand before each of these.
    """

    vectors: dict[str, NDArray[np.float32]]
    weights: NDArray[np.float32]
    relevant: NDArray[np.float32]
    before: IntArray

    @classmethod
    def of(cls, data: LabeledCollection, query: int, weights: NDArray[np.float32]) -> Search:
        """One item of a collection as the query."""
        scores = data.phi(query) @ weights
        relevant = data.relevant(query)
        irrelevant = ~relevant
        irrelevant[query] = False
        sorted_scores = np.sort(scores[relevant], axis=0)
        vectors = {name: stored[query] for name, stored in data.vectors.items()}
        return cls(vectors, weights, sorted_scores, n_above(scores[irrelevant], sorted_scores))

    def metrics(self, distractors: IntArray) -> list[dict[str, float]]:
        """AP and precision of each method, with so many distractors before each relevant item; no ties are expected."""
        n = len(self.relevant)
        places = np.arange(1, n + 1)
        ranks = (self.before + distractors)[::-1] + places[:, None]  # the best first
        return [
            {"AP": float(np.mean(places / rank)), **{f"P@{k}": float((rank <= k).sum() / k) for k in PLACES}}
            for rank in ranks.T
        ]


def n_above(scores: NDArray[np.float32], limits: NDArray[np.float32]) -> IntArray:
    """How many scores of a column are above each of its limits.

    >>> n_above(np.array([[1.0], [3.0], [2.0]]), np.array([[0.0], [2.0]])).tolist()
    [[3], [1]]
    """
    ordered = np.sort(scores.T, axis=1)
    places = [np.searchsorted(row, limit, side="right") for row, limit in zip(ordered, limits.T, strict=True)]
    return len(scores) - np.stack(places, axis=1)


def search_among(
    data: LabeledCollection, others: LabeledCollection, n: int, weights: Sequence[Mapping[str, FloatArray]],
    asked: Sequence[IntArray], random_state: int, *, n_jobs: int = 1, memory: str | Memory | None = None,
    progress: Progress = lambda step: None,
) -> dict[str, dict[str, FloatArray]]:  # fmt: skip
    """The linear methods among n distractors, on queries of each fold: each metric of each query.

    Parameters
    ----------
    data, others : the collection, and what distractors are mixed of.
    n : how many distractors.
    weights, asked : of each fold the weights by method, and the queries.
    random_state : which distractors.
    n_jobs, memory : processes, each with a block of distractors, and where a block's counts are kept.
    progress : called with a text before each block.
    """
    searches = [
        Search.of(data, query, np.stack([*of_fold.values()], axis=1).astype(np.float32))
        for of_fold, queries in zip(weights, asked, strict=True)
        for query in queries.tolist()
    ]
    # Arguments that are ignored are neither hashed nor described for every block, which would take longer than it.
    counted_once = check_memory(memory).cache(_before, ignore=["others", "scales", "searches"])
    known = joblib_hash((others, data.scales, searches))
    ends = np.append(np.arange(0, n, BLOCK), n).tolist()

    def tasks() -> Iterator[Any]:
        for number, (begin, end) in enumerate(pairwise(ends)):
            progress(f"search among {begin:,} to {end:,} distractors")
            yield delayed(counted_once)(known, (random_state, number), end - begin, others, data.scales, searches)

    totals = [np.zeros_like(search.before) for search in searches]
    for counts in Parallel(n_jobs=n_jobs, return_as="generator")(tasks()):
        for total, count in zip(totals, counts, strict=True):
            total += count
    found = [search.metrics(total) for search, total in zip(searches, totals, strict=True)]
    return {
        name: {metric: np.array([one[number][metric] for one in found]) for metric in found[0][number]}
        for number, name in enumerate(weights[0])
    }


def _before(
    known: str, seed: tuple[int, int], n: int, others: LabeledCollection, scales: Mapping[str, FloatArray],
    searches: Sequence[Search],
) -> list[IntArray]:  # fmt: skip
    """How many of n distractors stand before each relevant item of each search; `known` stands for the last three."""
    made = distractors(others, n, scales, seed)
    return [n_above(made.phi_of(search.vectors) @ search.weights, search.relevant) for search in searches]


def distractors(
    others: LabeledCollection, n: int, scales: Mapping[str, FloatArray], seed: tuple[int, int] = (0, 0)
) -> LabeledCollection:
    """Items of no class, each a noisy mixture of two others."""
    random = np.random.default_rng(seed)
    first, second = random.integers(0, len(others), (2, n))
    share = np.asarray(random.uniform(0.5, 0.8, (n, 1)), dtype=np.float32)
    vectors: dict[str, CompactVectors] = {}
    for name, source in others.vectors.items():
        rows = np.empty((n, source.rows.shape[1]), dtype=np.uint8)
        for begin in range(0, n, _AT_HAND):
            part = slice(begin, begin + _AT_HAND)
            mixed = share[part] * source[first[part]] + (1 - share[part]) * source[second[part]]
            mixed *= 1 + np.float32(0.1) * random.standard_normal(mixed.shape, dtype=np.float32)
            rows[part] = CompactVectors.of(mixed).rows
        vectors[name] = CompactVectors(rows)
    return LabeledCollection(vectors, np.zeros(n), scales)
