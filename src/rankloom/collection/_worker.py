"""The program of a worker process: a supervisor that is prepared once, and its child, which does the tasks.

It is started as a script, in an interpreter of its own, and imports nothing but the standard library before it has
heard from its parent: the main module of the parent is never imported, and whatever fails at the start can be told.
The child is a copy of the prepared supervisor. One that dies, hangs or takes too much memory is replaced in
milliseconds.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

READY, DONE, FAILED, DIED, HUNG = "ready", "done", "failed", "died", "hung"
SIGN_SECONDS = 1.0  # between signs of life
# What a sign of life begins with; the rest says what is being done. Answers are pickles, which begin otherwise.
SIGN = b"\x00"
KEPT_BYTES = 96 << 20  # a child that has taken so much, and not given it back after its task, is replaced

# A process may take 600 MiB, but what is loaded before the first task never leaves it less than this for its work.
TOTAL_BYTES, LEAST_BYTES = 600 << 20, 430_000_000


def supervise(connection: Connection) -> None:
    """Prepare, then answer every task with the answer of the child, or with how that ended."""
    try:
        sys.path[:] = connection.recv()
        function, prepare, settings, stall_seconds = connection.recv()
        prepare(settings)
    except EOFError:  # the parent is gone
        return
    except BaseException as error:  # also a SystemExit: the parent waits for an answer
        _send(connection, FAILED, _reason(error))
        return
    _send(connection, READY)
    child: _Child | None = None
    try:
        while True:
            task = connection.recv_bytes()
            child = child or _Child(connection, function)
            answer = child.answer(task, stall_seconds)
            if isinstance(answer, bytes):
                connection.send_bytes(answer)
                if child.keeps_memory():
                    child.end()
                    child = None
            else:
                child = None
                connection.send(answer)
    except (EOFError, OSError):  # the parent has ended, or wants no more
        pass
    finally:
        if child is not None:
            child.end()


class _Child:
    """A copy of this process, in which one task after another is done."""

    def __init__(self, parent: Connection, function: Callable[..., Any]):
        self._parent = parent
        self._pipe, theirs = Pipe()
        self._process = os.fork()
        if self._process == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                self._pipe.close()
                parent.close()
                _limit_memory()
                _serve(theirs, function)
            finally:
                os._exit(1)  # it must never go on as the supervisor that it is a copy of
        theirs.close()
        self._data = _data_bytes(self._process)

    def answer(self, task: bytes, stall_seconds: float) -> bytes | tuple[str, str]:
        """The answer to a task, as it is; or why there is none, after which there is no child any more."""
        try:
            self._pipe.send_bytes(task)
            while True:
                ready = wait([self._pipe, self._parent], stall_seconds)
                if self._parent in ready:  # it says nothing before it has an answer, but it may end
                    raise EOFError
                if not ready:
                    self.end()
                    return HUNG, f"no sign of life for {stall_seconds:g} s"
                answer = self._pipe.recv_bytes()
                if not answer.startswith(SIGN):
                    return answer
                self._parent.send_bytes(answer)
        except (EOFError, OSError):
            if self._parent.poll():
                raise EOFError from None
            return DIED, self.end()

    def keeps_memory(self) -> bool:
        """Whether little is left to the next task: what networks took for a large page stays with the process."""
        return _data_bytes(self._process) - self._data > KEPT_BYTES

    def end(self) -> str:
        """Kill the child, unless it has ended by itself, and tell how it ended."""
        self._pipe.close()
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        return f"it was killed by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"


def _serve(connection: Connection, function: Callable[..., Any]) -> None:
    """Answer every task with `DONE` and its result, or `DIED` or `FAILED` and the reason in one line."""
    tasks: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
    Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    while True:
        task = tasks.get()
        try:
            result = function(*task, alive=_signs(connection))
        except MemoryError:
            _send(connection, DIED, "it ran out of memory")
        except Exception as error:
            _send(connection, FAILED, _reason(error))
        else:
            _send(connection, DONE, result)


def _receive(connection: Connection, tasks: SimpleQueue[tuple[Any, ...]]) -> None:
    """Take tasks in a thread, which so learns in the middle of a task that the supervisor has ended, and ends too."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    os._exit(1)


def _data_bytes(process: int) -> int:
    """How much memory a process has taken for data; 0 on systems without /proc."""
    with suppress(OSError, ValueError), open(f"/proc/{process}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData"))
    return 0


def _limit_memory() -> None:
    """Bound the memory of this process: what needs more gets an error. Systems without /proc have no such limit."""
    with suppress(OSError, ValueError):
        with open("/proc/self/status", encoding="ascii") as file:
            sizes = dict(line.split(":", 1) for line in file)
        held, data = (int(sizes[name].split()[0]) << 10 for name in ("VmRSS", "VmData"))
        limit = data + max(TOTAL_BYTES - held, LEAST_BYTES)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _send(connection: Connection, kind: str, value: Any = None) -> None:
    with suppress(BrokenPipeError):  # the other side is gone
        connection.send((kind, value))


def _signs(connection: Connection) -> Callable[[str], None]:
    """A function that tells, at most once in `SIGN_SECONDS`, that the task goes on, and what it does."""
    last = monotonic()

    def alive(doing: str = "") -> None:
        nonlocal last
        if monotonic() - last >= SIGN_SECONDS:
            last = monotonic()
            with suppress(BrokenPipeError):
                connection.send_bytes(SIGN + doing.encode(errors="replace"))

    return alive


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of `finally`, which ends the child
    # Python warns of threads: libraries may keep one, but none of them works while a supervisor forks.
    warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
    supervise(Connection(int(sys.argv[1])))
