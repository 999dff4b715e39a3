"""Token buckets: how often a client may ask."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from rankloom.core import LRU
from rankloom.server.settings import Rate


class Buckets:
    """A bucket for every client; it fills at `rate.per_second` up to `rate.burst`, and each call takes one out.

    Parameters
    ----------
    rate : how fast and how much.
    clients : the most that are remembered; the one that asked longest ago is forgotten first.
    clock : seconds.

    Examples
    --------
    >>> time = [0.0]
    >>> buckets = Buckets(Rate(1.0, 2), clock=lambda: time[0])
    >>> [buckets.take("a") for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> time[0] = 1.0
    >>> buckets.wait("a"), buckets.take("a"), buckets.wait("a")
    (0.0, 0.0, 1.0)
    """

    def __init__(self, rate: Rate, clients: int = 10_000, clock: Callable[[], float] = monotonic):
        self.rate, self.clock = rate, clock
        self._buckets: LRU[str, tuple[float, float]] = LRU(clients)  # what is in it, and when that was
        self._guard = threading.Lock()

    def wait(self, client: str) -> float:
        """The seconds until one can be taken; 0 if now."""
        return max(0.0, 1.0 - self._left(client)) / self.rate.per_second

    def take(self, client: str) -> float:
        """Take one out; returns 0, or the seconds to wait if there is none."""
        with self._guard:
            left = self._left(client)
            taken = left >= 1.0
            self._buckets.put(client, (left - 1.0 if taken else left, self.clock()))
        return 0.0 if taken else (1.0 - left) / self.rate.per_second

    def _left(self, client: str) -> float:
        now, burst = self.clock(), float(self.rate.burst)
        left, at = self._buckets.get(client) or (burst, now)
        return min(burst, left + (now - at) * self.rate.per_second)
