"""Threads for work that must not hold up the event loop, each kind of work with its own; and long jobs."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from rankloom.collection.marks import now
from rankloom.server.errors import Refused, log_failure, one_line
from rankloom.server.health import DISK_FULL, REASONS, is_disk_full

P = ParamSpec("P")
R = TypeVar("R")
Progress = Callable[[int, int, str], None]
UPLOADS, TRAININGS = 64, 16  # that may wait
PATIENCE = 0.25  # seconds that a write waits for searches that came before it


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
        self._came = self._went = 0  # only touched by the event loop, as what follows
        self._turns: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
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
        self._writes = _Queue("writes", 4)  # what comes at the same time is learned together
        self._uploads = _Queue("uploads", 2, UPLOADS)
        self._trainings = _Queue("trainings", 1, TRAININGS)
        self._reads = _Queue("reads", 4)
        self._begun: set[Callable[[], object]] = set()

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


@dataclass(frozen=True)
class Job:
    """A long piece of work: how far it is, and how it ended."""

    name: str
    started: str
    done: int = 0
    total: int = 0
    text: str = ""
    ended: str | None = None
    error: str | None = None
    result: str | None = None


class _Stopped(Exception):
    """Raised inside a job when the server stops."""


class Jobs:
    """One long job at a time in a thread of its own; the last of each name is remembered.

    Parameters
    ----------
    hidden : folders that the error of a job does not name.
    """

    def __init__(self, hidden: Sequence[str] = ()):
        self._hidden = hidden
        self._guard = threading.Lock()
        self._current: Job | None = None
        self._last: dict[str, Job] = {}
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    @property
    def current(self) -> Job | None:
        """The job that runs now."""
        return self._current

    def last(self) -> list[Job]:
        """How the last job of each name ended."""
        with self._guard:
            return list(self._last.values())

    def start(self, name: str, work: Callable[[Progress], Any]) -> Job:
        """Begin a job; what it returns is shown as text. While another runs this is refused."""
        with self._guard:
            if self._current is not None:
                raise Refused(409, f"wait for what is running now: {self._current.name}", retry_after=2)
            job = self._current = Job(name, now())
            self._thread = threading.Thread(target=self._run, args=(work,), name=f"job {name}", daemon=True)
            self._thread.start()
        return job

    def _progress(self, done: int, total: int, text: str) -> None:
        if self._stop.is_set():
            raise _Stopped
        with self._guard:
            if self._current is not None:
                self._current = replace(self._current, done=done, total=total, text=text)

    def _run(self, work: Callable[[Progress], Any]) -> None:
        error = result = None
        try:
            outcome = work(self._progress)
            result = None if outcome is None else str(outcome)
        except _Stopped:
            error = "stopped with the server"
        except (ValueError, OSError, KeyError, ImportError) as failure:
            error = REASONS[DISK_FULL] if is_disk_full(failure) else one_line(failure, self._hidden)
        except Exception as failure:
            error = REASONS[DISK_FULL] if is_disk_full(failure) else log_failure(failure)
        with self._guard:
            if self._current is not None:
                self._last[self._current.name] = replace(self._current, ended=now(), error=error, result=result)
            self._current = None

    def close(self, seconds: float = 30.0) -> None:
        """Ask the job to stop at its next step, and wait for that."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(seconds)
