"""One thread in the background that learns, so that no search ever does."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

WAY_SECONDS = 0.05  # that long work waits for searches before each small step
IDLE_SECONDS = 5.0  # without anything to do, after which the thread ends; the next request starts another


class Pass:
    """One run of the work: whether it should stop, and whether those who wait should go on without it."""

    def __init__(self, learner: Learner):
        self._learner = learner

    @property
    def stopped(self) -> bool:
        """Whether to end as soon as possible."""
        return self._learner.stopped

    def takes_long(self) -> None:
        """Say that this run takes long: nobody waits for it unless they want all of it."""
        self._learner.release()


class Activity:
    """How many searches run now, so that long work in the background lets them go first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """A search runs inside."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def give_way(self) -> None:
        """Wait until no search runs; not for ever, so that the work goes on where one follows another."""
        if self._running:
            with self._changed:
                self._changed.wait_for(lambda: not self._running, WAY_SECONDS)


class Learner:
    """Runs a function in a thread of its own whenever somebody asks for it; requests that come meanwhile share a run.

    An error in the work is raised where somebody waits for it; what was learned before stays.

    Parameters
    ----------
    work : what to run; it looks at `Pass.stopped` from time to time.
    at_end : what the thread does last, such as closing what it opened.
    """

    def __init__(self, work: Callable[[Pass], None], at_end: Callable[[], None]):
        self._work, self._at_end = work, at_end
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._asked = self._done = 0  # requests
        self._long = False
        self._failure: Exception | None = None
        self.stopped = False

    def wake(self) -> None:
        """Ask for a run, and do not wait for it."""
        self._ask()

    def wait(self, *, patient: bool = False) -> None:
        """Ask for a run and wait until it is done; or, unless patient, until it is known to take long."""
        request = self._ask()
        with self._changed:
            self._changed.wait_for(lambda: self._done >= request or self.stopped or (self._long and not patient))
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def stop(self) -> None:
        """End the thread; later requests do nothing."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def release(self) -> None:
        """Let those go on that need not wait for all of a run."""
        with self._changed:
            self._long = True
            self._changed.notify_all()

    def _ask(self) -> int:
        with self._changed:
            self._asked += 1
            if self._thread is None and not self.stopped:
                self._thread = threading.Thread(target=self._run, name="rankloom learner", daemon=True)
                _stop_at_exit(self)
                self._thread.start()
            self._changed.notify_all()
            return self._asked

    def _run(self) -> None:
        try:
            while (request := self._next()) is not None:
                failure = None
                try:
                    self._work(Pass(self))
                except Exception as error:
                    failure = error
                with self._changed:
                    self._done, self._long, self._failure = request, False, failure
                    self._changed.notify_all()
        finally:
            self._at_end()

    def _next(self) -> int | None:
        """The latest request; None when it is time to end."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._asked > self._done or self.stopped, IDLE_SECONDS):
                self._thread = None
                return None
            return None if self.stopped else self._asked


_running: weakref.WeakSet[Learner] = weakref.WeakSet()


def _stop_at_exit(learner: Learner) -> None:
    """A thread must not be in the middle of something when the interpreter takes itself apart."""
    _register()
    _running.add(learner)


@cache
def _register() -> None:
    atexit.register(_stop_all)


def _stop_all() -> None:
    for learner in [*_running]:
        learner.stop()
