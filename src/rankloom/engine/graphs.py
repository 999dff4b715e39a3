"""The neighbour graph of a collection: built, brought up to date, and kept on disk with what it was made from."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write
from rankloom.collection import Collection
from rankloom.collection.collection import NEIGHBOURS
from rankloom.engine.index import FaissIndex
from rankloom.engine.neighbors import RESOLUTION, Neighbours, build_neighbours
from rankloom.engine.relevance import NEAREST
from rankloom.engine.snapshot import Snapshot

__all__ = ["Graphs", "StoredGraph"]

_AT_ONCE = 4_000_000  # pairs of items that a search may compare to bring the graph up to date
_EXACT = 100_000  # items whose graph is exact; beyond, neighbours are looked for among candidates
_CANDIDATES = 300


class StoredGraph(NamedTuple):
    """A graph, the weights of the experts and the versions of the descriptors that it was made with."""

    neighbours: Neighbours
    weights: dict[str, float]
    versions: dict[str, str]

    def fits(self, weights: Mapping[str, float], versions: Mapping[str, str]) -> bool:
        """Whether it still stands: the same descriptors, and weights that have not moved far."""
        names = sorted({*weights, *self.weights})
        ours, theirs = (np.array([some.get(name, 0.0) for name in names]) for some in (weights, self.weights))
        size = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
        return dict(versions) == self.versions and size > 0 and float(ours @ theirs) / size > NEAR


NEAR = 0.98  # cosine between the weights


class Graphs:
    """The graph of a collection, as threads and processes share it.

    Parameters
    ----------
    collection : whose graph.
    """

    def __init__(self, collection: Collection):
        self._collection = collection
        self._lock = threading.RLock()
        self._building = threading.Lock()
        self._current: tuple[Snapshot, StoredGraph, Any] | None = None  # with its operator

    def complete(self, snapshot: Snapshot) -> bool:
        """Whether there is a graph of all items."""
        graph = self._stored(snapshot)
        return graph is not None and len(graph.neighbours) == snapshot.n_items

    def ready(self, snapshot: Snapshot, weights: Mapping[str, float]) -> tuple[Neighbours, Any] | None:
        """The graph and its matrix for a search: if it is there, or if little is missing, which is done then."""
        graph = self._stored(snapshot)
        known = 0 if graph is None or not graph.fits(weights, self._versions(snapshot)) else len(graph.neighbours)
        if (snapshot.n_items - known) * snapshot.n_items <= _AT_ONCE:
            self.build(snapshot, weights)
        elif graph is None or len(graph.neighbours) < snapshot.n_items:
            return None
        with self._lock:
            if self._current is None or self._current[0] is not snapshot:
                return None
            return self._current[1].neighbours, self._current[2]

    def build(
        self,
        snapshot: Snapshot,
        weights: Mapping[str, float],
        progress: Callable[[int, int, str], None] = lambda *_: None,
    ) -> Neighbours:
        """Bring the graph up to date, or make it; anew if the weights have moved far.

        Parameters
        ----------
        snapshot : the items.
        weights : of the experts, for a graph that is made anew.
        progress : called with the number of items done, of all, and a text.
        """
        with self._building:  # searches go on meanwhile
            graph = self._stored(snapshot)
            if graph is not None and not graph.fits(weights, self._versions(snapshot)):
                graph = None
            with self._lock:
                if graph is not None and self._current is not None and self._current[1] is graph:
                    return graph.neighbours
            used = dict(weights) if graph is None else graph.weights
            known = None if graph is None else graph.neighbours
            similarity = self._similarity(snapshot, used)
            built = build_neighbours(similarity, snapshot.present, NEAREST, known=known, progress=progress)
            stored = StoredGraph(built, used, self._versions(snapshot))
            _save(self._collection.folder, stored)
            operator = built.operator()
            with self._lock:
                self._current = (snapshot, stored, operator)
            return built

    def _similarity(self, snapshot: Snapshot, weights: Mapping[str, float]) -> Callable[[int], NDArray[Any]]:
        """The similarities of all items to one; of a very large collection, to candidates that FAISS proposes."""
        chosen: FaissIndex | None = None
        if snapshot.n_items > _EXACT and "semantic" in snapshot.vectors:
            chosen = FaissIndex(snapshot.vectors["semantic"])

        def similarity(row: int) -> NDArray[Any]:
            vectors = snapshot.vectors_of(row)
            rows = None if chosen is None else chosen.candidates([vectors], _CANDIDATES)
            if rows is None:
                return snapshot.similarity(vectors, weights)
            found = np.full(snapshot.n_items, -np.inf, dtype=np.float32)
            found[rows] = snapshot.similarity(vectors, weights, rows)
            return found

        return similarity

    @staticmethod
    def _versions(snapshot: Snapshot) -> dict[str, str]:
        """The descriptors behind the similarities, with their scales."""
        versions = {one[0]: one[1] for one in snapshot.state if isinstance(one, tuple)}
        return {name: f"{versions[name]} {sorted(snapshot.scales[name].items())}" for name in snapshot.vectors}

    def _stored(self, snapshot: Snapshot) -> StoredGraph | None:
        """The graph that is at hand, maybe of fewer items than there are now."""
        with self._lock:
            if self._current is not None and self._current[0] is snapshot:
                return self._current[1]
            graph = _load(self._collection.folder)
            if graph is None or graph.versions != self._versions(snapshot) or len(graph.neighbours) > snapshot.n_items:
                return None
            if len(graph.neighbours) == snapshot.n_items and not graph.neighbours.lost(snapshot.present).any():
                self._current = (snapshot, graph, graph.neighbours.operator())
            return graph


def _load(folder: Path) -> StoredGraph | None:
    """The graph of a collection, if there is one; a damaged one is made again."""
    try:
        file = io.BytesIO((folder / NEIGHBOURS).read_bytes())
        with np.load(file, allow_pickle=False) as found:
            about = json.loads(str(found["about"]))
            if about["resolution"] != RESOLUTION:  # of an earlier release, which ordered near ties otherwise
                return None
            neighbours = Neighbours(found["ids"].astype(np.int32), found["similarities"].astype(np.float32))
            return StoredGraph(neighbours, about["weights"], about["versions"])
    except Exception:  # a damaged file can fail in any way: it is made again
        return None


def _save(folder: Path, graph: StoredGraph) -> None:
    """Write it, at once or not at all."""
    about = json.dumps({"weights": graph.weights, "versions": graph.versions, "resolution": RESOLUTION})
    file = io.BytesIO()
    arrays: dict[str, Any] = {"ids": graph.neighbours.ids, "similarities": graph.neighbours.similarities}
    np.savez(file, about=np.array(about), **arrays)
    with atomic_write(str(folder / NEIGHBOURS)) as out:
        out.write(file.getvalue())
