"""Who has a collection open: many at a time, or one alone who replaces its database."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FILE = "open.lock"


def shared(folder: Path) -> int | None:
    """Be one of those who have the collection open, until the handle is closed. None where nothing can be written.

    The system lets go of the lock when the process ends, however it ends.
    """
    try:
        handle = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return None  # a folder that is only read: nobody replaces its database either
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ValueError(f"{folder} is being repaired or restored; wait until that has ended") from None
    return handle


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the only one who has the collection open."""
    handle = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{folder} is in use by another process, such as rankloom serve or index; stop it and try again"
            ) from None
        yield
    finally:
        os.close(handle)
