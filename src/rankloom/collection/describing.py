"""What a worker does with a file: read it, hash it, describe it. It knows nothing of the database."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection._files import STORED
from rankloom.collection._texts import MAX_SUBTITLE_FILES, shared_texts
from rankloom.media import (
    Cue,
    MediaError,
    kind_of,
    read_image,
    read_shots,
    read_subtitles,
    subtitles_of,
    texts_of,
)
from rankloom.media.errors import reason

__all__ = ["DescribedFile", "DescribedItem", "Settings", "as_stored", "describe_file", "hash_file", "prepare_worker"]

THUMBNAIL_SIDE = 256
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Settings:
    """What workers compute: descriptors by name, and where their vocabulary and encoders are."""

    descriptors: tuple[str, ...]
    vocabulary: str | None = None
    encoders: tuple[tuple[str, str], ...] = ()  # name and JSON of the arguments of OnnxEncoder
    detector: str = "adaptive"
    key_frames: int = 1
    tags: bool = True


@dataclass
class DescribedItem:
    """A picture or a shot, ready to be stored."""

    shot: int | None
    start: float | None
    end: float | None
    width: int
    height: int
    taken: str | None
    faces: int | None
    phash: int
    thumbnail: bytes
    vectors: dict[str, NDArray[Any]]
    texts: list[tuple[str, str]] = field(default_factory=list)  # of the content: text and source


@dataclass
class DescribedFile:
    """A file as it was when it was read, and its items; or why it could not be read."""

    path: str
    kind: str
    size: int
    mtime_ns: int
    hash: str = ""
    items: list[DescribedItem] | None = None  # None: only hashed
    texts: list[tuple[str, str]] = field(default_factory=list)  # of the path: text and source
    subtitles: list[Cue] = field(default_factory=list)
    error: str | None = None
    warnings: list[str] = field(default_factory=list)  # what was left out, though the file was read


def hash_file(path: str, alive: Callable[[], None] = lambda: None) -> str:
    """The hash of a file's content."""
    digest = hashlib.blake2b(digest_size=20)
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            alive()
    return digest.hexdigest()


# The descriptors of this process, loaded once by `prepare_worker`.
_ready: dict[str, Any] = {}


def prepare_worker(settings: Settings) -> None:
    """Load what the settings name."""
    from rankloom.descriptors import DESCRIPTORS, Vocabulary, words_descriptor
    from rankloom.descriptors.onnx_encoder import OnnxEncoder

    encoders = {name: OnnxEncoder(**json.loads(text), name=name) for name, text in settings.encoders}
    found: list[Any] = []
    for name in settings.descriptors:
        if name == "semantic":
            continue
        if name == "sift_words":
            assert settings.vocabulary is not None
            found.append(words_descriptor(Vocabulary.load(settings.vocabulary)))
        elif name in encoders:
            found.append(encoders[name].descriptor())
        else:
            found.append(DESCRIPTORS[name])
    _ready.update(settings=settings, descriptors=found)


def describe_file(
    path: str, root: str | None = None, known: Collection[str] = (), *, alive: Callable[[], None] = lambda: None
) -> DescribedFile:
    """Describe a picture or video. Whatever is wrong with the file is in the result; nothing is raised.

    Parameters
    ----------
    path : the file.
    root : the folder that is indexed: the names of the folders below it are texts.
    known : hashes of contents that are described already; a file with one of them is only hashed.
    alive : called every now and then.
    """
    kind = kind_of(path) or ""
    result = DescribedFile(path, kind, -1, -1)
    try:
        status = os.stat(path)
        result.size, result.mtime_ns = status.st_size, status.st_mtime_ns
        texts = texts_of(path, root=root, warn=result.warnings.append)
        result.texts = [(text.text, text.source) for text in texts if text.source != "embedded"]
        result.hash = hash_file(path, alive)
        if result.hash not in known:
            result.items = [*_shots(path, alive)] if kind == "video" else [_picture(path)]
            embedded = [(text.text, "embedded") for text in texts if text.source == "embedded"]
            inside = shared_texts(embedded, len(result.items), result.warnings.append)
            for item in result.items:
                item.texts += inside
        if kind == "video":
            result.subtitles = _subtitles(path, result.warnings.append)
    except MediaError as error:
        result.error = str(error)
    except MemoryError:
        result.error = "not enough memory to read it"
    except Exception as error:  # no file may stop a run; the reason is kept with it
        result.error = f"{type(error).__name__}: {reason(error)}"
    return result


def _picture(path: str) -> DescribedItem:
    from rankloom.media.images import open_image, upright_size

    with open_image(path) as image:
        width, height = upright_size(image)
        taken = _taken(image)
    item = _described(read_image(path), width, height)
    item.taken = taken
    return item


def _taken(image: Any) -> str | None:
    """When a picture was taken, by its EXIF data: "2024-05-01T12:30:00"."""
    try:
        exif = image.getexif()
        text = str(exif.get_ifd(0x8769).get(0x9003) or exif.get(0x0132) or "")
    except Exception:  # odd metadata is no reason to refuse a picture
        return None
    digits = "".join(sign for sign in text if sign.isdigit())
    if len(digits) != 14 or digits.startswith("0000"):
        return None
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[8:10]}:{digits[10:12]}:{digits[12:]}"


def _shots(path: str, alive: Callable[[], None]) -> Iterator[DescribedItem]:
    settings: Settings = _ready["settings"]
    for shot in read_shots(path, settings.detector, key_frames=settings.key_frames, alive=alive):
        frames = [frame.image for frame in shot.key_frames]
        item = _described(frames[len(frames) // 2], *shot.key_frames[0].size)
        for other in (frame for place, frame in enumerate(frames) if place != len(frames) // 2):
            for name, vector in _vectors(other)[0].items():  # a shot is the mean of its key frames
                item.vectors[name] = item.vectors[name] + vector
        item.vectors = {name: vector / len(frames) for name, vector in item.vectors.items()}
        item.shot, item.start, item.end = shot.number, shot.start, shot.end
        yield item


def _subtitles(path: str, warn: Callable[[str], None]) -> list[Cue]:
    cues: list[Cue] = []
    files = subtitles_of(path)
    for file in files[:MAX_SUBTITLE_FILES]:
        try:
            cues += read_subtitles(file)
        except MediaError as error:
            warn(f"{file.name} beside it was not read: {error}")
    if len(files) > MAX_SUBTITLE_FILES:
        warn(f"{len(files) - MAX_SUBTITLE_FILES:,} of its {len(files):,} files of subtitles were left out")
    return cues


def _described(image: NDArray[np.uint8], width: int, height: int) -> DescribedItem:
    vectors, tags = _vectors(image)
    faces = vectors.pop("faces", None)
    bits = vectors.pop("perceptual_hash")
    from rankloom.descriptors import hash_number

    number = hash_number(np.asarray(bits, np.float32))
    return DescribedItem(
        None, None, None, width, height, None, None if faces is None else int(faces[0]),
        number - (1 << 64) if number >= 1 << 63 else number, _thumbnail(image), vectors, tags,
    )  # fmt: skip


def _vectors(image: NDArray[np.uint8]) -> tuple[dict[str, NDArray[Any]], list[tuple[str, str]]]:
    from rankloom.descriptors import describe, prepare, semantic_network
    from rankloom.descriptors.tags import tags

    settings: Settings = _ready["settings"]
    picture = prepare(image)
    found: dict[str, NDArray[Any]] = dict(describe(picture, [*_ready["descriptors"], "perceptual_hash", "faces"]))
    words: list[tuple[str, str]] = []
    if "semantic" in settings.descriptors:
        said = semantic_network().describe([picture])
        found["semantic"] = said.embeddings[0]
        if settings.tags:
            words = [(word, "tag") for word, _ in tags(said.probabilities[0])]
    return found, words


def _thumbnail(image: NDArray[np.uint8]) -> bytes:
    import cv2

    height, width = image.shape[:2]
    scale = min(1.0, THUMBNAIL_SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA) if scale < 1 else image
    _, data = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 85])
    return bytes(data)


def as_stored(vector: NDArray[Any]) -> bytes:
    """A vector as it is written: two bytes a component, finite."""
    limit = float(np.finfo(STORED).max)
    stored: NDArray[Any] = np.clip(np.nan_to_num(vector), -limit, limit).astype(STORED)
    return stored.tobytes()
