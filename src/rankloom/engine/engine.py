"""The engine: search that learns from every mark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Mark, StoredMark, add_marks, take_back
from rankloom.collection.marks import asked, last_mark, now
from rankloom.collection.marks import marks as stored_marks
from rankloom.collection.names import check_name
from rankloom.collection.query import Query
from rankloom.core import RankingData
from rankloom.engine import models
from rankloom.engine.answers import Answer, Found
from rankloom.engine.concepts import ConceptInfo, concepts_of, drop_concept, load_concept, make_concept
from rankloom.engine.curve import learning_curve
from rankloom.engine.drafts import DraftResult, draft_results, keep_draft
from rankloom.engine.library import online_ranker
from rankloom.engine.models import Model
from rankloom.engine.pictures import kept_thumbnail
from rankloom.engine.scorers import Scorer, WeightScorer
from rankloom.engine.searching import SearchEngine
from rankloom.engine.suggesting import most_telling
from rankloom.evaluation.interleaving import team_draft
from rankloom.evaluation.significance import Comparison
from rankloom.rankers import Ranker

if TYPE_CHECKING:
    from rankloom.concepts import Ranked

__all__ = ["Engine", "SavedSearch"]


class SavedSearch(NamedTuple):
    """A query with a name."""

    name: str
    query: Query
    user: str
    at: str


class Engine(SearchEngine):
    r"""Exact search over a collection that learns from every mark.

    The score of an item is \(\sum_e w_e \phi_e(q, p)\) over experts, with the library weights w that all marks have
    taught. Marks of the same query teach a kernel machine that works at once. With the neighbour graph an item also
    has a part in the scores of its neighbours: \(f = (I - \alpha S)^{-1} y\), y the scores of the best items.

    It may be used from several threads.

    Parameters
    ----------
    collection : what is searched.
    weights : of the experts by name, before the first mark. Unless given those that a new collection starts with.
    index : chooses the items that are scored; all of them unless given.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from PIL import Image
    >>> from rankloom.collection import Collection, Mark, index
    >>> place = tempfile.TemporaryDirectory()
    >>> pictures = pathlib.Path(place.name, "pictures")
    >>> pictures.mkdir()
    >>> for colour in ("red", "orange", "blue"):
    ...     Image.new("RGB", (64, 48), colour).save(pictures / f"{colour}.png")
    >>> with Collection(pathlib.Path(place.name, "c"), create=True) as collection:
    ...     _ = index(collection, [pictures], preset="paper36", workers=0)
    ...     engine = Engine(collection)
    ...     query = Query("blue red")
    ...     before = [pathlib.Path(found.path).name for found in engine.search(query)]
    ...     _ = engine.feedback(query, [Mark(engine.search(query)[1].id, 1.0)])
    ...     after = [pathlib.Path(found.path).name for found in engine.search(query)]
    >>> before, after
    (['blue.png', 'red.png'], ['red.png', 'blue.png', 'orange.png'])
    >>> place.cleanup()
    """

    # Marks -----------------------------------------------------------------------------------------------------------

    def feedback(
        self, query: Query, given: Iterable[Mark | tuple[int, float]], user: str = "", *, shown: Sequence[int] = ()
    ) -> list[int]:
        """Take marks of results; they are on disk when this returns their numbers.

        Parameters
        ----------
        query : what was asked.
        given : marks: grade 1 for right, 0 for wrong, any grade between or above.
        user : who marks.
        shown : the items in the order in which they were shown; those above a right one that stay unmarked were
            passed over.
        """
        self.features(self._examples.keyed(query))  # a query that cannot be asked cannot be marked
        kept = self._examples.keyed(query, keep=True)
        wanted = [Mark(*one) for one in given]
        return add_marks(self.collection, kept.qid, wanted, user, query=json.dumps(kept.to_json()), shown=list(shown))

    def prefer(self, query: Query, better: int, worse: int, user: str = "") -> int:
        """Say that one item answers a query better than another."""
        return self.feedback(query, [Mark(better, 1.0, worse)], user)[0]

    def undo(self, query: Query | None = None, user: str = "", *, mark: int | None = None) -> int | None:
        """Take back a mark: the given one, or the last of the user, of a query if one is given; None if there is none.

        It is then as if it had never been given.
        """
        if mark is None:
            qid = None if query is None else self._examples.keyed(query).qid
            mark = last_mark(self.collection, qid, user)
            if mark is None:
                return None
        take_back(self.collection, mark)
        return mark

    def marks(self, query: Query | None = None, user: str | None = None) -> list[StoredMark]:
        """The marks that stand, of one query or user if given."""
        return stored_marks(self.collection, None if query is None else self._examples.keyed(query).qid, user)

    def asked(self, qid: str) -> Query | None:
        """The query behind a name in the log of marks, if it has marks."""
        return asked(self.collection, qid)

    def upload(self, image: NDArray[Any]) -> str:
        """Keep a picture for queries, `Example(picture=key)`; returns its key."""
        return self._examples.keep(image, sorted(self.snapshot().vectors))

    # Settings, models, concepts --------------------------------------------------------------------------------------

    def set_weight(self, name: str, value: float) -> None:
        """Set the weight of an expert by hand; it is locked then, learning leaves it alone."""
        self._settings.lock(self._known(name), value)

    def lock(self, name: str, locked: bool = True) -> None:
        """Keep the weight of an expert as it is now, or let it follow the marks again."""
        self._settings.lock(self._known(name), self.weights[name] if locked else None)

    def learn_with(self, online: str) -> None:
        """Choose the online ranker that follows every mark: opr, opar1 (at first), opar2, ogdr or arow.

        All marks are learned again with it.
        """
        online_ranker(online)  # refuses what does not learn so
        self._settings.learn_with(online)

    def reset_library(self) -> None:
        """Let the library weights start again; marks up to now teach them nothing more, but are kept."""
        self._settings.start_again()

    def _known(self, name: str) -> str:
        names = self.snapshot().names
        if name not in names:
            raise ValueError(f"there is no expert {name!r}; the experts are {', '.join(names)}")
        return name

    def saved(self, user: str = "") -> list[SavedSearch]:
        """The saved searches of a user."""
        rows = self.collection.db.execute(
            "SELECT name, query, user, at FROM saved WHERE user = ? ORDER BY name", (user,)
        ).fetchall()
        return [SavedSearch(name, Query.from_json(json.loads(query)), who, at) for name, query, who, at in rows]

    def save_search(self, name: str, query: Query, user: str = "") -> None:
        """Keep a query by a name; one of the same name is replaced."""
        check_name(name, "a saved search")
        kept = json.dumps(self._examples.keyed(query, keep=True).to_json())
        with self.collection.transaction() as db:
            db.execute("INSERT OR REPLACE INTO saved VALUES (?, ?, ?, ?)", (user, name, kept, now()))

    def forget_search(self, name: str, user: str = "") -> None:
        """Forget a saved search."""
        with self.collection.transaction() as db:
            if not db.execute("DELETE FROM saved WHERE user = ? AND name = ?", (user, name)).rowcount:
                raise ValueError(f"there is no saved search {name!r}")

    def picture(self, key: str) -> bytes:
        """A kept picture as a JPEG."""
        return kept_thumbnail(self.collection, key)

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
        snapshot = self.snapshot()
        for item in (*positive, *(negative or ())):
            if not 1 <= item <= snapshot.n_items:
                raise ValueError(f"there is no item {item}")
        make_concept(self.collection, name, positive, negative, method=method, vectors=snapshot.vectors)
        return next(one for one in self.concepts() if one.name == name)

    def rank_concept(self, name: str, k: int = 20) -> Ranked:
        """The best items of a concept; a cascade asks most of its models of few items only."""
        snapshot = self.snapshot()
        return load_concept(self.collection, name).rank(snapshot.vectors, k, np.flatnonzero(snapshot.present))

    def drop_concept(self, name: str) -> None:
        """Forget a concept."""
        drop_concept(self.collection, name)

    # Models ----------------------------------------------------------------------------------------------------------

    def judged(self) -> RankingData:
        """All marks that stand, as rows of phi with grades and queries."""
        return models.judged(self.collection, self._phi(self.snapshot()))

    def train(self, ranker: str = "rlr", params: Mapping[str, Any] | None = None) -> Model:
        """Fit any ranker on all marks; it is put in use unless it is worse on queries left out than what is in use.

        Parameters
        ----------
        ranker, params : a short name of `RANKERS` and its parameters.
        """
        view = self._view()
        scorer = view.scorer(Query())
        return models.train_model(self.collection, self.judged(), scorer, view.weights, ranker, params)

    def models(self) -> list[Model]:
        """All versions, oldest first."""
        return models.list_models(self.collection)

    def compare_models(self, numbers: Sequence[int] = ()) -> Comparison:
        """Compare models (all unless given) and the library weights on all marks: AP of each query."""
        data = self.judged()
        wanted = [*numbers] or [one.id for one in self.models()]
        scorers: dict[str, Scorer] = {"library": WeightScorer(self.weights)}
        scorers |= {f"model {number}": models.load_scorer(self.collection, number) for number in wanted}
        return models.compare_scorers(data, scorers)

    def ranker(self, number: int | None = None) -> Ranker:
        """The ranker of a model, to be saved; None for the library weights, as a linear ranker."""
        if number is not None:
            return models.load_scorer(self.collection, number).ranker
        weights = self.weights
        return models.linear_ranker([*weights], [*weights.values()])

    def use(self, number: int | None) -> None:
        """Put a version in use; None for the weights that follow every mark from the start."""
        models.use_model(self.collection, number)

    def rollback(self) -> int | None:
        """Return to what was in use before; returns its number."""
        return models.roll_back(self.collection)

    def interleave(self, query: Query, against: int | None, k: int = 20, user: str = "") -> Answer:
        """The results of what is in use and of another model as one list, fairly mixed; marks then say which is better.

        Parameters
        ----------
        query : what is looked for.
        against : a model; None for the library weights.
        k : how many results.
        user : who searches.
        """
        used = models.model_in_use(self.collection)
        if against == used:
            raise ValueError("a model cannot be compared with itself: it is the one in use")
        kept = self._examples.keyed(query, keep=True)
        view = self._view()
        rankings = [
            self._rank(view, kept, user),
            self._rank(replace(view, model=(None, None)), kept, user)
            if against is None
            else self._rank(view, kept, user, model=against),
        ]
        lists = [(self._ordered(ranking)[0][: 2 * k] + 1).tolist() for ranking in rankings]
        items, teams = team_draft(lists[0], lists[1], k)
        number = keep_draft(self.collection, kept.qid, user, (used, against), items, teams)
        total = rankings[0].total
        found = tuple(
            Found(place, item.id, item.path, float(total[item.id - 1]), item.start, item.end, team=int(team))
            for place, (item, team) in enumerate(zip(self.collection.items(items), teams, strict=True), 1)
        )
        return Answer(found, len(lists[0]), draft=number)

    def draft_results(self) -> list[DraftResult]:
        """Which of two models people prefer, by the marks of interleaved lists; valid whenever one looks."""
        return draft_results(self.collection)

    # What to ask -----------------------------------------------------------------------------------------------------

    def suggest(
        self, query: Query, n: int = 5, user: str = "", *, diffusion: bool = True, follow: bool = True
    ) -> Answer:
        """The items whose mark would teach most: those of which it is least sure, and unlike each other.

        Parameters
        ----------
        query : what is looked for.
        n : how many.
        user : whose marks are followed.
        diffusion, follow : as for `search`.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n!r}")
        ranking = self.rank(query, user=user, diffusion=diffusion, follow=follow)
        allowed = self._allowed(ranking)
        allowed[[item - 1 for item in ranking.told.grades]] = False
        chosen = most_telling(ranking, allowed, n, lambda row: self._column(ranking.view, row + 1))
        total = ranking.total
        found = tuple(
            Found(place, item.id, item.path, float(total[item.id - 1]), item.start, item.end)
            for place, item in enumerate(self.collection.items((chosen + 1).tolist()), 1)
        )
        return Answer(found, int(allowed.sum()), None, ranking.spread is not None, ranking.told.n_marks)

    def learning_curve(self) -> list[dict[str, Any]]:
        """For every judged query in order how its marked items are ordered: by the starting weights and by those that
        were learned before its first mark."""
        view = self._view()
        assert self._library is not None
        return learning_curve(self.collection, self._phi(view.snapshot), self._library)
