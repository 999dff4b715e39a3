"""Descriptors: functions from an RGB image to a vector. `describe(image, PRESETS["fast"])` runs several at once.

They know pixels, and nothing of files, distances or collections. What needs OpenCV is loaded when it is first asked
for: a search by words does without.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankloom.descriptors.presets import PRESETS

if TYPE_CHECKING:
    from rankloom.descriptors._prepared import Image, Prepared, Vector, prepare
    from rankloom.descriptors.hashes import hamming, hash_number
    from rankloom.descriptors.registry import (
        CLASSICAL,
        DESCRIPTORS,
        Descriptor,
        describe,
        get_descriptor,
        words_descriptor,
    )
    from rankloom.descriptors.semantic import SemanticNetwork, Semantics, semantic_network
    from rankloom.descriptors.words import Vocabulary, train_vocabulary

_MODULE_OF = {
    **dict.fromkeys(("Image", "Prepared", "Vector", "prepare"), "_prepared"),
    **dict.fromkeys(("hamming", "hash_number"), "hashes"),
    **dict.fromkeys(
        ("CLASSICAL", "DESCRIPTORS", "Descriptor", "describe", "get_descriptor", "words_descriptor"), "registry"
    ),
    **dict.fromkeys(("SemanticNetwork", "Semantics", "semantic_network"), "semantic"),
    **dict.fromkeys(("Vocabulary", "train_vocabulary"), "words"),
}

__all__ = [
    "CLASSICAL", "DESCRIPTORS", "PRESETS", "Descriptor", "Image", "Prepared", "SemanticNetwork", "Semantics",
    "Vector", "Vocabulary", "describe", "get_descriptor", "hamming", "hash_number", "prepare", "semantic_network",
    "train_vocabulary", "words_descriptor",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A name from its module."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
