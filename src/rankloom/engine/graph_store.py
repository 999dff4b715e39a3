"""The neighbour graph of a collection on disk: with the weights that it was made with, and for how many items."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from rankloom.neighbours import Neighbours

__all__ = ["StoredGraph", "load_graph", "save_graph"]

_FILE = "neighbours.npz"


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


def load_graph(folder: Path) -> StoredGraph | None:
    """The graph of a collection, if there is one; a damaged one is made again."""
    try:
        with np.load(folder / _FILE, allow_pickle=False) as found:
            about = json.loads(str(found["about"]))
            return StoredGraph(Neighbours(found["ids"], found["similarities"]), about["weights"], about["versions"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def save_graph(folder: Path, graph: StoredGraph) -> None:
    """Write it, at once or not at all."""
    about = json.dumps({"weights": graph.weights, "versions": graph.versions})
    file = io.BytesIO()
    arrays: dict[str, Any] = {"ids": graph.neighbours.ids, "similarities": graph.neighbours.similarities}
    np.savez(file, about=np.array(about), **arrays)
    temporary = folder / f"{_FILE}.{os.getpid()}.new"
    with open(temporary, "wb") as out:
        out.write(file.getvalue())
        out.flush()
        os.fsync(out.fileno())
    os.replace(temporary, folder / _FILE)
