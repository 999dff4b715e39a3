"""The weights that a new collection starts with, and how they are made."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.core import FloatArray
from rankloom.descriptors import PRESETS
from rankloom.experts import Sighting, expert_features, experts_of, measure_scales
from rankloom.rankers import RankingLogisticRegression

__all__ = ["Labelled", "labelled_collection", "positive_weights", "prior_weights", "train_prior"]

TEXT_WEIGHTS = {"text.bm25": 1.0, "tags.bm25": 0.5}  # people's words count more than automatic ones
_QUERIES, _OTHERS = 200, 150


@cache
def _packaged() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads(files(__name__).joinpath("weights.json").read_text("utf-8"))
    return found


def prior_weights(descriptors: Iterable[str]) -> dict[str, float]:
    """Starting weights for the experts of these descriptors, and for the text experts.

    There is a set of weights for each preset, learned from its experts (`train_prior`); the one that fits is taken:
    `paper36` without the semantic descriptor, `fast` if all are in it, else `full`. An expert that was not there then
    starts at 0, unless none of them is known: then all weigh the same. Visual weights sum to 1.

    >>> weights = prior_weights(["semantic", "hog"])
    >>> weights["semantic.cosine"] > weights.get("hog.l2", 0.0), round(sum(weights.values()), 6)  # words 1 and 0.5
    (True, 2.5)
    """
    chosen = sorted(descriptors)
    names = [expert.name for expert in experts_of(chosen)]
    kind = "fast" if set(chosen) <= set(PRESETS["fast"]) else "full"
    known = _packaged()[kind if "semantic" in chosen else "paper36"]
    weights = {name: known.get(name, 0.0) for name in names}
    if not any(weights.values()):
        weights = dict.fromkeys(names, 1.0)
    total = sum(weights.values()) or 1.0
    return {**{name: weight / total for name, weight in weights.items()}, **TEXT_WEIGHTS}


class Labelled(NamedTuple):
    """A labelled collection: vectors by descriptor in half precision, and the class of each item."""

    vectors: dict[str, NDArray[Any]]
    labels: NDArray[Any]


def labelled_collection(folder: str, labels: str, column: str = "class") -> Labelled:
    """A collection with the classes that a CSV file gives to its files, by paths relative to that file."""
    base = os.path.dirname(os.path.abspath(labels))
    with open(labels, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        missing = {"path", column} - set(rows.fieldnames or ())
        if missing:
            raise ValueError(
                f"{labels} has no column {min(missing)!r}; its columns are {', '.join(rows.fieldnames or ())}"
            )
        classes = {os.path.normpath(os.path.join(base, row["path"])): row[column] for row in rows}
    with Collection(folder) as collection:
        pairs = [
            (item.id - 1, classes[path]) for item in collection.items() for path in item.paths[:1] if path in classes
        ]
        if not pairs:
            raise ValueError(f"none of the files of {folder} is in {labels}")
        places = np.array([place for place, _ in pairs])
        vectors = {one.name: np.array(collection.vectors(one.name)[places]) for one in collection.descriptors()}
    return Labelled(vectors, np.array([label for _, label in pairs]))


def train_prior(
    collections: Sequence[Labelled],
    *,
    nu: float = 1.0,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, float]:
    """Learn weights from labelled collections: items of the class of a query above others.

    Each collection teaches weights of its own, with the sum 1, and the mean of these is taken: experts that only one
    kind of picture favours get little. Weights below 0 are set to 0 and the rest is learned again: a weight against a
    similarity would fit these data and no others.

    Parameters
    ----------
    collections : the data.
    nu : regularisation.
    random_state : which items are queries.
    progress : called with a text before each collection.
    """
    # The words of sift_words are those of one collection: what is learned of them says nothing about another.
    shared = sorted(set.intersection(*(set(one.vectors) for one in collections)) - {"sift_words"})
    experts = experts_of(shared)
    weights = np.zeros(len(experts))
    for number, one in enumerate(collections):
        progress(f"collection {number + 1}")
        X, y, qid = [], [], []
        for query, rows, phi in _judged(one, shared, random_state):
            X.append(phi)
            y.append((one.labels[rows] == one.labels[query]).astype(np.float64))
            qid.append(np.full(len(rows), query))
        features, grades, ids = (np.concatenate(parts) for parts in (X, y, qid))
        coef = positive_weights(features, grades, ids, nu)
        weights += coef / (coef.sum() or 1.0) / len(collections)
    return {expert.name: round(float(weight), 6) for expert, weight in zip(experts, weights, strict=True) if weight > 0}


def positive_weights(X: FloatArray, y: FloatArray, qid: NDArray[Any], nu: float = 1.0) -> FloatArray:
    """Weights of ranking logistic regression, of which those below 0 are set to 0 and the rest is learned again."""
    kept = np.arange(X.shape[1])
    while True:
        coef = RankingLogisticRegression(nu=nu).fit(X[:, kept], y, qid=qid).coef_
        if (coef >= 0).all():
            break
        kept = kept[coef > 0]
    weights = np.zeros(X.shape[1])
    weights[kept] = coef
    return weights


def _judged(one: Labelled, descriptors: list[str], random_state: int) -> Iterable[tuple[int, NDArray[Any], FloatArray]]:
    """Queries of a collection with all items of their class and some others, and phi of these."""
    random = np.random.default_rng(random_state)
    names, counts = np.unique(one.labels, return_counts=True)
    usable = np.flatnonzero(np.isin(one.labels, names[counts > 1]))
    n = len(one.labels)
    scales = {name: measure_scales(one.vectors[name], np.ones(n, dtype=bool)) for name in descriptors}
    stored = {name: one.vectors[name] for name in descriptors}
    experts = experts_of(descriptors)
    for query in random.choice(usable, min(len(usable), _QUERIES), replace=False).tolist():
        alike = np.flatnonzero((one.labels == one.labels[query]) & (np.arange(n) != query))
        others = np.flatnonzero(one.labels != one.labels[query])
        rows = np.concatenate([alike, random.choice(others, min(len(others), _OTHERS), replace=False)])
        seen = Sighting({name: np.asarray(found[query]) for name, found in stored.items()})
        lazy = expert_features(experts, stored, scales, [seen], n)
        phi = np.stack([lazy.column(place, rows) for place in range(len(experts))], axis=1)
        yield query, rows, phi
