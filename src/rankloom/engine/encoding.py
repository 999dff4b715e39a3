"""The examples of a query as the experts see them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.decoding import picture_reader
from rankloom.collection.describing import Describer, DescriberSettings, load_encoder
from rankloom.collection.originals import GONE, open_original
from rankloom.collection.overview import item_summaries
from rankloom.collection.pictures import has_picture, keep_picture, kept_picture
from rankloom.collection.query import Example, Query
from rankloom.collection.settings import query_settings
from rankloom.core import LRU
from rankloom.engine.snapshot import Snapshot
from rankloom.experts import EncodedExample
from rankloom.experts.compact import CompactVectors
from rankloom.features import Features
from rankloom.media import MediaError, read_image
from rankloom.media.images import MAX_SIDE

if TYPE_CHECKING:
    from rankloom.descriptors.onnx_encoder import OnnxEncoder

_REMEMBERED = 64
_MOST_SIDE, _MOST_BYTES = 2048, 200_000_000  # of a picture a part of which is an example
_KEPT_SIDE = 640  # of the picture that is kept, from which descriptors that come later are computed


class EncodedQuery(NamedTuple):
    """A query and its encoded examples; the number of faces on those that are wanted."""

    query: Query
    examples: list[EncodedExample]
    faces: list[float]

    def features(self, snapshot: Snapshot) -> Features:
        """The lazy matrix phi."""
        return snapshot.features(self.query, self.examples, self.faces)


class _Picture(NamedTuple):
    """A picture as the experts see it: its vectors, and its number of faces."""

    vectors: Mapping[str, NDArray[Any]]
    faces: float


class ExampleEncoder:
    """Encodes the examples of queries; the last ones are remembered, so that the same picture is described once."""

    def __init__(self, collection: Collection):
        self._collection = collection
        self._images: LRU[str, NDArray[Any]] = LRU(_REMEMBERED)
        self._parts: LRU[Any, str] = LRU(_REMEMBERED)
        self._pictures: LRU[Any, _Picture] = LRU(_REMEMBERED)
        self._texts: LRU[tuple[OnnxEncoder, str], NDArray[Any]] = LRU(_REMEMBERED)
        self._describers: LRU[Any, Describer] = LRU(2)

    def keyed(self, query: Query) -> Query:
        """The query with keys for pictures that are not items, and for parts of items and of kept pictures."""
        return _with_examples(query, [self._keyed(example) for example in query.examples])

    def kept(self, query: Query) -> Query:
        """The same, and the pictures are kept in the collection, so that the query can be asked again."""
        keyed = self.keyed(query)
        for example in keyed.examples:
            image = None if example.picture is None else self._images.get(example.picture)
            if image is not None:
                self.keep(image)
        return keyed

    def _keyed(self, example: Example) -> Example:
        if example.item is not None or example.picture is not None:
            return example if example.region is None else Example(picture=self._part(example), weight=example.weight)
        image = example.image if example.path is None else _read(example.path)
        assert image is not None
        if example.region is not None:
            image = crop(image, example.region)
        key = _picture_key(image)
        self._images.put(key, image)
        return Example(picture=key, weight=example.weight)

    def _part(self, example: Example) -> str:
        """The key of a part of an item or of a kept picture, whose pixels are remembered."""
        place = (example.item, example.picture, example.region)
        key = self._parts.get(place)
        if key is None or self._images.get(key) is None:
            assert example.region is not None
            image = np.ascontiguousarray(crop(self._whole(example), example.region))
            key = _picture_key(image)
            self._images.put(key, image)
            self._parts.put(place, key)
        return key

    def _whole(self, example: Example) -> NDArray[Any]:
        """The pixels of an item or of a kept picture: so many that the part that counts is as large as others are."""
        if example.item is None:
            assert example.picture is not None
            return _decoded(kept_picture(self._collection, example.picture).jpeg)
        known = item_summaries(self._collection, [example.item]).get(example.item)
        if known is None:
            raise ValueError(f"there is no item {example.item}")
        if known.kind == "shot":
            return _decoded(self._collection.thumbnail(example.item))
        original = open_original(self._collection, example.item)
        if original is None:
            raise ValueError(f"a part of item {example.item} cannot be looked at: {GONE}")
        with original.file as file:
            data = file.read(_MOST_BYTES)
        assert example.region is not None
        left, top, right, bottom = example.region
        side = min(_MOST_SIDE, int(np.ceil(MAX_SIDE / max(right - left, bottom - top))))
        return picture_reader().read(data, max_side=side)

    def keep(self, image: NDArray[Any], names: Sequence[str] | None = None) -> str:
        """Describe a picture and keep it in the collection; the same picture has the same key."""
        key = _picture_key(image)
        if not has_picture(self._collection, key):
            if names is None:
                names = [descriptor.name for descriptor in self._collection.descriptors()]
            picture = self._described(image, query_settings(self._collection, sorted(names)))
            keep_picture(self._collection, key, picture.vectors, picture.faces, _jpeg(image))
        return key

    def encode(self, query: Query, snapshot: Snapshot) -> EncodedQuery:
        """Encode the examples of a query, and its words where an encoder of the user's own takes them."""
        if query.empty:
            raise ValueError("the query is empty: give words, an example or a concept")
        if query.concept is not None and query.concept not in snapshot.concepts:
            known = ", ".join(snapshot.concepts) or "none"
            raise ValueError(f"there is no concept {query.concept!r}; known are {known}")
        query = self.keyed(query)
        examples, faces = [], []
        for example in query.examples:
            picture = self._picture(example, snapshot)
            examples.append(EncodedExample(picture.vectors, example.weight))
            if example.weight > 0 and picture.faces > 0:
                faces.append(picture.faces)
        if query.text.strip():
            for name, options in self.text_encoders(snapshot).items():
                vector = self._encoded_text(name, options, query.text)
                examples.append(EncodedExample({name: vector}, query.text_weight))
        return EncodedQuery(query, examples, faces)

    def text_encoders(self, snapshot: Snapshot) -> dict[str, str]:
        """The encoders of the user's own that take words: their arguments as JSON, by descriptor."""
        return {
            name: options
            for name, options in snapshot.encoders.items()
            if name in snapshot.vectors and json.loads(options).get("text_onnx")
        }

    def _encoded_text(self, name: str, options: str, text: str) -> NDArray[Any]:
        encoder = load_encoder(name, options)
        vector = self._texts.get((encoder, text))
        if vector is None:
            vector = encoder.encode_texts([text])[0]
            self._texts.put((encoder, text), vector)
        return vector

    def _picture(self, example: Example, snapshot: Snapshot) -> _Picture:
        if example.item is not None:
            if not 1 <= example.item <= snapshot.n_items:
                raise ValueError(f"there is no item {example.item}")
            return _Picture(snapshot.vectors_of(example.item - 1), float(snapshot.faces[example.item - 1]))
        assert example.picture is not None
        key = (example.picture, snapshot.state.descriptors)
        picture = self._pictures.get(key)
        if picture is None:
            settings = query_settings(self._collection, sorted(snapshot.vectors))
            image = self._images.get(example.picture)
            picture = self._kept(example.picture, settings) if image is None else self._described(image, settings)
            self._pictures.put(key, picture)
        return picture

    def _kept(self, key: str, settings: DescriberSettings) -> _Picture:
        """A kept picture; descriptors that came later are computed from its small copy."""
        kept = kept_picture(self._collection, key)
        missing = tuple(name for name in settings.descriptors if name not in kept.vectors)
        if not missing:
            return _Picture(kept.vectors, kept.faces)
        later = self._described(_decoded(kept.jpeg), replace(settings, descriptors=missing))
        return _Picture({**kept.vectors, **later.vectors}, kept.faces)

    def _described(self, image: NDArray[Any], settings: DescriberSettings) -> _Picture:
        versions = {stored.name: stored.version for stored in self._collection.descriptors()}
        key = (settings, *(versions.get(name) for name in settings.descriptors))
        describer = self._describers.get(key)
        if describer is None:
            describer = Describer(settings)
            self._describers.put(key, describer)
        description = describer.describe(image)
        # As they are kept: a picture looks the same now and after it was kept.
        vectors = {name: CompactVectors.of(vector[None])[0] for name, vector in description.vectors.items()}
        return _Picture(vectors, float(len(description.faces)))


def _with_examples(query: Query, examples: Sequence[Example]) -> Query:
    return query if tuple(examples) == query.examples else replace(query, examples=tuple(examples))


def crop(image: NDArray[Any], region: tuple[float, float, float, float]) -> NDArray[Any]:
    """The part of a picture given by shares of its width and height; at least a pixel."""
    height, width = image.shape[:2]
    left, top, right, bottom = region
    return image[
        int(top * height) : max(int(np.ceil(bottom * height)), int(top * height) + 1),
        int(left * width) : max(int(np.ceil(right * width)), int(left * width) + 1),
    ]


def _picture_key(image: NDArray[Any]) -> str:
    """What stands for a picture: a hash of its pixels."""
    return sha256(f"{image.shape}".encode() + np.ascontiguousarray(image).tobytes()).hexdigest()[:32]


def _decoded(jpeg: bytes) -> NDArray[Any]:
    """The pixels of a small picture that we wrote ourselves."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))


def _jpeg(image: NDArray[Any]) -> bytes:
    from PIL import Image

    small = Image.fromarray(image)
    small.thumbnail((_KEPT_SIDE, _KEPT_SIDE))
    file = io.BytesIO()
    small.save(file, "JPEG", quality=90)
    return file.getvalue()


def _read(path: str | os.PathLike[str]) -> NDArray[Any]:
    """A picture file; one that cannot be read is named."""
    try:
        return read_image(path)
    except MediaError as error:
        raise MediaError(f"{os.fspath(path)}: {error}") from None
