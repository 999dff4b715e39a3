"""The neighbor graph of a collection on disk, with what it was made from."""

from __future__ import annotations

import io
import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write
from rankloom.collection.collection import NEIGHBORS, Collection


class StoredGraph(NamedTuple):
    """A graph, and the weights, versions of descriptors and resolution of similarities that it was made with."""

    ids: NDArray[np.int32]
    similarities: NDArray[np.float32]
    weights: dict[str, float]
    versions: dict[str, str]
    resolution: float


def graph_stamp(collection: Collection) -> tuple[int, int] | None:
    """Another value when the file was written anew; None if it is not there."""
    try:
        status = (collection.folder / NEIGHBORS).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


def load_graph(collection: Collection) -> StoredGraph | None:
    """The graph, if there is one that can be read; a damaged one is made again."""
    try:
        file = io.BytesIO((collection.folder / NEIGHBORS).read_bytes())
        with np.load(file, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            ids, similarities = stored["ids"].astype(np.int32), stored["similarities"].astype(np.float32)
            return StoredGraph(ids, similarities, about["weights"], about["versions"], about["resolution"])
    except Exception:  # a damaged file can fail in any way
        return None


def save_graph(collection: Collection, graph: StoredGraph) -> None:
    """Write the graph, at once or not at all."""
    about = json.dumps({"weights": graph.weights, "versions": graph.versions, "resolution": graph.resolution})
    arrays: dict[str, Any] = {"ids": graph.ids, "similarities": graph.similarities}
    file = io.BytesIO()
    np.savez(file, about=np.array(about), **arrays)
    with atomic_write(collection.folder / NEIGHBORS) as target:
        target.write(file.getvalue())
