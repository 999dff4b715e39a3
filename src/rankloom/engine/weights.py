"""The weights that rank now: of the model in use or of a new collection, moved by the marks, and locked by hand."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rankloom.collection import Collection
from rankloom.collection.learning_settings import LearningSettings, learning_settings
from rankloom.collection.models import last_learned_mark, model_in_use
from rankloom.collection.query import Query
from rankloom.collection.settings import encoders_of
from rankloom.core import FloatArray, IntArray
from rankloom.engine.encoding import ExampleEncoder
from rankloom.engine.explanation import FACES
from rankloom.engine.models import load_scorer
from rankloom.engine.online_weights import ONLINE, OnlineWeights, Phi, WeightState
from rankloom.engine.scorers import RankerScorer
from rankloom.engine.snapshot import Snapshot
from rankloom.engine.view import View
from rankloom.experts import prior_weights

PATIENCE = 0.25  # seconds that a search waits for a thread that learns
AT_ONCE = 2000  # marks that whoever marks may learn from
_ENCODER_WEIGHT = 1.0
_FACE_WEIGHT = 0.1


class WeightSource:
    """Gives searches their weights, and keeps them up to date with the log of marks.

    Parameters
    ----------
    collection : whose marks, models and settings.
    encoder : encodes the queries of the log.
    given : weights before the first mark; those that a new collection starts with unless given.
    """

    def __init__(self, collection: Collection, encoder: ExampleEncoder, given: Mapping[str, float] | None = None):
        self._collection, self._encoder, self._given = collection, encoder, given
        self._lock = threading.Lock()
        self._online: OnlineWeights | None = None
        self._online_key: tuple[Any, ...] = ()
        self._model: tuple[int | None, RankerScorer | None] = (None, None)
        self._last: View | None = None

    def view(self, snapshot: Snapshot, *, store: bool = False) -> View:
        """The items and the weights of this moment.

        Parameters
        ----------
        snapshot : the items.
        store : whether checkpoints of what is learned now are kept.
        """
        last = self._last
        patient = store or last is None or last.snapshot.names != snapshot.names
        if not self._lock.acquire(timeout=-1 if patient else PATIENCE):
            assert last is not None
            return replace(last, snapshot=snapshot)  # another thread replays many marks: the last weights serve
        try:
            settings = learning_settings(self._collection)
            online = self._current(snapshot, settings)
            online.catch_up(store=store)
            locked = {name: weight for name, weight in settings.locked.items() if name in online.start}
            number, scorer = self._model
            if scorer is not None and scorer.linear_weights is not None:
                scorer = None  # the online weights start from it
            self._last = View(snapshot, {**online.weights, **locked}, dict(online.start), number, scorer)
            return self._last
        finally:
            self._lock.release()

    def keep_up(self, snapshot: Snapshot) -> None:
        """Learn from the latest marks and keep checkpoints, where that takes little; else the next search learns."""
        if not self._lock.acquire(blocking=False):
            return  # another thread is learning
        try:
            online = self._current(snapshot, learning_settings(self._collection))
            if online.n_behind <= AT_ONCE:
                online.catch_up(store=True)
        finally:
            self._lock.release()

    def state(self, snapshot: Snapshot) -> WeightState:
        """The weights of all experts: now, at the start, which are locked, and from how many marks."""
        view = self.view(snapshot)
        assert self._online is not None
        locked = frozenset(learning_settings(self._collection).locked)
        return WeightState(dict(view.weights), dict(view.start), locked, self._online.n_marks)

    def online(self, snapshot: Snapshot) -> OnlineWeights:
        """What learns from the marks."""
        with self._lock:
            return self._current(snapshot, learning_settings(self._collection))

    def phi(self, snapshot: Snapshot) -> Phi:
        """phi as learning sees it."""
        n_sampled = min(snapshot.counted, snapshot.n_items)  # a repair may have lost the last items
        return Phi(snapshot.names, snapshot.n_items, n_sampled, snapshot.basis, partial(self._rows, snapshot))

    def _rows(self, snapshot: Snapshot, query: Query, rows: IntArray) -> FloatArray | None:
        """phi of a query for some rows; None if an example of the query is gone."""
        try:
            return np.asarray(self._encoder.encode(query, snapshot).features(snapshot, rows))
        except ValueError:
            return None

    def _current(self, snapshot: Snapshot, settings: LearningSettings) -> OnlineWeights:
        """What learns from the marks; it begins anew only if something changes that its numbers depend on."""
        number = model_in_use(self._collection)
        if self._model[0] != number:
            self._model = (number, None if number is None else load_scorer(self._collection, number))
        phi, ranker = self.phi(snapshot), settings.online or ONLINE
        key = (phi.basis, phi.n_sampled, phi.names, number, settings.since, ranker)
        if self._online is None or self._online_key != key:
            start, first, scorer = self._start(snapshot), settings.since, self._model[1]
            if scorer is not None:
                start = scorer.linear_weights or start
                first = max(first, last_learned_mark(self._collection, number))
            self._online = OnlineWeights(self._collection, phi, start, first, ranker).open()
            self._online_key = key
        else:
            self._online.see(phi)
        return self._online

    def _start(self, snapshot: Snapshot) -> dict[str, float]:
        """The weights before the first mark."""
        if self._given is not None:
            return dict(self._given)
        encoders = encoders_of(self._collection)
        start = {**prior_weights(name for name in snapshot.vectors if name not in encoders), FACES: _FACE_WEIGHT}
        return {**start, **{f"{name}.cosine": _ENCODER_WEIGHT for name in encoders if name in snapshot.vectors}}
