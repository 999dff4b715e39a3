"""Searching: a collection, its experts and their weights answer queries, and say why."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection, duplicate_groups
from rankloom.collection.marks import marks as stored_marks
from rankloom.collection.query import Query
from rankloom.core import LRU, FloatArray, IntArray
from rankloom.engine import models
from rankloom.engine.answers import Answer, Found, Ranking
from rankloom.engine.arranging import METHODS, Arranged, collapsed, diversified, reranked
from rankloom.engine.cutoff import suggest_cutoff
from rankloom.engine.examples import Examples
from rankloom.engine.filtering import allowed_by, newest_first
from rankloom.engine.following import follow as follow_told
from rankloom.engine.following import offsets_of, told_by
from rankloom.engine.graphs import Graphs
from rankloom.engine.index import ExactIndex, Index
from rankloom.engine.library import Library, LibraryState, Phi
from rankloom.engine.neighbors import Neighbours
from rankloom.engine.relevance import NEAREST, spread_scores
from rankloom.engine.scorers import RankerScorer, Scorer, WeightScorer
from rankloom.engine.settings import Settings
from rankloom.engine.snapshot import FACES, TAGS, TEXT, Snapshot, state_of, take_snapshot
from rankloom.engine.view import View, for_query
from rankloom.experts.starting_weights import prior_weights
from rankloom.features import Features

__all__ = ["METHODS", "SearchEngine"]

_CANDIDATES = 5000  # items that an approximate index proposes to a search
_CACHE_BYTES = 64 * 2**20  # of queries, and of similarities to marked items
_ENCODER_WEIGHT = 1.0
_FACE_WEIGHT = 0.1
_MOST_MARKS = 300  # marks of a query that teach at once; the others keep their places


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
        self._library_of: tuple[Any, ...] = ()
        self._model: tuple[int | None, RankerScorer | None] = (None, None)
        self._graphs = Graphs(collection)
        self._bases: LRU[Any, _Base] = LRU(32)
        self._columns: LRU[Any, NDArray[np.float32]] = LRU(512)
        self._duplicates: tuple[Any, dict[int, int]] | None = None

    # What is searched, and by what -----------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """What is in the collection now; searches look for changes themselves."""
        change = self._change()  # before the state: what is committed in between is seen next time
        current = self._snapshot
        if current is not None and getattr(self._seen_by, "seen", None) == (change, current.state):
            return current
        with self._lock:
            if self._snapshot is None or self._snapshot.state != state_of(self.collection):
                self._snapshot = take_snapshot(self.collection, self._snapshot)
                self._library = None
                self._bases.clear()
                self._columns.clear()
            current = self._snapshot
        self._seen_by.seen = (change, current.state)
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
        start = {**prior_weights(name for name in snapshot.vectors if name not in encoders), FACES: _FACE_WEIGHT}
        return {**start, **{f"{name}.cosine": _ENCODER_WEIGHT for name in encoders if name in snapshot.vectors}}

    def _view(self) -> View:
        """The items and the weights of this moment."""
        snapshot = self.snapshot()
        with self._lock:
            settings = self._settings.read()
            used = models.model_in_use(self.collection)
            if self._model[0] != used:
                self._model = (used, None if used is None else models.load_scorer(self.collection, used))
            since = (id(snapshot), used, settings.since, settings.online)
            if self._library is None or self._library_of != since:
                start, first, scorer = self._start(snapshot), settings.since, self._model[1]
                if scorer is not None:
                    start = models.linear_weights(scorer) or start
                    first = max(first, models.last_mark(self.collection, used))
                self._library = Library(self.collection, self._phi(snapshot), start, first, settings.online).open()
                self._library_of = since
            else:
                self._library.catch_up()
            library = self._library
            locked = {name: value for name, value in settings.locked.items() if name in library.start}
            return View(snapshot, {**library.weights, **locked}, library.start, self._model)

    def _phi(self, snapshot: Snapshot) -> Phi:
        rows = partial(self._rows, snapshot)
        n_sampled = min(snapshot.counted, snapshot.n_items)  # a repair may have lost the last items
        return Phi(snapshot.names, snapshot.n_items, n_sampled, snapshot.basis, rows)

    def _rows(self, snapshot: Snapshot, query: Query, rows: IntArray) -> FloatArray | None:
        """phi of a query for some rows; None if an example of the query is gone."""
        try:
            return np.asarray(self._features(snapshot, query, rows))
        except ValueError:
            return None

    @property
    def library(self) -> LibraryState:
        """The weights of all experts: now, at the start, which are locked, and from how many marks."""
        with self._lock:
            view = self._view()
            assert self._library is not None
            locked = frozenset(self._settings.read().locked)
            return LibraryState(dict(view.weights), dict(view.start), locked, self._library.n_marks)

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the experts now."""
        return dict(self._view().weights)

    # Queries ---------------------------------------------------------------------------------------------------------

    def features(self, query: Query) -> Features:
        """The lazy matrix phi of a query: one row an item, one column an expert."""
        return self._features(self.snapshot(), query)

    def _features(self, snapshot: Snapshot, query: Query, rows: IntArray | None = None) -> Features:
        if query.empty:
            raise ValueError("the query is empty: give words, an example or a concept")
        if query.concept is not None and query.concept not in snapshot.concepts:
            known = ", ".join(snapshot.concepts) or "none"
            raise ValueError(f"there is no concept {query.concept!r}; known are {known}")
        sightings, faces = self._examples.sightings(query, snapshot)
        return snapshot.features(query, sightings, faces, rows)

    def scores(self, query: Query) -> FloatArray:
        """What the experts say of every item, without marks and neighbours."""
        view, query = self._view(), self._examples.keyed(query)
        return self._base(view, query, view.scorer(query), view.key).scores

    def _base(self, view: View, query: Query, scorer: Scorer, scorer_key: Any, more: IntArray | None = None) -> _Base:
        """phi and the scores of the experts; those of the last queries are kept."""
        snapshot = view.snapshot
        key = (query.qid, query.concept, scorer_key, () if more is None else tuple(more.tolist()))
        known = self._bases.get(key)
        if known is not None:
            return known
        phi = self._features(snapshot, query)
        rows = self._chosen(query, snapshot, more)
        scores = self._at_once(query, snapshot, scorer, phi) if rows is None else None
        if scores is None:
            scores = scorer.scores(phi, rows)
        scored = np.ones(snapshot.n_items, dtype=bool)
        if rows is not None:
            scored[:] = False
            scored[rows] = True
            some, scores = scores, np.full(snapshot.n_items, float(scores.min(initial=0.0)))
            scores[rows] = some
        base = _Base(phi, scores, scored)
        self._bases.size = min(32, max(2, _CACHE_BYTES // max(1, 8 * phi.shape[0] * phi.shape[1])))
        self._bases.put(key, base)
        return base

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

    def _chosen(self, query: Query, snapshot: Snapshot, more: IntArray | None) -> IntArray | None:
        """The items that an approximate index proposes, and some more; None for all, as where words count too."""
        if isinstance(self._index, ExactIndex) or query.text.strip() or query.concept is not None:
            return None
        with self._lock:
            self._index.grow(snapshot.vectors)
        sightings, _ = self._examples.sightings(query, snapshot)
        rows = self._index.candidates([one.vectors for one in sightings if one.weight > 0], _CANDIDATES)
        if rows is None:
            return None
        rows = np.union1d(rows, np.empty(0, dtype=np.int64) if more is None else more)
        return np.asarray(rows[rows < snapshot.n_items], dtype=np.int64)

    def _example_column(self, view: View, query: Query) -> NDArray[np.float32]:
        """The mean similarity of all items to the wanted examples of a query."""
        sightings, _ = self._examples.sightings(replace(query, text=""), view.snapshot)
        pairs = zip(query.examples, sightings, strict=True)
        columns = [
            self._column(view, one.item) if one.item is not None else self._similar(view, one.picture, seen.vectors)
            for one, seen in pairs
            if one.weight > 0
        ]
        return np.asarray(np.mean(columns, axis=0), dtype=np.float32)

    def _column(self, view: View, item: int) -> NDArray[np.float32]:
        """The similarity of all items to one."""
        return self._similar(view, item, view.snapshot.vectors_of(item - 1))

    def _similar(self, view: View, name: Any, vectors: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """The similarity of all items to an item or picture; those of the last marks are kept."""
        key = (id(view.snapshot), name, tuple(view.kernel.items()))
        known = self._columns.get(key)
        if known is not None:
            return known
        column = view.snapshot.similarity(vectors, view.kernel)
        self._columns.size = min(512, max(64, _CACHE_BYTES // max(1, column.nbytes)))
        self._columns.put(key, column)
        return column

    def rank(self, query: Query, *, user: str = "", diffusion: bool = True, follow: bool = True) -> Ranking:
        """All scores of a query and what they are made of.

        Parameters
        ----------
        query, user, diffusion, follow : as for `search`.
        """
        view = self._view()
        return self._rank(view, self._examples.keyed(query), user, diffusion=diffusion, follow=follow)

    def _rank(
        self,
        view: View,
        query: Query,
        user: str,
        *,
        diffusion: bool = True,
        follow: bool = True,
        model: int | None = None,
    ) -> Ranking:
        """The same in one view of the collection; by another model if one is given."""
        snapshot = view.snapshot
        if model is None:
            scorer, key = view.scorer(query), view.key
        else:
            scorer, key = for_query(models.load_scorer(self.collection, model), query), (id(snapshot), model)
        marks = stored_marks(self.collection, query.qid, user) if follow else []
        told = told_by(marks, snapshot.n_items)
        marked: IntArray = np.array(sorted(told.grades), dtype=np.int64) - 1
        phi, base, scored = self._base(view, query, scorer, key, marked if len(marked) else None)
        wanted = any(one.weight > 0 for one in query.examples)
        followed = None
        if told.n_marks:
            most = int(np.clip(_CACHE_BYTES // max(1, 4 * snapshot.n_items), 30, _MOST_MARKS))
            example = self._example_column(view, query) if wanted else None
            followed = follow_told(told, base, partial(self._column, view), example, most=most)
        scores = base if followed is None else followed.scores(base)
        spread, operator = None, None
        if diffusion and snapshot.present.sum() > 3 * NEAREST and (wanted or followed is not None):
            graph = self._graphs.ready(snapshot, view.fused)
            if graph is not None:
                neighbours, operator = graph
                wrong = [item - 1 for item, grade in told.grades.items() if grade <= 0]
                spread = spread_scores(
                    scores,
                    neighbours,
                    operator,
                    snapshot.present & scored,
                    barred=np.array(wrong, dtype=np.int64),
                    followed=followed is not None,
                )
        offsets = offsets_of(told, scores if spread is None else spread.total)
        return Ranking(view, query, phi, scorer, base, scored, told, followed, scores, spread, operator, offsets)

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
        """The best k items; with filters alone the items that pass them, the newest first.

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
        _check_method(method)
        if query.lists:
            if method != "experts" or diversity:
                raise ValueError("method and diversity arrange ranked results: give words or an example, too")
            return self._list(query, k, offset, explain=explain, collapse=collapse)
        ranking = self.rank(query, user=user, diffusion=diffusion, follow=follow)
        arranged = self._arrange(ranking, collapse=collapse, diversity=diversity, method=method)
        order = arranged.order
        cut = suggest_cutoff(arranged.total[order], ranking) if method == "experts" and not diversity else None
        hits = []
        for place, item in enumerate(self.collection.items((order[offset : offset + k] + 1).tolist()), offset + 1):
            row = item.id - 1
            more = (
                arranged.why(row) if explain else None, ranking.told.grades.get(item.id),
                tuple(arranged.others.get(row, ())),
            )  # fmt: skip
            score = arranged.score(row)
            hits.append(Found(place, item.id, item.path, score, item.start, item.end, *more, taken=item.taken))
        return Answer(tuple(hits), len(order), cut, ranking.spread is not None, ranking.told.n_marks)

    def _arrange(
        self, ranking: Ranking, *, collapse: bool = False, diversity: float = 0.0, method: str = "experts"
    ) -> Arranged:
        """Results in the order in which they are shown."""
        order, total = self._ordered(ranking)
        others: dict[int, list[int]] = {}
        if collapse:
            order, others = collapsed(order, self._groups(ranking.view))
        moved = np.zeros(len(total))
        if method != "experts" and len(order) > 2:
            order, moved = reranked(ranking, order, total, method)
        if diversity and len(order) > 2:
            order = diversified(ranking, order, total + moved, diversity, partial(self._column, ranking.view))
        return Arranged(ranking, method, order, total, moved, others)

    def _list(self, query: Query, k: int, offset: int, *, explain: bool, collapse: bool) -> Answer:
        """The items that pass the filters, the newest first; nothing ranks them, so each has the score 0."""
        view = self._view()
        order = newest_first(self.collection, query.filters, view.snapshot.n_items)
        order = order[view.snapshot.present[order]]
        others: dict[int, list[int]] = {}
        if collapse:
            order, others = collapsed(order, self._groups(view))
        why: dict[str, float] | None = {} if explain else None
        items = self.collection.items((order[offset : offset + k] + 1).tolist())
        hits = tuple(
            Found(
                place, item.id, item.path, 0.0, item.start, item.end, why, None,
                tuple(others.get(item.id - 1, ())), taken=item.taken,
            )
            for place, item in enumerate(items, offset + 1)
        )  # fmt: skip
        return Answer(hits, len(order))

    def _ordered(self, ranking: Ranking) -> tuple[IntArray, FloatArray]:
        """The rows of all results, best first, and all scores; ties by row number."""
        total = ranking.total
        rows = np.flatnonzero(self._allowed(ranking))
        return rows[np.lexsort((rows, -total[rows]))], total

    def _allowed(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Which items may be results."""
        snapshot, query = ranking.view.snapshot, ranking.query
        allowed = snapshot.present & ranking.scored & ~snapshot.excluded(query.text)
        allowed &= allowed_by(self.collection, query.filters, snapshot.n_items)
        if not query.examples and query.concept is None and ranking.followed is None:
            allowed &= self._has_evidence(ranking)
        return allowed

    def _has_evidence(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Which items have something of a query of words: words that an item does not have are no evidence for it."""
        snapshot, phi = ranking.view.snapshot, ranking.phi
        if any(encoder is not None and name in snapshot.vectors for name, encoder in self._examples.encoders().items()):
            return np.ones(snapshot.n_items, dtype=bool)  # an encoder compares the words with every picture
        found = np.zeros(snapshot.n_items, dtype=bool)
        for name in (TEXT, TAGS, FACES):
            found |= phi.column(phi.names.index(name)) != 0
        return found

    def _groups(self, view: View) -> dict[int, int]:
        """The group of near duplicates of each row that has any."""
        with self._lock:
            if self._duplicates is None or self._duplicates[0] != view.snapshot.state:
                groups = duplicate_groups(self.collection)
                member = {item - 1: number for number, group in enumerate(groups) for item in group}
                self._duplicates = (view.snapshot.state, member)
            return self._duplicates[1]

    def explain(
        self,
        query: Query,
        items: Sequence[int],
        *,
        user: str = "",
        diffusion: bool = True,
        follow: bool = True,
        collapse: bool = False,
        method: str = "experts",
    ) -> list[dict[str, float]]:
        """What each expert, mark, neighbour and reranker added to the scores of items: parts that sum to each of them.

        Parameters
        ----------
        query, user, diffusion, follow, collapse, method : of the search whose scores these are.
        items : any items, results or not.
        """
        _check_method(method)
        ranking = self.rank(query, user=user, diffusion=diffusion, follow=follow)
        for item in items:
            if not 1 <= item <= len(ranking.base):
                raise KeyError(f"there is no item {item}")
        arranged = self._arrange(ranking, collapse=collapse, method=method)
        return [arranged.why(item - 1) for item in items]

    def compare(self, query: Query, a: int, b: int, **options: Any) -> dict[str, float]:
        """Why item a is above item b: the differences of what each part added, largest first; they sum to that of the
        scores. The options are those of `explain`."""
        mine, theirs = self.explain(query, (a, b), **options)
        found = {name: mine.get(name, 0.0) - theirs.get(name, 0.0) for name in {**mine, **theirs}}
        return dict(sorted(found.items(), key=lambda part: -abs(part[1])))

    # Neighbours ------------------------------------------------------------------------------------------------------

    @property
    def neighbours_ready(self) -> bool:
        """Whether the neighbour graph is there for all items."""
        return self._graphs.complete(self.snapshot())

    def neighbours(self, progress: Callable[[int, int, str], None] = lambda *_: None) -> Neighbours:
        """The neighbour graph, built or brought up to date, and kept with the collection.

        It is made with the weights that the library started with, and anew when a model with other weights is in use.

        Parameters
        ----------
        progress : called with the number of items done, of all, and a text.
        """
        view = self._view()
        return self._graphs.build(view.snapshot, view.fused, progress)


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
