"""Descriptors: functions from an RGB image to a vector. `describe(image, PRESETS["fast"])` runs several at once.

They know pixels, and nothing of files, distances or collections.
"""

from rankloom.descriptors._prepared import Image, Prepared, Vector, prepare
from rankloom.descriptors.hashes import hamming, hash_number
from rankloom.descriptors.registry import (
    CLASSICAL,
    DESCRIPTORS,
    PRESETS,
    Descriptor,
    describe,
    get_descriptor,
    words_descriptor,
)
from rankloom.descriptors.semantic import SemanticNetwork, Semantics, semantic_network
from rankloom.descriptors.words import Vocabulary, train_vocabulary

__all__ = [
    "CLASSICAL", "DESCRIPTORS", "PRESETS", "Descriptor", "Image", "Prepared", "SemanticNetwork", "Semantics",
    "Vector", "Vocabulary", "describe", "get_descriptor", "hamming", "hash_number", "prepare", "semantic_network",
    "train_vocabulary", "words_descriptor",
]  # fmt: skip
