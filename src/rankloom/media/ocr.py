"""Text in pictures: signs, slides, screenshots, captions burnt into frames. It needs the extra `ocr`."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom._io import PackagedFile, load_onnxruntime

VERSION = "ppocr6-1"  # of what is read: another reads pictures again on request
INSTALL = "pip install 'rankloom[ocr]'"
DETECTOR = PackagedFile(
    "rapidocr",
    "rapidocr/models/PP-OCRv6_det_small.onnx",
    "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
    INSTALL,
)
READER = PackagedFile(
    "rapidocr",
    "rapidocr/models/PP-OCRv6_rec_small.onnx",
    "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
    INSTALL,
)
LONGEST_SIDE = 1280  # of the picture that is read
DETECTION_SIDE = 608  # of the picture in which text is looked for; letters of 14 pixels at 1280 are still found
LEAST_SCORE = 0.75
LEAST_SCORE_SHORT = 0.9  # of one or two characters, which bricks and branches look like
LEAST_SCORE_LARGE = 0.96  # of one character as high as the picture, which a dog on a beach looks like
MOST_TEXTS = 200  # more are not looked at: it bounds the time
_lock = threading.Lock()
_engines: list[Any] = []


class PrintedText(NamedTuple):
    """A line of text: left, top, width and height as shares of the picture's width and height, and a score up to 1."""

    text: str
    left: float
    top: float
    width: float
    height: float
    score: float


def available() -> bool:
    """Whether the extra is installed."""
    return DETECTOR.present and READER.present


def load() -> None:
    """Load the networks, unless they are; a file of weights that is not the one we know is an ImportError."""
    with _lock:
        _engine()


def read_text(image: NDArray[np.uint8]) -> list[PrintedText]:
    """The lines of text in a picture, in reading order.

    Parameters
    ----------
    image : RGB array.

    References
    ----------
    PP-OCRv6 of PaddleOCR, by the package `rapidocr` in onnxruntime. Its weights are inside the package and compared
    with their SHA-256; nothing is downloaded.

    Examples
    --------
    >>> read_text(np.zeros((60, 80, 3), np.uint8))
    []
    """
    height, width = image.shape[:2]
    scale = min(1.0, LONGEST_SIDE / max(height, width))
    bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    if scale < 1:
        size = max(1, round(width * scale)), max(1, round(height * scale))
        bgr = cv2.resize(bgr, size, interpolation=cv2.INTER_AREA)
    with _lock:  # the engine keeps the settings of a call
        found = _engine()(bgr)
    if not found.txts:
        return []
    shape = np.array(bgr.shape[1::-1], np.float64)
    texts = []
    for text, quad, score in zip(found.txts, found.boxes, found.scores, strict=True):
        text = " ".join(text.split())
        if score < (LEAST_SCORE if len(text) > 2 else LEAST_SCORE_SHORT) or not text:
            continue
        corners = np.clip(np.asarray(quad, np.float64) / shape, 0.0, 1.0)
        low, high = corners.min(axis=0), corners.max(axis=0)
        (left, top), (wide, tall) = low.tolist(), (high - low).tolist()
        if len(text) == 1 and tall > 0.95 and score < LEAST_SCORE_LARGE:
            continue
        texts.append(PrintedText(text, left, top, wide, tall, min(float(score), 1.0)))
    return texts[:MOST_TEXTS]


def _engine() -> Any:
    if not _engines:
        paths = {"Det.model_path": str(DETECTOR.checked()), "Rec.model_path": str(READER.checked())}
        load_onnxruntime()  # before rapidocr does
        try:
            from rapidocr import RapidOCR
        except ImportError as error:
            raise ImportError(f"text in pictures needs the package rapidocr; run: {INSTALL}") from error
        params = {
            "Global.use_cls": False,
            "Global.log_level": "error",
            "Det.limit_side_len": DETECTION_SIDE,
            "Det.limit_type": "max",
            "Det.max_candidates": MOST_TEXTS,
            "Rec.rec_batch_num": 1,  # lines one by one: six long ones at once take 800 MB
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
        _engines.append(RapidOCR(params={**params, **paths}))
    return _engines[0]
