"""What a worker does with a file: read it, hash it, describe it. It knows nothing of the database."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection._reading import (
    Box,
    FaceKey,
    face_boxes,
    face_keys,
    lines_of,
    listen,
    read_or_warn,
    text_boxes,
    text_boxes_of_file,
)
from rankloom.collection._texts import MAX_CUES, MAX_SUBTITLE_FILES, shared_texts
from rankloom.collection.readers import FACES, OCR, PEOPLE, READERS, SPEECH
from rankloom.experts.compact import CompactVectors
from rankloom.media import (
    Cue,
    MediaError,
    kind_of,
    read_shots,
    read_subtitles,
    spread_cues,
    subtitles_of,
)
from rankloom.media.embedded import embedded_texts, picture_texts
from rankloom.media.errors import reason
from rankloom.media.images import Source, decoded, open_image, upright_size
from rankloom.media.positions import Position, picture_position, video_position
from rankloom.media.texts import texts_beside

if TYPE_CHECKING:
    from rankloom.descriptors.faces import Face
    from rankloom.descriptors.onnx_encoder import OnnxEncoder

THUMBNAIL_SIDE = 256
MOST_TAGS = 16
_CHUNK = 1 << 20
_MOST_CHUNKS = 4  # of a picture in memory, beside what its decoder takes


@dataclass(frozen=True)
class DescriberSettings:
    """What workers compute: descriptors by name, where their vocabulary and encoders are, and what else they read."""

    descriptors: tuple[str, ...]
    vocabulary: str | None = None
    encoders: tuple[tuple[str, str], ...] = ()  # name and JSON of the arguments of OnnxEncoder
    detector: str = "adaptive"
    key_frames: int = 1
    tags: bool = True
    readers: tuple[str, ...] = ()  # names of READERS


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
    boxes: list[Box] = field(default_factory=list)  # those of faces come first
    people: dict[int, FaceKey] = field(default_factory=dict)  # by the place of the face among the boxes


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
    speech: list[Cue] = field(default_factory=list)
    read: list[str] = field(default_factory=list)  # the readers that have read it
    position: Position | None = None  # where it was taken
    error: str | None = None
    warnings: list[str] = field(default_factory=list)  # what was left out, though the file was read
    seconds: float = 0.0  # that it took


class FileTask(NamedTuple):
    """What `describe_file` is called with; `beside` are the addresses of its texts, where the file has an address."""

    path: str
    root: str | None
    known: tuple[str, ...]
    beside: tuple[str, ...] = ()


class Content(NamedTuple):
    """The hash of a file's content, and what to decode: its bytes if there are few, or else its path."""

    hash: str
    source: Source


def read_content(path: str, alive: Callable[[], None] = lambda: None) -> Content:
    """Read a file once; one that is too large to be kept in memory is only hashed."""
    digest = hashlib.blake2b(digest_size=20)
    chunks: list[bytes] = []
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            if len(chunks) <= _MOST_CHUNKS:
                chunks.append(chunk)
            alive()
    return Content(digest.hexdigest(), b"".join(chunks) if len(chunks) <= _MOST_CHUNKS else path)


class Description(NamedTuple):
    """A picture as the experts see it: vectors by descriptor, faces, perceptual hash, and tags."""

    vectors: dict[str, NDArray[Any]]
    faces: list[Face]
    phash: int
    tags: list[str]


class Describer:
    """Describes pictures, those of items and of queries alike. What the settings name is loaded once."""

    def __init__(self, settings: DescriberSettings):
        self.settings = settings
        own = [resolve(name, settings) for name in settings.descriptors if name != "semantic"]
        self._descriptors = [*own, "perceptual_hash"]

    def describe(self, image: NDArray[np.uint8]) -> Description:
        """Describe a picture by all descriptors."""
        from rankloom.descriptors import describe, hash_number, prepare, semantic_network
        from rankloom.descriptors.faces import detect_faces
        from rankloom.descriptors.tags import tags

        picture = prepare(image)
        faces = detect_faces(picture)
        vectors: dict[str, NDArray[Any]] = dict(describe(picture, self._descriptors))
        phash = hash_number(np.asarray(vectors.pop("perceptual_hash"), np.float32))
        words: list[str] = []
        if "semantic" in self.settings.descriptors:
            network = semantic_network().describe([picture])
            vectors["semantic"] = network.embeddings[0]
            if self.settings.tags:
                words = [word for word, _ in tags(network.probabilities[0], synonyms=True, most=MOST_TAGS)]
        return Description(vectors, faces, phash, words)


def resolve(name: str, settings: DescriberSettings) -> Any:
    """A descriptor with its final version and dimension."""
    from rankloom.descriptors import DESCRIPTORS, Vocabulary, words_descriptor

    encoders = dict(settings.encoders)
    if name in encoders:
        return load_encoder(name, encoders[name]).descriptor()
    if name == "sift_words":
        assert settings.vocabulary is not None
        return words_descriptor(Vocabulary.load(settings.vocabulary))
    return DESCRIPTORS[name]


def load_encoder(name: str, options: str) -> OnnxEncoder:
    """An encoder of the user's own, from the JSON of its arguments; loaded once a process while its files stay."""
    arguments = json.loads(options)
    files = (arguments.get(key) for key in ("image_onnx", "text_onnx", "tokenizer"))
    stamps = tuple((status.st_mtime_ns, status.st_size) for status in map(os.stat, filter(None, files)))
    return _loaded_encoder(name, options, stamps)


@lru_cache(maxsize=8)
def _loaded_encoder(name: str, options: str, stamps: tuple[tuple[int, int], ...]) -> OnnxEncoder:
    from rankloom.descriptors.onnx_encoder import OnnxEncoder

    return OnnxEncoder(**json.loads(options), name=name)


_describer: Describer | None = None  # of this process, made by `prepare_worker`


def prepare_worker(settings: DescriberSettings) -> None:
    """Load what the settings name, all of it: describing a picture is what loads the networks."""
    global _describer
    _describer = Describer(settings)
    _describer.describe(np.zeros((16, 16, 3), np.uint8))
    for name in settings.readers:
        READERS[name].load()


def describe_file(
    path: str,
    root: str | None = None,
    known: Collection[str] = (),
    beside: Collection[str] = (),
    *,
    alive: Callable[[str], None] = lambda doing: None,
) -> DescribedFile:
    """Describe a picture or video. Whatever is wrong with the file is in the result; nothing is raised.

    Parameters
    ----------
    path : the file.
    root : the folder that is indexed: the names of the folders below it are texts.
    known : hashes of contents that are described already; a file with one of them is only hashed.
    beside : addresses of its texts, for the worker that has fetched them; here they are files beside it.
    alive : called every now and then with what is being done.
    """
    began = perf_counter()
    kind = kind_of(path) or ""
    result = DescribedFile(path, kind, -1, -1)
    try:
        status = os.stat(path)
        result.size, result.mtime_ns = status.st_size, status.st_mtime_ns
        result.texts = [(text.text, text.source) for text in texts_beside(path, root, result.warnings.append)]
        result.hash, source = read_content(path, partial(alive, f"reading: {os.path.basename(path)}"))
        if result.hash not in known:
            embedded = _describe_content(result, source, alive)
            assert result.items is not None
            inside = shared_texts([(text, "embedded") for text in embedded], len(result.items), result.warnings.append)
            for item in result.items:
                item.texts += inside
        if kind == "video":
            result.subtitles = _subtitles(path, result.warnings.append)
    except MediaError as error:
        result.error = str(error)
    except MemoryError:
        result.error = "reading it takes more memory than a worker may have"
    except Exception as error:  # no file may stop a run; the reason is kept with it
        result.error = f"{type(error).__name__}: {reason(error)}"
    result.seconds = perf_counter() - began
    return result


def _describe_content(result: DescribedFile, source: Source, alive: Callable[[str], None]) -> list[str]:
    """The items of a file, and what the readers find in it; returns the texts inside it."""
    assert _describer is not None
    readers = [name for name in _describer.settings.readers if result.kind in READERS[name].kinds]
    problems: list[str] = []
    if result.kind == "video":
        embedded = embedded_texts(result.path, result.warnings.append)
        result.position = video_position(result.path)
        result.items = [*_shots(result.path, problems.append, alive)]
    else:
        item, embedded, result.position = _picture(source, problems.append, result.warnings.append)
        result.items = [item]
    for item in result.items:
        lines = shared_texts([(line, OCR) for line in lines_of(item.boxes)], len(result.items), result.warnings.append)
        if lines:
            item.texts.append((" ".join(line for line, _ in lines), OCR))
    result.read = [name for name in readers if name in (FACES, PEOPLE) or (name == OCR and not problems)]
    if SPEECH in readers:
        result.speech, complete = listen(result.path, result.warnings.append, alive)
        result.read += [SPEECH] if complete else []
        shots = [(item.start or 0.0, item.end or 0.0) for item in result.items]
        for item, said in zip(result.items, spread_cues(result.speech, shots, result.warnings.append), strict=True):
            item.texts += [(said, SPEECH)] if said else []
    result.warnings += dict.fromkeys(problems)  # one line, however many shots it happened in
    return embedded


def _picture(
    source: Source, unread: Callable[[str], None], warn: Callable[[str], None]
) -> tuple[DescribedItem, list[str], Position | None]:
    """A picture, the texts inside it, and where it was taken; it is opened once."""
    with open_image(source) as image:
        width, height = upright_size(image)
        taken, place = _taken(image), picture_position(image)
        texts = picture_texts(image, warn)
        pixels = decoded(image)
    item = _described(pixels, width, height)
    item.taken = taken
    assert _describer is not None
    if OCR in _describer.settings.readers:
        item.boxes += read_or_warn(lambda: text_boxes_of_file(source, pixels, (width, height)), unread) or []
    return item, texts, place


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


def _shots(path: str, warn: Callable[[str], None], alive: Callable[[str], None]) -> Iterator[DescribedItem]:
    assert _describer is not None
    settings = _describer.settings
    signs = partial(alive, f"describing shots: {os.path.basename(path)}")
    for shot in read_shots(path, settings.detector, key_frames=settings.key_frames, alive=signs):
        frames = [frame.image for frame in shot.key_frames]
        middle = len(frames) // 2
        item = _described(frames[middle], *shot.key_frames[0].size, shot.key_frames[middle].time)
        for frame in (*frames[:middle], *frames[middle + 1 :]):
            for name, vector in _describer.describe(frame).vectors.items():  # a shot is the mean of its key frames
                item.vectors[name] = item.vectors[name] + vector
        item.vectors = {name: vector / len(frames) for name, vector in item.vectors.items()}
        if OCR in settings.readers:
            for key in shot.key_frames:
                item.boxes += read_or_warn(partial(text_boxes, key.image, key.time), warn) or []
        item.shot, item.start, item.end = shot.number, shot.start, shot.end
        yield item


def _subtitles(path: str, warn: Callable[[str], None]) -> list[Cue]:
    cues: list[Cue] = []
    left_out = 0
    files = subtitles_of(path)
    for file in files[:MAX_SUBTITLE_FILES]:
        try:
            lines = read_subtitles(file)
            left_out += max(0, len(cues) + len(lines) - MAX_CUES)
            cues += lines[: MAX_CUES - len(cues)]
        except MediaError as error:
            warn(f"{file.name} beside it was not read: {error}")
    if len(files) > MAX_SUBTITLE_FILES:
        warn(f"{len(files) - MAX_SUBTITLE_FILES:,} of its {len(files):,} files of subtitles were left out")
    if left_out:
        warn(f"{left_out:,} lines of its subtitles were left out: the limit is {MAX_CUES:,}")
    return cues


def _described(image: NDArray[np.uint8], width: int, height: int, time: float | None = None) -> DescribedItem:
    assert _describer is not None
    thumbnail = _thumbnail(image)  # first, while the pixels are in the cache
    description = _describer.describe(image)
    signed = description.phash - (1 << 64) if description.phash >= 1 << 63 else description.phash
    return DescribedItem(
        None, None, None, width, height, None, len(description.faces), signed, thumbnail, description.vectors,
        [(word, "tag") for word in description.tags], face_boxes(description.faces, time),
        face_keys(image) if PEOPLE in _describer.settings.readers else {},
    )  # fmt: skip


def _thumbnail(image: NDArray[np.uint8]) -> bytes:
    import cv2

    height, width = image.shape[:2]
    scale = min(1.0, THUMBNAIL_SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    # Down to a half a linear interpolation skips no pixel, and takes a fifth of the time.
    method = cv2.INTER_LINEAR if scale >= 0.5 else cv2.INTER_AREA
    small = cv2.resize(image, size, interpolation=method) if scale < 1 else image
    _, data = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 85])
    return bytes(data)


def as_stored(vectors: NDArray[Any]) -> bytes:
    """Vectors, or one, as they are written."""
    return CompactVectors.of(np.atleast_2d(vectors)).rows.tobytes()
