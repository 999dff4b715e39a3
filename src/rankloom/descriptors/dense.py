"""Dense visual words: SIFT vectors on a regular grid, counted by the nearest entry of a vocabulary that comes along."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom.descriptors._prepared import Image, Prepared, Vector, prepare, rooted

GRID = 3
SCALES = ((4, 6), (8, 8))  # the side of one of the 4 x 4 bins of a patch, and the step between patches, in pixels
FLAT = 0.01  # a patch with less mean gradient (of 1) has no shape
_DIRECTIONS = 8  # a power of two
_ONE = np.ones(1, np.float32)

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
    grids = [_grid(votes.shape[0], width, step) for width, step in SCALES]
    patches = [_shared(votes, grid).take(grid.bins, axis=0).reshape(len(grid.places), -1) for grid in grids]
    points, places = np.concatenate(patches), np.concatenate([grid.places for grid in grids])
    total = points.sum(1)
    uneven = total >= FLAT * 16
    if not uneven.all():
        points, places, total = points[uneven], places[uneven], total[uneven]
    points /= total[:, None]
    return places, np.sqrt(points, out=points)


class _Grid(NamedTuple):
    """Patches of a size.

    Parameters
    ----------
    places : their centres, as shares of height and width.
    bins : the centres of their bins, 16 a patch, as numbers of the rows that `_shared` gives.
    ramp : how the pixels along a line vote for the one in the middle.
    lines : the same for the few lines on which centres of bins lie, a row a line; None if they are many.
    """

    places: Points
    bins: NDArray[np.intp]
    ramp: NDArray[np.float32]
    lines: NDArray[np.float32] | None


@cache
def _grid(side: int, width: int, step: int) -> _Grid:
    """The patches of a square picture; `width` is that of a bin, `step` is between patches."""
    centers = np.arange(3 * width // 2, side - 3 * width // 2, step)
    places = np.stack(np.meshgrid(centers, centers, indexing="ij"), axis=-1).reshape(-1, 2)
    at = centers[:, None] + width * np.arange(-3, 4, 2) // 2  # the centres of the four bins along a side
    ramp = (1 - np.abs(np.arange(1 - width, width)) / width).astype(np.float32) / np.float32(width)
    used, n_lines, lines = np.unique(at), side, None
    if len(used) <= 2 * width:  # then it is cheaper to compute nothing but their crossings
        at, n_lines = np.searchsorted(used, at), len(used)
        lines = cv2.sepFilter2D(np.eye(side, dtype=np.float32), -1, ramp, _ONE, borderType=cv2.BORDER_REFLECT).T[used]
    bins = at[:, None, :, None] * n_lines + at[None, :, None, :]
    return _Grid(((places + 0.5) / side).astype(np.float32), bins.ravel(), ramp, lines)


def _shared(votes: NDArray[np.float32], grid: _Grid) -> NDArray[np.float32]:
    """The votes of the pixels around each pixel, or around the crossings of the lines alone: shape (n, 8)."""
    if grid.lines is None:
        around = cv2.sepFilter2D(votes, -1, grid.ramp, grid.ramp, borderType=cv2.BORDER_REFLECT)
    else:
        side = votes.shape[0]
        rows = grid.lines @ votes.reshape(side, -1)
        around = np.matmul(grid.lines, rows.reshape(-1, side, _DIRECTIONS))
    return np.asarray(around, np.float32).reshape(-1, _DIRECTIONS)


def _direction_votes(gray: NDArray[np.float32]) -> NDArray[np.float32]:
    """The gradient of each pixel, shared by the two nearest of eight directions: shape (height, width, 8)."""
    right = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=1)
    down = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=1)
    strength, angle = (plane.ravel() for plane in cv2.cartToPolar(right, down))
    turn = angle * np.float32(_DIRECTIONS / (2 * np.pi))
    first = turn.astype(np.int32)
    second_share = strength * (turn - first)
    votes = np.zeros(gray.size * _DIRECTIONS, np.float32)
    pixel = np.arange(0, votes.size, _DIRECTIONS)
    votes[pixel + (first & _DIRECTIONS - 1)] = strength - second_share
    votes[pixel + (first + 1 & _DIRECTIONS - 1)] = second_share
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
