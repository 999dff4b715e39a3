"""Scores of the experts: phi of a query, weighted by what ranks it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.sketches import LearnedCascade
from rankloom.core import LRU, FloatArray, IntArray, Shared
from rankloom.engine import cascade
from rankloom.engine.cascade import Candidates
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.feedback import Judgements
from rankloom.engine.index import ExactIndex, Index
from rankloom.engine.scorers import Scorer, WeightScorer, linear_weights
from rankloom.engine.similarity import CACHE_BYTES, Distances
from rankloom.engine.snapshot import Snapshot
from rankloom.engine.view import View
from rankloom.experts.threads import in_threads
from rankloom.features import Features

_CANDIDATES = 5000  # items that an approximate index proposes to a search
_FEW = 20 * _CANDIDATES  # items that pass the filters, up to which all of them are scored


class BaseScores(NamedTuple):
    """phi of a query, and the scores of the experts.

    `rows` are those that were scored, in ascending order; None for all. The others have the score of the worst.
    `by_sketches` says whether a cascade chose them.
    """

    phi: Features
    scores: FloatArray
    rows: IntArray | None = None
    by_sketches: bool = False

    @property
    def scored(self) -> NDArray[np.bool_]:
        """For every item whether it was scored."""
        if self.rows is None:
            return np.ones(len(self.scores), dtype=bool)
        scored = np.zeros(len(self.scores), dtype=bool)
        scored[self.rows] = True
        return scored


class Request(NamedTuple):
    """What is to be scored.

    Parameters
    ----------
    encoded : the query.
    scorer : what weighs the experts.
    key : equal keys score alike.
    judgements : the marks; marked items are always scored.
    eligible : which items may be hits.
    also : other rows that are scored.
    exact : score all items.
    """

    encoded: EncodedQuery
    scorer: Scorer
    key: Any
    judgements: Judgements
    eligible: NDArray[np.bool_]
    also: tuple[int, ...] = ()
    exact: bool = False


class Scoring:
    """Scores queries by the experts; the scores of the last queries are kept, equal queries at a time are scored once.

    Parameters
    ----------
    distances : those of the examples of queries.
    index : "exact", "cascade", an index that chooses the items that are scored, or None: a cascade if there are many.
    """

    def __init__(self, distances: Distances, index: Index | str | None = None):
        self._index = ExactIndex() if index == "exact" else index
        self._growing = threading.Lock()
        self._cache: LRU[Any, BaseScores] = LRU(32)
        self._running: Shared[Any, BaseScores] = Shared()
        self._phis: LRU[Any, Features] = LRU(32)
        self._distances = distances

    def scores(self, view: View, request: Request) -> BaseScores:
        """phi and the scores of the experts."""
        snapshot, query = view.snapshot, request.encoded.query
        choose = None if request.exact else self._chooser(snapshot, request)
        key: tuple[Any, ...] = (query.qid, query.concept, request.key)
        if choose is not None:
            judgements = request.judgements
            said = (tuple(judgements.grades.items()), tuple(judgements.pairs), judgements.confirmed)
            eligible = hash(np.packbits(request.eligible).tobytes())  # filters may pass others than a moment ago
            key += (snapshot.state.changes, eligible, said, request.also)
        known = self._cache.get(key)
        if known is not None:
            return known
        base = self._running.run(key, partial(self._computed, snapshot, request, choose))
        width = base.phi.shape[0] * base.phi.shape[1]
        self._cache.size = self._phis.size = min(32, max(2, CACHE_BYTES // max(1, 8 * width)))
        self._cache.put(key, base)
        return base

    def _computed(
        self, snapshot: Snapshot, request: Request, choose: Callable[[Features], Candidates | None] | None
    ) -> BaseScores:
        phi = self._phi(request.encoded, snapshot)
        chosen = None if choose is None else choose(phi)
        if chosen is None:
            fused = self._fused(request.encoded, snapshot, request.scorer, phi)
            return BaseScores(phi, request.scorer.scores(phi) if fused is None else fused)
        also: IntArray = np.array([*request.also], dtype=np.int64)
        rows = cascade.together(snapshot.n_items, chosen.rows, request.judgements.all_rows, also)
        of_rows = request.scorer.scores(_some(snapshot, request.encoded, phi, rows))
        scores = np.full(snapshot.n_items, float(of_rows.min(initial=0.0)))
        scores[rows] = of_rows
        return BaseScores(phi, scores, rows, chosen.by_sketches)

    def _phi(self, encoded: EncodedQuery, snapshot: Snapshot) -> Features:
        """phi of a query; a mark changes the weights of its columns, but none of them."""
        key = (encoded.query.qid, encoded.query.concept, snapshot.content)
        phi = self._phis.get(key)
        if phi is None:
            phi = encoded.features(snapshot)
            self._phis.put(key, phi)
        return phi

    def _fused(self, encoded: EncodedQuery, snapshot: Snapshot, scorer: Scorer, phi: Features) -> FloatArray | None:
        """The weighted sum of all experts in one pass over the vectors, which only one wanted example allows."""
        if not isinstance(scorer, WeightScorer) or not fuses(encoded):
            return None
        example = encoded.query.examples[0]
        name = example.picture if example.item is None else example.item
        visual = self._distances.similarity(snapshot, name, encoded.examples[0].vectors, scorer.weights)
        return rest_scorer(snapshot, encoded, scorer.weights).scores(phi) + visual

    def _chooser(self, snapshot: Snapshot, request: Request) -> Callable[[Features], Candidates | None] | None:
        """What chooses the items that are scored; None for all."""
        encoded = request.encoded
        if self._index is None or isinstance(self._index, str):
            weights = linear_weights(request.scorer)
            learned = self.learned(snapshot, request.scorer)
            if learned is None or weights is None or not cascade.guided(encoded, request.judgements):
                return None
            return partial(self._by_sketches, snapshot, request, weights, learned)
        by_words = encoded.query.text.strip() or encoded.query.concept is not None
        if isinstance(self._index, ExactIndex) or by_words:
            return None
        return partial(self._by_index, self._index, snapshot, request)

    def learned(self, snapshot: Snapshot, scorer: Scorer) -> LearnedCascade | None:
        """How many items are looked at where sketches choose them; None where they do not."""
        many = snapshot.n_items > cascade.LARGE if self._index is None else self._index == "cascade"
        weights = linear_weights(scorer) if many else None
        return None if weights is None else cascade.ready(snapshot, weights)

    def _by_sketches(
        self,
        snapshot: Snapshot,
        request: Request,
        weights: Mapping[str, float],
        learned: LearnedCascade,
        phi: Features,
    ) -> Candidates | None:
        encoded = request.encoded
        rest = rest_scorer(snapshot, encoded, weights)
        says = any(rest.weights.values())
        visual = WeightScorer(cascade.visual_weights(snapshot, weights))
        return cascade.candidates(
            snapshot, learned, encoded, request.judgements, request.eligible, rest.scores(phi) if says else None,
            lambda rows: visual.scores(_some(snapshot, encoded, phi, rows)),
        )  # fmt: skip

    def _by_index(self, index: Index, snapshot: Snapshot, request: Request, phi: Features) -> Candidates | None:
        """The items that an approximate index proposes; all that are allowed, if these are few."""
        if np.count_nonzero(request.eligible) <= min(_FEW, snapshot.n_items - 1):
            rows = np.flatnonzero(request.eligible)
        else:
            with self._growing:
                index.grow(snapshot.vectors)
            wanted = [example.vectors for example in request.encoded.examples if example.weight > 0]
            proposed = index.candidates(wanted, _CANDIDATES)
            if proposed is None:
                return None
            rows = proposed[proposed < snapshot.n_items]
        return Candidates(rows, by_sketches=False)


def fuses(encoded: EncodedQuery) -> bool:
    """Whether a query is one wanted example, beside words: weighted sums are computed in one pass then."""
    examples = encoded.examples
    return len(examples) == 1 and bool(encoded.query.examples) and examples[0].weight > 0


def rest_scorer(snapshot: Snapshot, encoded: EncodedQuery, weights: Mapping[str, float]) -> WeightScorer:
    """The experts that compare no pictures and have something to say of a query."""
    left_out = {expert.name for expert in snapshot.experts} | snapshot.silent(encoded.query, encoded.faces)
    return WeightScorer({name: weight for name, weight in weights.items() if name not in left_out})


def _some(snapshot: Snapshot, encoded: EncodedQuery, phi: Features, rows: IntArray) -> Features:
    """Some rows of phi; of the experts that compare pictures they are computed at once."""
    dense = np.zeros((len(rows), len(snapshot.names)))
    n_visual = len(snapshot.experts)

    def fill(begin: int, end: int) -> None:
        dense[begin:end, :n_visual] = snapshot.visual_rows([encoded.examples], [rows[begin:end]])

    in_threads([fill], len(rows), sum(vectors.shape[1] for vectors in snapshot.vectors.values()))
    silent = snapshot.silent(encoded.query, encoded.faces)
    for place, name in enumerate(snapshot.names[n_visual:], n_visual):
        if name not in silent:
            dense[:, place] = phi.column(place, rows)
    return Features(dense, names=snapshot.names)
