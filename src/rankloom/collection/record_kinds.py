"""What is recorded of each item: what words are compared with, and its colors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.item_records import RecordKind
from rankloom.experts import color_words, looks

SOURCE = "semantic"  # what words reach pictures by


def looks_kind() -> RecordKind:
    """Pictures in the space of the map, and their likeliest classes."""
    return RecordKind("looks", SOURCE, looks.RECORD, looks.word_map().version, _looks)


def colors_kind() -> RecordKind:
    """The shares of colors."""
    return RecordKind("colors", color_words.SOURCE, color_words.RECORD, color_words.VERSION, _shares)


def _looks(vectors: NDArray[Any], first: int) -> NDArray[Any]:
    return np.asarray(looks.word_map().looks(vectors))


def _shares(vectors: NDArray[Any], first: int) -> NDArray[Any]:
    return np.asarray(color_words.color_shares(vectors))
