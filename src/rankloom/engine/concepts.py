"""Concepts of a collection: detectors made from examples, whose scores are experts that need no query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloom.collection import Collection
from rankloom.collection.concepts import StoredConcept, keep_concept, stored_concept, stored_concepts
from rankloom.collection.names import check_name
from rankloom.core import FloatArray, IntArray
from rankloom.experts.compact import CompactVectors

if TYPE_CHECKING:
    from rankloom.concepts import Concept

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


def _detector(stored: StoredConcept) -> Concept:
    from rankloom.concepts import Concept

    return Concept.from_json(stored.detector)


def concepts_of(collection: Collection) -> list[ConceptInfo]:
    """The concepts of a collection."""
    return [_info(stored) for stored in stored_concepts(collection)]


def _info(stored: StoredConcept) -> ConceptInfo:
    concept = _detector(stored)
    quality = concept.quality
    return ConceptInfo(
        stored.name, concept.method, quality.positives, quality.negatives, quality.ap, quality.auc, stored.at
    )


def load_concept(collection: Collection, name: str) -> Concept:
    """The detector of a concept."""
    return _detector(stored_concept(collection, name))


def make_concept(
    collection: Collection,
    name: str,
    positive: Sequence[int],
    negative: Sequence[int] | None,
    *,
    method: str,
    vectors: Mapping[str, CompactVectors],
) -> ConceptInfo:
    """Train a detector from items and keep it; one of the same name is replaced."""
    from rankloom.concepts import train_concept

    check_name(name, "a concept")
    n_items = len(next(iter(vectors.values()), ()))
    for item in (*positive, *(negative or ())):
        if not 1 <= item <= n_items:
            raise ValueError(f"there is no item {item}")
    rows = [np.unique(np.asarray(items, dtype=np.int64)) - 1 for items in (positive, negative or ())]
    against = None
    if negative:  # a few wrong marks say little about the rest of the collection: other items stand for it
        unmarked = np.setdiff1d(np.arange(n_items), np.concatenate(rows))
        others = np.random.default_rng(0).choice(unmarked, min(len(unmarked), OTHERS), replace=False)
        against = np.concatenate([rows[1], others])
    concept = train_concept(name, vectors, rows[0], against, method=method)
    keep_concept(collection, name, concept.to_json())
    return _info(stored_concept(collection, name))


class ConceptScores:
    """The scores of all items by a concept, computed when they are first asked for."""

    def __init__(self, concept: Concept, vectors: Mapping[str, CompactVectors]):
        self._concept, self._vectors = concept, vectors
        self._scores: FloatArray | None = None

    def __call__(self, rows: IntArray) -> FloatArray:
        """The scores of some items."""
        if self._scores is None:
            self._scores = np.asarray(self._concept.scores(self._vectors), dtype=np.float64)
        return self._scores[rows]


def concept_scores(collection: Collection, vectors: Mapping[str, CompactVectors]) -> dict[str, ConceptScores]:
    """The columns of all concepts; a concept whose descriptors are gone is left out."""
    detectors = {stored.name: _detector(stored) for stored in stored_concepts(collection)}
    return {
        name: ConceptScores(concept, vectors)
        for name, concept in detectors.items()
        if set(concept.descriptors) <= set(vectors)
    }
