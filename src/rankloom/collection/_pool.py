"""Worker processes that may die: a file that kills its worker costs that file only."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

__all__ = ["run_in_order"]

_AHEAD = 32  # tasks a worker may be ahead of the one that is waited for


def run_in_order(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    *,
    workers: int,
    prepare: Callable[..., None],
    settings: Any,
    crashed: Callable[[tuple[Any, ...]], Any],
) -> Generator[Any, None, None]:
    """Yield `function(*task)` for every task, in their order, computed by worker processes.

    Parameters
    ----------
    function, tasks : what to do. Tasks are taken a bounded number ahead.
    workers : processes; 0 works in this one.
    prepare, settings : called with the settings in each process first.
    crashed : makes the result of a task that killed its process.
    """
    if workers == 0:
        prepare(settings)
        for task in tasks:
            yield function(*task)
        return
    context = multiprocessing.get_context("forkserver")

    def start(count: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(prepare, settings))

    pool = start(workers)
    waiting: deque[tuple[tuple[Any, ...], Future[Any]]] = deque()
    todo: Iterator[Any] = iter(tasks)
    try:
        while True:
            while len(waiting) < _AHEAD * workers:
                try:
                    task = next(todo)
                except StopIteration:
                    break
                waiting.append((task, pool.submit(function, *task)))
            if not waiting:
                return
            task, future = waiting.popleft()
            try:
                result = future.result()
            except BrokenProcessPool:
                # One of the tasks in flight did it: they go one by one through a process of their own.
                pool.shutdown(wait=False, cancel_futures=True)
                suspects = [task, *(other for other, _ in waiting)]
                waiting.clear()
                for suspect in suspects:
                    yield _alone(start, function, suspect, crashed)
                pool = start(workers)
                continue
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin(prepare: Callable[..., None], settings: Any) -> None:
    """What a worker does first: it ends with its parent, which may be killed, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _use_one_thread()
    prepare(settings)


def _use_one_thread() -> None:
    """Workers share the cores among themselves. Only in a process of our own: these settings are global."""
    for pool in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{pool}_NUM_THREADS"] = "1"
    import cv2

    cv2.setNumThreads(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _alone(start: Any, function: Callable[..., Any], task: tuple[Any, ...], crashed: Callable[..., Any]) -> Any:
    with start(1) as pool:
        try:
            return pool.submit(function, *task).result()
        except BrokenProcessPool:
            return crashed(task)
