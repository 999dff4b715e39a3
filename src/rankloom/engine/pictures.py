"""Pictures that are examples of queries but no items: described once and kept, so that a query can be asked again."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.marks import now
from rankloom.collection.settings import describe_picture

__all__ = ["Seen", "crop", "keep_picture", "kept_picture", "kept_thumbnail", "picture_key", "see"]

SIDE = 640  # of the picture that is kept, from which descriptors that come later are computed


class Seen(NamedTuple):
    """A picture as the experts see it: its vectors, and its number of faces."""

    vectors: dict[str, NDArray[Any]]
    faces: float


def see(collection: Collection, image: NDArray[Any], names: Sequence[str]) -> Seen:
    """Describe a picture."""
    from rankloom.descriptors.faces import faces

    found = describe_picture(collection, image, sorted(names))
    # As they are kept: a picture looks the same now and after it was kept.
    vectors = {name: vector.astype(np.float16).astype(np.float32) for name, vector in found.items()}
    return Seen(vectors, float(faces(image)[0]))


def crop(image: NDArray[Any], region: tuple[float, float, float, float]) -> NDArray[Any]:
    """The part of a picture given by shares of its width and height; at least a pixel."""
    height, width = image.shape[:2]
    left, top, right, bottom = region
    return image[
        int(top * height) : max(int(np.ceil(bottom * height)), int(top * height) + 1),
        int(left * width) : max(int(np.ceil(right * width)), int(left * width) + 1),
    ]


def picture_key(image: NDArray[Any]) -> str:
    """What stands for a picture: a hash of its pixels."""
    return sha256(f"{image.shape}".encode() + np.ascontiguousarray(image).tobytes()).hexdigest()[:32]


def keep_picture(collection: Collection, image: NDArray[Any], names: Sequence[str]) -> str:
    """Describe a picture and keep it; the same picture has the same key."""
    key = picture_key(image)
    if collection.db.execute("SELECT 1 FROM pictures WHERE key = ?", (key,)).fetchone() is None:
        seen = see(collection, image, names)
        with collection.transaction() as db:
            row = (key, _packed(collection, seen), _jpeg(image), now())
            db.execute("INSERT OR IGNORE INTO pictures VALUES (?, ?, ?, ?)", row)
    return key


def kept_picture(collection: Collection, key: str, names: Sequence[str]) -> Seen:
    """A kept picture, by all descriptors that the collection has now."""
    row = collection.db.execute("SELECT vectors, thumbnail FROM pictures WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise ValueError(f"there is no picture {key}; give it again")
    versions = {one.name: one.version for one in collection.descriptors()}
    found = json.loads(row[0])
    vectors = {
        name: np.frombuffer(base64.b64decode(one["vector"]), dtype="<f2").astype(np.float32)
        for name, one in found["vectors"].items()
        if versions.get(name) == one["version"]
    }
    missing = [name for name in names if name not in vectors]
    if missing:
        from PIL import Image

        again = np.asarray(Image.open(io.BytesIO(row[1])).convert("RGB"))
        vectors |= describe_picture(collection, again, sorted(missing))
    return Seen(vectors, float(found["faces"]))


def kept_thumbnail(collection: Collection, key: str) -> bytes:
    """A kept picture as a JPEG."""
    row = collection.db.execute("SELECT thumbnail FROM pictures WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise ValueError(f"there is no picture {key}; give it again")
    return bytes(row[0])


def _packed(collection: Collection, seen: Seen) -> str:
    versions = {one.name: one.version for one in collection.descriptors()}
    vectors = {
        name: {"version": versions[name], "vector": base64.b64encode(vector.astype("<f2").tobytes()).decode()}
        for name, vector in seen.vectors.items()
    }
    return json.dumps({"vectors": vectors, "faces": seen.faces})


def _jpeg(image: NDArray[Any]) -> bytes:
    from PIL import Image

    small = Image.fromarray(image)
    small.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    small.save(file, "JPEG", quality=90)
    return file.getvalue()
