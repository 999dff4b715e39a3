"""Diffusion: the best items lend their score to their neighbors, over the neighbor graph of the collection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._sizes import EXACT_GRAPH, WHOLE_DIFFUSION
from rankloom.collection import Collection
from rankloom.collection.graph_file import StoredGraph, graph_stamp, load_graph, save_graph
from rankloom.core import FloatArray, IntArray
from rankloom.engine.cells import Cells
from rankloom.engine.neighbors import RESOLUTION, NeighborGraph, best_rows, build_graph, build_graph_among
from rankloom.engine.snapshot import Snapshot
from rankloom.engine.view import View, near_weights

ALPHA = 0.9  # how much neighbors say
NEAREST = 10  # neighbors of an item; also where a plain query enters the graph: beside its nearest item
JUDGED = 30  # where a query with marks enters it: its scores are surer
FEWEST = 3 * NEAREST  # items below which a graph says nothing
_AT_ONCE = 4_000_000  # pairs of items that a search may compare to bring the graph up to date
EXACT, LOCAL = EXACT_GRAPH, WHOLE_DIFFUSION
_CANDIDATES = 100


class Diffused(NamedTuple):
    r"""Scores that were diffused over the graph, \(g = y + \alpha S f\), beside what was there before.

    The total is `own * scores + g`; y is `share * (scores - floor)` where `inside`, else 0. `operator` is S, and
    `neighbors` are those of every item. In a large collection f is only about g, otherwise they are equal.
    """

    total: FloatArray
    f: FloatArray
    inside: NDArray[np.bool_]
    share: float
    floor: float
    own: float
    operator: Any
    neighbors: NDArray[np.int32]


def diffuse_scores(
    scores: FloatArray,
    graph: NeighborGraph,
    operator: Any,
    present: NDArray[np.bool_],
    *,
    barred: IntArray | None = None,
    judged: bool = False,
) -> Diffused:
    """Let the best items lend their score to their neighbors, and these to theirs.

    Parameters
    ----------
    scores : of all items.
    graph, operator : the graph and its matrix S.
    present : which items count.
    barred : row numbers that lend nothing: items marked wrong.
    judged : whether the scores follow marks. Otherwise only a trace of them is kept, to order items that the graph does
        not reach.
    """
    rows = np.flatnonzero(present)
    n_start = min(JUDGED if judged else NEAREST, len(rows) - 1)
    nearest = best_rows(scores, rows, n_start + 1)
    floor = float(scores[nearest[n_start]])
    span = float(scores[nearest[0]]) - floor
    share = 1.0 / span if span > 0 else 0.0
    start = np.zeros(len(scores))
    start[nearest] = np.maximum(scores[nearest] - floor, 0.0) * share
    if barred is not None:
        start[barred] = 0.0
    if len(scores) > LOCAL:
        f, g = graph.diffuse_nearby(start, ALPHA, operator=operator)
    else:
        f = g = graph.diffuse(start, ALPHA, operator=operator)
    size = float(np.abs(scores[rows]).max()) or 1.0
    own = 1.0 if judged else 1e-6 / size
    return Diffused(own * scores + g, f, start > 0, share, floor, own, operator, graph.ids)


@dataclass(frozen=True, eq=False)
class _Current:
    """The graph of a snapshot, what it was made with, and its matrix."""

    snapshot: Snapshot
    stored: StoredGraph
    graph: NeighborGraph
    operator: Any


class Diffusion:
    """The neighbor graph of a collection, as threads and processes share it, and diffusion over it.

    A search may bring the graph up to date in memory, where that takes little; only `build` writes it.
    """

    def __init__(self, collection: Collection):
        self._collection = collection
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._current: _Current | None = None
        self._loaded: tuple[tuple[int, int] | None, StoredGraph | None] | None = None

    def diffuse(
        self, view: View, scores: FloatArray, scored: NDArray[np.bool_], *, barred: IntArray, judged: bool
    ) -> Diffused | None:
        """Diffuse the scores of a search; None if the collection is small, or the graph is not there."""
        snapshot = view.snapshot
        if snapshot.present.sum() <= FEWEST:
            return None
        current = self._ready(snapshot, view.fused)
        if current is None:
            return None
        there = snapshot.present & scored
        return diffuse_scores(scores, current.graph, current.operator, there, barred=barred, judged=judged)

    def complete(self, snapshot: Snapshot) -> bool:
        """Whether there is a graph of all items."""
        known = self._known(snapshot)
        return known is not None and len(known.ids) == snapshot.n_items

    def build(
        self, view: View, progress: Callable[[int, int, str], None] = lambda done, total, text: None
    ) -> NeighborGraph:
        """Bring the graph up to date, or make it anew if the weights have moved far, and keep it on disk.

        Parameters
        ----------
        view : the items, and the weights for a graph that is made anew.
        progress : called with the number of items done, of all, and a text.
        """
        current = self._updated(view.snapshot, view.fused, progress)
        with self._lock:
            on_disk = self._on_disk()
        if on_disk is None or not _same(on_disk, current.stored):
            save_graph(self._collection, current.stored)
        return current.graph

    def _ready(self, snapshot: Snapshot, weights: Mapping[str, float]) -> _Current | None:
        """The graph for a search: if it is there, or if little is missing, which is computed then."""
        known = self._known(snapshot)
        with self._lock:
            current = self._current
        there = current is not None and current.snapshot is snapshot
        fits = known is not None and near_weights(weights, known.weights)
        if not (there and fits):
            fitting = len(known.ids) if known is not None and fits else 0
            if (snapshot.n_items - fitting) * snapshot.n_items <= _AT_ONCE:
                return self._updated(snapshot, weights)
        return current if there else None

    def _updated(
        self,
        snapshot: Snapshot,
        weights: Mapping[str, float],
        progress: Callable[[int, int, str], None] = lambda done, total, text: None,
    ) -> _Current:
        """The graph of a snapshot, of which only what is missing is computed."""
        with self._building:  # searches by the old graph go on meanwhile
            known = self._known(snapshot)
            if known is not None and not near_weights(weights, known.weights):
                known = None
            with self._lock:
                current = self._current
                if known is not None and current is not None and current.snapshot is snapshot:
                    return current
            made_with = dict(weights) if known is None else known.weights
            earlier = None if known is None else NeighborGraph(known.ids, known.similarities)
            graph = _built(snapshot, made_with, earlier, progress)
            stored = StoredGraph(graph.ids, graph.similarities, made_with, _versions(snapshot), RESOLUTION)
            current = _Current(snapshot, stored, graph, graph.operator())
            with self._lock:
                self._current = current
            return current

    def _on_disk(self) -> StoredGraph | None:
        """The graph on disk, read again when the file has changed."""
        stamp = graph_stamp(self._collection)
        if self._loaded is None or self._loaded[0] != stamp:
            self._loaded = (stamp, None if stamp is None else load_graph(self._collection))
        return self._loaded[1]

    def _known(self, snapshot: Snapshot) -> StoredGraph | None:
        """The graph that is at hand, in memory or on disk; maybe of fewer items than there are now."""
        with self._lock:
            current = self._current
            if current is not None and current.snapshot is snapshot:
                return current.stored
            versions = _versions(snapshot)
            known = current.stored if current is not None and current.stored.versions == versions else None
            stored = self._on_disk()
            fits = stored is not None and stored.resolution == RESOLUTION and stored.versions == versions
            if stored is not None and fits and (known is None or len(stored.ids) > len(known.ids)):
                known = stored
            if known is None or len(known.ids) > snapshot.n_items:
                return None
            graph = NeighborGraph(known.ids, known.similarities)
            if len(graph) == snapshot.n_items and not graph.lost(snapshot.present).any():
                self._current = _Current(snapshot, known, graph, graph.operator())
            return known


def _same(a: StoredGraph, b: StoredGraph) -> bool:
    return a[2:] == b[2:] and np.array_equal(a.ids, b.ids) and np.array_equal(a.similarities, b.similarities)


def _versions(snapshot: Snapshot) -> dict[str, str]:
    """The descriptors behind the similarities, with their scales."""
    versions = {name: version for name, version, _ in snapshot.state.descriptors}
    return {name: f"{versions[name]} {sorted(snapshot.scales[name].items())}" for name in snapshot.vectors}


def _built(
    snapshot: Snapshot,
    weights: Mapping[str, float],
    known: NeighborGraph | None,
    progress: Callable[[int, int, str], None],
) -> NeighborGraph:
    """The graph: exact, or in a large collection by the items whose sketches are nearest."""
    present = snapshot.present
    if snapshot.n_items <= EXACT or snapshot.sketches is None:

        def similarity(row: int) -> NDArray[Any]:
            return snapshot.similarity(snapshot.vectors_of(row), weights)

        return build_graph(similarity, present, NEAREST, known=known, progress=progress)

    def candidates(rows: IntArray) -> Iterator[tuple[int, IntArray]]:
        assert snapshot.sketches is not None
        if len(rows):
            yield from Cells(np.asarray(snapshot.sketches.records.records)).near(rows, _CANDIDATES)

    def similarities(row: int, rows: IntArray) -> NDArray[Any]:
        return snapshot.similarity(snapshot.vectors_of(row), weights, rows)

    return build_graph_among(candidates, similarities, present, NEAREST, known=known, progress=progress)
