"""Waiting for what happens, never for a time: on a busy machine everything takes longer, and some things have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import psutil

LONG = 300.0  # seconds; only ends what hangs
T = TypeVar("T")


def wait_until(happened: Callable[[], T], *, pause: float = 0.02) -> T:
    """Return the first value that is true of those that a function gives again and again."""
    end = time.monotonic() + LONG
    while not (value := happened()):
        assert time.monotonic() < end, f"it never came: {happened}"
        time.sleep(pause)
    return value


def kill_group(process: subprocess.Popen) -> None:
    """Kill a process and all of its group, those that have not ended by themselves, and wait for it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(LONG)


def kill_all(pids: Iterable[int]) -> None:
    """Kill processes of any parent, those that have not ended by themselves, and wait until none runs."""
    running = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            running.append(psutil.Process(pid))
    for process in running:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    wait_until(lambda: not any(map(runs, running)))


def runs(process: psutil.Process) -> bool:
    """Whether a process has not ended; one that has may wait long for its parent to take note."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
