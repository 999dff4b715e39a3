r"""Learning where words and pictures meet: each text nearer to its own picture than to others, and the reverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankloom.core import IntArray
from rankloom.experts.looks import unit

TEMPERATURE, DROPOUT = 0.08, 0.3

Floats = NDArray[np.float32]


def contrast(pictures: Floats, words: Floats) -> tuple[Floats, Floats]:
    r"""The gradients, for mapped pictures and words, of the contrastive loss; row i of both belongs together.

    .. math:: -\frac{1}{2n} \sum_i \log \frac{e^{\cos(v_i, x_i) / t}}{\sum_j e^{\cos(v_i, x_j) / t}} + \log
              \frac{e^{\cos(v_i, x_i) / t}}{\sum_j e^{\cos(v_j, x_i) / t}}

    References
    ----------
    A. van den Oord, Y. Li, O. Vinyals. Representation learning with contrastive predictive coding, 2018, eq. 4.
    """
    units = unit(pictures), unit(words)
    cosines = units[1] @ units[0].T / TEMPERATURE
    by_words = np.exp(cosines - cosines.max(axis=1, keepdims=True))
    by_pictures = np.exp(cosines - cosines.max(axis=0))
    loss = (by_words / by_words.sum(axis=1, keepdims=True) + by_pictures / by_pictures.sum(axis=0)) / 2
    loss = (loss - np.eye(len(loss), dtype=np.float32)) / (len(loss) * TEMPERATURE)
    gradients = []
    for mapped, vectors, gradient in zip((pictures, words), units, (loss.T @ units[1], loss @ units[0]), strict=True):
        across = gradient - vectors * (gradient * vectors).sum(axis=1, keepdims=True)
        gradients.append(across / np.maximum(np.linalg.norm(mapped, axis=1, keepdims=True), 1e-12))
    return gradients[0], gradients[1]


class Adam:
    """Steps of like size for all entries of a matrix (Kingma & Ba 2015, algorithm 1); the matrix is changed.

    Parameters
    ----------
    matrix : what is learned.
    rate : the size of a step, against the size of the matrix.
    size : the size of the matrix, if not its own.
    """

    def __init__(self, matrix: Floats, rate: float, size: float | None = None):
        self.matrix = matrix
        self._rate = rate * (float(np.sqrt((matrix**2).mean())) if size is None else size)
        self._mean, self._square, self._steps = np.zeros_like(matrix), np.zeros_like(matrix), 0

    def step(self, gradient: Floats, share: float = 1.0) -> None:
        """Go a step, or a share of one, against the gradient."""
        self._steps += 1
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient**2 - self._square)
        mean, square = self._mean / (1 - 0.9**self._steps), self._square / (1 - 0.999**self._steps)
        self.matrix -= self._rate * share * mean / (np.sqrt(square) + 1e-12)


class Batches:
    """Batches of pictures, each with one of its texts.

    Parameters
    ----------
    rows : the picture of each text.
    size : pictures of a batch.
    random_state : which come together.
    """

    def __init__(self, rows: IntArray, size: int, random_state: int):
        self._random = np.random.default_rng(random_state)
        self._texts = np.argsort(rows, kind="stable")
        self._pictures, self._first, self._count = np.unique(rows[self._texts], return_index=True, return_counts=True)
        self._size = min(size, len(self._pictures))

    def next(self) -> tuple[IntArray, IntArray]:
        """Rows of pictures, and numbers of texts."""
        chosen = self._random.choice(len(self._pictures), self._size, replace=False)
        texts = self._texts[self._first[chosen] + self._random.integers(0, self._count[chosen])]
        return self._pictures[chosen], texts

    def dropped(self, vectors: Floats) -> Floats:
        """Vectors with a part of their components set to 0."""
        return np.asarray(vectors * (self._random.random(vectors.shape, np.float32) > DROPOUT), np.float32)
