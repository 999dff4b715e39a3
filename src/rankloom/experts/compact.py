"""Vectors of one byte a component: how they are coded, and stored rows of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVELS = 2048  # shares of a row's size; the largest that a byte stands for is 1,984
TAIL = 10  # bytes of a row after its codes: its size, squared norm and total
_LARGEST = np.float32(1984 / LEVELS)
_MOST = np.float32(65504.0)  # in half precision


def _levels() -> NDArray[np.float32]:
    """What each byte stands for: a sign, three bits of exponent and four of mantissa, as telephones code sounds."""
    codes = np.arange(128)
    exponent, mantissa = codes >> 4, codes & 15
    levels = np.where(exponent > 0, (16 + mantissa) << np.maximum(exponent - 1, 0), mantissa).astype(np.float32)
    return np.concatenate([levels, -levels])


_LEVELS = _levels()


def row_bytes(dimension: int) -> int:
    """The bytes of a stored vector."""
    return dimension + TAIL


class CompactVectors:
    """Vectors of which each component is a byte, to about 1% of itself; what is taken out of them is float32.

    A row is its codes, and then its size (half precision), its squared norm and its total (single precision). A
    component is a level of its code (-1984 to 1984) times size / 2048, which single precision holds exactly.

    Parameters
    ----------
    rows : bytes, array of shape (n, d + 10); it may be memory-mapped.

    Examples
    --------
    >>> vectors = CompactVectors.of([[0.0, 1.0, -0.25], [4.0, 2.0, 0.0]])
    >>> vectors.shape, vectors[1].round(2).tolist()
    ((2, 3), [4.0, 2.0, 0.0])
    >>> again = CompactVectors.of(vectors[:])
    >>> again.rows.tobytes() == vectors.rows.tobytes()
    True
    """

    ndim = 2

    def __init__(self, rows: NDArray[np.uint8]):
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] < TAIL:
            raise ValueError(f"stored vectors are rows of bytes, got {rows.dtype} of the shape {rows.shape}")
        self.rows = rows
        self.shape = (len(rows), rows.shape[1] - TAIL)

    @classmethod
    def of(cls, vectors: ArrayLike) -> CompactVectors:
        """Code some vectors; what is no number becomes 0, and what is too large for half precision the largest."""
        values = np.clip(np.nan_to_num(np.asarray(vectors, dtype=np.float32)), -_MOST, _MOST)
        if values.ndim != 2:
            raise ValueError(f"vectors are rows of an array, got the shape {values.shape}")
        sizes = _sizes(np.abs(values).max(axis=1, initial=0.0))
        steps = np.abs(values) / np.where(sizes > 0, sizes, np.float32(1.0))[:, None]
        # Half precision has these exponents and mantissas, and more bits: 2^-18 is the step of its first 16 levels.
        bits = (steps * np.float32(LEVELS / 2.0**18)).astype(np.float16).view(np.uint16)
        rows = np.empty((len(values), row_bytes(values.shape[1])), dtype=np.uint8)
        rows[:, :-TAIL] = np.minimum((bits + np.uint16(32)) >> np.uint16(6), 127) | (np.signbit(values) << np.uint8(7))
        coded = cls(rows)
        rows[:, -TAIL:-8] = sizes.astype("<f2")[:, None].view(np.uint8)
        known = coded[:].astype(np.float64)
        for place, sums in ((-8, np.square(known).sum(axis=1)), (-4, known.sum(axis=1))):
            rows[:, place : place + 4 or None] = sums.astype("<f4")[:, None].view(np.uint8)
        return coded

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Any) -> NDArray[np.float32]:
        """The vectors of some rows, or of one."""
        rows = self.rows[which]
        sizes = np.ascontiguousarray(rows[..., -TAIL:-8]).view("<f2").astype(np.float32)
        return np.asarray(_LEVELS[rows[..., :-TAIL]] * (sizes / np.float32(LEVELS)), dtype=np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(np.float32 if dtype is None else dtype, copy=False)

    def take(self, rows: Any) -> CompactVectors:
        """Some rows as they are stored; a stretch of mapped ones stays mapped."""
        return CompactVectors(self.rows[rows])

    def sound(self) -> NDArray[np.bool_]:
        """Which rows hold numbers."""
        sizes = np.ascontiguousarray(self.rows[:, -TAIL:-8]).view("<f2")
        sums = np.ascontiguousarray(self.rows[:, -8:]).view("<f4")
        return np.asarray(np.isfinite(sizes).all(axis=1) & np.isfinite(sums).all(axis=1))


def _sizes(largest: NDArray[np.float32]) -> NDArray[np.float32]:
    """The least size in half precision with which a code reaches the largest component of a row."""
    wanted = np.minimum(largest / _LARGEST, _MOST)
    sizes = wanted.astype(np.float16)
    with np.errstate(over="ignore"):  # beyond the largest, which is not taken
        above = np.nextafter(sizes, np.float16(np.inf))
    return np.asarray(np.where(sizes.astype(np.float32) < wanted, above, sizes), dtype=np.float32)
