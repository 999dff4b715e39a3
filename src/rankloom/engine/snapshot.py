"""What a collection holds at a moment, ready to be searched. A change makes a new one; searches go on with theirs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.contents import State, counters, face_counts, reading, state_of
from rankloom.collection.query import Query
from rankloom.collection.record_kinds import SOURCE as LOOK_SOURCE
from rankloom.collection.refined_map import RefinedMap, refined_map
from rankloom.collection.settings import encoders_of
from rankloom.collection.statistics import CorpusStatistics, corpus_statistics
from rankloom.collection.taught_weights import stored_weights
from rankloom.collection.text_files import TextIndexes, grown_indexes, text_indexes
from rankloom.core import FloatArray, IntArray
from rankloom.engine.concepts import ConceptScores, concept_scores
from rankloom.engine.explanation import COLORS, CONCEPT, FACES, MAP, NAMES, TAGS, TEXT
from rankloom.engine.face_words import face_scores, people_words
from rankloom.engine.fused import Numbers, fused_similarity, scale_arrays, weight_numbers
from rankloom.engine.records import taken
from rankloom.engine.sketches import Sketches
from rankloom.engine.words import ColorExpert, Looks, WordExperts
from rankloom.experts import EncodedExample, Expert, StoredVectors, expert_features, expert_rows, experts_of
from rankloom.experts.color_words import SOURCE as COLOR_SOURCE
from rankloom.experts.color_words import colors_of
from rankloom.experts.compact import CompactVectors
from rankloom.experts.distances import Weighted, add_similarities
from rankloom.experts.looks import WordMap, word_map
from rankloom.features import Features, nothing
from rankloom.text import TextIndex, parse_query, wanted_words

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
    looks : what words are compared with.
    refined : what the collection adds to the map from words to looks.
    taught : the starting weights that the collection has taught itself; None for those of any collection.
    sketches : by which a large collection is looked through; None where there are none.
    """

    state: State
    statistics: CorpusStatistics
    vectors: Mapping[str, CompactVectors]
    present: NDArray[np.bool_]
    faces: FloatArray
    texts: TextIndexes
    concepts: Mapping[str, ConceptScores]
    encoders: Mapping[str, str]
    looks: Looks
    refined: RefinedMap
    taught: Mapping[str, float] | None
    sketches: Sketches | None

    @property
    def words_reach_pictures(self) -> bool:
        """Whether words are compared with what every picture shows."""
        return LOOK_SOURCE in self.vectors

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
        return [*(expert.name for expert in self.experts), TEXT, TAGS, FACES, *self._word_names, *concepts]

    @cached_property
    def _word_map(self) -> WordMap:
        return word_map().refined(self.refined.correction)

    @cached_property
    def _word_names(self) -> list[str]:
        """The columns that compare words with what pictures show: those whose descriptor is there."""
        colors = [COLORS] if COLOR_SOURCE in self.vectors else []
        return [MAP, NAMES, *colors] if self.words_reach_pictures else colors

    @cached_property
    def basis(self) -> str:
        """What phi depends on beside the query and the item: another basis gives other numbers."""
        described = [*self.state.concepts, *self.state.descriptors]
        words = word_map().version + self.refined.version if self.words_reach_pictures else ""
        return json.dumps([self.counted, self.scales, described, words], sort_keys=True, default=str)

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
            expert.name: nothing if visual.is_nothing(place) else partial(visual.column, place)
            for place, expert in enumerate(self.experts)
        }
        return Features({**columns, **self._other_columns(query, faces)}, n_rows=self.n_items)

    def rows(
        self, queries: Sequence[tuple[Query, Sequence[EncodedExample], Sequence[float]]], rows: Sequence[IntArray]
    ) -> list[FloatArray]:
        """Some rows of the matrices of `features` of several queries, computed at once.

        Parameters
        ----------
        queries : the parameters of `features` for each of them.
        rows : the items for each of them.
        """
        n_visual = len(self.experts)
        dense = np.zeros((sum(map(len, rows)), len(self.names)))
        examples = [examples for _, examples, _ in queries]
        dense[:, :n_visual] = self.visual_rows(examples, rows)
        blocks, begin = [], 0
        for (query, _, faces), some in zip(queries, rows, strict=True):
            block = dense[begin : begin + len(some)]
            begin += len(some)
            blocks.append(block)
            for place, column in enumerate(self._other_columns(query, faces).values(), n_visual):
                block[:, place] = column(some)
        return blocks

    def visual_rows(self, examples: Sequence[Sequence[EncodedExample]], rows: Sequence[IntArray]) -> FloatArray:
        """What the visual experts say of some rows to the examples of each of some queries, one below the other."""
        return expert_rows(self.experts, self.vectors, self.scales, examples, rows)

    def silent(self, query: Query, faces: Sequence[float]) -> set[str]:
        """Experts whose column of `features` is 0: those of words if there are none, of colors if none is named, and of
        faces if none is known and the words are not about people."""
        if not query.text.strip():
            names = {TEXT, TAGS, *self._word_names}
        else:
            names = set() if colors_of(wanted_words(query.text)) else {COLORS} & {*self._word_names}
        if all(np.isnan(count) for count in faces) and not (query.text and people_words(query.text).n_words):
            names.add(FACES)
        return names

    def _other_columns(self, query: Query, faces: Sequence[float]) -> dict[str, Callable[[IntArray], FloatArray]]:
        """The experts that are not of a descriptor and a distance."""
        columns: dict[str, Callable[[IntArray], FloatArray]] = {
            TEXT: _TextColumn(self.texts.text, query, self.n_items),
            TAGS: _TextColumn(self.texts.tags, query, self.n_items, 1.0 / max(1, parse_query(query.text).n_parts)),
            FACES: partial(self._face_column, query, faces),
            **self._word_columns(query),
            **{f"{CONCEPT}{name}": self.concepts[name] for name in sorted(self.concepts)},
        }
        return {**columns, **dict.fromkeys(self.silent(query, faces), nothing)}

    def _word_columns(self, query: Query) -> dict[str, Callable[[IntArray], FloatArray]]:
        columns: dict[str, Callable[[IntArray], FloatArray]] = {}
        if self.words_reach_pictures:
            words = WordExperts(query, self.looks, self._word_map)
            columns |= {MAP: words.map, NAMES: words.names}
        if COLOR_SOURCE in self.vectors:
            columns[COLORS] = ColorExpert(query, self.looks.shares, self.counted)
        return columns

    def _face_column(self, query: Query, faces: Sequence[float], rows: IntArray) -> FloatArray:
        """As many faces as the examples have; or as the words say, as far as they are about people."""
        known = [count for count in faces if not np.isnan(count)]
        if known:
            parts = [np.exp(-np.abs(self.faces[rows] - count)) for count in known]
            column = parts[0] if len(parts) == 1 else np.mean(parts, axis=0)
        elif query.text and (people := people_words(query.text)).n_words:
            share = min(1.0, people.n_words / max(1, parse_query(query.text).n_parts))
            column = share * face_scores(self.faces[rows], people)
        else:
            return np.zeros(len(rows))
        return np.where(np.isnan(column), 0.0, column)

    def similarity(
        self,
        vectors: Mapping[str, NDArray[Any]],
        weights: Mapping[str, float],
        rows: IntArray | None = None,
        *,
        distances: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> NDArray[np.float32]:
        """The weighted similarity of all items, or of some, to a described picture; each descriptor is read once.

        Parameters
        ----------
        vectors : the picture.
        weights : of the visual experts.
        rows : the items, unless all.
        distances : all distances of all items by descriptor, where they are at hand; nothing is read then.
        """
        n_rows = self.n_items if rows is None else len(rows)
        return fused_similarity(n_rows, self.vectors, vectors, self._numbers(weights), rows, distances)

    def similarities(self, weights: Mapping[str, float], items: Sequence[int], rows: IntArray) -> NDArray[np.float32]:
        """The weighted similarity of some items to each of some others, whose rows are given; in one pass.

        Parameters
        ----------
        weights : of the visual experts.
        items : the others: the result has one row for each.
        rows : the items.
        """
        total = np.zeros((len(items), len(rows)), dtype=np.float32)
        described = [
            Weighted(self.vectors[name][[*items]], self.vectors[name], *numbers)
            for name, numbers in self._numbers(weights)
        ]
        if described:
            add_similarities(total, *described, rows=None if len(rows) == self.n_items else rows)
        return total

    def _numbers(self, weights: Mapping[str, float]) -> Iterator[tuple[str, Numbers]]:
        """The weight and the scale of each distance, of the descriptors that have a weight."""
        return weight_numbers(weights, self._scale_arrays)

    @cached_property
    def _scale_arrays(self) -> dict[str, NDArray[np.float32]]:
        return scale_arrays(self.scales, self.vectors)

    def vectors_of(self, row: int) -> StoredVectors:
        """The description of an item."""
        return StoredVectors(self.vectors, row)

    def excluded(self, text: str) -> NDArray[np.bool_]:
        """Which items have a minus word of a query."""
        if not text.strip():
            return np.zeros(self.n_items, dtype=bool)
        return self.texts.text.excluded(text, self.n_items) | self.texts.tags.excluded(text, self.n_items)


class _TextColumn:
    r"""A text expert: \(1 - e^{-s / 5}\) of the BM25 score s, from 0 to below 1; its scores are computed once.

    `share` is what s is multiplied with. Tags are few and general: of a sentence they know a word or two, which must
    not outweigh what the whole sentence means, so that for them it is one part of the query's words.
    """

    def __init__(self, texts: TextIndex, query: Query, n_items: int, share: float = 1.0):
        self._texts, self._query, self._n_items, self._share = texts, query, n_items, share
        self._scores: FloatArray | None = None

    def __call__(self, rows: IntArray) -> FloatArray:
        if not self._query.text.strip():
            return np.zeros(len(rows))
        if self._scores is None:
            scores = np.array(self._texts.scores(self._query.text, self._n_items), dtype=np.float64)
            having = np.flatnonzero(scores)  # few items have the words
            scores[having] = self._query.text_weight * (1.0 - np.exp(-self._share * scores[having] / _BM25_SCALE))
            self._scores = scores
        return taken(self._scores, rows)


def take_snapshot(collection: Collection, before: Snapshot | None = None) -> Snapshot:
    """See what is in a collection now; what an earlier snapshot knows of texts is used again."""
    statistics = corpus_statistics(collection, None if before is None else before.statistics)
    with reading(collection):
        state = state_of(collection)
        complete = [name for name, _, all_rows in state.descriptors if all_rows and name in statistics.scales]
        vectors = {name: collection.vectors(name).take(slice(state.n_items)) for name in complete}
        texts = None if before is None else grown_indexes(collection, before.texts, before.state, state)
        texts = texts or text_indexes(collection, state)
        faces = face_counts(collection)
        concepts = concept_scores(collection, vectors)
        present, encoders = collection.present(), encoders_of(collection)
        refined, taught = refined_map(collection), stored_weights(collection)
    for index in texts.both:
        index.count(statistics.counted)
    looks = Looks.of(collection, state.n_items, refined, None if before is None else before.looks)
    sketches = None
    if LOOK_SOURCE in vectors:
        sketches = Sketches.of(collection, state.n_items, None if before is None else before.sketches)
    return Snapshot(
        state, statistics, vectors, present, faces, texts, concepts, encoders, looks, refined, taught, sketches
    )


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
