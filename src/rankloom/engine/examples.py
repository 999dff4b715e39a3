"""The examples of a query as the experts see them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.query import Example, Query
from rankloom.core import LRU
from rankloom.engine.pictures import Seen, crop, keep_picture, kept_picture, picture_key, see
from rankloom.engine.snapshot import Snapshot
from rankloom.experts import Sighting
from rankloom.media import MediaError, read_image

__all__ = ["Examples"]

_REMEMBERED = 64


class Examples:
    """Describes the examples of queries; the last ones are remembered, so that the same picture is described once."""

    def __init__(self, collection: Collection):
        self._collection = collection
        self._seen: LRU[tuple[str, tuple[str, ...]], Seen] = LRU(_REMEMBERED)
        self._images: LRU[str, NDArray[Any]] = LRU(_REMEMBERED)
        self._encoders: dict[str, Any] = {}

    def keyed(self, query: Query, *, keep: bool = False) -> Query:
        """The query with keys for pictures that are not items; these are kept in the collection if asked to."""
        examples = tuple(self._keyed(one, keep) for one in query.examples)
        return query if examples == query.examples else replace(query, examples=examples)

    def _keyed(self, example: Example, keep: bool) -> Example:
        if example.item is not None:
            return example
        if example.picture is not None:
            known = self._images.get(example.picture) if keep else None
            if known is not None:
                self.keep(known)
            return example
        image = example.image if example.path is None else _read(example.path)
        assert image is not None
        if example.region is not None:
            image = crop(image, example.region)
        key = self.keep(image) if keep else picture_key(image)
        self._images.put(key, image)
        return Example(picture=key, weight=example.weight)

    def keep(self, image: NDArray[Any], names: Sequence[str] | None = None) -> str:
        """Keep a picture in the collection."""
        wanted = [one.name for one in self._collection.descriptors()] if names is None else names
        return keep_picture(self._collection, image, wanted)

    def sightings(self, query: Query, snapshot: Snapshot) -> tuple[list[Sighting], list[float]]:
        """The examples described, and the number of faces on those that are wanted."""
        found, faces = [], []
        for example in self.keyed(query).examples:
            if example.item is not None:
                if not 1 <= example.item <= snapshot.n_items:
                    raise ValueError(f"there is no item {example.item}")
                seen = Seen(snapshot.vectors_of(example.item - 1), float(snapshot.faces[example.item - 1]))
            else:
                assert example.picture is not None
                seen = self._picture(example.picture, snapshot)
            found.append(Sighting(seen.vectors, example.weight))
            if example.weight > 0 and seen.faces > 0:
                faces.append(seen.faces)
        for name, encoder in self.encoders().items():
            if query.text.strip() and name in snapshot.vectors and encoder is not None:
                found.append(Sighting({name: encoder.encode_texts([query.text])[0]}, query.text_weight))
        return found, faces

    def _picture(self, key: str, snapshot: Snapshot) -> Seen:
        names = tuple(sorted(snapshot.vectors))
        seen = self._seen.get((key, names))
        if seen is None:
            image = self._images.get(key)
            seen = kept_picture(self._collection, key, names) if image is None else see(self._collection, image, names)
            self._seen.put((key, names), seen)
        return seen

    def encoders(self) -> dict[str, Any]:
        """The encoders of the user's own by descriptor; None for one without a text side."""
        rows = self._collection.db.execute("SELECT name, settings FROM encoders").fetchall()
        return {name: self._encoder(name, settings) for name, settings in rows}

    def _encoder(self, name: str, settings: str) -> Any:
        from rankloom.descriptors.onnx_encoder import OnnxEncoder

        if settings not in self._encoders:
            options = json.loads(settings)
            self._encoders[settings] = OnnxEncoder(**options, name=name) if options.get("text_onnx") else None
        return self._encoders[settings]


def _read(path: str | os.PathLike[str]) -> NDArray[Any]:
    """A picture file; one that cannot be read is named."""
    try:
        return read_image(path)
    except MediaError as error:
        raise MediaError(f"{os.fspath(path)}: {error}") from None
