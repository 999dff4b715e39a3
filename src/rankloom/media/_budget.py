"""What reading a video may cost: a few bytes can stand for hours of decoding."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, thread_time

from rankloom.media.errors import MediaError

# Real films spend more bytes: a frame in which nothing changes takes some 20, and two hours of a lecture, with its
# sound, 50 million, for which a slow machine works an hour.
FRAMES, BYTES_PER_FRAME = 10_000, 8
PROCESSOR_SECONDS, PROCESSOR_SECONDS_PER_BYTE = 40.0, 60e-6
CLOCK_FACTOR = 10.0  # a worker may wait for its disk, and for others


class Budget:
    """A bound on the frames, the processor time and the time that a video may take; it grows with the file.

    Parameters
    ----------
    size : of the file in bytes.
    processor, clock : functions that tell the seconds.

    Examples
    --------
    >>> budget = Budget(99, processor=iter([0.0, 1.0, 41.0]).__next__)
    >>> budget.take_frame()
    >>> budget.take_frame()
    Traceback (most recent call last):
    rankloom.media.errors.MediaError: given up after frame 2: more than 40 s of work, the limit for a video of 99 bytes
    """

    def __init__(
        self, size: int, *, processor: Callable[[], float] = thread_time, clock: Callable[[], float] = monotonic
    ):
        self.size = size
        self.frames = FRAMES + size // BYTES_PER_FRAME
        self.processor_seconds = PROCESSOR_SECONDS + PROCESSOR_SECONDS_PER_BYTE * size
        self.taken = 0
        self._processor, self._clock = processor, clock
        self._began = processor(), clock()

    def take_frame(self) -> None:
        """Count a decoded frame; raises a MediaError if it is one too many, or too late."""
        self.taken += 1
        if self.taken > self.frames:
            raise self._exceeded(f"{self.frames:,} frames")
        self.check()

    def check(self) -> None:
        """Raise a MediaError if the time is over."""
        if self._processor() - self._began[0] > self.processor_seconds:
            raise self._exceeded(f"{self.processor_seconds:,.0f} s of work")
        if self._clock() - self._began[1] > CLOCK_FACTOR * self.processor_seconds:
            raise self._exceeded(f"{CLOCK_FACTOR * self.processor_seconds:,.0f} s")

    def _exceeded(self, limit: str) -> MediaError:
        return MediaError(
            f"given up after frame {self.taken:,}: more than {limit}, the limit for a video of {self.size:,} bytes"
        )
