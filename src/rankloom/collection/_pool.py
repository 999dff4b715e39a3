"""Worker processes that may die or hang: a file that does this to its worker costs that file only."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_executable
from queue import SimpleQueue
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, Protocol

from rankloom._addresses import is_address
from rankloom.collection import _worker

_AHEAD = 32  # tasks a worker may be ahead of the one that is waited for
# Workers share the cores among themselves.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"), "1"
)
START_SECONDS = 300.0
_WATCH_SECONDS = 1.0
STALL_SECONDS = 120.0
END_SECONDS = 10.0


class WorkerError(ChildProcessError):
    """A worker process that cannot start or work, with the reason in one line; the run cannot go on."""


class Job(NamedTuple):
    """What a worker does with its tasks, and how it is prepared: as `run_in_order` takes them."""

    function: Callable[..., Any]
    prepare: Callable[..., None]
    settings: Any
    stall_seconds: float


class Pool(Protocol):
    """Workers elsewhere, such as those of a cluster. They also read files that are not on this machine."""

    def run(
        self,
        job: Job,
        tasks: Iterable[tuple[Any, ...]],
        failed: Callable[[tuple[Any, ...], str], Any],
        patience: float | None,
        watch: Callable[[str], None],
    ) -> Generator[Any, None, None]:
        """Yield the result of every task, as `run_in_order` does."""


Workers = int | Pool  # processes of this machine, 0 for none; or a pool


def at_most(workers: Workers, tasks: int) -> Workers:
    """Not more processes than there are tasks."""
    return min(workers, tasks) if isinstance(workers, int) else workers


def run_in_order(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    *,
    workers: Workers,
    prepare: Callable[..., None],
    settings: Any,
    failed: Callable[[tuple[Any, ...], str], Any],
    stall_seconds: float = STALL_SECONDS,
    patience: float | None = None,
    watch: Callable[[str], None] = lambda doing: None,
) -> Generator[Any, None, None]:
    """Yield `function(*task, alive=...)` for every task, in their order, computed by worker processes.

    Parameters
    ----------
    function, tasks : what to do. Tasks are taken a bounded number ahead. A long task calls `alive(doing)` now and then.
    workers : processes; 0 works in this one. Or a pool.
    prepare, settings : called with the settings in each process first. If this fails, a WorkerError is raised.
    failed : makes the result of a task that killed its process, or hung in it; called with the task and the reason.
    stall_seconds : a task that gives no sign of life for so long is ended together with its process.
    patience : seconds that finished results wait for an earlier one; then they come first. None: for ever.
    watch : called about once a second, while nothing is finished, with what a worker does.
    """
    if not isinstance(workers, int):
        yield from workers.run(Job(function, prepare, settings, stall_seconds), tasks, failed, patience, watch)
        return
    tasks = _of_this_machine(tasks)
    if workers == 0:
        prepare(settings)
        yield from (function(*task, alive=lambda doing="": watch(doing) if doing else None) for task in tasks)
        return
    yield from _run_here(Job(function, prepare, settings, stall_seconds), tasks, workers, failed, patience, watch)


def _run_here(
    job: Job,
    tasks: Iterable[tuple[Any, ...]],
    workers: int,
    failed: Callable[[tuple[Any, ...], str], Any],
    patience: float | None,
    watch: Callable[[str], None],
) -> Generator[Any, None, None]:
    """What `run_in_order` does with processes of this machine."""
    crew = [Worker(job) for _ in range(workers)]
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in crew:
        idle.put(worker)

    def run(task: tuple[Any, ...]) -> Any:
        worker = idle.get()
        try:
            return worker.do(task)
        except TaskLost as loss:
            return failed(task, str(loss))
        finally:
            idle.put(worker)

    threads, waiting = ThreadPoolExecutor(workers), deque[Future[Any]]()  # a thread waits for one worker
    todo: Iterator[tuple[Any, ...]] = iter(tasks)
    first, since = None, 0.0
    try:
        while True:
            waiting.extend(threads.submit(run, task) for task in islice(todo, _AHEAD * workers - len(waiting)))
            if not waiting:
                return
            if waiting[0] is not first:
                first, since = waiting[0], monotonic()
            seconds = None if patience is None else max(0.0, since + patience - monotonic())
            yield next_finished(waiting, seconds, partial(_watch, crew, watch)).result()
    finally:
        for worker in crew:
            worker.stop()
        threads.shutdown(cancel_futures=True)
        for worker in crew:
            worker.close()


def _of_this_machine(tasks: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for task in tasks:
        if isinstance(task[0], str) and is_address(task[0]):
            raise ValueError(f"{task[0]} is read by a cluster; add: --cluster local:{os.cpu_count() or 1}")
        yield task


def _watch(crew: Iterable[Worker], watch: Callable[[str], None]) -> None:
    doing = next((worker.doing for worker in crew if worker.doing), "")
    if doing:
        watch(doing)


def next_finished(waiting: deque[Future[Any]], seconds: float | None, waited: Callable[[], None]) -> Future[Any]:
    """Take the first of some futures; if that does not end in so many seconds, the first of those that are finished."""
    end = None if seconds is None else monotonic() + seconds
    while not waiting[0].done() and (end is None or monotonic() < end):
        wait([waiting[0]], _WATCH_SECONDS if end is None else min(_WATCH_SECONDS, max(0.0, end - monotonic())))
        waited()
    while not any(future.done() for future in waiting):
        wait(waiting, _WATCH_SECONDS, return_when=FIRST_COMPLETED)
        waited()
    chosen = next(future for future in waiting if future.done())
    waiting.remove(chosen)
    return chosen


class TaskLost(Exception):
    """A task without a result, and why."""


class Worker:
    """A process that does tasks one after another; it is started when it is needed, and again after it has died.

    Parameters
    ----------
    job : what it does; a task that gives no sign of life for `stall_seconds` is ended.
    """

    def __init__(self, job: Job):
        self._job = tuple(job)  # the process imports nothing of ours before it was told where from
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._stopped = False
        self.doing = ""  # what its task is at, if that is known
        self._guard = Lock()

    def do(self, task: tuple[Any, ...]) -> Any:
        """The result of a task. One whose process dies gets a second try: memory may have run out elsewhere."""
        kind, value = self._attempt(task)
        if kind == _worker.DIED:
            kind, value = self._attempt(task)
        if kind == _worker.FAILED:
            raise WorkerError(f"a worker process failed: {value}")
        if kind != _worker.DONE:
            raise TaskLost(f"the decoder {'hung' if kind == _worker.HUNG else 'crashed'} on it: {value}")
        return value

    def stop(self) -> None:
        """Kill the process, also while another thread waits for it; from now on none is started."""
        with self._guard:
            self._stopped = True
            process = self._process
        if process is not None:
            process.terminate()

    def close(self) -> None:
        """Release what the process held."""
        self._end()

    def _attempt(self, task: tuple[Any, ...]) -> tuple[str, Any]:
        """An answer and its kind."""
        if self._connection is None:
            self._start()
        try:
            connection = self._pipe()
            connection.send(task)
            while (data := connection.recv_bytes()).startswith(_worker.SIGN):
                self.doing = data[len(_worker.SIGN) :].decode()
            answer: tuple[str, Any] = pickle.loads(data)
        except (EOFError, OSError):
            return _worker.DIED, self._end()
        finally:
            self.doing = ""
        return answer

    def _start(self) -> None:
        with self._guard:
            if self._stopped:
                raise WorkerError("the run has ended")
            self._connection, theirs = Pipe()
            with theirs:
                number = theirs.fileno()
                # -P: the folder of the script, this package, is no place to import top-level modules from.
                command = [get_executable(), "-P", _worker.__file__, str(number)]
                try:
                    self._process = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, pass_fds=[number], env={**os.environ, **_ONE_THREAD}
                    )
                except OSError as error:
                    raise WorkerError(f"a worker process could not start: {error}; work without: workers=0") from error
        try:
            connection = self._pipe()
            connection.send(sys.path)
            connection.send(self._job)
            kind, value = connection.recv() if connection.poll(START_SECONDS) else (_worker.HUNG, "it does not answer")
        except (EOFError, OSError):
            kind, value = _worker.DIED, self._end()
        if kind != _worker.READY:
            self._end()
            raise WorkerError(f"a worker process could not start: {value}")

    def _pipe(self) -> Connection[Any, Any]:
        if self._connection is None:
            raise EOFError
        return self._connection

    def _end(self) -> str:
        """End the process, unless it has ended by itself, and tell how it ended."""
        connection, process = self._connection, self._process
        self._connection = self._process = None
        if connection is not None:
            connection.close()  # it ends with its child when it notices
        if process is None:
            return "it has ended"
        try:
            code = process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        return f"it was killed by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"
