"""The weights that rank now: of the model in use or of a new collection, moved by the marks, and locked by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from rankloom.collection import Collection
from rankloom.collection.learning_settings import LearningState, learning_state
from rankloom.collection.models import last_learned_mark
from rankloom.collection.query import Query
from rankloom.core import LRU, FloatArray, IntArray
from rankloom.engine.encoding import EncodedQuery, ExampleEncoder
from rankloom.engine.explanation import FACES
from rankloom.engine.learner import Activity, Learner, Pass
from rankloom.engine.models import load_scorer
from rankloom.engine.online_weights import ONLINE, OnlineWeights, Phi, WeightState
from rankloom.engine.scorers import RankerScorer
from rankloom.engine.snapshot import Snapshot, SnapshotSource
from rankloom.engine.view import View
from rankloom.experts import prior_weights

AT_ONCE = 1000  # marks that whoever marks, or opens a collection, waits for
_NO_LOG = (-1, -1)  # of weights that do not know all marks
_ENCODER_WEIGHT = 1.0
_FACE_WEIGHT = 0.1


class _Learned(NamedTuple):
    """What the marks have taught, as searches use it; it never changes.

    Parameters
    ----------
    key : what it depends on beside the marks.
    log : the last mark and the last undo that it knows.
    n_items : the items that there were, if a mark was of one that came later; else None.
    weights : by expert.
    n_marks : how many marks it has learned from.
    """

    key: tuple[Any, ...]
    log: tuple[int, int]
    n_items: int | None
    weights: Mapping[str, float]
    n_marks: int


class WeightSource:
    """Gives searches their weights, and keeps them up to date with the log of marks.

    Learning happens in a thread of its own, which publishes what it has learned. A search takes what was published
    last and never waits for more; only the first one reads what is stored. Whoever marks waits for the thread, unless
    it has long work: a change of the experts, or the undo of an old mark, replays many marks.

    Parameters
    ----------
    collection : whose marks, models and settings.
    snapshots : the items.
    encoder : encodes the queries of the log.
    given : weights before the first mark; those that a new collection starts with unless given.
    """

    def __init__(
        self,
        collection: Collection,
        snapshots: SnapshotSource,
        encoder: ExampleEncoder,
        given: Mapping[str, float] | None = None,
    ):
        self._collection, self._snapshots, self._encoder, self._given = collection, snapshots, encoder, given
        self._lock = threading.Lock()  # of what learns, until something is published: the first search learns too
        self._online: OnlineWeights | None = None
        self._online_key: tuple[Any, ...] = ()
        self._learned: _Learned | None = None
        self._last: tuple[LearningState, _Learned, View] | None = None
        self._store = False
        self._scorers: LRU[int, RankerScorer] = LRU(4)
        self.searches = Activity()
        self._learner = Learner(self._learn, collection.release)
        collection.before_close(self._learner.stop)

    # Searching -------------------------------------------------------------------------------------------------------

    def view(self, snapshot: Snapshot) -> View:
        """The items and the weights of this moment."""
        state = learning_state(self._collection)
        learned = self._learned or self._open(snapshot, state)
        if self._last is None or self._last[:2] != (state, learned) or self._last[2].snapshot is not snapshot:
            self._last = state, learned, self._made(snapshot, state, learned)
        view = self._last[2]
        if view.learning:
            self._learner.wake()
        return view

    def _made(self, snapshot: Snapshot, state: LearningState, learned: _Learned) -> View:
        scorer, start = self._scorer(state), self._start(snapshot, state)
        weights = {name: learned.weights.get(name, start.get(name, 0.0)) for name in snapshot.names}
        locked = {name: weight for name, weight in state.settings.locked.items() if name in weights}
        if scorer is not None and scorer.linear_weights is not None:
            scorer = None  # the online weights start from it
        named = {name: start.get(name, 0.0) for name in snapshot.names}
        behind = not self._current(learned, snapshot, state)
        return View(snapshot, {**weights, **locked}, named, state.model, scorer, learning=behind)

    def state(self, snapshot: Snapshot) -> WeightState:
        """The weights of all experts: now, at the start, which are locked, and from how many marks."""
        view = self.view(snapshot)
        assert self._learned is not None
        locked = frozenset(learning_state(self._collection).settings.locked)
        return WeightState(dict(view.weights), dict(view.start), locked, self._learned.n_marks)

    def _current(self, learned: _Learned, snapshot: Snapshot, state: LearningState) -> bool:
        """Whether there is nothing to learn."""
        complete = learned.n_items is None or learned.n_items == snapshot.n_items
        return complete and learned.log == _log(state) and learned.key == self._key(snapshot, state)

    # Learning --------------------------------------------------------------------------------------------------------

    @contextmanager
    def following(self) -> Iterator[None]:
        """What is changed inside is learned at the end, and checkpoints are kept; long work goes on without us."""
        yield
        self._store = True
        self._learner.wait()

    def settle(self, *, store: bool = False) -> None:
        """Wait until everything is learned, however long that takes.

        Parameters
        ----------
        store : whether checkpoints are kept.
        """
        self._store = self._store or store
        self._learner.wait(patient=True)

    def online(self, snapshot: Snapshot) -> OnlineWeights:
        """A replay of the marks, at its beginning."""
        return self._begun(snapshot, learning_state(self._collection))

    def phi(self, snapshot: Snapshot) -> Phi:
        """phi as learning sees it."""
        n_sampled = min(snapshot.counted, snapshot.n_items)  # a repair may have lost the last items
        return Phi(snapshot.names, snapshot.n_items, n_sampled, snapshot.basis, partial(self._blocks, snapshot))

    def _blocks(
        self, snapshot: Snapshot, queries: Sequence[Query], rows: Sequence[IntArray]
    ) -> list[FloatArray | None]:
        """phi of each query for some rows; None where an example of the query is gone."""
        encoded = [self._encoded(query, snapshot) for query in queries]
        known = [(asked, some) for asked, some in zip(encoded, rows, strict=True) if asked is not None]
        if not known:
            return [None] * len(encoded)
        blocks = iter(snapshot.rows([asked for asked, _ in known], [some for _, some in known]))
        return [None if asked is None else next(blocks) for asked in encoded]

    def _encoded(self, query: Query, snapshot: Snapshot) -> EncodedQuery | None:
        try:
            return self._encoder.encode(query, snapshot)
        except ValueError:
            return None

    def _open(self, snapshot: Snapshot, state: LearningState) -> _Learned:
        """What is stored, and the marks since if they are few."""
        with self._lock:
            if self._learned is None:
                online = self._learning(snapshot, state)
                behind = online.n_behind(AT_ONCE) > AT_ONCE
                if not behind:
                    online.catch_up(state.last_mark)
                self._publish(online, snapshot, state, log=_NO_LOG if behind else _log(state))
            assert self._learned is not None
            return self._learned

    def _learn(self, run: Pass) -> None:
        """Learn what is new; in the learner's thread."""
        store, self._store = self._store, False
        snapshot, state = self._snapshots.current(), learning_state(self._collection)
        with self._lock:
            online = self._learning(snapshot, state)
            if online.n_behind(AT_ONCE) <= AT_ONCE:
                online.catch_up(state.last_mark, store=store, stop=lambda: run.stopped)
                if not run.stopped:
                    self._publish(online, snapshot, state, log=_log(state))
                return
            if self._learned is None:
                self._publish(online, snapshot, state, log=_NO_LOG)
        run.takes_long()
        online.catch_up(state.last_mark, store=store, stop=lambda: run.stopped, pause=self.searches.give_way)
        if not run.stopped:
            self._publish(online, snapshot, state, log=_log(state))

    def _publish(self, online: OnlineWeights, snapshot: Snapshot, state: LearningState, log: tuple[int, int]) -> None:
        n_items = None if online.complete else snapshot.n_items
        self._learned = _Learned(self._key(snapshot, state), log, n_items, online.weights, online.n_marks)

    def _learning(self, snapshot: Snapshot, state: LearningState) -> OnlineWeights:
        """What learns from the marks; it begins anew only if something changes that its numbers depend on."""
        key = self._key(snapshot, state)
        if self._online is None or self._online_key != key:
            self._online = self._begun(snapshot, state).open()
            self._online_key = key
        else:
            self._online.see(self.phi(snapshot))
        return self._online

    def _begun(self, snapshot: Snapshot, state: LearningState) -> OnlineWeights:
        first = state.settings.since
        if state.model is not None:
            first = max(first, last_learned_mark(self._collection, state.model))
        start, ranker = self._start(snapshot, state), state.settings.online or ONLINE
        return OnlineWeights(self._collection, self.phi(snapshot), start, first, ranker)

    def _key(self, snapshot: Snapshot, state: LearningState) -> tuple[Any, ...]:
        """What learning depends on beside the marks."""
        n_sampled = min(snapshot.counted, snapshot.n_items)
        settings, taught = state.settings, tuple((snapshot.taught or {}).items())
        return snapshot.basis, n_sampled, snapshot.names, taught, state.model, settings.since, settings.online

    def _scorer(self, state: LearningState) -> RankerScorer | None:
        """The model in use."""
        if state.model is None:
            return None
        scorer = self._scorers.get(state.model)
        if scorer is None:
            scorer = load_scorer(self._collection, state.model)
            self._scorers.put(state.model, scorer)
        return scorer

    def _start(self, snapshot: Snapshot, state: LearningState) -> dict[str, float]:
        """The weights before the first mark: of a linear model in use, as given, or those of a new collection."""
        scorer = self._scorer(state)
        if scorer is not None and scorer.linear_weights is not None:
            return scorer.linear_weights
        if self._given is not None:
            return dict(self._given)
        encoders = snapshot.encoders
        visual = snapshot.taught or prior_weights(name for name in snapshot.vectors if name not in encoders)
        start = {**visual, FACES: _FACE_WEIGHT}
        return {**start, **{f"{name}.cosine": _ENCODER_WEIGHT for name in encoders if name in snapshot.vectors}}


def _log(state: LearningState) -> tuple[int, int]:
    return state.last_mark, state.last_undo
