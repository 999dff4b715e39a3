"""Whether compiled loops are worth loading.

numba takes half a second of processor time before the first loop runs, from its cache too. A server or a script pays
that once; a command that searches once and ends would wait for it at every search, and NumPy is faster for the little
that it computes. Both give the same numbers but for the last bits, so that nothing but such a command chooses.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

WORTH = 40_000_000  # components of vectors that NumPy compares in about the time that numba takes to load


class _Policy:
    """What was computed so far by a command that does without compiled loops as long as that is faster."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: int | None = None  # None: such a command is not running

    @contextmanager
    def brief(self) -> Iterator[None]:
        """The process computes what it does inside, and ends."""
        with self._lock:
            self._left = WORTH
        try:
            yield
        finally:
            with self._lock:
                self._left = None

    def loads(self, work: int) -> bool:
        """Whether compiled loops do the next piece of work, given in components that are compared."""
        with self._lock:
            if self._left is None:
                return True
            self._left -= work
            return self._left < 0


_policy = _Policy()
brief = _policy.brief
loads = _policy.loads
