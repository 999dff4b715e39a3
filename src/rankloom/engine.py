"""The engine: a collection, its experts and their weights answer queries, and say why."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.core import FloatArray, IntArray
from rankloom.experts import Sighting, expert_features, experts_of, measure_scales
from rankloom.features import Features
from rankloom.neighbours import Neighbours, build_neighbours
from rankloom.priors import prior_weights
from rankloom.queries import Example, Filters, Query
from rankloom.text import TextIndex

__all__ = ["Engine", "Found"]

TEXT, TAGS = "text.bm25", "tags.bm25"
ALPHA = 0.9
NEIGHBOURS = 10


class Found(NamedTuple):
    """A result: place, item, file, score; times of a shot; and what each expert and neighbour added."""

    rank: int
    id: int
    path: str
    score: float
    start: float | None
    end: float | None
    why: dict[str, float] | None


class Engine:
    r"""Exact search over a collection.

    The score of an item is \(\sum_e w_e \phi_e(q, p)\) over experts. With the neighbour graph it is what the query says
    of the item and of its neighbours: \(f = (I - \alpha S)^{-1} y\), y the scores of the nearest items to the query.

    Parameters
    ----------
    collection : what is searched.
    weights : of the experts by name. Unless given those that a new collection starts with.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from PIL import Image
    >>> from rankloom.collection import index
    >>> place = tempfile.TemporaryDirectory()
    >>> pictures = pathlib.Path(place.name, "pictures")
    >>> pictures.mkdir()
    >>> for colour in ("red", "orange", "blue"):
    ...     Image.new("RGB", (64, 48), colour).save(pictures / f"{colour}.png")
    >>> with Collection(pathlib.Path(place.name, "c"), create=True) as collection:
    ...     _ = index(collection, [pictures], preset="paper36", workers=0)
    ...     engine = Engine(collection)
    ...     [pathlib.Path(found.path).name for found in engine.search(Query("blue"), k=1)]
    ['blue.png']
    >>> place.cleanup()
    """

    def __init__(self, collection: Collection, weights: Mapping[str, float] | None = None):
        self.collection = collection
        self._given = weights
        self._state: tuple[int, ...] | None = None
        self._graph: tuple[Neighbours, Any] | None = None  # with its operator

    def refresh(self) -> None:
        """See what was indexed since; searches do this themselves."""
        texts = self.collection.db.execute("SELECT count(*), coalesce(max(rowid), 0) FROM texts").fetchone()
        state = (len(self.collection), *texts)
        if state == self._state:
            return
        stored = self.collection.descriptors()
        self.n_items = len(self.collection)
        self.vectors: dict[str, NDArray[Any]] = {
            one.name: self.collection.vectors(one.name) for one in stored if one.rows >= self.n_items
        }
        self.experts = experts_of(sorted(self.vectors))
        self.present = self.collection.present()
        self.scales = {name: measure_scales(vectors, self.present) for name, vectors in self.vectors.items()}
        self.weights = dict(prior_weights(self.vectors) if self._given is None else self._given)
        rows = self.collection.db.execute("SELECT item, source, text FROM texts").fetchall()
        people = ((item, text) for item, source, text in rows if source != "tag")
        self.text = TextIndex.build(people, self.n_items)
        self.tags = TextIndex.build(((item, text) for item, source, text in rows if source == "tag"), self.n_items)
        self._graph = None
        self._state = state

    # Queries ---------------------------------------------------------------------------------------------------------

    def features(self, query: Query) -> Features:
        """The lazy matrix phi of a query: one row an item, one column an expert."""
        if not query.text.strip() and not query.examples:
            raise ValueError("the query is empty: give words or an example")
        self.refresh()
        sightings = [self._sighting(example) for example in query.examples]
        visual = expert_features(self.experts, self.vectors, self.scales, sightings, self.n_items)
        columns: dict[str, Any] = {
            expert.name: partial(visual.column, place) for place, expert in enumerate(self.experts)
        }
        for name, texts in ((TEXT, self.text), (TAGS, self.tags)):
            columns[name] = _TextColumn(texts, query, self.n_items)
        return Features(columns, n_rows=self.n_items)

    def _sighting(self, example: Example) -> Sighting:
        if example.item is not None:
            if not 1 <= example.item <= self.n_items:
                raise ValueError(f"there is no item {example.item}")
            vectors = {name: np.asarray(found[example.item - 1]) for name, found in self.vectors.items()}
            return Sighting(vectors, example.weight)
        from rankloom.collection.settings import describe_picture
        from rankloom.media import read_image

        image = example.image if example.path is None else read_image(example.path)
        assert image is not None
        if example.region is not None:
            height, width = image.shape[:2]
            left, top, right, bottom = example.region
            image = image[
                int(top * height) : max(int(np.ceil(bottom * height)), int(top * height) + 1),
                int(left * width) : max(int(np.ceil(right * width)), int(left * width) + 1),
            ]
        return Sighting(describe_picture(self.collection, image, sorted(self.vectors)), example.weight)

    def _weight_vector(self, names: list[str]) -> FloatArray:
        return np.array([self.weights.get(name, 0.0) for name in names])

    def scores(self, query: Query) -> FloatArray:
        """The weighted sum of all experts for every item, without neighbours."""
        return self._weighted(self.features(query))

    def _weighted(self, lazy: Features) -> FloatArray:
        total = np.zeros(self.n_items)
        for place, weight in enumerate(self._weight_vector(lazy.names)):
            if weight != 0:
                total += weight * lazy.column(place)
        return total

    def search(self, query: Query, k: int = 20, *, diffusion: bool = True, explain: bool = False) -> list[Found]:
        """The best k items.

        Parameters
        ----------
        query : words, examples, filters.
        k : how many results.
        diffusion : whether neighbours count, where there are enough items.
        explain : whether results say what each expert and neighbour added.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k!r}")
        lazy = self.features(query)
        base = self._weighted(lazy)
        allowed = self.present & self._allowed(query.filters)
        for texts in (self.text, self.tags) if query.text.strip() else ():
            allowed &= ~texts.excluded(query.text, self.n_items)
        total, parts = base, None
        if diffusion and self.present.sum() > 3 * NEIGHBOURS and query.examples:
            total, parts = self._diffused(base)
        if not query.examples:
            allowed &= base > 0  # words that an item does not have are no evidence for it
        rows = np.flatnonzero(allowed)
        best = rows[np.lexsort((rows, -total[rows]))][:k]
        items = {item.id: item for item in self.collection.items((best + 1).tolist())}
        return [
            Found(rank, row + 1, items[row + 1].path, float(total[row]), items[row + 1].start, items[row + 1].end,
                  self._why(lazy, row, parts) if explain else None)
            for rank, row in enumerate(best.tolist(), 1)
        ]  # fmt: skip

    def _why(self, lazy: Features, row: int, parts: _Parts | None) -> dict[str, float]:
        """What each expert and each neighbour added; it sums to the score."""
        share = 1.0 if parts is None else parts.share
        shift = 0.0 if parts is None else parts.floor
        why: dict[str, float] = {}
        inside = parts is None or parts.start[row] > 0
        tiny = 0.0 if parts is None else parts.tiny
        for place, weight in enumerate(self._weight_vector(lazy.names)):
            added = weight * float(lazy.column(place, [row])[0])
            if added:
                why[lazy.names[place]] = added * (share * inside + tiny)
        if parts is not None:
            if inside:
                why["nearer than the rest"] = -shift * share
            neighbours = parts.operator[[row]].tocoo()
            for column, value in zip(neighbours.coords[1].tolist(), neighbours.data.tolist(), strict=True):
                added = ALPHA * value * float(parts.spread[column])
                if added:
                    why[f"neighbour {column + 1}"] = added
        return why

    def _allowed(self, filters: Filters) -> NDArray[np.bool_]:
        """Which items pass the filters."""
        allowed = np.ones(self.n_items, dtype=bool)
        conditions, values = [], []
        if filters.kind is not None:
            conditions.append("shot IS NULL" if filters.kind == "picture" else "shot IS NOT NULL")
        for value, sign in ((filters.after, ">="), (filters.before, "<")):
            if value is not None:
                conditions.append(f"taken {sign} ?")
                values.append(value)
        if filters.folder is not None:
            conditions.append("hash IN (SELECT hash FROM files WHERE path = ? OR substr(path, 1, ?) = ?)")
            below = os.path.join(os.path.abspath(filters.folder), "")
            values += [below.rstrip(os.sep), len(below), below]  # type: ignore[list-item]
        if filters.has_text is not None:
            word = "" if filters.has_text else "NOT "
            conditions.append(f"id {word}IN (SELECT item FROM texts WHERE source NOT IN ('tag', 'name', 'folder'))")
        if conditions:
            allowed[:] = False
            found = self.collection.db.execute(f"SELECT id FROM items WHERE {' AND '.join(conditions)}", values)
            allowed[[row[0] - 1 for row in found.fetchall()]] = True
        return allowed

    # Neighbours ------------------------------------------------------------------------------------------------------

    def neighbours(self, progress: Callable[[int, int, str], None] = lambda *_: None) -> Neighbours:
        """The neighbour graph under the weighted similarity of the visual experts; built when first needed."""
        self.refresh()
        if self._graph is None:
            graph = build_neighbours(self._similarities, self.present, NEIGHBOURS, progress=progress)
            self._graph = (graph, graph.operator())
        return self._graph[0]

    def _similarities(self, row: int) -> FloatArray:
        vectors = {name: np.asarray(found[row]) for name, found in self.vectors.items()}
        lazy = expert_features(self.experts, self.vectors, self.scales, [Sighting(vectors)], self.n_items)
        return self._weighted(lazy)

    def _diffused(self, base: FloatArray) -> tuple[FloatArray, _Parts]:
        """Spread the scores of the nearest items over the graph; a trace of the plain score orders the rest."""
        graph = self.neighbours()
        assert self._graph is not None
        operator = self._graph[1]
        rows = np.flatnonzero(self.present)
        order = rows[np.lexsort((rows, -base[rows]))]
        floor = float(base[order[min(NEIGHBOURS, len(order) - 1)]])
        nearest = order[: NEIGHBOURS + 1]
        span = float(base[nearest[0]]) - floor
        start = np.zeros(self.n_items)
        share = 1.0 / span if span > 0 else 0.0
        start[nearest] = np.maximum(base[nearest] - floor, 0.0) * share
        spread = graph.diffuse(start, ALPHA, operator=operator)
        size = float(np.abs(base[rows]).max()) or 1.0
        tiny = 1e-6 / size
        return spread + tiny * base, _Parts(start, spread, operator, share, floor, tiny)


class _Parts(NamedTuple):
    """What a diffused score is made of."""

    start: FloatArray
    spread: FloatArray
    operator: Any
    share: float
    floor: float
    tiny: float


class _TextColumn:
    r"""A text expert: \(1 - e^{-s / 5}\) of the BM25 score s, from 0 to below 1; its scores are computed once."""

    def __init__(self, texts: TextIndex, query: Query, n_items: int):
        self._texts, self._query, self._n_items = texts, query, n_items
        self._scores: FloatArray | None = None

    def __call__(self, rows: IntArray) -> FloatArray:
        if self._scores is None:
            found = np.zeros(self._n_items)
            if self._query.text.strip():
                found = np.asarray(self._texts.scores(self._query.text, self._n_items), dtype=np.float64)
            self._scores = self._query.text_weight * (1.0 - np.exp(-found / 5.0))
        return self._scores[rows]
