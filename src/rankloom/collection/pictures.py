"""Pictures that are examples of queries but no items; they are kept, so that a query can be asked again."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.collection import Collection
from rankloom.collection.marks import now


class KeptPicture(NamedTuple):
    """The vectors that are still of the collection's descriptors, the number of faces, and the picture as a JPEG."""

    vectors: dict[str, NDArray[Any]]
    faces: float
    jpeg: bytes


def has_picture(collection: Collection, key: str) -> bool:
    """Whether a picture is kept."""
    return collection.db.execute("SELECT 1 FROM pictures WHERE key = ?", (key,)).fetchone() is not None


def keep_picture(
    collection: Collection, key: str, vectors: Mapping[str, NDArray[Any]], faces: float, jpeg: bytes
) -> None:
    """Keep a picture by its key."""
    versions = _versions(collection)
    packed = {
        name: {"version": versions[name], "vector": base64.b64encode(vector.astype("<f2").tobytes()).decode()}
        for name, vector in vectors.items()
    }
    with collection.transaction() as db:
        row = (key, json.dumps({"vectors": packed, "faces": faces}), jpeg, now())
        db.execute("INSERT OR IGNORE INTO pictures VALUES (?, ?, ?, ?)", row)


def kept_picture(collection: Collection, key: str) -> KeptPicture:
    """A kept picture."""
    row = collection.db.execute("SELECT vectors, thumbnail FROM pictures WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise ValueError(f"there is no picture {key}; give it again")
    versions, stored = _versions(collection), json.loads(row[0])
    vectors = {
        name: np.frombuffer(base64.b64decode(packed["vector"]), dtype="<f2").astype(np.float32)
        for name, packed in stored["vectors"].items()
        if versions.get(name) == packed["version"]
    }
    return KeptPicture(vectors, float(stored["faces"]), bytes(row[1]))


def _versions(collection: Collection) -> dict[str, str]:
    return {descriptor.name: descriptor.version for descriptor in collection.descriptors()}
