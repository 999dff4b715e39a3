"""Threads for work that must not hold up the event loop: searches, writes and files apart; and long jobs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from rankloom.collection.marks import now
from rankloom.server.errors import Refused

P = ParamSpec("P")
R = TypeVar("R")
Progress = Callable[[int, int, str], None]


class Work:
    """Three pools, so that a search never waits for a mark, nor a thumbnail for a search.

    Parameters
    ----------
    searches : threads that search.
    waiting : searches that may wait for one of them; more are refused with 503.
    """

    def __init__(self, searches: int, waiting: int):
        self.searches, self.waiting = searches, waiting
        self._search = ThreadPoolExecutor(searches, "search")
        self._write = ThreadPoolExecutor(2, "write")
        self._media = ThreadPoolExecutor(4, "media")
        self._queued = 0  # only touched by the event loop

    async def search(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a search."""
        if self._queued >= self.searches + self.waiting:
            raise Refused(503, "too many searches are waiting; try again in a moment", retry_after=1)
        self._queued += 1
        try:
            return await self._in(self._search, function, *args, **kwargs)
        finally:
            self._queued -= 1

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run something that writes; it ends even if nobody waits for it any more."""
        return await asyncio.shield(self._in(self._write, function, *args, **kwargs))

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run something short that reads: a file, a few rows."""
        return await self._in(self._media, function, *args, **kwargs)

    @staticmethod
    async def _in(pool: ThreadPoolExecutor, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(pool, lambda: function(*args, **kwargs))
        except RuntimeError as error:
            if "shutdown" in str(error):
                raise Refused(503, "the server is stopping", retry_after=2) from None
            raise

    def close(self) -> None:
        """Finish what was begun: all writes, no search that has not started."""
        self._write.shutdown(wait=True)
        for pool in (self._search, self._media):
            pool.shutdown(wait=True, cancel_futures=True)


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
    """One long job at a time in a thread of its own; the last of each name is remembered."""

    def __init__(self) -> None:
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
        from rankloom.server.errors import log_failure, one_line

        error = result = None
        try:
            outcome = work(self._progress)
            result = None if outcome is None else str(outcome)
        except _Stopped:
            error = "stopped with the server"
        except (ValueError, OSError, KeyError, ImportError) as failure:
            error = one_line(failure)
        except Exception as failure:
            error = log_failure(failure)
        with self._guard:
            if self._current is not None:
                self._last[self._current.name] = replace(self._current, ended=now(), error=error, result=result)
            self._current = None

    def close(self, seconds: float = 30.0) -> None:
        """Ask the job to stop at its next step, and wait for that."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(seconds)
