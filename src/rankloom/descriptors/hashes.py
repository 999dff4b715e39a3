"""A perceptual hash: near duplicates have nearly the same 64 bits."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom.descriptors._prepared import Image, Prepared, Vector, prepare


def perceptual_hash(image: Image | Prepared) -> Vector:
    """64 bits, as components 0 and 1: which low frequencies of the picture are above their median.

    References
    ----------
    Zauner, Implementation and benchmarking of perceptual image hash functions, Hagenberg 2010, section 3.2.1.

    Examples
    --------
    >>> y, x = np.mgrid[:90, :120]
    >>> waves = (120 + 60 * np.sin(x * y / 900) + 60 * np.cos(x / 20)).astype(np.uint8)
    >>> hamming(hash_number(perceptual_hash(waves)), hash_number(perceptual_hash(waves // 2 + 40)))
    0
    """
    small = cv2.resize(prepare(image).gray, (32, 32), interpolation=cv2.INTER_AREA).astype(np.float32)
    low = cv2.dct(small)[1:9, 1:9].round(2).ravel()  # without the rounding a constant picture would be its noise
    middle = np.sort(low)[31:33].mean()  # what np.median would take ten times as long for
    return np.asarray(low > middle, np.float32)


def hash_number(bits: NDArray[np.float32]) -> int:
    """The 64 bits as one number, for storing and looking up.

    >>> hash_number(np.array([1, 0, 1], np.float32))
    5
    """
    return int("".join("1" if bit > 0 else "0" for bit in bits), 2)


def hamming(first: int, second: int) -> int:
    """The number of bits in which two hashes differ; up to about 8 of 64 it is the same picture.

    >>> hamming(0b1010, 0b0011)
    2
    """
    return (first ^ second).bit_count()
