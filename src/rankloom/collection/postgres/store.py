"""A collection whose tables are in PostgreSQL and whose vectors and thumbnails are in a folder that all servers see."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from rankloom._io import make_folder
from rankloom.collection._database import Database, Unreachable, is_database_address
from rankloom.collection._schema import MIGRATIONS
from rankloom.collection._sqlite import indexing_alone
from rankloom.collection._tables import tables
from rankloom.collection.damage import DATABASE, emptied
from rankloom.collection.identity import make_id
from rankloom.collection.postgres.address import (
    FILES,
    VARIABLE,
    Address,
    parsed,
    read_pointer,
    write_pointer,
)  # fmt: skip
from rankloom.collection.postgres.connection import PostgresConnection, connected, driver, lock_of
from rankloom.collection.postgres.schema import FIRST, migrate, version_of


class PostgresStore:
    """The tables of a collection in a schema of a database.

    Parameters
    ----------
    folder : of the vectors and thumbnails.
    address : of the database and the schema.
    """

    def __init__(self, folder: Path, address: Address):
        self.folder, self.address = folder, address
        self.read_only = False
        self._indexing: Any = None  # the connection that holds the lock of those who add items

    def check(self, *, create: bool) -> None:
        """Raise an error if there are no tables, and none are to be made."""
        with closing(connected(self.address)) as connection:
            version = version_of(connection, self.address.schema)
            self.read_only = bool(connection.execute("SELECT pg_is_in_recovery()").fetchone()[0]) or (
                self.folder.is_dir() and not os.access(self.folder, os.W_OK)
            )
        if version > len(MIGRATIONS):
            raise ValueError(
                f"{self.address.shown} has version {version}, this Rankloom knows up to {len(MIGRATIONS)}; upgrade it"
            )
        if version == 0:
            if not create:
                raise FileNotFoundError(
                    f"{self.address.shown} holds no collection; make one with: rankloom index PATH -c ADDRESS, "
                    "or bring one there with: rankloom copy FOLDER ADDRESS"
                )
            if remains := emptied(self.folder):
                raise ValueError(
                    f"{self.folder}: {remains}, but {self.address.shown} has no tables; name another folder"
                )
        elif not self.folder.is_dir():
            raise FileNotFoundError(
                f"{self.folder} is not there, which has the vectors of {self.address.shown}; "
                "mount it, or say where it is: ?files=FOLDER"
            )
        elif 0 < version < FIRST:
            raise ValueError(f"{self.address.shown} says that its version is {version}, which never was in PostgreSQL")

    def connect(self) -> PostgresConnection:
        """A new connection."""
        return PostgresConnection(self.address, self._check_indexing)

    def bring_up_to_date(self, db: Database) -> None:
        """Make the tables, or bring them up to date."""
        assert isinstance(db, PostgresConnection)
        if self.read_only:
            if version_of(db.raw, self.address.schema) != len(MIGRATIONS):
                raise ValueError(f"{self.address.shown} is of an older version and can only be read")
            return
        migrate(db.raw, self.address.schema, lock_of(self.address))
        make_id(db)
        row = db.execute("SELECT value FROM meta WHERE key = ?", (FILES,)).fetchone()
        if row is None:
            db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (FILES, json.dumps(str(self.folder))))

    def explained(self, error: BaseException, *, opening: bool = False) -> BaseException:
        """An error of the database as a line that says what to do."""
        psycopg = driver()
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return ValueError(f"{self.address.shown}: {' '.join(str(error).split())}; check what the user may do")
        if isinstance(error, psycopg.OperationalError):
            return Unreachable(f"{self.address.shown} does not answer ({' '.join(str(error).split())}); try again")
        return error

    def damage_behind(self, error: BaseException) -> BaseException:
        """The same: PostgreSQL looks after its tables itself."""
        return self.explained(error)

    def problems(self, db: Database) -> list[str]:
        """What does not fit together, of what PostgreSQL itself does not watch."""
        from rankloom.collection._checks import table_problems

        return [f"{self.address.shown}: {problem}" for problem in table_problems(db, self.folder)]

    @contextmanager
    def indexing(self) -> Iterator[None]:
        """Hold the lock of those who add items: of the folder on this machine, and of the database for all others."""
        with indexing_alone(self.folder):
            self._indexing = self._index_lock()
            try:
                yield
            finally:
                with suppress(driver().Error):  # a server sees the end of a connection later
                    self._indexing.execute("SELECT pg_advisory_unlock(%s)", (lock_of(self.address, "index"),))
                self._indexing.close()
                self._indexing = None

    def _index_lock(self) -> Any:
        connection = connected(self.address)
        if not connection.execute("SELECT pg_try_advisory_lock(%s)", (lock_of(self.address, "index"),)).fetchone()[0]:
            connection.close()
            raise ValueError(f"{self.address.shown} is being indexed from another machine; wait until that has ended")
        return connection

    def _check_indexing(self) -> None:
        """Who adds items still holds the lock for it, also after the database was started again."""
        if self._indexing is None:
            return
        try:
            self._indexing.execute("SELECT 1")
        except driver().Error:
            self._indexing.close()
            self._indexing = self._index_lock()

    def back_up_daily(self) -> bool:
        """Nothing: who runs the database backs it up."""
        return False

    def last_numbers(self, db: Database) -> dict[str, int]:
        """The last number that each table gave to a row."""
        query = (
            "SELECT relname, coalesce(pg_sequence_last_value(pg_get_serial_sequence("
            " quote_ident(table_schema) || '.' || quote_ident(relname), column_name)::regclass), 0)"
            " FROM information_schema.columns JOIN pg_class ON relname = table_name AND relkind = 'r'"
            " AND relnamespace = quote_ident(table_schema)::regnamespace"
            " WHERE is_identity = 'YES' AND table_schema = ?"
        )
        return {name: number for name, number in db.execute(query, (self.address.schema,)).fetchall() if number}

    def continue_numbers(self, db: Database, numbers: Mapping[str, int]) -> None:
        """Let tables go on from these numbers."""
        for name, number in numbers.items():
            column = tables()[name].key[0]
            db.execute("SELECT setval(pg_get_serial_sequence(?, ?), ?)", (name, column, number))

    @contextmanager
    def erasing(self, db: Database, tables: Sequence[str]) -> Iterator[None]:
        """The tables are written anew; logs and backups of the database are in the hands of who runs it."""
        yield
        for name in tables:
            db.execute(f"VACUUM (FULL) {name}")

    def bytes(self, db: Database) -> int:
        """The tables and their indexes."""
        query = (
            "SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0) FROM pg_class"
            " JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind = 'r' AND nspname = ?"
        )
        return int(db.execute(query, (self.address.schema,)).fetchone()[0])


def store_for(name: str | os.PathLike[str], *, create: bool) -> PostgresStore | None:
    """Where the tables of a collection are, if in PostgreSQL: by its address, or as its folder says; else None.

    Parameters
    ----------
    name : a folder, or the address of a database.
    create : whether a new collection may be made; where the environment names a database for those, its folder then
        says so.
    """
    if is_database_address(name):
        return _by_address(str(name), create=create)
    folder = Path(name).absolute()
    address = read_pointer(folder)
    default = os.environ.get(VARIABLE)
    if address is None and create and default and not _used(folder):
        given = parsed(default)
        address = Address(given.database, f"rankloom_{token_hex(8)}")
        make_folder(folder)
        write_pointer(folder, address)
    return None if address is None else PostgresStore(folder, address)


def _used(folder: Path) -> bool:
    """Whether a folder holds a collection already."""
    return (folder / DATABASE).exists() or bool(emptied(folder))


def _by_address(text: str, *, create: bool) -> PostgresStore:
    address = parsed(text)
    files = address.files
    if files is None:
        with closing(connected(address)) as connection:
            if version_of(connection, address.schema):
                row = connection.execute("SELECT value FROM meta WHERE key = %s", (FILES,)).fetchone()
                files = None if row is None else json.loads(row[0])
    if files is None:
        raise (ValueError if create else FileNotFoundError)(
            f"{address.shown} holds no collection yet; name the folder of its vectors and thumbnails, "
            "which all servers must see: ?files=/shared/photos"
        )
    folder = Path(files).absolute()
    if create and not folder.is_dir():
        make_folder(folder)
    if read_pointer(folder) is None and folder.is_dir() and os.access(folder, os.W_OK) and not _used(folder):
        write_pointer(folder, address)
    return PostgresStore(folder, address)
