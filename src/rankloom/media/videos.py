"""Cut videos into shots, in one pass and bounded memory, with key frames."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.media._budget import Budget
from rankloom.media.errors import MediaError, reason

MAX_SIDE = 512
MAX_PIXELS = 50_000_000  # of a frame; 8K has 33 million
MAX_STRETCH = 8  # of pixels that are not square
DETECTOR_SIDE = 256  # cuts are looked for in frames of this longer side, as PySceneDetect does by default
RECENT = 32  # frames kept in any case: a detector may tell a cut later than it was, by up to its shortest shot
END_MARGIN = 0.02  # seconds that a shot ends before the next: more than the rounding of times in files and players
FLAT = 8.0  # of 255: frames that deviate less from their mean are nearly black, white or of one color
MOST_CANDIDATES = 24  # frames of a shot kept until its end shows which of them lie well
# Only containers of video: a playlist in disguise could make the decoder open other files or addresses.
CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,mpegvideo,asf,flv,ogg,gif,h264,hevc,ivf,m4v"


class KeyFrame(NamedTuple):
    """A frame that stands for its shot: number (from 0), time in seconds, RGB array, upright.

    `size` is the width and height at which a player shows the video; the array may be smaller.
    """

    frame: int
    time: float
    image: NDArray[np.uint8]
    size: tuple[int, int]


class Shot(NamedTuple):
    """A shot: frames `start_frame` to `end_frame` (both in it), times `start` to `end` in seconds, key frames.

    At the time `end` a player shows the last frame of the shot, and not yet the first of the next one.
    """

    number: int
    start_frame: int
    end_frame: int
    start: float
    end: float
    key_frames: tuple[KeyFrame, ...]


def _content() -> Any:
    from scenedetect.detectors import ContentDetector

    return ContentDetector()


def _adaptive() -> Any:
    from scenedetect.detectors import AdaptiveDetector

    return AdaptiveDetector()


DETECTORS: dict[str, Callable[[], Any]] = {"content": _content, "adaptive": _adaptive}


def read_shots(
    path: str | os.PathLike[str],
    detector: str | Callable[[], Any] = "adaptive",
    *,
    key_frames: int = 1,
    max_side: int = MAX_SIDE,
    threads: int = 1,
    budget: Budget | None = None,
    alive: Callable[[], None] = lambda: None,
) -> Iterator[Shot]:
    """Yield the shots of a video as they end; only some frames of the current shot are in memory.

    Damaged stretches are skipped. A file without a single readable frame raises a MediaError, and so does one that
    costs more than its budget.

    Parameters
    ----------
    path : a file in any container that PyAV reads
    detector : "adaptive" (cuts where the change of hue, saturation and brightness stands out from its neighbours:
        better with fast motion), "content" (where it passes a fixed limit), or a function that makes a detector of
        PySceneDetect
    key_frames : so many a shot at most, spread evenly over it
    max_side : the longer side of the key frames
    threads : of the decoder
    budget : what reading may cost, with the time that the caller spends between the shots; by default what the size of
        the file allows
    alive : called between frames

    References
    ----------
    Castellano, PySceneDetect, scenedetect.com: ContentDetector and AdaptiveDetector with their default thresholds.
    """
    if not callable(detector) and detector not in DETECTORS:
        raise ValueError(f"unknown detector {detector!r}; known are {', '.join(DETECTORS)}")
    find = (detector if callable(detector) else DETECTORS[detector])()
    current, last, number = _Open(0), None, 0
    size: tuple[int, int] | None = None
    for frame in _frames(path, max_side, threads, budget, alive):
        current.add(frame)
        last = frame
        small = _small(frame.image, size)
        size = small.shape[1], small.shape[0]
        for cut in find.process_frame(_timecode(frame.frame), small):
            if not current.start < int(cut.frame_num) <= frame.frame:
                continue
            ended, current = current, current.split(int(cut.frame_num))
            yield ended.shot(number, current.start, current.frames[0].time, key_frames)
            number += 1
    if last is None:
        raise MediaError("the video has no readable frames")
    yield current.shot(number, last.frame + 1, last.time + current.pace(), key_frames)


@dataclass
class _Open:
    """The shot that has not ended yet, and candidates for its key frames: all recent ones, an even choice of older."""

    start: int
    older: list[KeyFrame] = field(default_factory=list)
    recent: deque[KeyFrame] = field(default_factory=deque)
    stride: int = 1

    @property
    def frames(self) -> list[KeyFrame]:
        return [*self.older, *self.recent]

    def add(self, frame: KeyFrame) -> None:
        self.recent.append(frame)
        if len(self.recent) > RECENT:
            old = self.recent.popleft()
            if (old.frame - self.start) % self.stride == 0:
                self.older.append(old)
        if len(self.older) > MOST_CANDIDATES:
            self.stride *= 2
            self.older = [old for old in self.older if (old.frame - self.start) % self.stride == 0]

    def split(self, cut: int) -> _Open:
        """End this shot before the frame `cut`; what was seen from there on begins the next."""
        frames = self.frames
        self.older = [frame for frame in frames if frame.frame < cut]
        self.recent = deque()
        return _Open(cut, recent=deque(frame for frame in frames if frame.frame >= cut))

    def pace(self) -> float:
        """Seconds between the last frames."""
        first, last = self.recent[0], self.recent[-1]
        return (last.time - first.time) / (last.frame - first.frame) if last.frame > first.frame else 0.04

    def shot(self, number: int, next_frame: int, next_time: float, key_frames: int) -> Shot:
        frames, length = self.frames, next_frame - self.start
        places = [self.start + (i + 0.5) * length / key_frames for i in range(key_frames)]
        detailed: dict[int, bool] = {}
        chosen = {_nearest(frames, position, detailed).frame for position in places}
        kept = tuple(frame for frame in frames if frame.frame in chosen)
        end = next_time - min(END_MARGIN, (next_time - frames[-1].time) / 2)
        return Shot(number, self.start, next_frame - 1, frames[0].time, max(frames[0].time, end), kept)


def _nearest(frames: list[KeyFrame], position: float, detailed: dict[int, bool]) -> KeyFrame:
    """The frame nearest to a position, by preference one that is not nearly black or white: fades say little.

    Parameters
    ----------
    frames : at least one.
    position : the number of a frame, with a fraction.
    detailed : which frames are known to show something; it is added to.
    """
    by_distance = sorted(frames, key=lambda frame: abs(frame.frame + 0.5 - position))
    for frame in by_distance:
        if frame.frame not in detailed:
            detailed[frame.frame] = _deviation(frame.image) >= FLAT
        if detailed[frame.frame]:
            return frame
    return by_distance[0]


def _deviation(image: NDArray[np.uint8]) -> float:
    """The standard deviation of all numbers of a picture.

    >>> round(_deviation(np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8)), 3)
    127.5
    """
    import cv2

    mean, deviation = cv2.meanStdDev(image)
    return float(np.sqrt(np.mean(deviation**2) + np.var(mean)))


def _frames(
    path: str | os.PathLike[str], max_side: int, threads: int, budget: Budget | None, alive: Callable[[], None]
) -> Iterator[KeyFrame]:
    """Decode a video frame by frame, each as RGB at a bounded size."""
    import av
    from av.video.reformatter import VideoReformatter

    options = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file"}
    reformatter = VideoReformatter()  # of all frames: to set one up takes as long as a frame
    try:
        if not os.path.isfile(path):
            raise MediaError("not a regular file")
        budget = budget or Budget(os.path.getsize(path))
        with av.open(os.fspath(path), options=options, metadata_errors="replace") as container:
            if not container.streams.video:
                raise MediaError("the file has no video in it")
            stream = container.streams.video[0]
            if stream.codec_context is None:
                raise MediaError("no decoder for this video")
            stream.codec_context.thread_count = threads
            for number, frame in enumerate(_decoded(container, stream, budget, alive)):
                budget.take_frame()
                yield _key_frame(number, frame, stream, max_side, reformatter)
    except av.error.FFmpegError as error:
        raise MediaError(f"not a readable video: {error.strerror or reason(error)}") from error
    except OSError as error:
        raise MediaError(reason(error)) from error


def _decoded(container: Any, stream: Any, budget: Budget, alive: Callable[[], None]) -> Iterator[Any]:
    """All frames that can be decoded: a damaged packet costs its frames and not the rest."""
    import av

    packets = container.demux(stream)
    while True:
        alive()
        budget.check()  # also for packets that give no frame
        try:
            packet = next(packets)
        except StopIteration:
            return
        except (av.error.InvalidDataError, av.error.EOFError):  # the file ends in the middle
            packet = None
        with suppress(av.error.InvalidDataError, av.error.EOFError):
            yield from packet.decode() if packet is not None else stream.codec_context.decode(None)
        if packet is None:
            return


def _key_frame(number: int, frame: Any, stream: Any, max_side: int, reformatter: Any) -> KeyFrame:
    if frame.width * frame.height > MAX_PIXELS:
        raise MediaError(f"frames of {frame.width} x {frame.height} pixels are more than the limit of {MAX_PIXELS:,}")
    width, height = _with_square_pixels(frame.width, frame.height, stream.sample_aspect_ratio)
    scale = min(1.0, max_side / max(width, height))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    image = reformatter.reformat(frame, *size, "rgb24").to_ndarray()
    turns = frame.rotation // 90 if frame.rotation % 90 == 0 else 0
    if turns:
        image = np.ascontiguousarray(np.rot90(image, turns))
    shown = (height, width) if turns % 2 else (width, height)
    rate = float(stream.average_rate or stream.guessed_rate or 25)
    time = frame.time
    if time is not None and stream.start_time is not None:
        time -= float(stream.start_time * stream.time_base)
    return KeyFrame(number, number / rate if time is None else max(0.0, float(time)), image, shown)


def _with_square_pixels(width: int, height: int, pixel_aspect: Fraction | None) -> tuple[int, int]:
    """The size at which players show frames: one side is stretched if the pixels are not square.

    >>> _with_square_pixels(720, 576, Fraction(64, 45)), _with_square_pixels(720, 480, Fraction(8, 9))
    ((1024, 576), (720, 540))
    """
    if not pixel_aspect or not 1 / MAX_STRETCH <= pixel_aspect <= MAX_STRETCH:  # unknown, or nonsense
        return width, height
    return (round(width * pixel_aspect), height) if pixel_aspect > 1 else (width, round(height / pixel_aspect))


def _timecode(frame: int) -> Any:
    from scenedetect import FrameTimecode

    return FrameTimecode(frame, fps=25.0)  # detectors count frames; the true times are kept by us


def _small(image: NDArray[np.uint8], size: tuple[int, int] | None) -> NDArray[np.uint8]:
    """The frame as a detector wants it: BGR, small, and of the size that the first had, as some videos change it."""
    import cv2

    if size is None:
        scale = min(1.0, DETECTOR_SIDE / max(image.shape))
        size = max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale))
    return np.asarray(cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2BGR), np.uint8)
