"""A search by example taken apart: what is asked of rows, wherever they lie, and what is known of them here.

A row's similarity depends on its vectors, those of the examples, weights and scales alone. So rows that are compared in
parts have the scores of one engine to the last bit: the same kernels add the same numbers in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.sketches import LearnedCascade
from rankloom.core import FloatArray, IntArray
from rankloom.engine.cascade import SketchQuestion, sketch_question
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.explanation import TAGS, TEXT
from rankloom.engine.fused import fused_similarity, scale_arrays, weight_numbers
from rankloom.engine.neighbors import best_rows
from rankloom.engine.scorers import WeightScorer
from rankloom.engine.scoring import fuses, rest_scorer
from rankloom.engine.similarity import distances_to, keeps_distances
from rankloom.engine.snapshot import Snapshot
from rankloom.engine.view import View
from rankloom.experts import EncodedExample, expert_features, experts_of
from rankloom.experts.compact import CompactVectors


class RowQuestion(NamedTuple):
    """What is asked of rows; it is small, and can be sent.

    Parameters
    ----------
    examples : described; descriptors that the rows lack are left out.
    weights : of the experts that compare pictures.
    scales : of each distance by descriptor, in the order in which descriptors are read.
    fused : whether there is one example, whose weighted similarity is computed in one pass.
    through_distances : whether that is computed from distances, as an engine does that keeps them.
    """

    examples: list[EncodedExample]
    weights: dict[str, float]
    scales: dict[str, dict[str, float]]
    fused: bool
    through_distances: bool

    def scores(self, stored: Mapping[str, CompactVectors], added: Sequence[FloatArray]) -> FloatArray:
        """The scores of some rows.

        Parameters
        ----------
        stored : their vectors by descriptor.
        added : what other experts add to them, in the order in which it is added.
        """
        vectors = {name: stored[name] for name in self.scales}
        n_rows = len(next(iter(vectors.values())))
        total = self._fused(vectors, n_rows) if self.fused else self._by_expert(vectors, n_rows)
        for column in added:
            total = total + column
        return total

    def _fused(self, vectors: Mapping[str, CompactVectors], n_rows: int) -> FloatArray:
        example = self.examples[0].vectors
        distances = distances_to(example, vectors) if self.through_distances else None
        numbers = weight_numbers(self.weights, scale_arrays(self.scales, vectors))
        return fused_similarity(n_rows, vectors, example, numbers, distances=distances).astype(np.float64)

    def _by_expert(self, vectors: Mapping[str, CompactVectors], n_rows: int) -> FloatArray:
        experts = experts_of(sorted(vectors))
        return WeightScorer(self.weights).scores(expert_features(experts, vectors, self.scales, self.examples, n_rows))


class BestRows(NamedTuple):
    """The best rows of a part, the best first, ties by row number; and their scores."""

    rows: IntArray
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class ApartQuery:
    """A search by example taken apart.

    Parameters
    ----------
    question : what is asked of rows.
    added : what the experts that compare no pictures add to each item, in the order in which it is added.
    eligible : which items may be hits.
    literal : which items have words of the query in texts or tags; None without words.
    snapshot : the items.
    looked_at : which rows experts look at, where sketches choose them; None for all.
    """

    question: RowQuestion
    added: list[FloatArray]
    eligible: NDArray[np.bool_]
    literal: NDArray[np.bool_] | None
    snapshot: Snapshot
    looked_at: SketchQuestion | None = None

    def part(self, begin: int, end: int) -> tuple[list[FloatArray], NDArray[np.uint8] | None]:
        """What is known here of some rows, as `best_of` takes it."""
        eligible = self.eligible[begin:end]
        return [column[begin:end] for column in self.added], None if eligible.all() else np.packbits(eligible)


def best_of(
    question: RowQuestion,
    stored: Mapping[str, CompactVectors],
    part: tuple[Sequence[FloatArray], NDArray[np.uint8] | None],
    n: int,
    chosen: tuple[SketchQuestion, NDArray[np.int8]] | None = None,
) -> BestRows:
    """The n best of some rows, numbered from 0.

    Parameters
    ----------
    question : what is asked.
    stored : the vectors of the rows by descriptor.
    part : what `ApartQuery.part` gives for these rows.
    n : how many.
    chosen : what sketches are asked, and the sketches of the rows; None where experts look at all of them.
    """
    added, packed = part
    n_rows = len(next(iter(stored.values())))
    rows = np.arange(n_rows) if packed is None else np.flatnonzero(np.unpackbits(packed, count=n_rows))
    if chosen is not None:
        rows = chosen[0].nearest(chosen[1], rows)
        stored = {name: vectors.take(rows) for name, vectors in stored.items()}
        added = [column[rows] for column in added]
    scores = question.scores(stored, added)
    if not np.isfinite(scores).all():
        raise ValueError("the scores are not finite: vectors are damaged, or check the weights")
    if chosen is not None:
        best = best_rows(scores, np.arange(len(rows)), n)
        return BestRows(rows[best], scores[best])
    best = best_rows(scores, rows, n)
    return BestRows(best, scores[best])


def merged(parts: Sequence[BestRows], n: int) -> BestRows:
    """The n best of several parts; ties by row number, as in one list.

    >>> a, b = BestRows(np.array([4, 1]), np.array([0.9, 0.5])), BestRows(np.array([7]), np.array([0.5]))
    >>> merged([b, a], 3).rows.tolist()
    [4, 1, 7]
    """
    rows = np.concatenate([np.empty(0, np.int64), *(part.rows for part in parts)])
    scores = np.concatenate([np.empty(0), *(part.scores for part in parts)])
    order = np.lexsort((rows, -scores))[:n]
    return BestRows(rows[order], scores[order])


def take_apart(
    view: View, encoded: EncodedQuery, eligible: NDArray[np.bool_], learned: LearnedCascade | None = None
) -> ApartQuery:
    """A query by example as it is asked of rows; a ValueError where it cannot be.

    Parameters
    ----------
    view : items and weights.
    encoded : the query.
    eligible : which items may be hits.
    learned : how many items experts look at, where sketches choose them; with words they look at all.
    """
    snapshot, scorer = view.snapshot, view.scorer_for(encoded.query)
    if not encoded.examples or not snapshot.vectors:
        raise ValueError("shards compare pictures: give an example; words alone are searched without shards")
    if not isinstance(scorer, WeightScorer):
        raise ValueError("the model in use is no weighted sum of experts, which shards need: search without shards")
    visual = {expert.name for expert in snapshot.experts}
    phi, fused = encoded.features(snapshot), fuses(encoded)
    rest = rest_scorer(snapshot, encoded, scorer.weights)
    said = [place for place, name in enumerate(phi.names) if rest.weights.get(name, 0.0)]
    added = [rest.weights[phi.names[place]] * phi.column(place) for place in said]
    if fused and added:
        added = [rest.scores(phi)]
    weights = {name: weight for name, weight in scorer.weights.items() if name in visual}
    examples = [
        EncodedExample(
            {name: np.asarray(given.vectors[name]) for name in snapshot.vectors if name in given.vectors}, given.weight
        )
        for given in encoded.examples
    ]
    scales = {name: dict(snapshot.scales[name]) for name in snapshot.vectors}
    question = RowQuestion(examples, weights, scales, fused, keeps_distances(snapshot))
    literal = None
    if encoded.query.text.strip():
        literal = np.any([phi.column(phi.names.index(name)) != 0 for name in (TEXT, TAGS)], axis=0)
    looked_at = None if learned is None or added else sketch_question(snapshot, learned, encoded)
    return ApartQuery(question, added, eligible, literal, snapshot, looked_at)
