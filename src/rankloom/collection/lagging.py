"""What takes long to read and changes often: read again when it has changed, but only so often."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

SHARE = 0.05  # of the time that may go into reading again
QUICK = 0.05  # seconds; what takes no longer is read whenever it has changed

T = TypeVar("T")


class Lagging(Generic[T]):
    """A value that is kept as long as its state stays, and a while longer if reading it takes long.

    While files are indexed, words and folders change all the time; who asks for them then gets those of some moments
    ago, and reading them takes a small share of the time. Several threads may ask; one of them reads.

    Parameters
    ----------
    read : the value now.
    """

    def __init__(self, read: Callable[[], T]):
        self._read = read
        self._lock = threading.Lock()
        self._kept: tuple[object, T] | None = None
        self._fresh_until = 0.0

    def current(self, state: object) -> T:
        """The value of a state, or of one shortly before."""
        kept = self._kept
        if kept is not None and (kept[0] == state or monotonic() < self._fresh_until or self._lock.locked()):
            return kept[1]
        with self._lock:
            kept = self._kept
            if kept is None or kept[0] != state:
                began = monotonic()
                kept = self._kept = (state, self._read())
                now = monotonic()
                self._fresh_until = now + max(0.0, now - began - QUICK) / SHARE
            return kept[1]
