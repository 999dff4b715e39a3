"""What a collection holds at a moment, ready to be searched. A change makes a new one; searches go on with theirs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.contents import State, counters, face_counts, reading, state_of
from rankloom.collection.query import Query
from rankloom.collection.settings import encoders_of
from rankloom.collection.statistics import CorpusStatistics, corpus_statistics
from rankloom.collection.text_files import TextIndexes, grown_indexes, text_indexes
from rankloom.core import FloatArray, IntArray
from rankloom.engine.concepts import ConceptScores, concept_scores
from rankloom.engine.explanation import CONCEPT, FACES, TAGS, TEXT
from rankloom.experts import EncodedExample, Expert, expert_features, expert_rows, experts_of
from rankloom.experts.distances import DISTANCES, add_similarities, add_similarities_of
from rankloom.features import Features
from rankloom.text import TextIndex
from rankloom.text.tokens import place_terms

# Words for people in the languages of our captions: pictures with faces answer them, whatever their captions say.
_PEOPLE_WORDS = """
face faces portrait person people man men woman women boy girl child children crowd
gesicht porträt leute mensch menschen mann frau kind kinder
visage personne gens homme femme enfant enfants
cara retrato persona gente hombre mujer niño niña
人 脸 人物 男人 女人 孩子
"""
_PEOPLE = frozenset(place_terms(_PEOPLE_WORDS).terms)
_BM25_SCALE = 5.0


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Vectors, scales, texts and flags of all items. It never changes.

    Parameters
    ----------
    state : what it was made from; equal states hold equal things.
    statistics : the scale of each distance by descriptor, and how many of the first items statistics are taken from.
    vectors : by descriptor, memory-mapped.
    present : for every item whether a file holds it.
    faces : the number of faces of every item, NaN where it is not known.
    texts : the words of people, and automatic tags.
    concepts : the scores of items by concept.
    encoders : the user's own encoders, the JSON of their arguments by name.
    """

    state: State
    statistics: CorpusStatistics
    vectors: Mapping[str, NDArray[Any]]
    present: NDArray[np.bool_]
    faces: FloatArray
    texts: TextIndexes
    concepts: Mapping[str, ConceptScores]
    encoders: Mapping[str, str]

    @property
    def scales(self) -> Mapping[str, Mapping[str, float]]:
        """The scale of each distance, by descriptor."""
        return self.statistics.scales

    @property
    def counted(self) -> int:
        """How many of the first items statistics are taken from."""
        return self.statistics.counted

    @property
    def n_items(self) -> int:
        """The number of rows."""
        return self.state.n_items

    @cached_property
    def experts(self) -> list[Expert]:
        """The visual experts."""
        return experts_of(sorted(self.vectors))

    @cached_property
    def names(self) -> list[str]:
        """The columns of phi."""
        concepts = [f"{CONCEPT}{name}" for name in sorted(self.concepts)]
        return [*(expert.name for expert in self.experts), TEXT, TAGS, FACES, *concepts]

    @cached_property
    def basis(self) -> str:
        """What phi depends on beside the query and the item: another basis gives other numbers."""
        described = [*self.state.concepts, *self.state.descriptors]
        return json.dumps([self.counted, self.scales, described], sort_keys=True, default=str)

    @cached_property
    def content(self) -> tuple[Any, ...]:
        """What phi of all items depends on beside the query."""
        return self.basis, self.n_items, self.state.n_texts, self.state.last_text

    def features(self, query: Query, examples: Sequence[EncodedExample], faces: Sequence[float]) -> Features:
        """The lazy matrix phi of a query: one row an item, one column an expert.

        Parameters
        ----------
        query : what is asked for.
        examples : its encoded examples.
        faces : the number of faces of each wanted example, NaN where it is not known.
        """
        visual = expert_features(self.experts, self.vectors, self.scales, examples, self.n_items)
        columns: dict[str, Any] = {
            expert.name: partial(visual.column, place) for place, expert in enumerate(self.experts)
        }
        return Features({**columns, **self._other_columns(query, faces)}, n_rows=self.n_items)

    def rows(
        self, query: Query, examples: Sequence[EncodedExample], faces: Sequence[float], rows: IntArray
    ) -> FloatArray:
        """Some rows of the matrix of `features`, computed at once; the parameters are those of `features`."""
        visual = expert_rows(self.experts, self.vectors, self.scales, examples, rows)
        others = [column(rows) for column in self._other_columns(query, faces).values()]
        return np.column_stack([visual, *others])

    def _other_columns(self, query: Query, faces: Sequence[float]) -> dict[str, Callable[[IntArray], FloatArray]]:
        """The experts that are not of a descriptor and a distance."""
        return {
            TEXT: _TextColumn(self.texts.text, query, self.n_items),
            TAGS: _TextColumn(self.texts.tags, query, self.n_items),
            FACES: partial(self._face_column, query, faces),
            **{f"{CONCEPT}{name}": self.concepts[name] for name in sorted(self.concepts)},
        }

    def _face_column(self, query: Query, faces: Sequence[float], rows: IntArray) -> FloatArray:
        """As many faces as the examples have; some faces, where the words are about people."""
        counts = self.faces[rows]
        column = np.zeros(len(rows))
        known = [count for count in faces if not np.isnan(count)]
        if known:
            column = np.mean([np.exp(-np.abs(counts - count)) for count in known], axis=0)
        elif query.text and _PEOPLE.intersection(place_terms(query.text).terms):
            column = 1.0 - np.exp(-counts)
        return np.nan_to_num(column, nan=0.0)

    def similarity(
        self,
        vectors: Mapping[str, NDArray[Any]],
        weights: Mapping[str, float],
        rows: IntArray | slice | None = None,
        *,
        distances: Callable[[str], NDArray[np.float32]] | None = None,
    ) -> NDArray[np.float32]:
        """The weighted similarity of all items, or of some, to a described picture; each descriptor is read once.

        Parameters
        ----------
        vectors : the picture.
        weights : of the visual experts.
        rows : the items, unless all.
        distances : all distances of all items by descriptor, where they are at hand; nothing is read then.
        """
        total = np.zeros(len(self.present if rows is None else self.present[rows]), dtype=np.float32)
        for name, stored in self.vectors.items():
            of_distances = np.array([weights.get(f"{name}.{distance}", 0.0) for distance in DISTANCES], np.float32)
            if name not in vectors or not of_distances.any():
                continue
            scales = np.array([self.scales[name][distance] for distance in DISTANCES], np.float32)
            if distances is not None:
                add_similarities_of(total, distances(name), of_distances, scales)
            else:
                add_similarities(total, vectors[name], stored if rows is None else stored[rows], of_distances, scales)
        return total

    def vectors_of(self, row: int) -> dict[str, NDArray[Any]]:
        """The description of an item."""
        return {name: np.asarray(stored[row]) for name, stored in self.vectors.items()}

    def excluded(self, text: str) -> NDArray[np.bool_]:
        """Which items have a minus word of a query."""
        if not text.strip():
            return np.zeros(self.n_items, dtype=bool)
        return self.texts.text.excluded(text, self.n_items) | self.texts.tags.excluded(text, self.n_items)


class _TextColumn:
    r"""A text expert: \(1 - e^{-s / 5}\) of the BM25 score s, from 0 to below 1; its scores are computed once."""

    def __init__(self, texts: TextIndex, query: Query, n_items: int):
        self._texts, self._query, self._n_items = texts, query, n_items
        self._scores: FloatArray | None = None

    def __call__(self, rows: IntArray) -> FloatArray:
        if not self._query.text.strip():
            return np.zeros(len(rows))
        if self._scores is None:
            bm25 = np.asarray(self._texts.scores(self._query.text, self._n_items), dtype=np.float64)
            self._scores = self._query.text_weight * (1.0 - np.exp(-bm25 / _BM25_SCALE))
        return self._scores[rows]


def take_snapshot(collection: Collection, before: Snapshot | None = None) -> Snapshot:
    """See what is in a collection now; what an earlier snapshot knows of texts is used again."""
    statistics = corpus_statistics(collection, None if before is None else before.statistics)
    with reading(collection):
        state = state_of(collection)
        complete = [name for name, _, all_rows in state.descriptors if all_rows and name in statistics.scales]
        vectors = {name: collection.vectors(name)[: state.n_items] for name in complete}
        texts = None if before is None else grown_indexes(collection, before.texts, before.state, state)
        texts = texts or text_indexes(collection, state)
        faces = face_counts(collection)
        concepts = concept_scores(collection, vectors)
        present, encoders = collection.present(), encoders_of(collection)
    for index in texts:
        index.count(statistics.counted)
    return Snapshot(state, statistics, vectors, present, faces, texts, concepts, encoders)


class SnapshotSource:
    """The latest snapshot of a collection; a new one is made when something has changed."""

    def __init__(self, collection: Collection):
        self._collection = collection
        self._lock = threading.Lock()
        self._latest: Snapshot | None = None

    def current(self) -> Snapshot:
        """What is in the collection now."""
        latest = self._latest
        if latest is not None and self._holds(latest):
            return latest
        with self._lock:
            if self._latest is None or not self._holds(self._latest):
                self._latest = take_snapshot(self._collection, self._latest)
            return self._latest

    def _holds(self, snapshot: Snapshot) -> bool:
        return snapshot.state.changes == counters(self._collection).contents
