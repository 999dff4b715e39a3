"""The program of a worker process: it does one task after another, as its parent sends them.

It is started as a script, in an interpreter of its own, and imports nothing but the standard library before it has
heard from its parent: the main module of the parent is never imported, and whatever fails at the start can be told.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

READY, ALIVE, DONE, FAILED = "ready", "alive", "done", "failed"
SIGN_SECONDS = 1.0  # between signs of life


def serve(connection: Connection) -> None:
    """Prepare, then answer every task with `DONE` and its result, or `FAILED` and the reason in one line."""
    try:
        sys.path[:] = connection.recv()
        function, prepare, settings = connection.recv()
        prepare(settings)
    except EOFError:  # the parent is gone
        return
    except BaseException as error:  # also a SystemExit: the parent waits for an answer
        _send(connection, FAILED, _reason(error))
        return
    _send(connection, READY)
    tasks: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
    Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    while True:
        task = tasks.get()
        try:
            result = function(*task, alive=_signs(connection))
        except Exception as error:
            _send(connection, FAILED, _reason(error))
        else:
            _send(connection, DONE, result)


def _receive(connection: Connection, tasks: SimpleQueue[tuple[Any, ...]]) -> None:
    """Take tasks in a thread, which so learns in the middle of a task that the parent has ended, and ends too."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    os._exit(1)


def _send(connection: Connection, kind: str, value: Any = None) -> None:
    with suppress(BrokenPipeError):  # the parent is gone; the other thread ends this process
        connection.send((kind, value))


def _signs(connection: Connection) -> Callable[[], None]:
    """A function that tells the parent, at most once in `SIGN_SECONDS`, that the task goes on."""
    last = monotonic()

    def alive() -> None:
        nonlocal last
        if monotonic() - last >= SIGN_SECONDS:
            last = monotonic()
            _send(connection, ALIVE)

    return alive


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    serve(Connection(int(sys.argv[1])))
