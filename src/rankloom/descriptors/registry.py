"""The descriptors by name, and the presets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from rankloom.descriptors._prepared import Image, Prepared, Vector, prepare
from rankloom.descriptors.color import (
    color_correlogram,
    color_layout,
    color_moments,
    color_similarity,
    hsv_histogram,
    spatial_color_histogram,
)
from rankloom.descriptors.dense import dense_words
from rankloom.descriptors.edge import edge_histogram, hog
from rankloom.descriptors.faces import faces
from rankloom.descriptors.hashes import perceptual_hash
from rankloom.descriptors.semantic import semantic
from rankloom.descriptors.texture import gabor, gist, lbp, wavelet
from rankloom.descriptors.words import Vocabulary, sift_words

Kind = Literal["histogram", "vector", "embedding", "hash", "count"]


@dataclass(frozen=True)
class Descriptor:
    """A named function from an image to a vector.

    Parameters
    ----------
    name : what collections store it under.
    function : takes an RGB image (or a prepared one) and returns a float32 vector.
    dimension : the length of the vector; 0 where it is known only after training.
    version : changes whenever the vectors change; a collection keeps vectors by name and version.
    kind : "histogram" (no negative components, sum 1, or 0 where there is nothing to count), "vector" (any numbers),
        "embedding" (unit length, made for cosines), "hash" (components 0 and 1), "count" (a number).
    """

    name: str
    function: Callable[[Image | Prepared], Vector]
    dimension: int
    version: str
    kind: Kind


DESCRIPTORS: dict[str, Descriptor] = {
    descriptor.name: descriptor
    for descriptor in (
        Descriptor("hsv_histogram", hsv_histogram, 166, "2", "histogram"),
        Descriptor("spatial_color_histogram", spatial_color_histogram, 496, "2", "histogram"),
        Descriptor("color_moments", color_moments, 144, "1", "vector"),
        Descriptor("color_correlogram", color_correlogram, 128, "1", "histogram"),
        Descriptor("color_layout", color_layout, 41, "2", "vector"),
        Descriptor("color_similarity", color_similarity, 300, "1", "vector"),
        Descriptor("edge_histogram", edge_histogram, 96, "1", "histogram"),
        Descriptor("hog", hog, 768, "2", "vector"),
        Descriptor("lbp", lbp, 236, "2", "histogram"),
        Descriptor("gabor", gabor, 48, "1", "vector"),
        Descriptor("gist", gist, 384, "2", "vector"),
        Descriptor("wavelet", wavelet, 216, "2", "vector"),
        Descriptor("dense_words", dense_words, 576, "1", "histogram"),
        Descriptor("sift_words", sift_words, 0, "1", "histogram"),
        Descriptor("semantic", semantic, 1280, "1", "embedding"),
        Descriptor("perceptual_hash", perceptual_hash, 64, "1", "hash"),
        Descriptor("faces", faces, 1, "2", "count"),
    )
}

CLASSICAL = [name for name, descriptor in DESCRIPTORS.items() if descriptor.kind in ("histogram", "vector")]


def get_descriptor(name: str | Descriptor) -> Descriptor:
    """Return the descriptor of this name; a descriptor is returned as it is.

    >>> get_descriptor("hog").dimension
    768
    """
    if isinstance(name, Descriptor):
        return name
    if name not in DESCRIPTORS:
        raise ValueError(f"unknown descriptor {name!r}; known are {', '.join(DESCRIPTORS)}")
    return DESCRIPTORS[name]


def words_descriptor(vocabulary: Vocabulary) -> Descriptor:
    """The descriptor "sift_words" with a vocabulary: its length, and its version from the content of the words.

    >>> import numpy as np
    >>> words_descriptor(Vocabulary(np.eye(3, 128, dtype=np.float32))).dimension
    3
    """
    function = partial(sift_words, vocabulary=vocabulary)
    return Descriptor("sift_words", function, len(vocabulary), vocabulary.version, "histogram")


def describe(image: Image | Prepared, descriptors: Iterable[str | Descriptor]) -> dict[str, Vector]:
    """Describe a picture by several descriptors; what they have in common is computed once.

    Parameters
    ----------
    image : uint8 array of shape (height, width, 3), RGB
    descriptors : names, or descriptors of your own

    Examples
    --------
    >>> import numpy as np
    >>> vectors = describe(np.zeros((8, 8, 3), np.uint8), ["hog", "lbp"])
    >>> {name: vector.shape for name, vector in vectors.items()}
    {'hog': (768,), 'lbp': (236,)}
    """
    picture = prepare(image)
    return {descriptor.name: descriptor.function(picture) for descriptor in map(get_descriptor, descriptors)}
