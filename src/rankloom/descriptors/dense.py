"""Dense visual words: SIFT vectors on a regular grid, counted by the nearest entry of a vocabulary that comes along."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom.descriptors._prepared import Image, Prepared, Vector, prepare, rooted

GRID = 3
SCALES = ((4, 6), (8, 8))  # the side of one of the 4 x 4 bins of a patch, and the step between patches, in pixels
FLAT = 0.01  # a patch with less mean gradient (of 1) has no shape
_DIRECTIONS = 8

Points = NDArray[np.float32]


def dense_words(image: Image | Prepared) -> Vector:
    """Roots of the shares of 64 visual words among dense SIFT patches of two sizes, in each cell of a 3 x 3 grid.

    The words come with Rankloom, so that nothing is trained: `learn_dense_words` on photographs and on drawings.

    References
    ----------
    Lazebnik, Schmid & Ponce, Beyond bags of features: spatial pyramid matching for recognizing natural scene
    categories, CVPR 2006. Root: Arandjelovic & Zisserman, CVPR 2012.

    Examples
    --------
    >>> words = dense_words(np.zeros((8, 8, 3), np.uint8))
    >>> words.shape, float(words.max())
    ((576,), 0.0)
    """
    words = _vocabulary()
    places, points = dense_points(image)
    # Points and words have unit length: the nearest word is the one with the largest product.
    nearest = (points @ words.T).argmax(1)
    row, column = np.minimum((places * GRID).astype(np.intp), GRID - 1).T
    numbers = (row * GRID + column) * len(words) + nearest
    return rooted(np.bincount(numbers, minlength=GRID * GRID * len(words)))


def dense_points(image: Image | Prepared) -> tuple[Points, Points]:
    """The centres of the patches that are not flat, as shares of height and width, and their RootSIFT vectors.

    >>> places, points = dense_points(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8))
    >>> places.shape, points.shape
    ((569, 2), (569, 128))
    """
    votes = _direction_votes(prepare(image).gray.astype(np.float32) / np.float32(255))
    side = votes.shape[0]
    places, points = [], []
    for width, step in SCALES:
        ramp = (1 - np.abs(np.arange(1 - width, width)) / width).astype(np.float32) / np.float32(width)
        shared = cv2.sepFilter2D(votes, -1, ramp, ramp, borderType=cv2.BORDER_REFLECT)
        centers = np.arange(3 * width // 2, side - 3 * width // 2, step)
        at = centers[:, None] + width * np.arange(-3, 4, 2) // 2  # the centres of the four bins along a side
        patches = shared[at[:, None, :, None], at[None, :, None, :]].reshape(len(centers) ** 2, -1)
        total = patches.sum(1)
        uneven = total >= FLAT * 16
        points.append(np.sqrt(patches[uneven] / total[uneven, None]))
        grid = np.stack(np.meshgrid(centers, centers, indexing="ij"), axis=-1).reshape(-1, 2)
        places.append(((grid[uneven] + 0.5) / side).astype(np.float32))
    return np.concatenate(places), np.concatenate(points).astype(np.float32)


def _direction_votes(gray: NDArray[np.float32]) -> NDArray[np.float32]:
    """The gradient of each pixel, shared by the two nearest of eight directions: shape (height, width, 8)."""
    right = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=1)
    down = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=1)
    strength, angle = (plane.ravel() for plane in cv2.cartToPolar(right, down))
    turn = angle * np.float32(_DIRECTIONS / (2 * np.pi))
    first = turn.astype(np.intp)
    second_share = strength * (turn - first)
    votes = np.zeros((gray.size, _DIRECTIONS), np.float32)
    pixel = np.arange(gray.size)
    votes[pixel, first % _DIRECTIONS] = strength - second_share
    votes[pixel, (first + 1) % _DIRECTIONS] = second_share
    return votes.reshape(*gray.shape, _DIRECTIONS)


@cache
def _vocabulary() -> Points:
    with files("rankloom.descriptors").joinpath("data", "dense_words.npy").open("rb") as file:
        return np.asarray(np.load(file, allow_pickle=False), np.float32)


def learn_dense_words(images: Iterable[Image | Prepared], n_words: int = 64, *, random_state: int = 0) -> Points:
    """Cluster dense SIFT vectors of some pictures, at most 100 of each, into words: rows of unit length.

    >>> noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    >>> learn_dense_words([noise], n_words=2).shape
    (2, 128)
    """
    from sklearn.cluster import MiniBatchKMeans

    rng = np.random.default_rng(random_state)
    sample = np.concatenate([rng.permutation(dense_points(image)[1])[:100] for image in images])
    means = MiniBatchKMeans(n_words, batch_size=4096, n_init=1, max_iter=30, random_state=random_state)
    centers = means.fit(sample).cluster_centers_.astype(np.float32)
    return np.asarray(centers / np.linalg.norm(centers, axis=1, keepdims=True))
