"""The library weights: what all marks of everybody have taught about the experts."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from rankloom.collection import Collection, StoredMark
from rankloom.collection.marks import asked, marks
from rankloom.core import IntArray
from rankloom.features import Features
from rankloom.queries import Query
from rankloom.rankers import OnlineRanker, make_ranker, ranker_from_json, ranker_to_json

__all__ = ["Library", "LibraryState", "Past", "preferences"]

# Similarities differ by a tenth or so between items; times this, a preference that the start knows has a margin of 1.
GAIN = 30.0
ONLINE = "opar1"
C = 0.03  # of rankers that have it
CHECKPOINT = 50  # marks between two states on disk
MOST_PAIRS = 40  # preferences that a mark makes with earlier ones
DRAWN = 10  # items by lot that a right item is preferred to
LOOK_BACK = 400  # earlier marks that are looked at for them


class LibraryState(NamedTuple):
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


class Past:
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


def preferences(mark: StoredMark, past: Past, together: Container[int] = ()) -> list[tuple[int, int]]:
    """What a mark says together with earlier ones of its query and user, as pairs (better, worse) of items.

    A higher grade is preferred to a lower one, an item to the one it was preferred to, and a right one to those above
    it that were passed over.

    Parameters
    ----------
    mark : the mark.
    past : what was said before.
    together : items that were marked in the same breath; they were not passed over.
    """
    if mark.over is not None:
        return [(mark.item, mark.over)]
    pairs: list[tuple[int, int]] = []
    for item, grade in islice(reversed(past.grades.items()), LOOK_BACK):
        if item != mark.item and grade != mark.grade and len(pairs) < MOST_PAIRS:
            pairs.append((mark.item, item) if mark.grade > grade else (item, mark.item))
    over = [item for item in mark.skipped if item not in past.grades and item not in together and item != mark.item]
    return pairs + [(mark.item, item) for item in over]


def drawn(mark: StoredMark, n_items: int) -> list[int]:
    """Some items by lot, the same for the same query and item."""
    if n_items < 1:
        return []
    seed = int.from_bytes(sha256(f"{mark.qid} {mark.item}".encode()).digest()[:8])
    found: list[int] = (np.random.default_rng(seed).integers(0, n_items, DRAWN) + 1).tolist()
    return found


class Library:
    """Weights that start somewhere and follow the log of marks.

    The log is the truth: what is learned is what a replay of the marks that stand would give. States on disk, one in
    so many marks, make that fast; taking back a mark removes those after it.

    Parameters
    ----------
    collection : whose marks.
    names : the experts.
    start : the weights before the first mark.
    features_of : phi of a stored query, or None if it cannot be asked any more.
    first : learn from the marks after this one.
    basis : what phi depends on; states of another basis are not used.
    n_items : a right item is also preferred to some of the first `n_items`, drawn by lot: marks are of the best
        results, and what tells these apart must not make the rest come up.
    online : the short name of the online ranker that learns.
    """

    def __init__(
        self,
        collection: Collection,
        names: list[str],
        start: Mapping[str, float],
        features_of: Callable[[Query], Features | None],
        first: int = 0,
        *,
        basis: str = "",
        n_items: int = 0,
        online: str = ONLINE,
    ):
        self._collection, self._names, self._features_of = collection, names, features_of
        self.start = {name: float(start.get(name, 0.0)) for name in names}
        self._first = first
        self._last = first
        self._basis = sha256(basis.encode()).hexdigest()
        self._n_items = n_items
        self._online = online
        self.n_marks = 0
        self._ranker = self._fresh()

    def _fresh(self) -> OnlineRanker:
        init = GAIN * np.array([self.start[name] for name in self._names])
        ranker = make_ranker(self._online)
        if not isinstance(ranker, OnlineRanker):
            raise ValueError(f"{self._online!r} does not learn mark by mark; opr, opar1, opar2, ogdr and arow do")
        ranker.set_params(init=init)
        if "C" in ranker.get_params():
            ranker.set_params(C=C)
        ranker.partial_fit_triplets(np.zeros((1, len(init))), np.empty((0, 2), dtype=np.int64))  # nothing to learn yet
        return ranker

    @property
    def weights(self) -> dict[str, float]:
        """What was learned so far."""
        return {name: float(weight) / GAIN for name, weight in zip(self._names, self._ranker.coef_, strict=True)}

    def again(self) -> Library:
        """The library before the first mark."""
        return Library(
            self._collection,
            self._names,
            self.start,
            self._features_of,
            self._first,
            n_items=self._n_items,
            online=self._online,
        )

    def catch_up(self, until: int | None = None) -> bool:
        """Learn from marks that came since, and forget those that were taken back. Returns whether anything changed.

        Parameters
        ----------
        until : the last mark to learn from.
        """
        db = self._collection.db
        standing = db.execute(
            "SELECT count(*), coalesce(max(id), ?) FROM qrels WHERE undone IS NULL AND id > ?",
            (self._first, self._first),
        ).fetchone()
        upto = db.execute(_STANDING, (self._first, self._last)).fetchone()[0]
        if upto == self.n_marks and standing[1] <= self._last:
            return False
        if upto != self.n_marks:
            self._resume()
        fresh = marks(self._collection, after=self._last, until=until)
        said = _Said(self._collection, fresh, self._asked)
        for mark in fresh:
            self._learn(mark, said)
            self._last, self.n_marks = mark.id, self.n_marks + 1
            if self.n_marks % CHECKPOINT == 0 and until is None:
                self._checkpoint()
        return True

    def _learn(self, mark: StoredMark, said: _Said) -> None:
        past, together = said.before(mark)
        pairs = preferences(mark, past, together)
        if mark.grade > 0:
            told = {*past.grades, *together, mark.item}
            pairs += [(mark.item, item) for item in drawn(mark, self._n_items) if item not in told]
        past.add(mark)
        features = said.phi(mark.qid) if pairs else None
        if features is None:
            return
        pairs = [pair for pair in pairs if max(pair) <= len(features)]
        if not pairs:
            return
        items = sorted({item for pair in pairs for item in pair})
        rows: IntArray = np.array(items) - 1
        # Column by column: a view of the rows, made for every mark, would cost more than its cells.
        X = np.stack([features.column(place, rows) for place in range(features.shape[1])], axis=1)
        place = {item: at for at, item in enumerate(items)}
        self._ranker.partial_fit_triplets(X, np.array([[place[a], place[b]] for a, b in pairs]))

    def _asked(self, qid: str) -> Features | None:
        query = asked(self._collection, qid)
        return None if query is None else self._features_of(query)

    # States on disk --------------------------------------------------------------------------------------------------

    def _checkpoint(self) -> None:
        ranker = self._ranker
        state = {
            "basis": self._basis,
            "names": self._names,
            "start": self.start,
            "first": self._first,
            "n_marks": self.n_marks,
            "online": self._online,
            "ranker": ranker_to_json(ranker),
        }
        with self._collection.transaction() as db:
            standing = db.execute(_STANDING, (self._first, self._last)).fetchone()[0]
            if standing != self.n_marks:  # one was taken back meanwhile
                return
            db.execute("INSERT OR REPLACE INTO library VALUES (?, ?)", (self._last, json.dumps(state)))

    def _resume(self) -> None:
        """Go back to the last state on disk that fits, or to the start."""
        self._ranker, self._last, self.n_marks = self._fresh(), self._first, 0
        rows = self._collection.db.execute("SELECT mark, state FROM library ORDER BY mark DESC").fetchall()
        for mark, text in rows:
            state: dict[str, Any] = json.loads(text)
            mine = {"basis": self._basis, "names": self._names, "start": self.start, "first": self._first}
            if all(state.get(name) == value for name, value in {**mine, "online": self._online}.items()):
                found = ranker_from_json(state["ranker"])
                assert isinstance(found, OnlineRanker)
                self._ranker = found
                self._last, self.n_marks = mark, state["n_marks"]
                return

    def open(self) -> Library:
        """Take the last state on disk, and catch up."""
        self._resume()
        self.catch_up()
        return self


_STANDING = "SELECT count(*) FROM qrels WHERE undone IS NULL AND id > ? AND id <= ?"


class _Said:
    """What new marks are to be learned with: the marks before each, those given together with it, and phi."""

    def __init__(self, collection: Collection, fresh: Sequence[StoredMark], asked: Callable[[str], Features | None]):
        self._collection, self._asked = collection, asked
        self._pasts: dict[tuple[str, str], Past] = {}
        self._phis: dict[str, Features | None] = {}
        self._together: dict[tuple[str, str, str], set[int]] = {}
        for mark in fresh:
            self._together.setdefault((mark.qid, mark.user, mark.at), set()).add(mark.item)

    def before(self, mark: StoredMark) -> tuple[Past, set[int]]:
        key = (mark.qid, mark.user)
        if key not in self._pasts:
            self._pasts[key] = Past(marks(self._collection, *key, until=mark.id - 1))
        return self._pasts[key], self._together[*key, mark.at]

    def phi(self, qid: str) -> Features | None:
        if qid not in self._phis:
            self._phis[qid] = self._asked(qid)
        return self._phis[qid]
