"""Faces, counted."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from rankloom.descriptors._prepared import Image, Prepared, Vector, opencv, prepare

FACES_SIDE = 320  # the longer side of the picture that is searched
SMALLEST = 26  # pixels of the smallest face there
_local = threading.local()


def faces(image: Image | Prepared) -> Vector:
    """The number of frontal faces, as a vector of one component.

    References
    ----------
    Viola & Jones, Rapid object detection using a boosted cascade of simple features, CVPR 2001. By OpenCV's
    haarcascade_frontalface_alt, which of its cascades sees the fewest faces where there are none.

    Examples
    --------
    >>> faces(np.zeros((60, 80, 3), np.uint8)).tolist()
    [0.0]
    """
    gray = prepare(image).shaped(FACES_SIDE)
    if min(gray.shape) < SMALLEST:
        return np.zeros(1, np.float32)
    if not hasattr(_local, "cascade"):  # an OpenCV object must not be used by two threads at a time
        _local.cascade = cv2.CascadeClassifier(str(Path(opencv.data.haarcascades, "haarcascade_frontalface_alt.xml")))
    cascade: Any = _local.cascade
    boxes = cascade.detectMultiScale(gray, scaleFactor=1.2, minNeighbors=3, minSize=(SMALLEST, SMALLEST))
    return np.array([len(boxes)], np.float32)
