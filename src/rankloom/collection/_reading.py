"""What a worker reads from a file beside its descriptors: lines of text, faces and speech, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os.path import basename
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.media import Cue, MediaError, read_image
from rankloom.media.errors import reason
from rankloom.media.images import Source

if TYPE_CHECKING:
    from rankloom.descriptors.faces import Face

Warn = Callable[[str], None]


class Box(NamedTuple):
    """Where something was read or seen: `kind` is "ocr" or "face"; left, top, width and height are shares.

    `score` is how sure it is, up to 1; `text` is the line that was read; `time` is that of the frame, in a video.
    """

    kind: str
    left: float
    top: float
    width: float
    height: float
    score: float
    text: str | None = None
    time: float | None = None


class FaceKey(NamedTuple):
    """What tells a face from others: its vector and its JPEG, as they are stored."""

    vector: bytes
    jpeg: bytes


class Heard(NamedTuple):
    """What is said in a video, and whether it could be listened to."""

    cues: list[Cue]
    complete: bool


def face_boxes(faces: Sequence[Face], time: float | None = None) -> list[Box]:
    """The places of faces."""
    return [Box("face", *face, time=time) for face in faces]


def face_keys(image: NDArray[np.uint8]) -> dict[int, FaceKey]:
    """What tells the faces of a picture apart, by their places among all of its faces; small ones are left out."""
    from rankloom.collection._files import FACE_VECTORS
    from rankloom.descriptors.people import recognize_faces

    return {
        place: FaceKey(known.vector.astype(FACE_VECTORS).tobytes(), known.jpeg)
        for place, known in enumerate(recognize_faces(image))
        if known.vector is not None and known.jpeg is not None
    }


def text_boxes(image: NDArray[np.uint8], time: float | None = None) -> list[Box]:
    """The lines of text in a frame, in reading order."""
    from rankloom.media.ocr import read_text

    return [Box("ocr", *line[1:], text=line.text, time=time) for line in read_text(image)]


def text_boxes_of_file(source: Source, pixels: NDArray[np.uint8], size: tuple[int, int]) -> list[Box]:
    """The lines of text in a picture; it is decoded again if it was described smaller.

    Parameters
    ----------
    source : the picture.
    pixels : as it was described.
    size : its width and height in the file.
    """
    from rankloom.media.ocr import LONGEST_SIDE

    return text_boxes(read_image(source, max_side=LONGEST_SIDE) if max(size) > max(pixels.shape) else pixels)


def read_or_warn(read: Callable[[], list[Box]], warn: Warn) -> list[Box] | None:
    """What can be read; None, and a line, if reading failed: a picture is worth keeping without its text."""
    try:
        return read()
    except Exception as error:  # networks raise nearly anything, as when memory runs out
        warn(f"text in it was not read: {reason(error) or type(error).__name__}")
        return None


def listen(path: str, warn: Warn, alive: Callable[[str], None]) -> Heard:
    """What is said in a video; nothing, and a line, if it cannot be listened to."""
    from rankloom.media.speech import read_speech

    name = basename(path)
    try:
        return Heard(read_speech(path, alive=lambda time: alive(f"listening, minute {time // 60:.0f}: {name}")), True)
    except (MediaError, MemoryError, RuntimeError) as error:  # the last is what networks raise without memory
        warn(f"speech in it was not read: {reason(error) or type(error).__name__}")
        return Heard([], False)


def lines_of(boxes: Sequence[Box]) -> list[str]:
    """The lines of text among boxes, each once."""
    return list(dict.fromkeys(box.text for box in boxes if box.text))
