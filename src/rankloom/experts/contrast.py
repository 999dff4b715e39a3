r"""Learning where words and pictures meet: each text nearer to its own picture than to others, and the reverse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rankloom.core import FloatArray, IntArray
from rankloom.experts.looks import WordMap, unit

TEMPERATURE, DROPOUT = 0.08, 0.3
RATE, BATCH = 0.01, 256
CHECKPOINTS = (10, 20, 40, 80, 160)  # steps after which a refined map is judged
FOLDS = 3
LEAST_PAIRS, LEAST_PICTURES = 50, 20  # to refine a map

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


class Refined(NamedTuple):
    """What a collection adds to the map: a matrix for sentences, and the reciprocal ranks of held-out texts before
    and after, on average."""

    correction: Floats
    before: float
    after: float


def refine(word_map: WordMap, pictures: Floats, sentences: Floats, rows: IntArray) -> Refined | None:
    """Learn from pairs of texts and pictures what to add to the map of sentences; that of pictures stays.

    How many steps are taken is decided on pictures held out. If none of the numbers tried makes the texts of these find
    them earlier, by more than one standard error, there is nothing to add.

    Parameters
    ----------
    word_map : the start.
    pictures : in the space of the map.
    sentences : a vector for each text.
    rows : the picture of each text.
    """
    if len(rows) < LEAST_PAIRS or len(np.unique(rows)) < LEAST_PICTURES:
        return None
    with threadpool_limits(1, "blas"):  # small matrices: more threads only wait for each other
        return _refined(word_map, pictures, np.asarray(sentences - word_map.sentence_mean, np.float32), rows)


def _refined(word_map: WordMap, pictures: Floats, vectors: Floats, rows: IntArray) -> Refined | None:
    ranks = np.zeros((1 + len(CHECKPOINTS), len(rows)))
    for fold in range(FOLDS):
        held = rows % FOLDS == fold
        if held.all() or not held.any():
            return None
        path = _path(word_map, pictures, vectors[~held], rows[~held], max(CHECKPOINTS))
        for number, correction in enumerate([np.zeros_like(word_map.sentences), *path]):
            ranks[number, held] = _reciprocal(vectors[held] @ (word_map.sentences + correction), pictures, rows[held])
    gains = ranks[1:] - ranks[0]
    best = int(gains.mean(axis=1).argmax())
    if gains[best].mean() <= gains[best].std() / np.sqrt(len(rows)):
        return None
    correction = _path(word_map, pictures, vectors, rows, CHECKPOINTS[best])[-1]
    return Refined(correction, float(ranks[0].mean()), float(ranks[best + 1].mean()))


def _path(word_map: WordMap, pictures: Floats, vectors: Floats, rows: IntArray, steps: int) -> list[Floats]:
    """The corrections after each number of steps in CHECKPOINTS, up to one."""
    size = float(np.sqrt((word_map.sentences**2).mean()))
    learner = Adam(np.zeros_like(word_map.sentences), RATE, size)
    batches, path = Batches(rows, BATCH, 0), []
    for step in range(1, steps + 1):
        of_pictures, texts = batches.next()
        words = batches.dropped(vectors[texts])
        _, gradient = contrast(pictures[of_pictures], words @ (word_map.sentences + learner.matrix))
        learner.step(words.T @ gradient)
        if step in CHECKPOINTS:
            path.append(learner.matrix.copy())
    return path


def _reciprocal(words: Floats, pictures: Floats, rows: IntArray) -> FloatArray:
    """1 / the rank of the picture of each text among all."""
    ranks = []
    for start in range(0, len(words), BATCH):
        cosines = unit(words[start : start + BATCH]) @ pictures.T
        own = cosines[np.arange(len(cosines)), rows[start : start + BATCH]]
        ranks.append(1.0 / (1 + (cosines > own[:, None]).sum(axis=1)))
    return np.concatenate(ranks)
