r"""Pictures that are near to all texts, and how much they are lowered for it.

In a space of many dimensions some pictures are among the nearest of very many texts, whatever these say. How near a
picture is to the texts of a collection nearest to it tells how much of its nearness to a query to expect.

References
----------
A. Conneau, G. Lample, M. Ranzato, L. Denoyer, H. Jegou. Word translation without parallel data. ICLR 2018, section 2.3.
S.-V. Bogolin, I. Croitoru, H. Jin, Y. Liu, S. Albanie. Cross modal retrieval with querybank normalisation. CVPR 2022.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import IntArray

Floats = NDArray[np.float32]

NEIGHBORS = 10
WEIGHT, SHRINKAGE = 0.3, 200.0  # of what is expected, against the cosine itself: with n texts 0.3 n / (n + 200)
MOST_TEXTS = 1000  # a sample of more tells the same
LEAST_TEXTS = 50
_BLOCK = 4096
_STEPS = 8192.0


class TextBank(NamedTuple):
    """Texts of a collection: in the space of the map, of unit length, the picture of each, and the mean nearness."""

    texts: Floats
    pictures: IntArray
    usual: float

    @property
    def weight(self) -> float:
        """How much counts what is expected: the less, the fewer texts tell it."""
        return WEIGHT * len(self.texts) / (len(self.texts) + SHRINKAGE)


def sampled(count: int) -> IntArray:
    """The numbers of at most MOST_TEXTS texts of so many; the same ones for the same count."""
    if count <= MOST_TEXTS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, MOST_TEXTS, replace=False))


def nearness(pictures: Floats, numbers: IntArray, texts: Floats, of_pictures: IntArray) -> Floats:
    """The mean cosine of pictures with the ten nearest texts that are not their own; of a picture of zeros, 0.

    Parameters
    ----------
    pictures : in the space of the map, of unit length.
    numbers : by which `of_pictures` names them.
    texts : likewise of unit length, more than ten of them.
    of_pictures : the picture that each text belongs to.
    """
    means = np.zeros(len(pictures), np.float32)
    for start in range(0, len(pictures), _BLOCK):
        part = slice(start, start + _BLOCK)
        cosines = pictures[part] @ texts.T
        cosines[numbers[part, None] == of_pictures] = -1.0
        means[part] = np.partition(cosines, -NEIGHBORS, axis=1)[:, -NEIGHBORS:].mean(axis=1)
    means[~pictures.any(axis=1)] = 0.0
    # Rounded, so that the last bit of a product, which depends on the rows beside, does not show.
    return np.asarray(np.rint(means * _STEPS) / _STEPS, np.float32)
