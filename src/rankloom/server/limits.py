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
    >>> buckets.take("a")
    0.0
    """

    def __init__(self, rate: Rate, clients: int = 10_000, clock: Callable[[], float] = monotonic):
        self.rate, self.clock = rate, clock
        self._buckets: LRU[str, tuple[float, float]] = LRU(clients)  # what is in it, and when that was
        self._guard = threading.Lock()

    def take(self, client: str) -> float:
        """Take one out; returns 0, or the seconds to wait if there is none."""
        now = self.clock()
        with self._guard:
            left, at = self._buckets.get(client) or (float(self.rate.burst), now)
            left = min(float(self.rate.burst), left + (now - at) * self.rate.per_second)
            wait = 0.0 if left >= 1.0 else (1.0 - left) / self.rate.per_second
            self._buckets.put(client, (left if wait else left - 1.0, now))
        return wait
