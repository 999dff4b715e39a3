"""Compiled loops over the rows of a collection, spread over the cores of the machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_WORTH_THREADS = 2_000_000  # components; below, handing over costs more than it saves


class _Busy:
    """How many threads compute distances now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether no other thread had begun before."""
        with self._lock:
            self._count += 1
            alone = self._count == 1
        try:
            yield alone
        finally:
            with self._lock:
                self._count -= 1


_busy = _Busy()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CORES, thread_name_prefix="rankloom-distances")


def in_threads(kernels: Sequence[Callable[[int, int], None]], n_rows: int, width: int) -> None:
    """Run kernels over parts of the rows, spread over all cores.

    Our own threads: numba's may not be used from several threads at a time.
    Where others compute too, the cores are taken, and handing over would only cost.
    """

    def run(begin: int, end: int) -> None:
        for kernel in kernels:
            kernel(begin, end)

    with _busy.alone() as alone:
        if CORES == 1 or not alone or n_rows * width < _WORTH_THREADS:
            run(0, n_rows)
            return
        ends = [n_rows * part // CORES for part in range(CORES + 1)]
        others = [_pool().submit(run, *part) for part in pairwise(ends[1:])]
        run(*ends[:2])
        for done in others:
            done.result()
