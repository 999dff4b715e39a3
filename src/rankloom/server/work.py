"""Threads for work that must not hold up the event loop, each kind of work with its own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from rankloom.server.errors import Refused

P = ParamSpec("P")
R = TypeVar("R")
UPLOADS, TRAININGS = 64, 16  # that may wait
PATIENCE = 0.25  # seconds that a write waits for searches that came before it
DRAIN_SECONDS = 60.0  # that those who are at work may take before somebody is alone
_LOOK_SECONDS = 0.02


class _Queue:
    """Threads, and what waits for one of them; beyond a bound it is refused with 503.

    Parameters
    ----------
    what : waits, for the refusal.
    threads : how many run at once.
    waiting : how many may wait; None for any number.
    """

    def __init__(self, what: str, threads: int, waiting: int | None = None):
        self.what, self.most = what, None if waiting is None else threads + waiting
        self._pool, self._threads = ThreadPoolExecutor(threads, what), threads
        self._came = self._went = 0  # only changed by the event loop, as what follows
        self._guard = threading.Lock()
        self._closed: str | None = None
        self._turns: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        with self._guard:
            if self._closed is not None:
                raise Refused(503, self._closed, retry_after=2)
            if self.most is not None and self._came - self._went >= self.most:
                raise Refused(503, f"too many {self.what} are waiting; try again in a moment", retry_after=1)
            self._came += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: function(*args, **kwargs))
        except RuntimeError as error:
            if "shutdown" in str(error):
                raise Refused(503, "the server is stopping", retry_after=2) from None
            raise
        finally:
            self._went += 1
            while self._turns and self._turns[0][0] <= self._went:
                turn = self._turns.popleft()[1]
                if not turn.done():
                    turn.set_result(None)

    def shut(self, why: str | None) -> None:
        """Refuse what comes from now on, and say why; None lets it in again."""
        with self._guard:
            self._closed = why

    @property
    def busy(self) -> bool:
        """Whether something runs or waits."""
        return self._came != self._went

    def submit(self, function: Callable[[], object]) -> None:
        """Run something for which nobody waits."""
        self._pool.submit(function)

    async def turn(self, seconds: float) -> None:
        """Wait until all that came before has begun, but not longer than some seconds."""
        ended = self._came - self._threads  # what has not ended then has a thread
        if self._went >= ended:
            return
        turn = asyncio.get_running_loop().create_future()
        self._turns.append((ended, turn))
        with suppress(TimeoutError):
            await asyncio.wait_for(turn, seconds)

    def close(self, *, finish: bool) -> None:
        """End the threads, after all that waits or only what has begun."""
        self._pool.shutdown(wait=True, cancel_futures=not finish)


class Work:
    """A queue for each kind of work, so that none waits for one that takes longer: a mark never for a training.

    Parameters
    ----------
    searches : threads that search.
    waiting : searches that may wait for one of them; more are refused with 503.
    wrote : called when something was stored.
    """

    def __init__(self, searches: int, waiting: int, wrote: Callable[[], None] = lambda: None):
        self._wrote = wrote
        self._searches = _Queue("searches", searches, waiting)
        self._writes = _Queue("writes", 16)  # what comes at the same time is stored and learned together
        self._uploads = _Queue("uploads", 2, UPLOADS)
        self._trainings = _Queue("trainings", 1, TRAININGS)
        self._reads = _Queue("reads", 4)
        self._queues = (self._searches, self._writes, self._uploads, self._trainings, self._reads)
        self._begun: set[Callable[[], object]] = set()
        self.shut = False

    @contextmanager
    def alone(self, why: str, seconds: float = DRAIN_SECONDS) -> Iterator[None]:
        """Let what runs come to its end, and be alone then: whatever comes meanwhile is refused with 503.

        To be called by a thread of its own.

        Parameters
        ----------
        why : the refusal says.
        seconds : after which one who is still at work makes this an error.
        """
        self.shut = True
        try:
            for queue in self._queues:
                queue.shut(why)
            end = time.monotonic() + seconds
            while any(queue.busy for queue in self._queues):
                if time.monotonic() > end:
                    raise ValueError("others are still at work, so nothing was done; try again in a moment")
                time.sleep(_LOOK_SECONDS)
            yield
        finally:
            for queue in self._queues:
                queue.shut(None)
            self.shut = False

    def once(self, function: Callable[[], object]) -> None:
        """Run something in the background, if it is the first time; trainings wait for it."""
        if function not in self._begun:
            self._begun.add(function)
            self._trainings.submit(function)

    async def search(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a search."""
        return await self._searches.run(function, *args, **kwargs)

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run something short that writes, such as a mark; it ends even if nobody waits for it any more.

        Searches that came before have their turn first, up to `PATIENCE`: otherwise each mark of a crowd would pass all
        who wait for results, though nobody waits for a mark.
        """

        async def write() -> R:
            await self._searches.turn(PATIENCE)
            return await self._writes.run(function, *args, **kwargs)

        return await self._stored(write())

    async def upload(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Describe and keep a picture that was sent."""
        return await self._stored(self._uploads.run(function, *args, **kwargs))

    async def train(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run something that learns for seconds, one after another."""
        return await self._stored(self._trainings.run(function, *args, **kwargs))

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run something short that reads: a file, a few rows."""
        return await self._reads.run(function, *args, **kwargs)

    async def _stored(self, writing: Coroutine[Any, Any, R]) -> R:
        result = await asyncio.shield(writing)
        self._wrote()
        return result

    def close(self) -> None:
        """Finish what was begun, and all writes that wait."""
        self._writes.close(finish=True)
        for queue in (self._uploads, self._trainings, self._searches, self._reads):
            queue.close(finish=False)
