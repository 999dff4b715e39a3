"""The online weights: what all marks of everybody have taught about the experts."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256, shake_128
from itertools import groupby, islice
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloom.collection import Collection, StoredMark, checkpoints
from rankloom.collection.marks import asked_of, count_marks, mark_pages, marked_before, marks, undone_since
from rankloom.collection.query import Query
from rankloom.core import LRU, FloatArray, IntArray

if TYPE_CHECKING:
    from rankloom.rankers import OnlineRanker

# Similarities differ by a tenth or so between items; times this, a preference that the start knows has a margin of 1.
GAIN = 30.0
ONLINE = "opar1"
C = 0.03  # of rankers that have it
MOST_PAIRS = 40  # preferences that a mark makes with earlier ones
N_SAMPLED = 10  # sampled negatives that a right item is preferred to
_RECIPE = 2  # another number wherever the same marks teach other weights: checkpoints of before are not used then
LOOK_BACK = 400  # earlier marks that are looked at for them
_SAMPLED = Struct(f"<{N_SAMPLED}Q")
HISTORIES = 64  # queries whose earlier marks are kept at hand
AT_ONCE = 64  # queries whose rows of phi are computed together


class Phi(NamedTuple):
    """phi as learning sees it.

    Parameters
    ----------
    names : the experts, its columns.
    n_items : the items that there are.
    n_sampled : negatives are sampled from the first so many of them.
    basis : what phi depends on beside query and item; another basis gives other numbers.
    blocks : phi of each of some queries for some rows of each; None for a query that cannot be asked any more.
    """

    names: list[str]
    n_items: int
    n_sampled: int
    basis: str
    blocks: Callable[[Sequence[Query], Sequence[IntArray]], list[FloatArray | None]]

    def rows(self, query: Query, rows: IntArray) -> FloatArray | None:
        """phi of one query for some rows; None if it cannot be asked any more."""
        return self.blocks([query], [rows])[0]


class WeightState(NamedTuple):
    """The weights of all experts now and at the start, which of them stay as they are, and from how many marks."""

    weights: dict[str, float]
    start: dict[str, float]
    locked: frozenset[str]
    n_marks: int

    @property
    def moved(self) -> float:
        """How far the weights have moved: one minus the cosine to the start."""
        now = np.array([self.weights[name] for name in self.weights])
        then = np.array([self.start.get(name, 0.0) for name in self.weights])
        size = float(np.linalg.norm(now) * np.linalg.norm(then))
        return float(1.0 - now @ then / size) if size > 0 else 0.0


class History:
    """What a user had said in a query so far: the last grade of each item, latest last."""

    def __init__(self, earlier: Iterable[StoredMark] = ()):
        self.grades: dict[int, float] = {}
        for mark in earlier:
            self.add(mark)

    def add(self, mark: StoredMark) -> None:
        """Take one more mark."""
        if mark.over is None:
            self.grades.pop(mark.item, None)
            self.grades[mark.item] = mark.grade


def preferences(mark: StoredMark, history: History, together: Container[int] = ()) -> list[tuple[int, int]]:
    """What a mark says together with earlier ones of its query and user, as pairs (better, worse) of items.

    A higher grade is preferred to a lower one, an item to the one it was preferred to, and a right one to those that
    were skipped above it.

    Parameters
    ----------
    mark : the mark.
    history : what was said before.
    together : items that were marked in the same request; they were not skipped.
    """
    if mark.over is not None:
        return [(mark.item, mark.over)]
    pairs: list[tuple[int, int]] = []
    for item, grade in islice(reversed(history.grades.items()), LOOK_BACK):
        if item != mark.item and grade != mark.grade and len(pairs) < MOST_PAIRS:
            pairs.append((mark.item, item) if mark.grade > grade else (item, mark.item))
    over = [item for item in mark.skipped if item not in history.grades and item not in together and item != mark.item]
    return pairs + [(mark.item, item) for item in over]


def sampled_negatives(mark: StoredMark, n_items: int) -> list[int]:
    """Items that stand for the rest of the collection, the same for the same query and item."""
    if n_items < 1:
        return []
    drawn = shake_128(f"{mark.qid} {mark.item}".encode()).digest(8 * N_SAMPLED)
    return [number % n_items + 1 for number in _SAMPLED.unpack(drawn)]


def online_ranker(name: str) -> OnlineRanker:
    """A new online ranker by its short name; an error if the ranker does not learn mark by mark."""
    from rankloom.rankers import OnlineRanker, make_ranker

    ranker = make_ranker(name)
    if not isinstance(ranker, OnlineRanker):
        raise ValueError(f"{name!r} does not learn mark by mark; opr, opar1, opar2, ogdr and arow do")
    return ranker


def load_rankers() -> None:
    """Load what the first mark needs: the rankers and their compiled code, which takes a second."""
    online_ranker(ONLINE).partial_fit_triplets(np.eye(2), np.array([[0, 1]]))


def nothing() -> None:
    """A pause that takes no time."""


class OnlineWeights:
    """Weights that start somewhere and follow the log of marks.

    The log is the truth: what is learned is what a replay of the active marks would give. The log is read page by
    page, so memory does not grow with it, and checkpoints make a replay short; an undo removes those after its mark.

    Parameters
    ----------
    collection : whose marks.
    phi : the experts. A right item is also preferred to some sampled ones: marks are of the best results, and what
        tells these apart must not make the rest come up.
    start : the weights before the first mark.
    first : learn from the marks after this one.
    online : the short name of the online ranker that learns.
    """

    def __init__(
        self,
        collection: Collection,
        phi: Phi,
        start: Mapping[str, float],
        first: int = 0,
        online: str = ONLINE,
    ):
        self._collection, self._phi = collection, phi
        self.start = {name: float(start.get(name, 0.0)) for name in phi.names}
        self._first = first
        self._last = first
        self._online = online
        self._undo = 0
        self._histories: LRU[tuple[str, str], History] = LRU(HISTORIES)
        self.n_marks = 0
        self._pause: Callable[[], None] = nothing
        self._unmarked: set[str] = set()
        self.complete = True  # whether all marks are of items that phi has
        self._ranker: OnlineRanker | None = None  # before there is something to learn, it is not even imported

    def _fresh(self) -> OnlineRanker:
        ranker = online_ranker(self._online)
        init = self._coefficients
        ranker.set_params(init=init)
        if "C" in ranker.get_params():
            ranker.set_params(C=C)
        ranker.partial_fit_triplets(np.zeros((1, len(init))), np.empty((0, 2), dtype=np.int64))  # nothing to learn yet
        return ranker

    @property
    def weights(self) -> dict[str, float]:
        """What was learned so far."""
        return {name: float(weight) / GAIN for name, weight in zip(self.start, self._coefficients, strict=True)}

    @property
    def _coefficients(self) -> FloatArray:
        return GAIN * np.array([*self.start.values()]) if self._ranker is None else self._ranker.coef_

    def before(self, mark: int) -> OnlineWeights:
        """The weights as they were at the last checkpoint before a mark; `catch_up(until=mark - 1)` does the rest."""
        earlier = OnlineWeights(self._collection, self._phi, self.start, self._first, self._online)
        earlier._resume(mark)
        return earlier

    def open(self) -> OnlineWeights:
        """Take the last checkpoint."""
        self._resume()
        return self

    def see(self, phi: Phi) -> None:
        """Go on with more items; the basis of phi and what is sampled are the same."""
        self._phi = phi

    def n_behind(self, most: int) -> int:
        """How many marks `catch_up` has to learn from; it is not counted beyond some."""
        last = self._last
        _, undone = undone_since(self._collection, self._undo)
        if any(mark <= last for mark in undone):
            stored = checkpoints.last(self._collection, self._key)  # those after an undone mark are gone
            last = self._first if stored is None else stored.mark
        return count_marks(self._collection, after=last, most=most + 1)

    def catch_up(
        self,
        until: int | None = None,
        *,
        store: bool = False,
        stop: Callable[[], bool] = lambda: False,
        pause: Callable[[], None] = nothing,
    ) -> None:
        """Learn from marks that came since, and forget those that were undone.

        Parameters
        ----------
        until : the last mark to learn from.
        store : whether to keep checkpoints on the way.
        stop : asked from time to time whether to end early.
        pause : called before every small step.
        """
        self._pause = pause
        undo, undone = undone_since(self._collection, self._undo)
        if any(mark <= self._last for mark in undone):
            self._resume(None if until is None else until + 1)
        self._undo = undo
        if store:
            self._checkpoint()  # before the new marks, so that an undo of the last need not go further back
        self.complete = True
        for page in mark_pages(self._collection, after=self._last, until=until):
            self.complete = self._learn(page) == len(page)
            if store:
                self._checkpoint()
            if stop() or not self.complete:
                break

    def _learn(self, page: list[StoredMark]) -> int:
        """Learn from marks, up to the first of an item that phi does not have yet. Returns how many these were."""
        preferred, learned = _Preferred(), 0
        self._unmarked = self._without_history(page)
        for _, request in groupby(page, key=lambda mark: mark.request):
            given = [*request]
            if max(max(mark.item, mark.over or 0, *mark.skipped) for mark in given) > self._phi.n_items:
                break
            together = {mark.item for mark in given}
            for mark in given:
                preferred.add(mark.qid, self._pairs(mark, together))
            learned += len(given)
        X, pairs = preferred.rows(self._blocks)
        if len(pairs):
            self._ranker = self._ranker or self._fresh()
            self._ranker.partial_fit_triplets(X, pairs)
        if learned:
            self._last = page[learned - 1].id
            self.n_marks += learned
        return learned

    def _pairs(self, mark: StoredMark, together: set[int]) -> list[tuple[int, int]]:
        self._pause()
        key = (mark.qid, mark.user)
        history = self._histories.get(key)
        if history is None:
            known_empty = mark.qid in self._unmarked
            history = History(() if known_empty else marks(self._collection, *key, until=mark.id - 1))
            self._histories.put(key, history)
        self._unmarked.discard(mark.qid)
        pairs = preferences(mark, history, together)
        if mark.grade > 0:
            judged = {*together, mark.item}
            pairs += [
                (mark.item, item)
                for item in sampled_negatives(mark, self._phi.n_sampled)
                if item not in judged and item not in history.grades
            ]
        history.add(mark)
        return pairs

    def _without_history(self, page: list[StoredMark]) -> set[str]:
        """The queries of a page that nobody had marked before it."""
        queries = {mark.qid for mark in page}
        return queries - marked_before(self._collection, queries, page[0].id)

    def _blocks(self, qids: list[str], rows: list[IntArray]) -> list[FloatArray | None]:
        """phi of each query for some rows; None for a query that cannot be asked."""
        blocks: list[FloatArray | None] = []
        for begin in range(0, len(qids), AT_ONCE):
            self._pause()
            some = qids[begin : begin + AT_ONCE]
            queries = asked_of(self._collection, some)
            known = [(queries[qid], mine) for qid, mine in zip(some, rows[begin:], strict=False) if qid in queries]
            computed = iter(self._phi.blocks([query for query, _ in known], [mine for _, mine in known]))
            blocks += [next(computed) if qid in queries else None for qid in some]
        return blocks

    # Checkpoints -----------------------------------------------------------------------------------------------------

    @cached_property
    def _key(self) -> str:
        """What learning depends on beside the marks; more items change nothing of it."""
        parts = [_RECIPE, self._phi.basis, self._phi.n_sampled, self.start, self._first, self._online]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def _checkpoint(self) -> None:
        if checkpoints.due(self._collection, self._key, self.n_marks):
            from rankloom.rankers import ranker_to_json

            ranker = json.dumps(ranker_to_json(self._ranker or self._fresh()))
            state = checkpoints.Checkpoint(self._last, self.n_marks, ranker)
            checkpoints.write(self._collection, self._key, state, self._undo)

    def _resume(self, before: int | None = None) -> None:
        """Go back to the last checkpoint, before a mark if one is given; or to the start."""
        self._ranker, self._last, self.n_marks = None, self._first, 0
        self._histories.clear()
        self._undo, _ = undone_since(self._collection, self._undo)  # first: what is undone meanwhile is seen next time
        stored = checkpoints.last(self._collection, self._key, before)
        if stored is not None:
            from rankloom.rankers import OnlineRanker, ranker_from_json

            ranker = ranker_from_json(json.loads(stored.ranker))
            assert isinstance(ranker, OnlineRanker)
            self._ranker, self._last, self.n_marks = ranker, stored.mark, stored.n_marks


class _Preferred:
    """Preferences of several queries in their order, and the rows of phi that they need, each computed once."""

    def __init__(self) -> None:
        self._queries: dict[str, int] = {}
        self._pairs: list[tuple[int, int]] = []
        self._of_query: list[int] = []

    def add(self, qid: str, pairs: list[tuple[int, int]]) -> None:
        """Append pairs (better, worse) of items."""
        self._pairs += pairs
        if pairs:
            self._of_query += [self._queries.setdefault(qid, len(self._queries))] * len(pairs)

    def rows(self, phi: Callable[[list[str], list[IntArray]], list[FloatArray | None]]) -> tuple[FloatArray, IntArray]:
        """The rows of phi, and the pairs as their numbers; pairs of queries that cannot be asked are left out."""
        if not self._pairs:
            return np.empty((0, 0)), np.empty((0, 2), dtype=np.int64)
        pairs = np.array(self._pairs, dtype=np.int64)
        of_query = np.array(self._of_query, dtype=np.int64)
        size = int(pairs.max()) + 1
        cells, numbers = np.unique(of_query[:, None] * size + pairs, return_inverse=True)
        begins = np.searchsorted(cells, np.arange(len(self._queries) + 1) * size)
        blocks = phi([*self._queries], np.split(cells % size - 1, begins[1:-1]))
        known = np.array([block is not None for block in blocks])
        kept = np.repeat(known, np.diff(begins))
        numbers = (np.cumsum(kept) - 1)[numbers.reshape(-1, 2)]
        X = np.concatenate([block for block in blocks if block is not None]) if known.any() else np.empty((0, 0))
        return X, numbers[known[of_query]]
