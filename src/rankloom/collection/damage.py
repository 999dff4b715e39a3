"""What is wrong with a collection that cannot be used as it is, in one line with the cure."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from rankloom.collection._schema import BUSY_SECONDS, MIGRATIONS

DATABASE = "rankloom.db"
NEW = "rankloom.db.new"  # a rebuilt database that is checked and complete, before it is put in place
BACKUPS = "backups"
_LEAST_ROOM = 1 << 20
WORKPLACE = ".repair-"  # how the folders begin in which a repair or restore works

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DENIED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_IOERR}


class DamagedCollection(ValueError):
    """The database of a collection is damaged or gone; the message says what is wrong and which commands help."""


def damaged(folder: Path, what: str) -> DamagedCollection:
    """The error for a collection, with the commands that help."""
    return DamagedCollection(
        f"{folder}: {what}; look at it with: rankloom verify -c {folder}, save what can be saved with: "
        f"rankloom repair -c {folder}, or go back to a backup with: rankloom restore -c {folder}"
    )


def too_new(folder: Path, version: int) -> DamagedCollection:
    """The error for a version of the tables that this program does not know."""
    return DamagedCollection(
        f"{folder} has version {version}, this Rankloom knows up to {len(MIGRATIONS)}; upgrade Rankloom or, if no "
        f"newer one has ever used it, the number is damaged: rankloom repair -c {folder}"
    )


def disk_full(folder: Path) -> ValueError:
    """The error for a disk without room."""
    return ValueError(f"{folder}: the disk is full; what was stored is kept: make room and run the command again")


def _full(folder: Path) -> bool:
    """Whether there is next to no room; SQLite cannot always tell this from a disk that fails."""
    try:
        return shutil.disk_usage(folder).free < _LEAST_ROOM
    except OSError:
        return False


def explained(folder: Path, error: sqlite3.Error | UnicodeDecodeError, *, opening: bool = False) -> Exception:
    """An error of SQLite as a line that says what to do; the error itself if it may be a mistake of ours.

    Parameters
    ----------
    folder : the collection.
    error : what SQLite says.
    opening : whether it was while opening the database, where every error is one of the database.
    """
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF  # the rest is detail
    if primary in _BUSY:
        return ValueError(
            f"{folder} is busy: another process has been writing for {BUSY_SECONDS:.0f} s; try again later"
        )
    if primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and _full(folder)):
        return disk_full(folder)
    if primary in _DENIED:
        return ValueError(f"{folder}: {error}; check who may read and write the folder and its files")
    # Text that is not UTF-8 is found by Python, which gives no code.
    if (
        opening
        or primary in _DAMAGED
        or (code is None and isinstance(error, sqlite3.OperationalError | UnicodeDecodeError))
    ):
        return damaged(folder, f"the database is damaged ({error})")
    return error


def clear_workplaces(folder: Path) -> None:
    """Delete what repairs that were killed left; to be called by one who keeps others from repairing."""
    for left in folder.glob(f"{WORKPLACE}*"):
        shutil.rmtree(left, ignore_errors=True)


def emptied(folder: Path) -> str:
    """What shows that a collection without a database, or with an empty one, once had one; empty if nothing does."""
    if (folder / NEW).is_file():
        return "a repair or restore was interrupted"
    for pattern, what in (
        ("vectors/*", "vectors"),
        ("thumbnails.bin", "thumbnails"),
        (f"{BACKUPS}/*.db", "backups"),
    ):
        if any(path.stat().st_size for path in folder.glob(pattern)):
            return f"there are {what}"
    return ""
