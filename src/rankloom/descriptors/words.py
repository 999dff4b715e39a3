"""Visual words: SIFT descriptors counted by the nearest entry of a vocabulary that was trained on the collection."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.descriptors._prepared import Image, Prepared, Vector, normalized, opencv, prepare

MAX_POINTS = 300  # the strongest points of a picture; more change little and cost time
_local = threading.local()


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The visual words of a collection: rows of a matrix, known by a hash of their content.

    Parameters
    ----------
    words : float32 array of shape (n_words, 128), rows of unit length

    Examples
    --------
    >>> vocabulary = Vocabulary(np.eye(3, 128, dtype=np.float32))
    >>> len(vocabulary), vocabulary.version
    (3, '1-9c2aa0ac')
    """

    words: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def version(self) -> str:
        """The version of the function and the first digits of the hash of the words."""
        return "1-" + hashlib.sha256(np.ascontiguousarray(self.words, "<f4").tobytes()).hexdigest()[:8]

    def save(self, path: str | Path) -> None:
        """Write the words as a .npy file."""
        with open(path, "wb") as file:
            np.save(file, self.words, allow_pickle=False)

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Read what `save` wrote."""
        with open(path, "rb") as file:
            words = np.load(file, allow_pickle=False)
        if words.ndim != 2 or words.shape[1] != 128 or words.dtype != np.float32 or not np.isfinite(words).all():
            raise ValueError(f"{path} is not a vocabulary: expected float32 rows of 128; train it again")
        return cls(words)


def sift_points(image: Image | Prepared) -> NDArray[np.float32]:
    """The RootSIFT vectors of the strongest points of a picture, rows of unit length; there may be none.

    References
    ----------
    Lowe, Distinctive image features from scale-invariant keypoints, IJCV 60 (2004) 91-110. Square root: Arandjelovic &
    Zisserman, Three things everyone should know to improve object retrieval, CVPR 2012.

    >>> sift_points(np.zeros((1, 1, 3), np.uint8)).shape
    (0, 128)
    """
    if not hasattr(_local, "sift"):  # an OpenCV object must not be used by two threads at a time
        _local.sift = opencv.SIFT_create(MAX_POINTS)
    sift: Any = _local.sift
    detail = prepare(image).detail
    if min(detail.shape) < 8:
        return np.zeros((0, 128), np.float32)
    histograms = sift.detectAndCompute(detail, None)[1]
    if histograms is None:
        return np.zeros((0, 128), np.float32)
    return np.asarray(np.sqrt(histograms / np.maximum(histograms.sum(1, keepdims=True), 1e-7)), np.float32)


def sift_words(image: Image | Prepared, vocabulary: Vocabulary | None = None) -> Vector:
    """The shares of the visual words of a vocabulary among the SIFT points of a picture; 0 where it has no points.

    References
    ----------
    Sivic & Zisserman, Video Google: a text retrieval approach to object matching in videos, ICCV 2003.

    Examples
    --------
    >>> vocabulary = Vocabulary(np.eye(3, 128, dtype=np.float32))
    >>> sift_words(np.zeros((40, 40, 3), np.uint8), vocabulary).tolist()
    [0.0, 0.0, 0.0]
    """
    if vocabulary is None:
        raise ValueError("sift_words needs a vocabulary of the collection; make one with train_vocabulary(images)")
    points = sift_points(image)
    # Points and words have unit length: the nearest word is the one with the largest product.
    nearest = (points @ vocabulary.words.T).argmax(1)
    return normalized(np.bincount(nearest, minlength=len(vocabulary)))


def train_vocabulary(
    images: Iterable[Image | Prepared], n_words: int = 256, *, max_points: int = 100_000, random_state: int = 0
) -> Vocabulary:
    """Cluster the SIFT points of some pictures of a collection into visual words.

    The same pictures in the same order give the same words. A few hundred pictures are enough.

    Parameters
    ----------
    images : RGB arrays, read one at a time
    n_words : the wanted number of words; there are never more than different points
    max_points : an even sample of so many points at most is kept; it bounds memory and time
    random_state : seed of the sampling and of the clustering

    Examples
    --------
    >>> noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    >>> len(train_vocabulary([noise], n_words=2))
    2
    """
    from sklearn.cluster import MiniBatchKMeans

    rng = np.random.default_rng(random_state)
    points, keys = np.zeros((0, 128), np.float32), np.zeros(0)
    for image in images:
        new = sift_points(image)
        points, keys = np.concatenate([points, new]), np.concatenate([keys, rng.random(len(new))])
        if len(keys) > max_points:  # the points with the smallest of their random keys are an even sample of all so far
            smallest = np.sort(np.argpartition(keys, max_points)[:max_points])
            points, keys = points[smallest], keys[smallest]
    distinct = np.unique(points, axis=0)
    if len(distinct) == 0:
        raise ValueError("no SIFT points in these pictures to make visual words of; give pictures with more detail")
    if len(distinct) <= n_words:
        return Vocabulary(distinct)
    means = MiniBatchKMeans(n_words, batch_size=4096, n_init=1, max_iter=30, random_state=random_state)
    centers = means.fit(distinct[rng.permutation(len(distinct))]).cluster_centers_.astype(np.float32)
    return Vocabulary(centers / np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1e-7))
