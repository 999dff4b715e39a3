"""Your own image and text encoders, such as CLIP, as ONNX files: one space for pictures and words."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom._io import open_session
from rankloom.descriptors._prepared import Image, Prepared, Vector, prepare
from rankloom.descriptors.registry import Descriptor

File = str | os.PathLike[str]
Numbers = tuple[float, float, float]
CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
_EMBEDDINGS = ("image_embeds", "text_embeds", "sentence_embedding", "embedding", "embeddings", "pooler_output")


class OnnxEncoder:
    """An image encoder and, if given, the text encoder of the same space.

    The image file takes pixels of the shape (n, 3, side, side) or (n, side, side, 3), as float32 or float16 (scaled to
    0..1, less `mean`, by `std`) or as uint8 (as they are). The text file takes token numbers as its first input, and
    their mask if it has a second. Of several outputs the one with the name of an embedding is taken, else the first
    with one vector per row. Vectors have unit length: they are compared by cosines.

    Parameters
    ----------
    image_onnx : file
    text_onnx, tokenizer : file, optional
        The text encoder and its tokenizer.json. Texts need both, and the package `tokenizers`.
    name : str
        The name of its descriptor.
    side : int, default=224
        Pixels of a side, where the image file leaves that open.
    mean, std : three numbers
        Defaults are CLIP's.
    threads : int, default=1

    References
    ----------
    Radford et al., Learning transferable visual models from natural language supervision, ICML 2021 (CLIP).
    """

    def __init__(
        self,
        image_onnx: File,
        text_onnx: File | None = None,
        tokenizer: File | None = None,
        *,
        name: str = "clip",
        side: int = 224,
        mean: Numbers = CLIP_MEAN,
        std: Numbers = CLIP_STD,
        threads: int = 1,
    ) -> None:
        self.image_onnx = image_onnx
        self.text_onnx = text_onnx
        self.tokenizer = tokenizer
        self.name = name
        self.side = side
        self.mean = mean
        self.std = std
        self.threads = threads
        self._lock = threading.Lock()
        self._loaded: dict[str, Any] = {}

    def encode_images(self, images: Sequence[Image | Prepared]) -> NDArray[np.float32]:
        """Vectors of unit length, one per picture."""
        session = self._session(self.image_onnx)
        return _run(session, [self._pixels(image, session.get_inputs()[0]) for image in images])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of unit length, one per text, in the same space as the pictures."""
        if self.text_onnx is None or self.tokenizer is None:
            raise ValueError(
                f"the encoder {self.name!r} has no text side; give it a text ONNX file and a tokenizer.json"
            )
        session = self._session(self.text_onnx)
        tokenize = self._tokenizer(session.get_inputs()[0])
        return _run(session, *_tokens(tokenize.encode_batch([str(text) for text in texts]), session.get_inputs()))

    def encode_image(self, image: Image | Prepared) -> Vector:
        """The vector of one picture, of unit length."""
        return np.asarray(self.encode_images([image])[0], np.float32)

    def descriptor(self) -> Descriptor:
        """The image side as a descriptor; its version is the content of the file and how pixels are prepared."""
        digest = hashlib.sha256(Path(self.image_onnx).read_bytes())
        digest.update(repr((self.side, tuple(self.mean), tuple(self.std))).encode())
        dimension = len(self.encode_image(np.zeros((8, 8, 3), np.uint8)))
        return Descriptor(self.name, self.encode_image, dimension, digest.hexdigest()[:12], "embedding")

    def check(self) -> int:
        """Run both sides once; return the dimension of their space, or raise a ValueError with what does not fit."""
        dimension = len(self.encode_image(np.zeros((8, 8, 3), np.uint8)))
        if self.text_onnx is not None:
            of_text = self.encode_texts(["a picture"]).shape[1]
            if of_text != dimension:
                raise ValueError(
                    f"the image encoder gives {dimension} numbers and the text encoder {of_text}; "
                    "they must be of the same model, with their projections"
                )
        return dimension

    def _session(self, file: File) -> Any:
        with self._lock:
            key = os.fspath(file)
            if key not in self._loaded:
                if not os.path.isfile(file):
                    raise ValueError(f"there is no file {key}")
                try:
                    self._loaded[key] = open_session(file, self.threads)
                except Exception as error:  # onnxruntime's own exceptions have no common class
                    raise ValueError(f"{key} is not an ONNX model that can be run: {str(error)[:200]}") from error
            return self._loaded[key]

    def _tokenizer(self, wanted: Any) -> Any:
        try:
            import tokenizers
        except ImportError as error:
            raise ImportError("texts for your own encoder need a tokenizer: pip install tokenizers") from error
        with self._lock:
            if "tokenizer" not in self._loaded:
                try:
                    tokenizer = tokenizers.Tokenizer.from_file(os.fspath(self.tokenizer or ""))
                except Exception as error:  # the package raises plain Exception
                    raise ValueError(f"{self.tokenizer} is not a tokenizer.json: {str(error)[:200]}") from error
                padding = tokenizer.padding or {}
                length = wanted.shape[1] if len(wanted.shape) > 1 and isinstance(wanted.shape[1], int) else None
                options = {"pad_id": padding.get("pad_id", 0), "pad_token": padding.get("pad_token", "[PAD]")}
                tokenizer.enable_padding(length=length, **options)
                tokenizer.enable_truncation(length or (tokenizer.truncation or {}).get("max_length", 512))
                self._loaded["tokenizer"] = tokenizer
            return self._loaded["tokenizer"]

    def _pixels(self, image: Image | Prepared, wanted: Any) -> NDArray[Any]:
        shape = wanted.shape
        if len(shape) != 4:
            raise ValueError(f"the image encoder takes an input of the shape {shape}; expected four dimensions")
        last = shape[3] == 3 and shape[1] != 3
        side = next((n for n in (shape[1:3] if last else shape[2:4]) if isinstance(n, int)), self.side)
        pixels = _middle(prepare(image).rgb, side)
        if wanted.type != "tensor(uint8)":
            scaled = (pixels / 255 - np.array(self.mean)) / np.array(self.std)
            return _planes(scaled.astype(np.float16 if "float16" in wanted.type else np.float32), last)
        return _planes(pixels, last)


def _planes(pixels: NDArray[Any], channels_last: bool) -> NDArray[Any]:
    return pixels if channels_last else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _middle(rgb: Image, side: int) -> Image:
    """The middle square of a picture."""
    height, width = rgb.shape[:2]
    small = min(height, width)
    top, left = (height - small) // 2, (width - small) // 2
    square = rgb[top : top + small, left : left + small]
    method = cv2.INTER_AREA if small > side else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(square, (side, side), interpolation=method), np.uint8)


def _tokens(encodings: Sequence[Any], inputs: Sequence[Any]) -> list[list[NDArray[Any]]]:
    columns: list[list[NDArray[Any]]] = []
    for number, wanted in enumerate(inputs):
        dtype = np.int32 if wanted.type == "tensor(int32)" else np.int64
        kind = "attention_mask" if "mask" in wanted.name else "ids" if number == 0 or "ids" in wanted.name else ""
        if not kind or "type" in wanted.name:
            columns.append(
                [np.zeros(len(encoding.ids), dtype) for encoding in encodings]
            )  # one sentence: all of type 0
        else:
            columns.append([np.array(getattr(encoding, kind), dtype) for encoding in encodings])
    return columns


def _run(session: Any, *columns: list[NDArray[Any]]) -> NDArray[np.float32]:
    """Run a model, with a column of arrays for each input, one by one where its batch is fixed."""
    inputs = session.get_inputs()
    if len(inputs) != len(columns):
        raise ValueError(f"the encoder takes the inputs {', '.join(i.name for i in inputs)}; expected {len(columns)}")
    n = len(columns[0])
    fixed = inputs[0].shape[0]
    batch = fixed if isinstance(fixed, int) else 16
    if batch != 1 and isinstance(fixed, int):
        raise ValueError(
            f"the encoder takes exactly {fixed} inputs at a time; export it with a batch of 1 or an open one"
        )
    output = _output(session)
    parts = [
        session.run(
            [output], {i.name: np.stack(column[at : at + batch]) for i, column in zip(inputs, columns, strict=True)}
        )[0]
        for at in range(0, n, batch)
    ]
    vectors = np.concatenate([np.asarray(part, np.float32).reshape(len(part), -1) for part in parts])
    if not np.isfinite(vectors).all():
        raise ValueError("the encoder gave numbers that are not finite")
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), np.float32)


def _output(session: Any) -> str:
    outputs = session.get_outputs()
    for name in _EMBEDDINGS:
        if any(output.name == name for output in outputs):
            return name
    flat = [output.name for output in outputs if len(output.shape or ()) == 2]
    if not flat:
        raise ValueError("the encoder has no output with one vector a row; export it with its pooled embedding")
    return str(flat[0])
