"""Concepts of a collection: detectors made from examples, whose scores are experts that need no query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.marks import now
from rankloom.collection.names import check_name
from rankloom.core import FloatArray, IntArray

if TYPE_CHECKING:
    from rankloom.concepts import Concept

__all__ = [
    "ConceptInfo",
    "ConceptScores",
    "concept_scores",
    "concepts_of",
    "drop_concept",
    "load_concept",
    "make_concept",
]


OTHERS = 200  # unmarked items that stand for everything else


class ConceptInfo(NamedTuple):
    """A concept: how it was made, from how many examples, and its AP and AUC on examples that it had not seen."""

    name: str
    method: str
    n_positive: int
    n_negative: int
    ap: float
    auc: float
    at: str


def concepts_of(collection: Collection) -> list[ConceptInfo]:
    """The concepts of a collection."""
    from rankloom.concepts import Concept

    rows = collection.db.execute("SELECT name, detector, at FROM concepts ORDER BY name").fetchall()
    found = [(name, Concept.from_json(detector), at) for name, detector, at in rows]
    return [
        ConceptInfo(name, one.method, one.quality.positives, one.quality.negatives, one.quality.ap, one.quality.auc, at)
        for name, one, at in found
    ]


def load_concept(collection: Collection, name: str) -> Concept:
    """A concept by its name."""
    from rankloom.concepts import Concept

    row = collection.db.execute("SELECT detector FROM concepts WHERE name = ?", (name,)).fetchone()
    if row is None:
        known = ", ".join(one.name for one in concepts_of(collection)) or "none"
        raise ValueError(f"there is no concept {name!r}; known are {known}")
    return Concept.from_json(row[0])


def make_concept(
    collection: Collection,
    name: str,
    positive: Sequence[int],
    negative: Sequence[int] | None,
    *,
    method: str,
    vectors: Mapping[str, NDArray[Any]],
) -> Concept:
    """Train a detector from items and keep it; one of the same name is replaced."""
    from rankloom.concepts import train_concept

    check_name(name, "a concept")
    rows = [np.unique(np.asarray(items, dtype=np.int64)) - 1 for items in (positive, negative or ())]
    against = None
    if negative:  # a few wrong marks say little about the rest of the collection: other items stand for it
        unmarked = np.setdiff1d(np.arange(len(next(iter(vectors.values())))), np.concatenate(rows))
        some = np.random.default_rng(0).choice(unmarked, min(len(unmarked), OTHERS), replace=False)
        against = np.concatenate([rows[1], some])
    concept = train_concept(name, vectors, rows[0], against, method=method)
    with collection.transaction() as db:
        row = (name, concept.to_json(), now())
        db.execute("INSERT OR REPLACE INTO concepts VALUES (?, ?, ?)", row)
    return concept


def drop_concept(collection: Collection, name: str) -> None:
    """Forget a concept."""
    load_concept(collection, name)
    with collection.transaction() as db:
        db.execute("DELETE FROM concepts WHERE name = ?", (name,))


class ConceptScores:
    """The scores of all items by a concept, computed when they are first asked for."""

    def __init__(self, concept: Concept, vectors: Mapping[str, NDArray[Any]]):
        self._concept, self._vectors = concept, vectors
        self._scores: FloatArray | None = None

    def __call__(self, rows: IntArray) -> FloatArray:
        """The scores of some items."""
        if self._scores is None:
            self._scores = np.asarray(self._concept.scores(self._vectors), dtype=np.float64)
        return self._scores[rows]


def concept_scores(collection: Collection, vectors: Mapping[str, NDArray[Any]]) -> dict[str, ConceptScores]:
    """The columns of all concepts; a concept whose descriptors are gone is left out."""
    from rankloom.concepts import Concept

    rows = collection.db.execute("SELECT name, detector FROM concepts ORDER BY name").fetchall()
    found = [(name, Concept.from_json(detector)) for name, detector in rows]
    return {name: ConceptScores(one, vectors) for name, one in found if set(one.descriptors) <= set(vectors)}
