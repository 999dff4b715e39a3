"""Collections whose captions say which pictures are alike."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.refined_map import caption_pairs
from rankloom.core import FloatArray, IntArray
from rankloom.experiments.labeled import LabeledCollection
from rankloom.experiments.words import encoded
from rankloom.text import SentenceEncoder

ALIKE = 20  # pictures whose captions are nearest to that of a query count as relevant
LEAST = 10 * ALIKE


@dataclass(frozen=True, eq=False)
class CaptionedCollection(LabeledCollection):
    """Every item may be a query, and relevant are the items whose captions say most nearly the same.

    Parameters
    ----------
    vectors, labels, known_scales : as of a labeled collection; labels tell nothing here.
    sentences : what the captions of each item say, of length 1.
    """

    sentences: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def relevant(self, row: int) -> NDArray[np.bool_]:
        """The items with the nearest captions."""
        nearness = self.sentences @ self.sentences[row]
        nearness[row] = -np.inf
        relevant = np.zeros(len(self), dtype=bool)
        relevant[np.argsort(-nearness, kind="stable")[:ALIKE]] = True
        return relevant

    def queries(self, n: int, random_state: int = 0) -> IntArray:
        """A random choice of items."""
        chosen = np.random.default_rng(random_state).choice(len(self), min(n, len(self)), replace=False)
        return np.asarray(np.sort(chosen), dtype=np.int64)


def load_captioned(folder: str | os.PathLike[str]) -> CaptionedCollection:
    """The items of a collection that have captions; the mean of an item's sentence vectors is what they say."""
    with Collection(folder) as collection:
        pairs = caption_pairs(collection)
        items, owner = np.unique(np.array([pair.item for pair in pairs], dtype=np.int64), return_inverse=True)
        if len(items) < LEAST:
            raise ValueError(f"{folder} has {len(items)} items with captions, {LEAST} are needed to learn from")
        vectors = {one.name: collection.vectors(one.name).take(items - 1) for one in collection.descriptors()}
    each = encoded(SentenceEncoder(), [pair.text for pair in pairs])
    sums = np.zeros((len(items), each.shape[1]))
    np.add.at(sums, owner, each / np.linalg.norm(each, axis=1, keepdims=True))
    said = sums / np.bincount(owner)[:, None]
    said -= said.mean(axis=0)
    return CaptionedCollection(
        dict(sorted(vectors.items())), items, sentences=said / np.linalg.norm(said, axis=1, keepdims=True)
    )
