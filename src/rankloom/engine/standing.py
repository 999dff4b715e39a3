"""Where an item stands among others in what each group of experts says of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloom.collection.query import Query
from rankloom.core import FloatArray, IntArray
from rankloom.engine.engine import Engine
from rankloom.engine.explanation import CONCEPT, WORDS
from rankloom.engine.options import SearchOptions
from rankloom.engine.ranking import Ranking
from rankloom.engine.scorers import linear_weights

COMPARED = 1000  # items with which one is compared, of more every so many
BARS = 20


class GroupStanding(NamedTuple):
    """What the experts of a group say of an item, and of others.

    Parameters
    ----------
    name : the descriptor of the experts; of those that have none, their own name.
    weight : the sum of their weights in the score; None where a score is no weighted sum.
    value : the mean of their values of phi for the item.
    below : the share of the others that have less.
    low, high : the least and the largest value of all.
    counts : of the others, in bars of equal width from the least value to the largest.
    bar : the number of the bar that holds the item.
    """

    name: str
    weight: float | None
    value: float
    below: float
    low: float
    high: float
    counts: tuple[int, ...]
    bar: int


class Standing(NamedTuple):
    """An item among `compared` others of `total` that may be results, by each group that tells them apart."""

    compared: int
    total: int
    groups: tuple[GroupStanding, ...]


def standing(engine: Engine, query: Query, item: int, options: SearchOptions) -> Standing:
    """Compare what the experts say of an item with what they say of the others that may be results.

    The groups with the largest weights come first; those that say the same of all items are left out.

    Parameters
    ----------
    engine : what searches.
    query, options : of the search.
    item : any item.
    """
    ranking = engine.rank(query, options)
    snapshot, encoded = ranking.view.snapshot, ranking.encoded
    if not 1 <= item <= snapshot.n_items:
        raise KeyError(f"there is no item {item}")
    others = np.flatnonzero(ranking.eligible)
    others = others[others != item - 1]
    total = len(others)
    others = others[:: max(1, -(-total // COMPARED))]
    rows: IntArray = np.array([item - 1, *others], dtype=np.int64)
    (phi,) = snapshot.rows([(encoded.query, encoded.examples, encoded.faces)], [rows])
    groups = [found for name, columns in _groups(snapshot.names).items() if (found := _group(name, phi[:, columns]))]
    weights = _weights(ranking)
    weighed = [group._replace(weight=None if weights is None else weights.get(group.name, 0.0)) for group in groups]
    return Standing(len(others), total, tuple(sorted(weighed, key=lambda group: -abs(group.weight or 0.0))))


def group_of(name: str) -> str:
    """The group of an expert.

    >>> [group_of(name) for name in ("gist.l2", "text.bm25", "words.map", "concept.a.b", "faces")]
    ['gist', 'text', 'words.map', 'concept.a.b', 'faces']
    """
    return name if name.startswith(CONCEPT) or (name in WORDS and name.startswith("words.")) else name.split(".")[0]


def _groups(names: list[str]) -> dict[str, list[int]]:
    """The columns of each group."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        groups.setdefault(group_of(name), []).append(place)
    return groups


def _weights(ranking: Ranking) -> dict[str, float] | None:
    linear = linear_weights(ranking.scorer)
    if linear is None:
        return None
    weights: dict[str, float] = {}
    for name, weight in linear.items():
        weights[group_of(name)] = weights.get(group_of(name), 0.0) + weight
    return weights


def _group(name: str, phi: FloatArray) -> GroupStanding | None:
    """The first row of some columns of phi among the others; None where all are alike."""
    value, *_ = values = phi.mean(axis=1)
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return None
    bars = np.minimum((values - low) / (high - low) * BARS, BARS - 1).astype(int)
    below = float(np.mean(values[1:] < value))
    counts = tuple(np.bincount(bars[1:], minlength=BARS).tolist())
    return GroupStanding(name, None, float(value), below, low, high, counts, int(bars[0]))
