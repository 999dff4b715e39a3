"""The engine: search that explains itself and learns from every mark. It is composed of parts, each in its own file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from rankloom.collection import Collection, Mark, StoredMark, add_marks, learning_settings, saved, undo_mark
from rankloom.collection import concepts as stored_concepts
from rankloom.collection import models as stored_models
from rankloom.collection.marks import asked, last_mark, marks
from rankloom.collection.models import Model
from rankloom.collection.pictures import kept_picture
from rankloom.collection.query import Query
from rankloom.collection.saved import SavedSearch
from rankloom.core import FloatArray, RankingData
from rankloom.engine import models
from rankloom.engine.apart import ApartQuery
from rankloom.engine.concepts import ConceptInfo, concepts_of, load_concept, make_concept
from rankloom.engine.encoding import crop
from rankloom.engine.explanation import Explanation
from rankloom.engine.index import Index
from rankloom.engine.interleave import InterleavingResult, interleave, interleaving_results
from rankloom.engine.learning_curve import learning_curve
from rankloom.engine.neighbors import NeighborGraph
from rankloom.engine.online_weights import WeightState, online_ranker
from rankloom.engine.options import SearchOptions
from rankloom.engine.pipeline import Pipeline
from rankloom.engine.ranking import Ranking
from rankloom.engine.results import Results
from rankloom.engine.scorers import Scorer, WeightScorer
from rankloom.engine.snapshot import Snapshot
from rankloom.features import Features

if TYPE_CHECKING:
    from rankloom.concepts import Ranked
    from rankloom.evaluation import Comparison
    from rankloom.rankers import Ranker

_DEFAULT = SearchOptions()


class Engine:
    r"""Exact search over a collection that learns from every mark.

    The score of an item is \(\sum_e w_e \phi_e(q, p)\) over experts, with the online weights w that all marks have
    taught. Marks of the same query teach a kernel machine that works at once. With the neighbor graph an item also has
    a part in the scores of its neighbors: \(f = (I - \alpha S)^{-1} y\), y the scores of the best items.

    It may be used from several threads. Searching writes nothing to disk and never waits for learning.

    Parameters
    ----------
    collection : what is searched.
    weights : of the experts by name, before the first mark. Unless given those that a new collection starts with.
    index : "exact", "cascade", "faiss" (`rankloom.engine.index` says what they are), or an index of your own. Unless
        given a collection of more than 200,000 items is searched by a cascade, a smaller one exactly.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from PIL import Image
    >>> from rankloom.collection import Collection, Mark, index
    >>> place = tempfile.TemporaryDirectory()
    >>> pictures = pathlib.Path(place.name, "pictures")
    >>> pictures.mkdir()
    >>> for color in ("red", "orange", "blue"):
    ...     Image.new("RGB", (64, 48), color).save(pictures / f"{color}.png")
    >>> with Collection(pathlib.Path(place.name, "c"), create=True) as collection:
    ...     _ = index(collection, [pictures], preset="paper36", workers=0)
    ...     engine = Engine(collection)
    ...     query = Query("blue red")
    ...     before = [pathlib.Path(hit.path).name for hit in engine.search(query)]
    ...     _ = engine.feedback(query, [Mark(engine.search(query)[1].id, 1.0)])
    ...     after = [pathlib.Path(hit.path).name for hit in engine.search(query)]
    >>> before, after
    (['blue.png', 'red.png'], ['red.png', 'blue.png', 'orange.png'])
    >>> place.cleanup()
    """

    def __init__(
        self, collection: Collection, weights: Mapping[str, float] | None = None, *, index: Index | str | None = None
    ):
        self.collection = collection
        self._given = weights, index
        self.reopen()

    def reopen(self) -> None:
        """Forget all that was read, as the database was replaced; to be called while nobody searches or marks."""
        self._pipeline = Pipeline(self.collection, *self._given)
        self._encoder, self._weights = self._pipeline.encoder, self._pipeline.weights

    # Searching -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """What is in the collection now; searches look for changes themselves."""
        return self._pipeline.snapshots.current()

    def features(self, query: Query) -> Features:
        """The lazy matrix phi of a query: one row an item, one column an expert."""
        snapshot = self.snapshot()
        return self._encoder.encode(query, snapshot).features(snapshot)

    def scores(self, query: Query) -> FloatArray:
        """What the experts say of every item, without marks and neighbors."""
        return self._pipeline.base(query).scores

    def rank(self, query: Query, options: SearchOptions = _DEFAULT) -> Ranking:
        """All scores of a query and what they are made of."""
        return self._pipeline.rank(self._pipeline.view(), query, options)

    def search(self, query: Query, k: int = 20, options: SearchOptions = _DEFAULT) -> Results:
        """The best k items; with filters alone the items that pass them, the newest first.

        Parameters
        ----------
        query : words, examples, filters.
        k : how many hits.
        options : how to search.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k!r}")
        with self._weights.searches.running():
            return (self._pipeline.listed if query.lists else self._pipeline.search)(query, k, options)

    def uncertain(self, query: Query, n: int = 20, options: SearchOptions = _DEFAULT) -> Results:
        """The n items whose standing is most doubtful: nearest to where right and wrong meet, by the marks of the query
        or, without any, at the suggested end of its results. ValueError where nothing says where that is."""
        if query.lists:
            raise ValueError("nothing is in doubt in a list: give words or an example")
        with self._weights.searches.running():
            return self._pipeline.uncertain(query, n, options)

    def apart(self, query: Query) -> ApartQuery:
        """A search by example taken apart, so that rows are compared where they lie (`cluster.ShardedSearch`)."""
        return self._pipeline.apart(query)

    def explain(self, query: Query, items: Sequence[int], options: SearchOptions = _DEFAULT) -> list[Explanation]:
        """What each expert, mark, neighbor and reranker added to the scores of items: parts that sum to each of them.

        Parameters
        ----------
        query, options : of the search whose scores these are.
        items : any items, hits or not.
        """
        also = tuple(item - 1 for item in items if 1 <= item <= self.snapshot().n_items)
        ranking = self._pipeline.rank(self._pipeline.view(), query, options, also=also)
        for item in items:
            if not 1 <= item <= len(ranking.scores):
                raise KeyError(f"there is no item {item}")
        arranged = self._pipeline.arranged(ranking, replace(options, diversity=0.0), 1)
        return [arranged.why(item - 1) for item in items]

    def compare(self, query: Query, a: int, b: int, options: SearchOptions = _DEFAULT) -> Explanation:
        """Why item a is above item b: the differences of what each part added, largest first; they sum to theirs."""
        of_a, of_b = self.explain(query, (a, b), options)
        return of_a.minus(of_b)

    # Marks -----------------------------------------------------------------------------------------------------------

    def feedback(
        self, query: Query, given: Iterable[Mark | tuple[int, float]], user: str = "", *, shown: Sequence[int] = ()
    ) -> list[int]:
        """Take marks of hits, and learn from them; they are on disk when this returns their numbers.

        Parameters
        ----------
        query : what was asked.
        given : marks: grade 1 for right, 0 for wrong, any grade between or above.
        user : who marks.
        shown : the items in the order in which they were shown; unmarked ones above a right one were skipped.
        """
        self._encoder.encode(query, self.snapshot())  # a query that cannot be asked cannot be marked
        kept = self._encoder.kept(query)
        with self._weights.following():
            return add_marks(
                self.collection, kept.qid, [Mark(*mark) for mark in given], user,
                query=json.dumps(kept.to_json()), shown=list(shown),
            )  # fmt: skip

    def prefer(self, query: Query, better: int, worse: int, user: str = "") -> int:
        """Say that one item answers a query better than another."""
        return self.feedback(query, [Mark(better, 1.0, worse)], user)[0]

    def undo(self, query: Query | None = None, user: str = "", *, mark: int | None = None) -> int | None:
        """Undo a mark: the given one, or the last of the user, of a query if one is given; None if there is none.

        It restores the exact prior state.
        """
        mark = last_mark(self.collection, self._qid(query), user) if mark is None else mark
        if mark is None:
            return None
        with self._weights.following():
            return undo_mark(self.collection, mark).id

    def marks(self, query: Query | None = None, user: str | None = None) -> list[StoredMark]:
        """The active marks, of one query or user if given."""
        return marks(self.collection, self._qid(query), user)

    def contradicted(self, query: Query, user: str = "") -> frozenset[int]:
        """The marked items of a query of which the other marks say otherwise: worth a second look.

        Such a mark weighs little and does not hold its item at an end of the list. The same mark again confirms it.
        """
        return self.rank(query, SearchOptions(user=user, diffusion=False)).contradicted

    def _qid(self, query: Query | None) -> str | None:
        return None if query is None else self._encoder.keyed(query).qid

    def asked(self, qid: str) -> Query | None:
        """The query behind a name in the log of marks, if it has marks."""
        return asked(self.collection, qid)

    def learning_curve(self) -> list[dict[str, Any]]:
        """How the marked items of each judged query are ordered: at the start, and as learned before its first mark."""
        snapshot = self.snapshot()
        return learning_curve(self.collection, self._weights.phi(snapshot), self._weights.online(snapshot))

    # Weights ---------------------------------------------------------------------------------------------------------

    @property
    def weight_state(self) -> WeightState:
        """The weights of all experts: now, at the start, which are locked, and from how many marks."""
        return self._weights.state(self.snapshot())

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the experts now."""
        return dict(self._pipeline.view().weights)

    def set_weight(self, name: str, weight: float) -> None:
        """Set the weight of an expert by hand; it is locked then, learning leaves it alone."""
        learning_settings.lock_weight(self.collection, self._known(name), weight)

    def lock(self, name: str, locked: bool = True) -> None:
        """Keep the weight of an expert as it is now, or let it follow the marks again."""
        learning_settings.lock_weight(self.collection, self._known(name), self.weights[name] if locked else None)

    def learn_with(self, online: str) -> None:
        """Choose the online ranker that follows every mark: opr, opar1 (at first), opar2, ogdr or arow.

        All marks are learned again with it.
        """
        online_ranker(online)  # refuses what does not learn so
        with self._weights.following():
            learning_settings.set_online_ranker(self.collection, online)

    def reset_weights(self) -> None:
        """Let the weights start again; marks up to now teach them nothing more, but are kept."""
        with self._weights.following():
            learning_settings.restart_learning(self.collection)

    def _known(self, name: str) -> str:
        names = self.snapshot().names
        if name not in names:
            raise ValueError(f"there is no expert {name!r}; the experts are {', '.join(names)}")
        return name

    # Pictures and saved searches -------------------------------------------------------------------------------------

    def upload(self, image: NDArray[Any], region: tuple[float, float, float, float] | None = None) -> str:
        """Keep a picture, or a region of it, for queries, `Example(picture=key)`; returns its key."""
        part = image if region is None else crop(image, region)
        return self._encoder.keep(part, sorted(self.snapshot().vectors))

    def picture(self, key: str) -> bytes:
        """A kept picture as a JPEG."""
        return kept_picture(self.collection, key).jpeg

    def saved(self, user: str = "") -> list[SavedSearch]:
        """The saved searches of a user."""
        return saved.saved_searches(self.collection, user)

    def save_search(self, name: str, query: Query, user: str = "") -> None:
        """Keep a query by a name; one of the same name is replaced."""
        saved.save_search(self.collection, name, self._encoder.kept(query), user)

    def forget_search(self, name: str, user: str = "") -> None:
        """Delete a saved search."""
        saved.forget_search(self.collection, name, user)

    # Concepts --------------------------------------------------------------------------------------------------------

    def concepts(self) -> list[ConceptInfo]:
        """The concepts of the collection."""
        return concepts_of(self.collection)

    def train_concept(
        self, name: str, positive: Sequence[int], negative: Sequence[int] | None = None, *, method: str = "linear"
    ) -> ConceptInfo:
        """Make a detector from items, whose score is an expert that needs no query.

        Parameters
        ----------
        name : letters, digits, spaces.
        positive, negative : items that show it, and that do not; without the latter, other items are taken for them.
        method : "linear" on the semantic descriptor, or "cascade" over all descriptors.
        """
        vectors = self.snapshot().vectors
        with self._weights.following():
            return make_concept(self.collection, name, positive, negative, method=method, vectors=vectors)

    def rank_concept(self, name: str, k: int = 20) -> Ranked:
        """The best items of a concept; a cascade asks most of its models of few items only."""
        snapshot = self.snapshot()
        return load_concept(self.collection, name).rank(snapshot.vectors, k, self._pipeline.shown(snapshot))

    def drop_concept(self, name: str) -> None:
        """Delete a concept."""
        with self._weights.following():
            stored_concepts.drop_concept(self.collection, name)

    # Models ----------------------------------------------------------------------------------------------------------

    def judged(self) -> RankingData:
        """All active marks, as rows of phi with grades and queries."""
        return models.judged_rows(self.collection, self._weights.phi(self.snapshot()))

    def train(self, ranker: str = "rlr", params: Mapping[str, Any] | None = None) -> Model:
        """Fit any ranker on all marks; it is put in use unless it is worse on queries left out than what is in use.

        Parameters
        ----------
        ranker, params : a short name of `RANKERS` and its parameters.
        """
        view = self._pipeline.view()
        scorer = view.scorer_for(Query())
        with self._weights.following():
            return models.train_model(self.collection, self.judged(), scorer, view.weights, ranker, params)

    def models(self) -> list[Model]:
        """All versions, oldest first."""
        return stored_models.list_models(self.collection)

    def compare_models(self, numbers: Sequence[int] = ()) -> Comparison:
        """Compare models (all unless given) and the online weights on all marks: AP of each query."""
        data = self.judged()
        numbers = [*numbers] or [model.id for model in self.models()]
        scorers: dict[str, Scorer] = {"library": WeightScorer(self.weights)}
        scorers |= {f"model {number}": models.load_scorer(self.collection, number) for number in numbers}
        return models.compare_scorers(data, scorers)

    def ranker(self, number: int | None = None) -> Ranker:
        """The ranker of a model, to be saved; None for the online weights, as a linear ranker."""
        if number is not None:
            return models.load_scorer(self.collection, number).ranker
        weights = self.weights
        return models.linear_ranker([*weights], [*weights.values()])

    def use(self, number: int | None) -> None:
        """Put a version in use; None for the online weights."""
        with self._weights.following():
            stored_models.use_model(self.collection, number)

    def rollback(self) -> int | None:
        """Return to what was in use before; returns its number."""
        with self._weights.following():
            return stored_models.roll_back(self.collection)

    def interleave(self, query: Query, against: int | None, k: int = 20, user: str = "") -> Results:
        """The hits of what is in use and of another model as one list, fairly mixed; marks then say which is better.

        Parameters
        ----------
        query : what is looked for.
        against : a model; None for the online weights.
        k : how many hits.
        user : who searches.
        """
        return interleave(self.collection, self._pipeline, query, against, k, user)

    def interleaving_results(self) -> list[InterleavingResult]:
        """Which of two models people prefer, by the marks of interleaved lists; it may be read at any time."""
        return interleaving_results(self.collection)

    # Keeping up ------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Wait until every mark is learned, also those that are replayed in the background or of other processes."""
        self._weights.settle()

    @property
    def graph_ready(self) -> bool:
        """Whether the neighbor graph is there for all items."""
        return self._pipeline.diffusion.complete(self.snapshot())

    def refresh(self, progress: Callable[[int, int, str], None] = lambda done, total, text: None) -> NeighborGraph:
        """Bring neighbor graph, online weights and the map of words up to date, and keep all with the collection.

        The graph is made with the weights of the start, and anew when a model with other weights is in use.

        Parameters
        ----------
        progress : called with the number of items done, of all, and a text.
        """
        return self._pipeline.refresh(progress)
