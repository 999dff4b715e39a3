"""The tables of a collection in its own folder, in SQLite: the default, with nothing to set up."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from rankloom.collection._checks import database_problems
from rankloom.collection._database import Database
from rankloom.collection._opening import bring_up_to_date, check_files
from rankloom.collection._schema import DATABASE_ERRORS, connect, only_readable
from rankloom.collection.backup import back_up_daily
from rankloom.collection.damage import DATABASE, damaged, explained

# Errors that are not raised for people to read: damaged values, or a mistake of ours.
UNEXPECTED = (TypeError, IndexError, AttributeError, ArithmeticError, AssertionError, UnicodeDecodeError)


class SqliteStore:
    """A database file in the folder of the collection.

    Parameters
    ----------
    folder : of the collection.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.read_only = False

    def check(self, *, create: bool) -> None:
        """Raise an error if there is no database to open, or one that was emptied."""
        check_files(self.folder, create=create)
        self.read_only = only_readable(self.folder / DATABASE)

    def connect(self) -> sqlite3.Connection:
        """Open the file."""
        return connect(self.folder / DATABASE)

    def bring_up_to_date(self, db: Database) -> None:
        """Check the tables; those of an older version become those of this one, after a backup."""
        assert isinstance(db, sqlite3.Connection)
        bring_up_to_date(self.folder, db)

    def explained(self, error: BaseException, *, opening: bool = False) -> BaseException:
        """An error of SQLite as a line that says what to do."""
        return explained(self.folder, error, opening=opening) if isinstance(error, DATABASE_ERRORS) else error

    def damage_behind(self, error: BaseException) -> BaseException:
        """What to say if the database is damaged: after an error that came out of a computation."""
        known = self.explained(error) if isinstance(error, sqlite3.Error) else error
        if known is not error or not isinstance(error, (sqlite3.Error, *UNEXPECTED)):
            return known
        try:
            with closing(self.connect()) as db:
                problems = database_problems(db, self.folder)
        except DATABASE_ERRORS as failure:
            problems = [str(failure)]
        return damaged(self.folder, f"the database is damaged ({problems[0]})") if problems else error

    def problems(self, db: Database) -> list[str]:
        """SQLite's own checks, the tables, their values, and how they fit the files."""
        assert isinstance(db, sqlite3.Connection)
        return [f"{DATABASE}: {problem}" for problem in database_problems(db, self.folder)]

    @contextmanager
    def indexing(self) -> Iterator[None]:
        """Hold the lock of those who add items."""
        with indexing_alone(self.folder):
            yield

    def back_up_daily(self) -> bool:
        """Copy the database if there is no copy of today."""
        return back_up_daily(self.folder) is not None

    def last_numbers(self, db: Database) -> dict[str, int]:
        """The last number that each table gave to a row."""
        return dict(db.execute("SELECT name, seq FROM sqlite_sequence").fetchall())

    def continue_numbers(self, db: Database, numbers: Mapping[str, int]) -> None:
        """Let tables go on from these numbers."""
        db.executemany("DELETE FROM sqlite_sequence WHERE name = ?", [(name,) for name in numbers])
        db.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [*numbers.items()])

    @contextmanager
    def erasing(self, db: Database, tables: Sequence[str]) -> Iterator[None]:
        """What is deleted is overwritten, in the log too."""
        db.execute("PRAGMA secure_delete = ON")
        yield
        db.execute("PRAGMA secure_delete = OFF")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def bytes(self, db: Database) -> int:
        """None: the file is in the folder."""
        return 0


@contextmanager
def indexing_alone(folder: Path) -> Iterator[None]:
    """Be the one process that adds items to a folder; a second one gets an error that says so."""
    with open(folder / "index.lock", "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            raise ValueError(
                f"{folder} is being indexed by process {holder}; wait until it has ended, or stop it"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
