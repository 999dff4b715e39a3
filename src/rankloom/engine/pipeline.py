"""The way of a query to its hits: encoded, scored, judged, diffused, arranged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection, Item
from rankloom.collection.derived import store_learned
from rankloom.collection.filtering import allowed_by, newest_first
from rankloom.collection.marks import marks
from rankloom.collection.query import Filters, Query
from rankloom.collection.verify import unsound_vectors
from rankloom.core import FloatArray, IntArray, Remembered
from rankloom.engine import cascade
from rankloom.engine.apart import ApartQuery, take_apart
from rankloom.engine.arrangement import Arranged, Arrangement
from rankloom.engine.cutoff import LOOKED_AT, count_likely, suggest_cutoff
from rankloom.engine.diffusion import Diffusion
from rankloom.engine.encoding import ExampleEncoder
from rankloom.engine.explanation import Explanation
from rankloom.engine.feedback import Judgements, RelevanceFeedback, mark_offsets
from rankloom.engine.index import Index, make_index
from rankloom.engine.models import load_scorer
from rankloom.engine.neighbors import NeighborGraph
from rankloom.engine.options import SearchOptions
from rankloom.engine.ranking import Ranking
from rankloom.engine.results import Results, SearchHit
from rankloom.engine.scoring import BaseScores, Request, Scoring
from rankloom.engine.similarity import Distances, Similarities
from rankloom.engine.snapshot import Snapshot, SnapshotSource
from rankloom.engine.uncertainty import UNKNOWN, Border, find_border, most_uncertain
from rankloom.engine.view import View, for_query
from rankloom.engine.weights import WeightSource

_ITEMS = 20_000  # whose files are remembered


@dataclass(frozen=True, eq=False)
class _Found:
    """A search before its results are shown: its scores, the items that may be results, the first of them in order,
    after which of them the rest is probably not it, and where right and wrong meet."""

    ranking: Ranking
    allowed: NDArray[np.bool_]
    arranged: Arranged
    cutoff: int | None
    border: Border | None


class Pipeline:
    """The parts of an engine in the order in which a query passes them; `Engine` says what the parameters are."""

    def __init__(self, collection: Collection, weights: Mapping[str, float] | None, index: Index | str | None):
        self._collection = collection
        self.snapshots = SnapshotSource(collection)
        self.encoder = ExampleEncoder(collection)
        self.weights = WeightSource(collection, self.snapshots, self.encoder, weights)
        distances = Distances()
        self.scoring = Scoring(distances, make_index(index, collection))
        self.similarities = Similarities(distances)
        self.feedback = RelevanceFeedback(self.similarities)
        self.diffusion = Diffusion(collection)
        self.arrangement = Arrangement(collection, self.similarities)
        self._items: Remembered[Item] = Remembered(_ITEMS)

    def view(self) -> View:
        """The items and the weights of this moment."""
        return self.weights.view(self.snapshots.current())

    def base(self, query: Query) -> BaseScores:
        """What the experts say of every item, without marks and neighbors."""
        view = self.view()
        encoded = self.encoder.encode(query, view.snapshot)
        nothing, everything = Judgements({}, []), np.ones(view.snapshot.n_items, dtype=bool)
        scorer = view.scorer_for(encoded.query)
        return self._scored(view, Request(encoded, scorer, view.key, nothing, everything, exact=True))

    def _scored(self, view: View, request: Request) -> BaseScores:
        """What the experts say; an error that damaged vectors are behind of says so."""
        try:
            base = self.scoring.scores(view, request)
            sound = bool(np.isfinite(base.scores).all())
        except ValueError as error:
            raise ValueError(unsound_vectors(self._collection) or str(error)) from error
        if not sound:
            raise ValueError(unsound_vectors(self._collection) or "the scores are not finite: check the weights")
        return base

    def rank(
        self,
        view: View,
        query: Query,
        options: SearchOptions,
        *,
        model: int | None = None,
        also: tuple[int, ...] = (),
        exact: bool = False,
    ) -> Ranking:
        """All scores of a query in one view of the collection.

        Parameters
        ----------
        view : the items and the weights.
        query, options : what is asked for, and how.
        model : another model than that in use.
        also : rows that are scored whatever the index chooses.
        exact : score all items, whatever the index would choose.
        """
        snapshot = view.snapshot
        encoded = self.encoder.encode(query, snapshot)
        query = encoded.query
        scorer, key = view.scorer_for(query), view.key
        if model is not None:
            scorer, key = for_query(load_scorer(self._collection, model), query, snapshot), (snapshot.content, model)
        given = marks(self._collection, query.qid, options.user) if options.feedback else []
        judgements = Judgements.of(given, snapshot.n_items)
        eligible = self._eligible(snapshot, query, judgements)
        base = self._scored(view, Request(encoded, scorer, key, judgements, eligible, also, exact))
        feedback = self.feedback.fit(view, encoded, judgements, base.scores, base.rows)
        scores = base.scores if feedback is None else feedback.scores(base.scores)
        diffused, contradicted = None, frozenset[int]() if feedback is None else feedback.contradicted
        if options.diffusion and (feedback is not None or any(example.weight > 0 for example in query.examples)):
            wrong, judged = judgements.rows(right=False, without=contradicted), feedback is not None
            diffused = self.diffusion.diffuse(view, scores, base.scored, barred=wrong, judged=judged)
        offsets = mark_offsets(judgements, scores if diffused is None else diffused.total, contradicted)
        return Ranking(view, encoded, judgements, eligible, scorer, base, feedback, scores, diffused, offsets)

    def _eligible(self, snapshot: Snapshot, query: Query, judgements: Judgements) -> NDArray[np.bool_]:
        """Which items there are, without those that have a minus word or do not pass the filters."""
        filtered = allowed_by(self._collection, query.filters, snapshot.n_items)
        if query.filters.marked is not None:
            filtered &= np.isin(np.arange(snapshot.n_items), judgements.rows()) == query.filters.marked
        return np.asarray(snapshot.present & ~snapshot.excluded(query.text) & filtered)

    def apart(self, query: Query) -> ApartQuery:
        """A search by example, without its marks and neighbors, as rows that lie elsewhere are asked it."""
        view = self.view()
        encoded = self.encoder.encode(query, view.snapshot)
        eligible = self._eligible(view.snapshot, encoded.query, Judgements({}, []))
        learned = self.scoring.learned(view.snapshot, view.scorer_for(encoded.query))
        return take_apart(view, encoded, eligible, learned)

    def shown(self, snapshot: Snapshot) -> IntArray:
        """The rows of items that have a file and are not hidden."""
        return np.flatnonzero(snapshot.present & allowed_by(self._collection, Filters(), snapshot.n_items))

    def allowed(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Which items may be hits."""
        snapshot = ranking.view.snapshot
        reach = snapshot.words_reach_pictures or bool(self.encoder.text_encoders(snapshot))
        return ranking.allowed(reach)

    def arranged(self, ranking: Ranking, options: SearchOptions, n_first: int) -> Arranged:
        """The first hits of a ranking in their order."""
        return self.arrangement.arrange(ranking, self.allowed(ranking), options, n_first)

    def search(self, query: Query, k: int, options: SearchOptions) -> Results:
        """The best k items."""
        found = self._found(query, options.offset + k, options)
        return self._results(found, found.arranged.order[options.offset : options.offset + k], options)

    def uncertain(self, query: Query, n: int, options: SearchOptions) -> Results:
        """The n items whose standing is most doubtful, the most doubtful first."""
        found = self._found(query, n, options)
        if found.border is None:
            raise ValueError(UNKNOWN)
        rows = most_uncertain(found.ranking, found.border, found.allowed, n)
        if options.collapse:
            rows, _ = self.arrangement.collapse(rows, found.ranking.view.snapshot)
        return replace(self._results(found, rows, options), total=len(rows), cutoff=None, likely=None)

    def _found(self, query: Query, n: int, options: SearchOptions) -> _Found:
        """The scores of a search and its first n items."""
        view = self.view()
        ranking = self.rank(view, query, options)
        allowed = self.allowed(ranking)
        if np.count_nonzero(allowed) < n and not ranking.complete:
            ranking = self.rank(view, query, options, exact=True)  # so far down nothing was looked at
            allowed = self.allowed(ranking)
        arranged = self.arrangement.arrange(ranking, allowed, options, max(n, LOOKED_AT))
        order, plain = arranged.order, options.method == "experts" and not options.diversity
        cutoff = suggest_cutoff(order, arranged.others, arranged.n_results, ranking) if plain else None
        return _Found(ranking, allowed, arranged, cutoff, find_border(ranking, order, cutoff))

    def _results(self, found: _Found, shown: IntArray, options: SearchOptions) -> Results:
        """Some rows of a search as its results."""
        ranking, arranged, cutoff = found.ranking, found.arranged, found.cutoff
        likely = None if cutoff is None else count_likely(arranged.total[arranged.order[:cutoff]])
        literal = ranking.literal if ranking.encoded.query.text.strip() else None
        grades, others = ranking.judgements.grades, arranged.others
        hits = self.hits(ranking.view.snapshot, shown, options.offset, arranged.scores)
        if options.explain or grades or others or literal is not None:
            hits = [
                hit._replace(
                    why=arranged.why(hit.id - 1) if options.explain else None,
                    mark=grades.get(hit.id),
                    duplicates=tuple(others.get(hit.id - 1, ())),
                    literal=None if literal is None else bool(literal[hit.id - 1]),
                    contradicted=hit.id in ranking.contradicted,
                )
                for hit in hits
            ]
        diffused, learning = ranking.diffused is not None, ranking.view.learning
        n_literal = None if literal is None else int(literal[found.allowed].sum())
        in_texts, in_tags = (None, None) if literal is None else ranking.n_with_words
        return Results(
            tuple(hits), arranged.n_results, cutoff, diffused, ranking.judgements.n_marks,
            learning=learning, literal=n_literal, in_texts=in_texts, in_tags=in_tags, likely=likely,
            contradicted=len(ranking.contradicted), bordered=found.border is not None,
        )  # fmt: skip

    def hits(
        self, snapshot: Snapshot, rows: IntArray, offset: int = 0, total: FloatArray | None = None
    ) -> list[SearchHit]:
        """Rows as hits, with their scores if given."""
        ids = (rows + 1).tolist()
        items = self._items.get(snapshot.state.changes, ids, self._read_items)
        scores = [0.0] * len(ids) if total is None else total[rows].tolist()
        return [
            SearchHit.of(rank, items[number], score)
            for rank, (number, score) in enumerate(zip(ids, scores, strict=True), offset + 1)
        ]

    def _read_items(self, ids: list[int]) -> dict[int, Item]:
        return {item.id: item for item in self._collection.items(ids)}

    def refresh(self, progress: Callable[[int, int, str], None]) -> NeighborGraph:
        """Bring what is learned and derived up to date on disk; the neighbor graph is returned."""
        store_learned(self._collection, progress)
        self.weights.settle(store=True)
        cascade.bring_up_to_date(self._collection, self.view(), progress)
        return self.diffusion.build(self.view(), progress)

    def listed(self, query: Query, k: int, options: SearchOptions) -> Results:
        """The items that pass the filters, the newest first; nothing ranks them, so each has the score 0."""
        if options.method != "experts" or options.diversity:
            raise ValueError("method and diversity arrange ranked results: give words or an example, too")
        snapshot = self.snapshots.current()
        order = newest_first(self._collection, query.filters, snapshot.n_items)
        order = order[snapshot.present[order]]
        others: dict[int, list[int]] = {}
        if options.collapse:
            order, others = self.arrangement.collapse(order, snapshot)
        why = Explanation() if options.explain else None
        hits = self.hits(snapshot, order[options.offset : options.offset + k], options.offset)
        listed = (hit._replace(why=why, duplicates=tuple(others.get(hit.id - 1, ()))) for hit in hits)
        return Results(tuple(listed), len(order))
