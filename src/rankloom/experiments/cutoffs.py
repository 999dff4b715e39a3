"""Whether suggested ends of result lists are true: what comes after one should be something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray
from rankloom.engine.cutoff import FOLLOWING, LOOKED_AT, Links, best_end, count_links
from rankloom.experiments.labeled import CollectionDiffusion, LabeledCollection


class SearchList(NamedTuple):
    """A list of results: what the neighbor graph says of its beginnings, and which are right, best first."""

    links: Links
    right: NDArray[np.bool_]


class CutoffQuality(NamedTuple):
    """How often an end was suggested, and means over the lists that have one.

    Parameters
    ----------
    share : of the lists, those with a suggested end.
    after : precision of the results that follow the end, which should be low.
    precision, recall : of the results before it.
    """

    share: float
    after: float
    precision: float
    recall: float


def search_lists(
    data: LabeledCollection, weights: FloatArray, *, n_queries: int = 150, random_state: int = 3
) -> list[SearchList]:
    """Searches by example in a labeled collection, with diffusion; the example is a result, and right.

    Parameters
    ----------
    data : the collection.
    weights : of the experts.
    n_queries, random_state : how many items are queries, and which.
    """
    neighbors = data.neighbors(weights)
    diffuse = CollectionDiffusion(neighbors)
    lists = []
    for query in data.queries(n_queries, random_state).tolist():
        scores = diffuse(data.similarity(query, weights).astype(np.float64))
        order = np.argsort(-scores, kind="stable")
        links = count_links(order[:LOOKED_AT], neighbors.ids)
        lists.append(SearchList(links, (data.labels == data.labels[query])[order]))
    return lists


def judge_cutoff(lists: Sequence[SearchList]) -> CutoffQuality:
    """What is true of lists that end where it is suggested; NaN where none does."""
    values = []
    for links, right in lists:
        end = best_end(links, len(right) // 2)
        if end is not None:
            hits = int(right[:end].sum())
            values.append((float(right[end : end + FOLLOWING].mean()), hits / end, hits / int(right.sum())))
    means = np.mean(values, axis=0).tolist() if values else [np.nan] * 3
    return CutoffQuality(len(values) / len(lists), *means)
