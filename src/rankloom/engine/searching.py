"""Searching: a collection, its experts and their weights answer queries, and say why."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.marks import marks as stored_marks
from rankloom.core import FloatArray, IntArray
from rankloom.engine import models
from rankloom.engine.answers import Answer, Followed, Found, Ranking, diversified
from rankloom.engine.examples import Examples
from rankloom.engine.graphs import Graphs
from rankloom.engine.library import Library, LibraryState
from rankloom.engine.scorers import RankerScorer, Scorer, WeightScorer
from rankloom.engine.settings import Settings
from rankloom.engine.snapshot import CONCEPT, FACES, Snapshot, allowed_by, state_of, take_snapshot
from rankloom.features import Features
from rankloom.index import ExactIndex, Index
from rankloom.neighbours import Neighbours
from rankloom.priors import prior_weights
from rankloom.queries import Query
from rankloom.relevance import NEAREST, follow_marks, spread_scores
from rankloom.rerank import RERANKERS, rerank

__all__ = ["METHODS", "SearchEngine"]

NEIGHBOURS = NEAREST
METHODS = ("experts", *RERANKERS)
_CANDIDATES = 5000  # items that an approximate index proposes to a search
_CACHE_BYTES = 256 * 2**20
_RERANKED = 200  # results that a reranker or diversity reorders
_ENCODER_WEIGHT = 1.0


class _Base(NamedTuple):
    """phi of a query, the scores of the experts, and which items were scored."""

    phi: Features
    scores: FloatArray
    scored: NDArray[np.bool_]


class SearchEngine:
    """The half of an engine that reads: see `Engine`."""

    def __init__(
        self, collection: Collection, weights: Mapping[str, float] | None = None, *, index: Index | None = None
    ):
        self.collection = collection
        self._index = ExactIndex() if index is None else index
        self._given = weights
        self._lock = threading.RLock()
        self._seen_by = threading.local()
        self._snapshot: Snapshot | None = None
        self._examples = Examples(collection)
        self._settings = Settings(collection)
        self._library: Library | None = None
        self._model: tuple[int | None, RankerScorer | None] = (None, None)
        self._graphs = Graphs(collection)
        self._bases: OrderedDict[Any, _Base] = OrderedDict()
        self._columns: OrderedDict[Any, NDArray[np.float32]] = OrderedDict()
        self._duplicates: tuple[Any, dict[int, int]] | None = None

    # What is searched, and by what -----------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """What is in the collection now; searches look for changes themselves."""
        current = self._snapshot
        if current is not None and getattr(self._seen_by, "seen", None) == (self._change(), current.state):
            return current
        with self._lock:
            if self._snapshot is None or self._snapshot.state != state_of(self.collection):
                self._snapshot = take_snapshot(self.collection, self._snapshot)
                self._library = None
                self._bases.clear()
                self._columns.clear()
            current = self._snapshot
        self._seen_by.seen = (self._change(), current.state)
        return current

    def _change(self) -> tuple[int, ...]:
        """Another value after each change of the database, by this thread's connection or by others."""
        db = self.collection.db
        return db.execute("PRAGMA data_version").fetchone()[0], db.total_changes, id(db)

    def _start(self, snapshot: Snapshot) -> dict[str, float]:
        """The weights before the first mark."""
        if self._given is not None:
            return dict(self._given)
        encoders = self._examples.encoders()
        start = {**prior_weights(name for name in snapshot.vectors if name not in encoders), FACES: 0.1}
        return {**start, **{f"{name}.cosine": _ENCODER_WEIGHT for name in encoders if name in snapshot.vectors}}

    def _learned(self, snapshot: Snapshot) -> Library:
        """The library weights, up to date with the log of marks."""
        with self._lock:
            used = models.model_in_use(self.collection)
            if self._model[0] != used:
                self._model = (used, None if used is None else models.load_scorer(self.collection, used))
                self._library = None
            if self._library is None:
                start, first, scorer = self._start(snapshot), self._settings.since, self._model[1]
                if scorer is not None:
                    start = models.linear_weights(scorer) or start
                    version = next(one for one in models.list_models(self.collection) if one.id == used)
                    first = max(first, version.last_mark or 0)
                self._library = Library(self.collection, snapshot.names, start, self._features_of, first).open()
            elif self._library.catch_up():
                self._bases.clear()
            return self._library

    def _features_of(self, query: Query) -> Features | None:
        try:
            return self.features(query)
        except ValueError:
            return None  # an example of the query is gone

    @property
    def library(self) -> LibraryState:
        """The weights of all experts: now, at the start, which are locked, and from how many marks."""
        library = self._learned(self.snapshot())
        locked = self._settings.locked
        weights = {**library.weights, **{name: value for name, value in locked.items() if name in library.start}}
        return LibraryState(weights, library.start, frozenset(locked), library.n_marks)

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the experts now."""
        return self.library.weights

    def _scorer(self, query: Query) -> Scorer:
        """What ranks a query: the model in use, or the library weights."""
        state = self.library
        asked = {} if query.concept is None else {f"{CONCEPT}{query.concept}": 1.0}
        model = self._model[1]
        if model is None or models.linear_weights(model) is not None:
            return WeightScorer({**state.weights, **asked})
        return replace(model, kept={**model.kept, **asked})

    def _kernel(self) -> dict[str, float]:
        """Weights of a similarity between items: those of the library that are not negative, with the sum 1."""
        names = {expert.name for expert in self.snapshot().experts}
        weights = {name: max(weight, 0.0) for name, weight in self.weights.items() if name in names}
        total = sum(weights.values())
        if total == 0:
            weights = dict.fromkeys(names, 1.0)
            total = float(len(names)) or 1.0
        return {name: weight / total for name, weight in weights.items() if weight}

    def _fused(self) -> dict[str, float]:
        """Weights of the similarity behind the neighbour graph: those of the library, sizes with the sum 1."""
        names = {expert.name for expert in self.snapshot().experts}
        weights = {name: weight for name, weight in self.weights.items() if name in names and weight}
        total = sum(abs(weight) for weight in weights.values())
        return {name: weight / total for name, weight in weights.items()} if total else self._kernel()

    # Queries ---------------------------------------------------------------------------------------------------------

    def features(self, query: Query) -> Features:
        """The lazy matrix phi of a query: one row an item, one column an expert."""
        snapshot = self.snapshot()
        if query.empty:
            raise ValueError("the query is empty: give words or an example")
        if query.concept is not None and query.concept not in snapshot.concepts:
            known = ", ".join(snapshot.concepts) or "none"
            raise ValueError(f"there is no concept {query.concept!r}; known are {known}")
        sightings, faces = self._examples.sightings(query, snapshot)
        return snapshot.features(query, sightings, faces)

    def scores(self, query: Query) -> FloatArray:
        """What the experts say of every item, without marks and neighbours."""
        return self._base(query, self._scorer(query)).scores

    def _base(self, query: Query, scorer: Scorer) -> _Base:
        """phi and the scores of the experts; those of the last queries are kept."""
        snapshot = self.snapshot()
        key = (query.qid, id(snapshot), repr(scorer) if isinstance(scorer, WeightScorer) else id(scorer))
        with self._lock:
            if key in self._bases:
                self._bases.move_to_end(key)
                return self._bases[key]
        phi = self.features(query)
        rows = self._chosen(query, snapshot)
        scores = self._at_once(query, snapshot, scorer, phi) if rows is None else None
        if scores is None:
            scores = scorer.scores(phi, rows)
        scored = np.ones(snapshot.n_items, dtype=bool)
        if rows is not None:
            scored[:] = False
            scored[rows] = True
            some, scores = scores, np.full(snapshot.n_items, float(scores.min(initial=0.0)))
            scores[rows] = some
        found = _Base(phi, scores, scored)
        with self._lock:
            self._bases[key] = found
            room = max(2, _CACHE_BYTES // max(1, 8 * phi.shape[0] * phi.shape[1]))
            while len(self._bases) > room:
                self._bases.popitem(last=False)
        return found

    def _at_once(self, query: Query, snapshot: Snapshot, scorer: Scorer, phi: Features) -> FloatArray | None:
        """The weighted sum of all experts in one pass over the vectors, which only one wanted example allows."""
        if not isinstance(scorer, WeightScorer) or len(query.examples) != 1 or query.examples[0].weight <= 0:
            return None
        sightings, _ = self._examples.sightings(query, snapshot)
        if len(sightings) != 1:
            return None
        visual = {expert.name for expert in snapshot.experts}
        rest = WeightScorer({name: weight for name, weight in scorer.weights.items() if name not in visual})
        return rest.scores(phi) + snapshot.similarity(sightings[0].vectors, scorer.weights)

    def _chosen(self, query: Query, snapshot: Snapshot) -> IntArray | None:
        """The items that an approximate index proposes; None for all, as where words count too."""
        if isinstance(self._index, ExactIndex) or query.text.strip() or query.concept is not None:
            return None
        sightings, _ = self._examples.sightings(query, snapshot)
        return self._index.candidates([one.vectors for one in sightings if one.weight > 0], _CANDIDATES)

    def _column(self, snapshot: Snapshot, kernel: Mapping[str, float], item: int) -> NDArray[np.float32]:
        """The similarity of all items to one; those of the last marks are kept."""
        key = (id(snapshot), item, tuple(kernel.items()))
        with self._lock:
            if key in self._columns:
                self._columns.move_to_end(key)
                return self._columns[key]
        found = snapshot.similarity(snapshot.vectors_of(item - 1), kernel)
        with self._lock:
            self._columns[key] = found
            room = max(64, _CACHE_BYTES // max(1, found.nbytes))
            while len(self._columns) > room:
                self._columns.popitem(last=False)
        return found

    def rank(
        self, query: Query, *, user: str = "", diffusion: bool = True, follow: bool = True, scorer: Scorer | None = None
    ) -> Ranking:
        """All scores of a query and what they are made of.

        Parameters
        ----------
        query, user, diffusion, follow : as for `search`.
        scorer : what ranks, unless it is the model in use.
        """
        snapshot = self.snapshot()
        query = self._examples.keyed(query)
        chosen = self._scorer(query) if scorer is None else scorer
        phi, base, scored = self._base(query, chosen)
        followed = self._followed(snapshot, query, user, base) if follow else None
        scores = base if followed is None else followed.scores(base)
        spread, operator = None, None
        plain = any(one.weight > 0 for one in query.examples)
        if diffusion and snapshot.present.sum() > 3 * NEIGHBOURS and (plain or followed is not None):
            graph = self._graphs.ready(snapshot, self._fused())
            if graph is not None:
                wrong = None if followed is None else followed.wrong
                neighbours, operator = graph
                spread = spread_scores(
                    scores, neighbours, operator, snapshot.present & scored, barred=wrong, followed=followed is not None
                )
        total = scores if spread is None else spread.total
        offsets = {}
        if followed is not None:
            size = float(np.ceil(np.ptp(total)) + 1.0)
            for item, grade in zip(followed.items, followed.grades, strict=True):
                offsets[item - 1] = size * (max(grade, 1.0) if grade > 0 else -1.0)
        return Ranking(phi, chosen, base, scored, followed, scores, spread, operator, offsets)

    def _followed(self, snapshot: Snapshot, query: Query, user: str, base: FloatArray) -> Followed | None:
        """The marks of a query as a score."""
        grades: dict[int, float] = {}
        soft: dict[int, float] = {}
        for mark in stored_marks(self.collection, query.qid, user):
            if mark.item > snapshot.n_items:
                continue
            if mark.over is None:
                grades[mark.item] = mark.grade
            elif mark.over <= snapshot.n_items:
                soft[mark.item], soft[mark.over] = 0.5, -0.5
        told = {**{item: sign for item, sign in soft.items() if item not in grades}, **grades}
        if not told:
            return None
        items = sorted(told)
        kernel = self._kernel()
        columns = np.stack([self._column(snapshot, kernel, item) for item in items])
        rows: IntArray = np.array(items) - 1
        gram = np.asarray(columns[:, rows], dtype=np.float64)
        highest = max(1.0, max(told.values()))
        targets = np.array([1.0 if told[item] > 0 else -1.0 for item in items])
        weights = np.array([max(told[item], 0.1) / highest if told[item] > 0 else 1.0 for item in items])
        weights[[items.index(item) for item in soft if item not in grades]] = 0.5
        if any(one.weight > 0 for one in query.examples):  # the query is itself an example of what is right
            size = max(float(np.abs(base).max()), 1e-12)
            column = base / size
            gram = np.block([[np.ones((1, 1)), column[rows][None]], [column[rows][:, None], gram]])
            found = follow_marks(gram, np.append(1.0, targets), np.append(1.0, weights))
            found[0] /= size
        else:
            found = np.append(1.0, follow_marks(gram, targets, weights))
        return Followed(tuple(items), tuple(told[item] for item in items), columns, found)

    def search(
        self,
        query: Query,
        k: int = 20,
        *,
        offset: int = 0,
        user: str = "",
        diffusion: bool = True,
        follow: bool = True,
        explain: bool = False,
        collapse: bool = False,
        diversity: float = 0.0,
        method: str = "experts",
    ) -> Answer:
        """The best k items.

        Parameters
        ----------
        query : words, examples, filters.
        k, offset : how many results, and how many before them are left out.
        user : whose marks of this query are followed.
        diffusion : whether neighbours count, once the neighbour graph is there.
        follow : whether marks of this query count.
        explain : whether results say what each expert, mark and neighbour added.
        collapse : show only the best of near duplicates.
        diversity : from 0 to 1, how much results should differ.
        method : "experts", or a reranker of the best results: "visual_rank", "bayesian", "smooth" (content-aware) ...
        """
        if k < 1 or offset < 0:
            raise ValueError(f"k must be at least 1, and offset not negative; got {k!r} and {offset!r}")
        if not 0 <= diversity <= 1:
            raise ValueError(f"diversity must be from 0 to 1, got {diversity!r}")
        if method not in METHODS:
            raise ValueError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
        snapshot = self.snapshot()
        ranking = self.rank(query, user=user, diffusion=diffusion, follow=follow)
        total = ranking.total
        rows = np.flatnonzero(self._allowed(snapshot, query, ranking))
        order = rows[np.lexsort((rows, -total[rows]))]
        others: dict[int, list[int]] = {}
        if collapse:
            order, others = self._collapsed(order)
        if method != "experts" and len(order) > 2:
            total, order = self._reranked(snapshot, total, order, method)
        if diversity and len(order) > 2:
            order = self._diversified(snapshot, total, order, diversity)
        page = order[offset : offset + k]
        followed = ranking.followed
        grades = {} if followed is None else dict(zip(followed.items, followed.grades, strict=True))
        found = tuple(
            Found(
                place,
                item.id,
                item.path,
                float(total[item.id - 1]),
                item.start,
                item.end,
                ranking.why(item.id - 1) if explain else None,
                grades.get(item.id),
                tuple(others.get(item.id - 1, ())),
            )
            for place, item in enumerate(self.collection.items((page + 1).tolist()), offset + 1)
        )
        return Answer(found, len(order), None, ranking.spread is not None, len(grades))

    def _allowed(self, snapshot: Snapshot, query: Query, ranking: Ranking) -> NDArray[np.bool_]:
        """Which items may be results."""
        allowed = snapshot.present & allowed_by(self.collection, query.filters, snapshot.n_items)
        allowed &= ~snapshot.excluded(query.text)
        allowed &= ranking.scored
        if not query.examples and query.concept is None and ranking.followed is None:
            allowed &= ranking.base > 0  # words that an item does not have are no evidence for it
        return allowed

    def _collapsed(self, order: IntArray) -> tuple[IntArray, dict[int, list[int]]]:
        """The best of each group of near duplicates, and the others of its group."""
        from rankloom.collection import duplicate_groups

        state = self.snapshot().state
        with self._lock:
            if self._duplicates is None or self._duplicates[0] != state:
                groups = duplicate_groups(self.collection)
                member = {item - 1: number for number, group in enumerate(groups) for item in group}
                self._duplicates = (state, member)
            member = self._duplicates[1]
        best: dict[int, int] = {}
        others: dict[int, list[int]] = {}
        kept = []
        for row in order.tolist():
            group = member.get(row)
            if group is not None and group in best:
                others.setdefault(best[group], []).append(row + 1)
                continue
            if group is not None:
                best[group] = row
            kept.append(row)
        return np.array(kept, dtype=np.int64), others

    def _reranked(
        self, snapshot: Snapshot, total: FloatArray, order: IntArray, method: str
    ) -> tuple[FloatArray, IntArray]:
        """Let the looks of the best results reorder them."""
        name = "semantic" if "semantic" in snapshot.vectors else next(iter(snapshot.vectors))
        top = order[:_RERANKED]
        some = rerank(total[top], np.asarray(snapshot.vectors[name][top], np.float64), method=method)
        total = total.copy()
        rest = order[_RERANKED:]
        total[top] = some
        if len(rest):
            total[rest] += min(0.0, float(some.min()) - float(total[rest].max()) - 1e-9)
        return total, np.concatenate([top[np.lexsort((top, -some))], rest])

    def _diversified(self, snapshot: Snapshot, total: FloatArray, order: IntArray, diversity: float) -> IntArray:
        top = order[:_RERANKED]
        kernel = self._kernel()
        similarity = np.array([self._column(snapshot, kernel, row + 1)[top] for row in top.tolist()], np.float64)
        return np.concatenate([diversified(top, total[top], similarity, diversity), order[_RERANKED:]])

    def compare(self, query: Query, a: int, b: int, *, user: str = "", diffusion: bool = True) -> dict[str, float]:
        """Why item a is above item b: the differences of what each part added, largest first; they sum to that of the
        scores."""
        ranking = self.rank(query, user=user, diffusion=diffusion)
        n = len(ranking.base)
        for item in (a, b):
            if not 1 <= item <= n:
                raise ValueError(f"there is no item {item}")
        mine, theirs = ranking.why(a - 1), ranking.why(b - 1)
        found = {name: mine.get(name, 0.0) - theirs.get(name, 0.0) for name in {**mine, **theirs}}
        return dict(sorted(found.items(), key=lambda part: -abs(part[1])))

    # Neighbours ------------------------------------------------------------------------------------------------------

    @property
    def neighbours_ready(self) -> bool:
        """Whether the neighbour graph is there for all items."""
        return self._graphs.complete(self.snapshot())

    def neighbours(self, progress: Callable[[int, int, str], None] = lambda *_: None) -> Neighbours:
        """The neighbour graph, built or brought up to date, and kept with the collection.

        It is built anew if the library weights have moved far from those that it was made with.

        Parameters
        ----------
        progress : called with the number of items done, of all, and a text.
        """
        return self._graphs.build(self.snapshot(), self._fused(), progress)
