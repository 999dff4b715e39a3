"""Pictures from anywhere, decoded in processes of their own with limits of memory and time."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection._pool import Job, TaskLost, Worker, Workers, at_most, run_in_order
from rankloom.media import MediaError, read_image, read_shots
from rankloom.media.images import MAX_PIXELS, MAX_SIDE, Source

PROCESSES = 2
SECONDS = 30.0  # a picture may take

_Decoded = tuple[NDArray[np.uint8] | None, str]  # the pixels, or why there are none


class PictureReader:
    """Reads pictures as `read_image` does, in warm processes: no picture costs the caller memory or its life.

    Any number of threads may read. The processes start with the first picture, and again after one has died.

    Parameters
    ----------
    processes : pictures that are decoded at a time; others wait.
    seconds : a picture that takes longer is refused.

    Examples
    --------
    >>> from rankloom.media import MediaError
    >>> reader = PictureReader(processes=1)
    >>> try:
    ...     reader.read(b"not a picture")
    ... except MediaError as error:
    ...     print(error)
    ... finally:
    ...     reader.close()
    not a picture in a known format
    """

    def __init__(self, processes: int = PROCESSES, seconds: float = SECONDS):
        self.processes, self.seconds = processes, seconds
        self._workers = [Worker(Job(_decode, _prepare, None, seconds)) for _ in range(processes)]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def read(
        self, source: Source, *, max_side: int | None = MAX_SIDE, max_pixels: int = MAX_PIXELS
    ) -> NDArray[np.uint8]:
        """A picture as an RGB array; a MediaError says why there is none."""
        worker = self._idle.get()
        try:
            pixels, why = worker.do((source, max_side, max_pixels))
        except TaskLost as loss:
            raise MediaError(str(loss)) from None
        finally:
            self._idle.put(worker)
        if pixels is None:
            raise MediaError(why)
        return np.asarray(pixels, np.uint8)

    def close(self) -> None:
        """End the processes, also one that is at work; from now on nothing can be read."""
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.close()


@cache
def picture_reader() -> PictureReader:
    """The reader of this process; it is closed at the end."""
    reader = PictureReader()
    atexit.register(reader.close)
    return reader


def readable_pictures(paths: Iterable[str | os.PathLike[str]], workers: Workers) -> Iterator[NDArray[np.uint8]]:
    """The pictures that can be read, in their order.

    Parameters
    ----------
    paths : the files.
    workers : processes that decode, 0 for none; or a pool.
    """
    tasks = [(os.fspath(path), MAX_SIDE, MAX_PIXELS) for path in paths]
    results = run_in_order(
        _decode, tasks, workers=at_most(workers, len(tasks)), prepare=_prepare, settings=None,
        failed=lambda task, why: (None, why),
    )  # fmt: skip
    for pixels, _ in results:
        if pixels is not None:
            yield pixels


def readable_frames(
    paths: Iterable[str | os.PathLike[str]], shots: int, workers: Workers
) -> Iterator[NDArray[np.uint8]]:
    """The key frames of the first shots of videos, as far as they can be read, in their order.

    Parameters
    ----------
    paths : the files.
    shots : of each video.
    workers : processes that decode, 0 for none; or a pool.
    """
    tasks = [(os.fspath(path), shots) for path in paths]
    results = run_in_order(
        _first_frames, tasks, workers=at_most(workers, len(tasks)), prepare=_prepare, settings=None,
        failed=lambda task, why: [],
    )  # fmt: skip
    for frames in results:
        yield from frames


def _prepare(_: Any) -> None:
    """Load the decoders."""
    from PIL import Image

    Image.init()


def _decode(
    source: Source, max_side: int | None, max_pixels: int, *, alive: Callable[[], None] = lambda: None
) -> _Decoded:
    try:
        return read_image(source, max_side=max_side, max_pixels=max_pixels), ""
    except MediaError as error:
        return None, str(error)


def _first_frames(path: str, shots: int, *, alive: Callable[[], None] = lambda: None) -> list[NDArray[np.uint8]]:
    frames: list[NDArray[np.uint8]] = []
    with suppress(MediaError):  # indexing says why it cannot be read
        for shot in islice(read_shots(path, alive=alive), shots):
            frames += [frame.image for frame in shot.key_frames]
    return frames
