"""Whether the collection can be read and written, as far as the server has noticed."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Callable

from rankloom.collection import Collection, DamagedCollection
from rankloom.collection._database import Unreachable

OK, DISK_FULL, DAMAGED, UNREACHABLE = "ok", "disk full", "damaged", "unreachable"
REASONS = {
    DISK_FULL: "the disk of the server is full, so nothing can be stored; make room there, then try again",
    UNREACHABLE: "the database of the collection does not answer; try again in a moment",
    DAMAGED: "the collection is damaged; repair it in the tab Collection or, on the server, with: rankloom repair",
}
LEAST_FREE = 2_000_000  # bytes; a mark needs a few thousand


def is_disk_full(error: BaseException) -> bool:
    """Whether something could not be stored because the disk has no room, or none for this user.

    >>> is_disk_full(OSError(errno.ENOSPC, "No space left on device")), is_disk_full(OSError(errno.ENOENT, "?"))
    (True, False)
    """
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    # SQLite does not always know why it could not write or make its shared memory larger.
    full = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
    return getattr(error, "sqlite_errorcode", None) in full


class Health:
    """The state of a collection: what its last failure was, and how much room its disk has.

    Parameters
    ----------
    collection : what is served.
    read_only : whether it is never written to, so that room does not matter.
    free : the bytes that its disk has room for.
    """

    def __init__(self, collection: Collection, *, read_only: bool, free: Callable[[], int] | None = None):
        self._collection, self._read_only = collection, read_only
        self._free = free or (lambda: shutil.disk_usage(collection.folder).free)
        self._status = OK

    def failed(self, status: str) -> None:
        """Remember what went wrong; damage stays until a repair, or until the server is started again."""
        if self._status != DAMAGED:
            self._status = status

    def repaired(self) -> None:
        """The database was repaired or replaced."""
        self._status = OK

    def wrote(self) -> None:
        """Something was stored: the disk is not full, or no more."""
        if self._status == DISK_FULL:
            self._status = OK

    def check(self) -> str:
        """How it is now."""
        try:
            len(self._collection)
        except Unreachable:
            return UNREACHABLE  # until it answers again
        except (sqlite3.DatabaseError, DamagedCollection):
            self.failed(DAMAGED)
        if self._status == OK and not self._read_only and self._free() < LEAST_FREE:
            return DISK_FULL
        return self._status
