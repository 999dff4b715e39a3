"""Long jobs: one at a time, others wait for it; how fast each is, and whether it is paused, cancelled or has ended."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from rankloom.collection.marks import now
from rankloom.server.errors import Refused, log_failure, one_line
from rankloom.server.health import DISK_FULL, REASONS, is_disk_full

Progress = Callable[[int, int, str], None]
WAITING = 20  # jobs that may wait
RATE_SECONDS = 60.0  # of work over which the speed is measured
LEAST_SECONDS = 2.0  # before there is a speed


@dataclass(frozen=True)
class Job:
    """A long piece of work: how far it is, and how it ended.

    `what` says what it is about, such as a folder; `rate` is what is done a second, and `left` the seconds that the
    rest takes then, both None while nobody can tell. What it returned is its `result` or, if it counts, its `report`.
    """

    name: str
    started: str
    what: str = ""
    done: int = 0
    total: int = 0
    text: str = ""
    paused: bool = False
    rate: float | None = None
    left: float | None = None
    ended: str | None = None
    error: str | None = None
    result: str | None = None
    report: dict[str, int] | None = None
    cancelled: bool = False


class Cancelled(Exception):
    """Raised inside a job that is to end: as somebody wants it, or with the server."""


class Pace:
    """How fast a job is: over its last minute of work, without pauses.

    Parameters
    ----------
    clock : the time in seconds.

    Examples
    --------
    >>> times = iter([0.0, 5.0, 10.0])
    >>> pace = Pace(lambda: next(times))
    >>> [pace.add(done) for done in (0, 10, 40)]
    [None, 2.0, 4.0]
    """

    def __init__(self, clock: Callable[[], float] = monotonic):
        self._clock = clock
        self._steps: deque[tuple[float, int]] = deque()

    def add(self, done: int) -> float | None:
        """So much is done now; returns how much that is a second, None if it is too early to tell."""
        time = self._clock()
        if self._steps and done < self._steps[-1][1]:  # another part of the job begins
            self.forget()
        self._steps.append((time, done))
        while len(self._steps) > 2 and time - self._steps[0][0] > RATE_SECONDS:
            self._steps.popleft()
        seconds = time - self._steps[0][0]
        return (done - self._steps[0][1]) / seconds if seconds >= LEAST_SECONDS else None

    def forget(self) -> None:
        """Measure anew, as after a pause."""
        self._steps.clear()


@dataclass(frozen=True)
class _Waiting:
    job: Job
    work: Callable[[Progress], Any]
    ended: threading.Event


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
        self._waiting: deque[_Waiting] = deque()
        self._last: dict[str, Job] = {}
        self._thread: threading.Thread | None = None
        self._stop, self._cancel, self._go = threading.Event(), threading.Event(), threading.Event()
        self._go.set()
        self._pace = Pace()

    @property
    def current(self) -> Job | None:
        """The job that runs now."""
        return self._current

    def waiting(self) -> list[Job]:
        """The jobs that wait for it."""
        with self._guard:
            return [entry.job for entry in self._waiting]

    def last(self) -> list[Job]:
        """How the last job of each name ended."""
        with self._guard:
            return list(self._last.values())

    def start(self, name: str, work: Callable[[Progress], Any]) -> Job:
        """Begin a job; what it returns is shown as text. While another runs this is refused."""
        with self._guard:
            if self._current is not None:
                raise Refused(409, f"wait for what is running now: {self._current.name}", retry_after=2)
            return self._begin(_Waiting(Job(name, now()), work, threading.Event()))

    def queue(self, name: str, work: Callable[[Progress], Any], what: str = "") -> tuple[Job, threading.Event]:
        """Begin a job, or let it wait for others; returns it, and what is set at its end."""
        with self._guard:
            if self._stop.is_set():
                raise Refused(503, "the server is stopping", retry_after=2)
            if len(self._waiting) >= WAITING:
                raise Refused(
                    503, f"{WAITING} jobs are waiting already; try again when some have ended", retry_after=60
                )
            entry = _Waiting(Job(name, now(), what), work, threading.Event())
            if self._current is None:
                return self._begin(entry), entry.ended
            self._waiting.append(entry)
            return entry.job, entry.ended

    def _begin(self, entry: _Waiting) -> Job:
        """Run a job in a thread; who calls holds the guard."""
        self._cancel.clear()
        self._go.set()
        self._pace.forget()
        self._current = replace(entry.job, started=now())
        self._thread = threading.Thread(target=self._run, args=(entry,), name=f"job {entry.job.name}", daemon=True)
        self._thread.start()
        return self._current

    def pause(self) -> None:
        """Let the job rest at its next step."""
        with self._guard:
            if self._current is None:
                raise Refused(409, "nothing runs that could be paused")
            self._go.clear()
            self._current = replace(self._current, paused=True, rate=None, left=None)

    def resume(self) -> None:
        """Let the job go on."""
        with self._guard:
            if self._current is None or not self._current.paused:
                raise Refused(409, "nothing is paused")
            self._pace.forget()
            self._current = replace(self._current, paused=False)
            self._go.set()

    def cancel(self, waiting: int | None = None) -> None:
        """End the job at its next step; or take one of those that wait out, by its place."""
        with self._guard:
            if waiting is not None:
                if waiting >= len(self._waiting):
                    raise Refused(409, "this job does not wait any more")
                entry = self._waiting[waiting]
                del self._waiting[waiting]
                self._last[entry.job.name] = replace(entry.job, ended=now(), cancelled=True)
                entry.ended.set()
                return
            if self._current is None:
                raise Refused(409, "nothing runs that could be cancelled")
            self._cancel.set()
            self._go.set()

    def _progress(self, done: int, total: int, text: str) -> None:
        self._go.wait()
        if self._stop.is_set() or self._cancel.is_set():
            raise Cancelled
        with self._guard:
            if self._current is not None:
                rate = self._pace.add(done)
                left = (total - done) / rate if rate and total else None
                self._current = replace(self._current, done=done, total=total, text=text, rate=rate, left=left)

    def _run(self, entry: _Waiting) -> None:
        error = result = report = None
        cancelled = False
        try:
            outcome = entry.work(self._progress)
            report = outcome if isinstance(outcome, dict) else None
            result = None if outcome is None or report is not None else str(outcome)
        except Cancelled:
            cancelled, error = True, "stopped with the server" if self._stop.is_set() else None
        except (ValueError, OSError, KeyError, ImportError) as failure:
            error = REASONS[DISK_FULL] if is_disk_full(failure) else one_line(failure, self._hidden)
        except Exception as failure:
            error = REASONS[DISK_FULL] if is_disk_full(failure) else log_failure(failure)
        with self._guard:
            if self._current is not None:
                self._last[self._current.name] = replace(
                    self._current, ended=now(), error=error, result=result, report=report, cancelled=cancelled,
                    paused=False, rate=None, left=None,
                )  # fmt: skip
            self._current = None
            entry.ended.set()
            if self._waiting and not self._stop.is_set():
                self._begin(self._waiting.popleft())

    def close(self, seconds: float = 30.0) -> None:
        """Ask the job to stop at its next step, and wait for that; those that wait never begin."""
        with self._guard:
            self._stop.set()
            self._go.set()
            for entry in self._waiting:
                entry.ended.set()
            self._waiting.clear()
            thread = self._thread
        if thread is not None:
            thread.join(seconds)
