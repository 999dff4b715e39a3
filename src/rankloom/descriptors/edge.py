"""Edges and shape: edge histogram, histogram of oriented gradients."""

from __future__ import annotations

import threading
from typing import Any

import cv2
import numpy as np

from rankloom.descriptors._prepared import SIDE, Image, Prepared, Vector, cells, normalized, prepare

EDGE_THRESHOLD = 11  # of 255: weaker edges are noise (the value of MPEG-7's reference program)
_EDGE_FILTERS = np.array(
    [
        [1, -1, 1, -1],  # vertical
        [1, 1, -1, -1],  # horizontal
        [2**0.5, 0, 0, -(2**0.5)],  # 45 degrees
        [0, 2**0.5, -(2**0.5), 0],  # 135 degrees
        [2, -2, -2, 2],  # no direction
    ],
    np.float32,
)


def edge_histogram(image: Image | Prepared) -> Vector:
    """Shares of five kinds of edges (and of no edge) among small blocks, in each cell of a 4 x 4 grid.

    References
    ----------
    Manjunath, Ohm, Vasudevan & Yamada, Color and texture descriptors, IEEE CSVT 11 (2001) 703-715, section IV-C. The
    sixth bin, blocks without an edge, is implied in MPEG-7's 80.

    Examples
    --------
    >>> edges = edge_histogram(np.zeros((8, 8, 3), np.uint8)).reshape(16, 6)
    >>> edges.sum(0).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """
    means = cv2.resize(prepare(image).gray.astype(np.float32), (SIDE // 2, SIDE // 2), interpolation=cv2.INTER_AREA)
    blocks = cells(means, SIDE // 4)  # each of four means: top left, top right, bottom left, bottom right
    strength = np.abs(blocks @ _EDGE_FILTERS.T)
    kind = np.where(strength.max(1) >= EDGE_THRESHOLD, strength.argmax(1), 5)
    by_cell = cells(kind.reshape(SIDE // 4, SIDE // 4), 4)
    return normalized(np.bincount((by_cell + 6 * np.arange(16)[:, None]).ravel(), minlength=96))


_local = threading.local()


def hog(image: Image | Prepared) -> Vector:
    """Directions of gradients (12, unsigned) in a 5 x 5 grid, the contrast evened out in 4 x 4 blocks of four cells.

    Each pixel votes by the colour channel with the steepest gradient, after a square root of the brightness.

    References
    ----------
    Dalal & Triggs, Histograms of oriented gradients for human detection, CVPR 2005. By OpenCV on 80 x 80 pixels, with
    L2-Hys.

    Examples
    --------
    >>> hog(np.zeros((8, 8, 3), np.uint8)).shape
    (768,)
    """
    if not hasattr(_local, "hog"):  # an OpenCV object must not be used by two threads at a time
        _local.hog = cv2.HOGDescriptor((80, 80), (32, 32), (16, 16), (16, 16), 12, _gammaCorrection=True)
    descriptor: Any = _local.hog
    small = cv2.resize(prepare(image).square, (80, 80), interpolation=cv2.INTER_AREA)
    return np.asarray(descriptor.compute(small), np.float32).ravel()
