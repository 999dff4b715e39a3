"""The sound of a file: decoded in bounded memory, and cut where it is quiet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.media._budget import Budget
from rankloom.media.errors import MediaError, reason
from rankloom.media.videos import CONTAINERS

RATE = 16_000  # samples a second
GAP = 0.25  # seconds without sound in a file after which a new piece begins
FRAME = 480  # samples of which the loudness is one number: 30 ms
WINDOW = 30.0  # seconds that are held and looked over at a time
LONGEST = 20.0  # seconds of a passage
SHORTEST = 0.3
PAUSE = 0.5  # seconds of quiet that end a passage
MARGIN = 0.2  # seconds kept before and after
QUIETEST = -55.0  # decibels of full scale; below this nothing is said
ABOVE_FLOOR = 9.0  # decibels that speech is above the quiet of its surroundings
STEADY = 6.0  # decibels; sound that changes less is a hum or a hiss


class Passage(NamedTuple):
    """Sound between two pauses: the time of its first sample in seconds, and samples at `RATE` between -1 and 1."""

    start: float
    samples: NDArray[np.float32]

    @property
    def end(self) -> float:
        """The time after its last sample."""
        return self.start + len(self.samples) / RATE


def read_sound(path: str | os.PathLike[str], *, budget: Budget | None = None) -> Iterator[Passage]:
    """Decode the first sound track to one channel at `RATE`, piece by piece; nothing comes where there is none.

    Parameters
    ----------
    path : a video or sound file of the containers that videos are read from.
    budget : what it may cost; by default as much as a video of this size.

    Raises
    ------
    MediaError : it cannot be read.
    """
    import av

    options = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file"}
    try:
        if not os.path.isfile(path):
            raise MediaError("not a regular file")
        budget = budget or Budget(os.path.getsize(path))
        with av.open(os.fspath(path), options=options, metadata_errors="replace") as container:
            if container.streams.audio and container.streams.audio[0].codec_context is not None:
                yield from _pieces(container, container.streams.audio[0], budget)
    except av.error.FFmpegError as error:
        raise MediaError(f"no readable sound: {error.strerror or reason(error)}") from error
    except OSError as error:
        raise MediaError(reason(error)) from error


def _pieces(container: Any, stream: Any, budget: Budget) -> Iterator[Passage]:
    """About a second at a time, with the times that the file tells."""
    import av

    stream.codec_context.thread_count = 1
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    held: list[NDArray[np.float32]] = []
    start, length = 0.0, 0
    for frame in _frames(container, stream, budget):
        expected = start + length / RATE
        time = expected if frame.time is None else float(frame.time)
        if length and (length >= RATE or abs(time - expected) > GAP):
            yield Passage(start, np.concatenate(held))
            held, start, length = [], time if abs(time - expected) > GAP else expected, 0
        elif not length:
            start = time if abs(time - expected) > GAP else expected
        frame.pts = None  # the resampler refuses times that jump
        for part in resampler.resample(frame):
            samples = np.asarray(part.to_ndarray(), np.float32).ravel()
            held.append(np.nan_to_num(samples, posinf=0.0, neginf=0.0).clip(-1.0, 1.0))
            length += len(samples)
    if length:
        yield Passage(start, np.concatenate(held))


def _frames(container: Any, stream: Any, budget: Budget) -> Iterator[Any]:
    """All frames that can be decoded: a damaged packet costs its frames and not the rest."""
    import av

    for packet in container.demux(stream):
        budget.check()
        frames: list[Any] = []
        with suppress(av.error.InvalidDataError):
            frames = packet.decode()
        for frame in frames:
            budget.take_frame()
            yield frame


def passages(pieces: Iterable[Passage]) -> Iterator[Passage]:
    """Cut sound at its pauses into passages of at most `LONGEST` seconds; what is quiet or steady is left out.

    Parameters
    ----------
    pieces : sound one after another; where a piece does not begin at the end of the one before, a passage ends.
    """
    held: list[Passage] = []
    for piece in pieces:
        if held and abs(piece.start - held[-1].end) > 1.0 / RATE:
            yield from _cut(_joined(held), last=True)[0]
            held = []
        held.append(piece)
        if held[-1].end - held[0].start >= WINDOW:
            complete, rest = _cut(_joined(held), last=False)
            yield from complete
            held = [rest]
    if held:
        yield from _cut(_joined(held), last=True)[0]


def _joined(pieces: list[Passage]) -> Passage:
    return Passage(pieces[0].start, np.concatenate([piece.samples for piece in pieces]))


def _cut(sound: Passage, *, last: bool) -> tuple[list[Passage], Passage]:
    """The passages of some sound, and what is left of it to be looked at with what follows."""
    loudness = _loudness(sound.samples)
    runs, margin = _loud_runs(loudness), round(MARGIN * RATE)
    spans = []
    for a, b in runs:
        for low, high in _bounded(loudness, a, b):
            before, after = margin if low == a else 0, margin if high == b else 0
            spans.append((max(low * FRAME - before, 0), high * FRAME + after))
    rest = len(sound.samples)
    if runs and not last and runs[-1][1] > len(loudness) - round(PAUSE * RATE / FRAME):
        rest = spans.pop()[0]  # it may go on
    cut = [Passage(sound.start + a / RATE, sound.samples[a:b]) for a, b in spans if b - a >= SHORTEST * RATE]
    return cut, Passage(sound.start + rest / RATE, sound.samples[rest:])


def _loudness(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """Decibels of full scale, one number a frame."""
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME).astype(np.float64)
    return np.asarray(10.0 * np.log10((frames**2).mean(axis=1) + 1e-10))


def _loud_runs(loudness: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Runs of frames that are loud, with shorter pauses than `PAUSE` in them."""
    if not len(loudness):
        return []
    floor, top = np.percentile(loudness, [10, 95])
    if top - floor < STEADY or top < QUIETEST:
        return []
    loud = np.flatnonzero(loudness > max(QUIETEST, min(floor + ABOVE_FLOOR, top - ABOVE_FLOOR)))
    if not len(loud):
        return []
    breaks = np.flatnonzero(np.diff(loud) > PAUSE * RATE / FRAME)
    starts, ends = np.append(loud[0], loud[breaks + 1]), np.append(loud[breaks], loud[-1]) + 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _bounded(loudness: NDArray[np.float64], a: int, b: int) -> list[tuple[int, int]]:
    """A run in parts of at most `LONGEST` seconds, each ended where it is quietest."""
    parts = []
    most = round(LONGEST * RATE / FRAME)
    while b - a > most:
        middle = _quietest(loudness, a + most // 2, a + most)
        parts.append((a, middle))
        a = middle
    return [*parts, (a, b)]


def _quietest(loudness: NDArray[np.float64], a: int, b: int) -> int:
    """The frame that is quietest with its neighbors."""
    return a + 2 + int(np.argmin(np.convolve(loudness[a:b], np.ones(5) / 5, mode="valid")))
