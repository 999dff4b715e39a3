"""Scores of the experts: phi of a query, weighted by what ranks it."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import LRU, FloatArray, IntArray
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.index import ExactIndex, Index
from rankloom.engine.scorers import Scorer, WeightScorer
from rankloom.engine.similarity import CACHE_BYTES, Distances
from rankloom.engine.snapshot import Snapshot
from rankloom.engine.view import View
from rankloom.features import Features

_CANDIDATES = 5000  # items that an approximate index proposes to a search


class BaseScores(NamedTuple):
    """phi of a query, the scores of the experts, and which items were scored: all, unless an index made a choice."""

    phi: Features
    scores: FloatArray
    scored: NDArray[np.bool_]


class Scoring:
    """Scores queries by the experts; the scores of the last queries are kept.

    Parameters
    ----------
    distances : those of the examples of queries.
    index : chooses the items that are scored; all of them unless given.
    """

    def __init__(self, distances: Distances, index: Index | None = None):
        self._index = ExactIndex() if index is None else index
        self._growing = threading.Lock()
        self._cache: LRU[Any, BaseScores] = LRU(32)
        self._phis: LRU[Any, Features] = LRU(32)
        self._distances = distances

    def scores(
        self, view: View, encoded: EncodedQuery, scorer: Scorer, key: Any, marked: IntArray | None = None
    ) -> BaseScores:
        """phi and the scores of the experts.

        Parameters
        ----------
        view : the items.
        encoded : the query.
        scorer : what weighs the experts.
        key : equal keys score alike.
        marked : rows that are scored whatever the index chooses.
        """
        snapshot, query = view.snapshot, encoded.query
        key = (query.qid, query.concept, key, () if marked is None else tuple(marked.tolist()))
        known = self._cache.get(key)
        if known is not None:
            return known
        phi = self._phi(encoded, snapshot)
        rows = self._candidates(encoded, snapshot, marked)
        scored = np.ones(snapshot.n_items, dtype=bool)
        if rows is None:
            fused = self._fused(encoded, snapshot, scorer, phi)
            scores = scorer.scores(phi) if fused is None else fused
        else:
            of_candidates = scorer.scores(phi, rows)
            scores = np.full(snapshot.n_items, float(of_candidates.min(initial=0.0)))
            scores[rows] = of_candidates
            scored[:] = False
            scored[rows] = True
        base = BaseScores(phi, scores, scored)
        self._cache.size = self._phis.size = min(32, max(2, CACHE_BYTES // max(1, 8 * phi.shape[0] * phi.shape[1])))
        self._cache.put(key, base)
        return base

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
        examples = encoded.examples
        if not isinstance(scorer, WeightScorer) or len(examples) != 1 or not encoded.query.examples:
            return None
        if examples[0].weight <= 0:
            return None
        left_out = {expert.name for expert in snapshot.experts} | snapshot.silent(encoded.query, encoded.faces)
        rest = WeightScorer({name: weight for name, weight in scorer.weights.items() if name not in left_out})
        example = encoded.query.examples[0]
        name = example.picture if example.item is None else example.item
        return rest.scores(phi) + self._distances.similarity(snapshot, name, examples[0].vectors, scorer.weights)

    def _candidates(self, encoded: EncodedQuery, snapshot: Snapshot, marked: IntArray | None) -> IntArray | None:
        """The items that an approximate index proposes, and marked ones; None for all, as where words count too."""
        query = encoded.query
        if isinstance(self._index, ExactIndex) or query.text.strip() or query.concept is not None:
            return None
        with self._growing:
            self._index.grow(snapshot.vectors)
        wanted = [example.vectors for example in encoded.examples if example.weight > 0]
        rows = self._index.candidates(wanted, _CANDIDATES)
        if rows is None:
            return None
        rows = np.union1d(rows, np.empty(0, dtype=np.int64) if marked is None else marked)
        return np.asarray(rows[rows < snapshot.n_items], dtype=np.int64)
