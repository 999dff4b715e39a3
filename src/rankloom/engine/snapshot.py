"""What a collection holds at a moment, ready to be searched. A change makes a new one; searches go on with theirs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection, measured
from rankloom.collection.query import Query
from rankloom.core import FloatArray, IntArray
from rankloom.engine.concepts import ConceptScores, concept_scores
from rankloom.experts import Expert, Sighting, expert_features, experts_of
from rankloom.experts.distances import DISTANCES, add_similarities
from rankloom.features import Features
from rankloom.text import TextIndex
from rankloom.text.tokens import place_terms

__all__ = ["CONCEPT", "FACES", "TAGS", "TEXT", "Snapshot", "state_of", "take_snapshot"]

TEXT, TAGS, FACES, CONCEPT = "text.bm25", "tags.bm25", "faces", "concept."
_TEXT_FILE, _TAGS_FILE = "texts.index", "tags.index"
# Words for people in the languages of our captions: pictures with faces answer them, whatever their captions say.
_PEOPLE_WORDS = """
face faces portrait person people man men woman women boy girl child children crowd
gesicht porträt leute mensch menschen mann frau kind kinder
visage personne gens homme femme enfant enfants
cara retrato persona gente hombre mujer niño niña
人 脸 人物 男人 女人 孩子
"""
_PEOPLE = frozenset(place_terms(_PEOPLE_WORDS).terms)


_FIXED = 4  # where the part of a state begins that says how items are described, not which there are


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Vectors, scales, texts and flags of all items.

    Parameters
    ----------
    state : what it was made from; equal states hold equal things.
    n_items : the number of rows.
    vectors : by descriptor, memory-mapped.
    scales : of each distance, by descriptor.
    present : for every item whether a file holds it.
    faces : the number of faces of every item, NaN where it is not known.
    text, tags : the words of people, and automatic ones.
    concepts : the scores of items by concept.
    counted : how many of the first items the statistics were taken from.
    """

    state: tuple[Any, ...]
    n_items: int
    vectors: Mapping[str, NDArray[Any]]
    scales: Mapping[str, Mapping[str, float]]
    present: NDArray[np.bool_]
    faces: FloatArray
    text: TextIndex
    tags: TextIndex
    concepts: Mapping[str, ConceptScores]
    counted: int

    @property
    def experts(self) -> list[Expert]:
        """The visual experts."""
        return experts_of(sorted(self.vectors))

    @property
    def names(self) -> list[str]:
        """The columns of phi."""
        concepts = [f"{CONCEPT}{name}" for name in sorted(self.concepts)]
        return [*(expert.name for expert in self.experts), TEXT, TAGS, FACES, *concepts]

    @cached_property
    def basis(self) -> str:
        """What phi depends on beside the query and the item: another basis gives other numbers."""
        return json.dumps([self.counted, self.scales, self.state[_FIXED:]], sort_keys=True, default=str)

    def features(
        self,
        query: Query,
        sightings: Sequence[Sighting],
        faces: Sequence[float],
        rows: IntArray | None = None,
    ) -> Features:
        """The lazy matrix phi of a query: one row an item, one column an expert.

        Parameters
        ----------
        query : what is asked for.
        sightings : its examples, described.
        faces : the number of faces of each wanted example, NaN where it is not known.
        rows : the items that it is about, unless all; it then takes memory for these only.
        """
        experts = self.experts
        vectors = self.vectors if rows is None else {name: stored[rows] for name, stored in self.vectors.items()}
        n_rows = self.n_items if rows is None else len(rows)
        visual = expert_features(experts, vectors, self.scales, sightings, n_rows)
        columns: dict[str, Any] = {expert.name: partial(visual.column, place) for place, expert in enumerate(experts)}
        others: dict[str, Any] = {
            TEXT: _TextColumn(self.text, query, self.n_items),
            TAGS: _TextColumn(self.tags, query, self.n_items),
            FACES: partial(self._face_column, query, faces),
            **{f"{CONCEPT}{name}": self.concepts[name] for name in sorted(self.concepts)},
        }
        for name, column in others.items():
            columns[name] = column if rows is None else partial(_column_of, column, rows)
        return Features(columns, n_rows=n_rows)

    def _face_column(self, query: Query, faces: Sequence[float], rows: IntArray) -> FloatArray:
        """As many faces as the examples have; some faces, where the words are about people."""
        here = self.faces[rows]
        found = np.zeros(len(rows))
        known = [count for count in faces if not np.isnan(count)]
        if known:
            found = np.mean([np.exp(-np.abs(here - count)) for count in known], axis=0)
        elif query.text and _PEOPLE.intersection(place_terms(query.text).terms):
            found = 1.0 - np.exp(-here)
        return np.nan_to_num(found, nan=0.0)

    def similarity(
        self, vectors: Mapping[str, NDArray[Any]], weights: Mapping[str, float], rows: IntArray | None = None
    ) -> NDArray[np.float32]:
        """The weighted similarity of all items, or of some, to a described picture; each descriptor is read once."""
        total = np.zeros(self.n_items if rows is None else len(rows), dtype=np.float32)
        for name, stored in self.vectors.items():
            mine = np.array([weights.get(f"{name}.{distance}", 0.0) for distance in DISTANCES], np.float32)
            if name in vectors and mine.any():
                scales = np.array([self.scales[name][distance] for distance in DISTANCES], np.float32)
                add_similarities(total, vectors[name], stored if rows is None else stored[rows], mine, scales)
        return total

    def vectors_of(self, row: int) -> dict[str, NDArray[Any]]:
        """The description of an item."""
        return {name: np.asarray(stored[row]) for name, stored in self.vectors.items()}

    def excluded(self, text: str) -> NDArray[np.bool_]:
        """Which items have a minus word of a query."""
        if not text.strip():
            return np.zeros(self.n_items, dtype=bool)
        return self.text.excluded(text, self.n_items) | self.tags.excluded(text, self.n_items)


def _column_of(column: Any, index: IntArray, rows: IntArray) -> FloatArray:
    """Some rows of a part of a column."""
    return np.asarray(column(index[rows]), dtype=np.float64)


class _TextColumn:
    r"""A text expert: \(1 - e^{-s / 5}\) of the BM25 score s, from 0 to below 1; its scores are computed once."""

    def __init__(self, texts: TextIndex, query: Query, n_items: int):
        self._texts, self._query, self._n_items = texts, query, n_items
        self._scores: FloatArray | None = None

    def __call__(self, rows: IntArray) -> FloatArray:
        if self._scores is None:
            found = np.zeros(self._n_items)
            if self._query.text.strip():
                found = np.asarray(self._texts.scores(self._query.text, self._n_items), dtype=np.float64)
            self._scores = self._query.text_weight * (1.0 - np.exp(-found / 5.0))
        return self._scores[rows]


def state_of(collection: Collection) -> tuple[Any, ...]:
    """What changes when there is something new to search."""
    db = collection.db
    return (
        len(collection),
        *db.execute("SELECT count(*), coalesce(max(rowid), 0) FROM texts").fetchone(),
        *db.execute("SELECT count(*) FROM files").fetchone(),
        *db.execute("SELECT count(*), coalesce(max(at), '') FROM concepts").fetchone(),
        *((one.name, one.version, one.rows >= len(collection)) for one in collection.descriptors()),
    )


def take_snapshot(collection: Collection, before: Snapshot | None = None) -> Snapshot:
    """See what is in a collection now; what an earlier snapshot knows of texts is used again."""
    numbers = measured(collection)
    collection.db.execute("BEGIN")  # all that is read below is of one moment
    try:
        state = state_of(collection)
        n_items = state[0]
        stored = [one for one in collection.descriptors() if one.rows >= n_items and one.name in numbers.scales]
        vectors = {one.name: collection.vectors(one.name)[:n_items] for one in stored}
        text, tags = _texts(collection, state, before)
        counts = collection.db.execute("SELECT faces FROM items ORDER BY id").fetchall()
        concepts = concept_scores(collection, vectors)
        present = collection.present()
    finally:
        collection.db.execute("COMMIT")
    for one in (text, tags):
        one.count(numbers.counted)
    faces = np.array([np.nan if count is None else count for (count,) in counts], dtype=np.float64)
    return Snapshot(state, n_items, vectors, numbers.scales, present, faces, text, tags, concepts, numbers.counted)


def _texts(collection: Collection, state: tuple[Any, ...], before: Snapshot | None) -> tuple[TextIndex, TextIndex]:
    """The index of people's words and of tags: kept on disk, and grown by what was added."""
    n_items, count, last = state[:3]
    stamp = f"{n_items} {count} {last}"
    if before is not None:
        _, old_count, old_last = before.state[:3]
        fresh = _rows(collection, old_last)
        if len(fresh) == count - old_count:  # nothing was taken away
            text, tags = before.text.copy(), before.tags.copy()
            text.add(fresh.people, n_items)
            tags.add(fresh.tags, n_items)
            return text, tags
    found = []
    files = [collection.folder / name for name in (_TEXT_FILE, _TAGS_FILE)]
    for path in files:
        try:
            one = TextIndex.load(path)
        except (OSError, ValueError):
            break  # not there yet, or damaged: it is built from the database
        if one.stamp != stamp:
            break
        found.append(one)
    if len(found) == 2:
        return found[0], found[1]
    fresh = _rows(collection, 0)
    built = TextIndex.build(fresh.people, n_items), TextIndex.build(fresh.tags, n_items)
    if os.access(collection.folder, os.W_OK):
        for path, one in zip(files, built, strict=True):
            one.save(path, stamp)
    return built


class _Rows:
    """Texts that are new since a row of the table."""

    def __init__(self, rows: list[tuple[int, str, str]]):
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def people(self) -> list[tuple[int, str]]:
        return [(item, text) for item, source, text in self._rows if source != "tag"]

    @property
    def tags(self) -> list[tuple[int, str]]:
        return [(item, text) for item, source, text in self._rows if source == "tag"]


def _rows(collection: Collection, after: int) -> _Rows:
    rows = collection.db.execute("SELECT item, source, text FROM texts WHERE rowid > ? ORDER BY rowid", (after,))
    return _Rows(rows.fetchall())
