"""What the rest of a collection knows of its database: SQL in, rows out, whichever program keeps the tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol


class Database(Protocol):
    """A connection to the tables of a collection; SQLite's own is one.

    Statements are those that SQLite and PostgreSQL both take, with `?` for values, and with what
    `postgres.dialect.translated` knows to write in another way.
    """

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun and not ended."""
        ...

    def execute(self, sql: str, parameters: Any = ..., /) -> Any:
        """Run a statement; what it returns has `fetchone`, `fetchall`, `rowcount` and `lastrowid`."""
        ...

    def executemany(self, sql: str, parameters: Any, /) -> Any:
        """Run a statement once for each row of values."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class Unreachable(ConnectionError):
    """The database does not answer. What was acknowledged is kept; the same may succeed in a moment."""


class Store(Protocol):
    """Where the tables of a collection are, and what can be done there as a whole.

    Parameters
    ----------
    folder : of the vectors and thumbnails.
    read_only : whether nothing can be written.
    """

    folder: Path
    read_only: bool

    def check(self, *, create: bool) -> None:
        """Raise an error if there is nothing to open, and nothing is to be made."""
        ...

    def connect(self) -> Database:
        """A new connection."""
        ...

    def bring_up_to_date(self, db: Database) -> None:
        """Check the tables; those of an older version become those of this one."""
        ...

    def explained(self, error: BaseException, *, opening: bool = False) -> BaseException:
        """An error as a line that says what to do; the error itself if it may be a mistake of ours."""
        ...

    def damage_behind(self, error: BaseException) -> BaseException:
        """The same for an error of any kind: whether damaged tables are its cause."""
        ...

    def problems(self, db: Database) -> list[str]:
        """What is wrong with the tables, one line each."""
        ...

    def indexing(self) -> AbstractContextManager[None]:
        """Be the one process that adds items; a second one gets an error that says so."""
        ...

    def back_up_daily(self) -> bool:
        """Make a backup if there is none of today and this is the place to do it; whether one was made."""
        ...

    def last_numbers(self, db: Database) -> dict[str, int]:
        """The last number that each table gave to a row; numbers are not given twice."""
        ...

    def continue_numbers(self, db: Database, numbers: Mapping[str, int]) -> None:
        """Let tables go on from these numbers."""
        ...

    def erasing(self, db: Database, tables: Sequence[str]) -> AbstractContextManager[None]:
        """What is deleted from some tables inside leaves no trace in the files of the database."""
        ...

    def bytes(self, db: Database) -> int:
        """How much room the tables take outside of the folder."""
        ...


def is_database_address(text: str | os.PathLike[str]) -> bool:
    """Whether a collection is named by the address of a database instead of a folder.

    >>> is_database_address("postgresql://db.example/photos"), is_database_address("photos.rankloom")
    (True, False)
    """
    return isinstance(text, str) and text.startswith(("postgresql://", "postgres://"))
