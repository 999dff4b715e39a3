"""A picture and what several descriptors need of it, each made once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

opencv: Any = cv2  # its type stubs leave out some of it

Image = NDArray[np.uint8]
Vector = NDArray[np.float32]

SIDE = 128  # most descriptors see the picture as a square of this side, whatever its own size and shape
DETAIL = 224  # those that look for points see it in its own shape, with this longer side


class Prepared:
    """A picture with its resized, grey and HSV versions, computed when first asked for and then kept.

    Parameters
    ----------
    image : uint8 array of shape (height, width, 3), RGB, or of shape (height, width), grey

    Examples
    --------
    >>> picture = Prepared(np.full((30, 50, 3), 200, np.uint8))
    >>> picture.square.shape, picture.gray.shape, int(picture.gray[0, 0])
    ((128, 128, 3), (128, 128), 200)
    """

    def __init__(self, image: Image) -> None:
        self.image = image

    @cached_property
    def rgb(self) -> Image:
        """The picture with three channels, checked."""
        image = self.image
        if not isinstance(image, np.ndarray) or image.dtype != np.uint8:
            got = f"{image.dtype} array" if isinstance(image, np.ndarray) else type(image).__name__
            raise TypeError(f"an image is a uint8 array of RGB values, got {got}; read files with rankloom.media")
        if image.ndim == 2:
            image = np.repeat(image[:, :, None], 3, axis=2)
        if image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
            raise ValueError(
                f"an image has the shape (height, width, 3) and at least one pixel, got {self.image.shape}"
            )
        return np.ascontiguousarray(image)

    @cached_property
    def square(self) -> Image:
        """The picture as a square of `SIDE` pixels."""
        return _resized(self.rgb, SIDE, SIDE)

    @cached_property
    def gray(self) -> Image:
        """The square in grey."""
        return np.asarray(cv2.cvtColor(self.square, cv2.COLOR_RGB2GRAY), np.uint8)

    @cached_property
    def hsv(self) -> Image:
        """The square in OpenCV's HSV: hue in 0..179, saturation and value in 0..255."""
        return np.asarray(cv2.cvtColor(self.square, cv2.COLOR_RGB2HSV), np.uint8)

    @cached_property
    def detail(self) -> Image:
        """The picture in grey and in its own shape, its longer side at most `DETAIL` pixels."""
        return self.shaped(DETAIL)

    def shaped(self, side: int) -> Image:
        """The picture in grey and in its own shape, its longer side at most so many pixels."""
        height, width = self.rgb.shape[:2]
        scale = min(1.0, side / max(height, width))
        small = _resized(self.rgb, max(1, round(width * scale)), max(1, round(height * scale)))
        return np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), np.uint8)


def prepare(image: Image | Prepared) -> Prepared:
    """Return the picture ready for descriptors; a prepared one is returned as it is."""
    return image if isinstance(image, Prepared) else Prepared(image)


def cells(plane: NDArray[Any], n: int) -> NDArray[Any]:
    """Cut a square plane into n x n cells: shape (n * n, pixels of a cell, ...), row by row.

    >>> cells(np.arange(16).reshape(4, 4), 2).tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    """
    side = plane.shape[0] // n
    blocks = plane.reshape(n, side, n, side, *plane.shape[2:]).swapaxes(1, 2)
    return blocks.reshape(n * n, side * side, *plane.shape[2:])


def normalized(counts: NDArray[Any]) -> Vector:
    """A histogram as float32 that sums to 1; one without any count stays 0.

    >>> normalized(np.array([1, 3])).tolist(), normalized(np.zeros(2)).tolist()
    ([0.25, 0.75], [0.0, 0.0])
    """
    total = float(counts.sum())
    return (counts / total if total > 0 else np.asarray(counts)).astype(np.float32).ravel()


def rooted(counts: NDArray[Any]) -> Vector:
    """The square roots of a histogram's counts, scaled to sum 1: a large count does not drown the others.

    On such histograms L2 and cosine compare as Hellinger's distance does (Arandjelovic & Zisserman, Three things
    everyone should know to improve object retrieval, CVPR 2012, section 3).

    >>> rooted(np.array([1, 9])).tolist(), rooted(np.zeros(2)).tolist()
    ([0.25, 0.75], [0.0, 0.0])
    """
    return normalized(np.sqrt(counts))


def _resized(image: Image, width: int, height: int) -> Image:
    if image.shape[:2] == (height, width):
        return image
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
