"""A connection to PostgreSQL that is used as one to SQLite is."""

from __future__ import annotations

import errno
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

from rankloom.collection._database import Unreachable
from rankloom.collection._schema import BUSY_SECONDS
from rankloom.collection.postgres.address import Address
from rankloom.collection.postgres.dialect import Statement, translated

PATIENCE = 15.0  # seconds; a server that is started again answers within them
_PAUSE = 0.25
_STATEMENTS = 500  # that are sent at once
_STREAMED = 2000  # rows


def driver() -> Any:
    """psycopg, which the extra brings."""
    try:
        import psycopg
    except ImportError:
        raise ImportError("PostgreSQL needs its driver; install it with: pip install 'rankloom[postgres]'") from None
    return psycopg


def lock_of(address: Address, purpose: str = "write") -> int:
    """The number of a lock of one collection: 63 bits of its schema and of what it is for."""
    text = f"rankloom {purpose} {address.schema}".encode()
    return zlib.crc32(text) << 31 | zlib.crc32(text[::-1]) >> 1


def connected(address: Address) -> Any:
    """A connection of the driver to the schema of a collection; each statement is committed by itself."""
    psycopg = driver()
    try:
        connection = psycopg.connect(
            address.database, autocommit=True, cursor_factory=psycopg.ClientCursor, connect_timeout=10,
            application_name="rankloom", keepalives_idle=30,
        )  # fmt: skip
        connection.execute(f'SET search_path TO "{address.schema}", public')
        connection.execute(f"SET lock_timeout TO {round(1000 * BUSY_SECONDS)}")
    except psycopg.OperationalError as error:
        raise Unreachable(f"{address.shown} does not answer ({' '.join(str(error).split())})") from error
    return connection


class Rows:
    """What a statement returned, read at once.

    Parameters
    ----------
    rows : in their order.
    rowcount : how many rows were changed or found.
    lastrowid : the number of the row that was added.
    """

    def __init__(self, rows: list[tuple[Any, ...]], rowcount: int = -1, lastrowid: int | None = None):
        self._rows, self.rowcount, self.lastrowid = iter(rows), rowcount, lastrowid

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        return next(self._rows, None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return list(self._rows)


class PostgresConnection:
    """Statements of SQLite on a connection to PostgreSQL.

    A connection that was lost outside of a transaction is made again, and the statement is sent once more; inside of
    one the transaction is lost as a whole, which is an error. Whether a lost COMMIT was carried out is not known.

    Parameters
    ----------
    address : of the database and the schema.
    checked : called after a transaction that writes has begun.
    """

    def __init__(self, address: Address, checked: Callable[[], None] | None = None):
        self._address, self._checked = address, checked
        self._lock = lock_of(address)
        self._connection = connected(address)
        self._inside = False
        self._names = count()

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return self._inside

    def execute(self, sql: str, parameters: Any = (), /) -> Rows:
        """Run a statement."""
        statement = translated(sql, self._lock)
        word = sql.split(None, 1)[0].upper()
        if sql in ("COMMIT", "ROLLBACK"):  # ROLLBACK TO a savepoint stays inside of the transaction
            return self._end(word)
        try:
            rows: Rows = self._run(partial(self._rows, statement, parameters))
        except BaseException:
            if word == "BEGIN" and not self._connection.closed:  # it began, but the lock was not to be had
                self._connection.rollback()
            raise
        if word == "BEGIN":
            self._inside = True
            if self._checked is not None and "IMMEDIATE" in sql:
                self._checked()
        return rows

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Rows:
        """Run a statement once for each row of values."""
        statement = translated(sql, self._lock)
        rows = list(parameters)
        for first in range(0, len(rows), _STATEMENTS):
            self._run(partial(self._many, statement, rows[first : first + _STATEMENTS]))
        return Rows([])

    def stream(self, sql: str, parameters: Any = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query as they are read, inside of a transaction: they need not fit into memory."""
        statement = translated(sql, self._lock)
        with driver().ServerCursor(self._connection, f"rows_{next(self._names)}") as cursor:
            cursor.itersize = _STREAMED
            cursor.execute(statement.sql, [stored_value(value) for value in parameters])
            for row in cursor:
                yield tuple(map(_number, row))

    def close(self) -> None:
        """End the connection; what was not committed is undone."""
        self._connection.close()

    @property
    def raw(self) -> Any:
        """The connection of the driver."""
        return self._connection

    def _rows(self, statement: Statement, parameters: Any) -> Rows:
        cursor = self._connection.execute(statement.sql, [stored_value(value) for value in parameters])
        while cursor.nextset():
            pass
        rows = [tuple(map(_number, row)) for row in cursor.fetchall()] if cursor.description is not None else []
        if statement.numbers:
            return Rows([], cursor.rowcount, rows[-1][0] if rows else None)
        return Rows(rows, cursor.rowcount)

    def _many(self, statement: Statement, rows: Sequence[Sequence[Any]]) -> None:
        cursor = self._connection.cursor()
        sent = [cursor.mogrify(statement.sql, [stored_value(value) for value in row]) for row in rows]
        self._connection.execute(";\n".join(sent))

    def _end(self, word: str) -> Rows:
        """End a transaction; one that was lost with its connection is rolled back already."""
        psycopg = driver()
        self._inside = False
        try:
            self._connection.execute(word)
        except psycopg.OperationalError as error:
            if word == "COMMIT":
                raise self._lost(error) from error
        return Rows([])

    def _run(self, send: Callable[[], Any]) -> Any:
        """Send something, once more if the connection was lost outside of a transaction."""
        psycopg = driver()
        try:
            return send()
        except psycopg.errors.LockNotAvailable as error:
            raise Unreachable(
                f"{self._address.shown} is busy: another process has been writing for {BUSY_SECONDS:.0f} s; try again"
            ) from error
        except psycopg.errors.DiskFull as error:
            raise OSError(errno.ENOSPC, f"the disk of {self._address.shown} is full") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if not self._connection.closed and not self._connection.broken:
                raise
            if self._inside:
                raise self._lost(error) from error
        self._connect_again()
        return send()

    def _connect_again(self) -> None:
        """Make the connection again; a database that is being started is waited for."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection = connected(self._address)
                return
            except Unreachable:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)

    def _lost(self, error: Exception) -> Unreachable:
        return Unreachable(
            f"{self._address.shown} was lost in the middle of a change ({' '.join(str(error).split())}); try again"
        )


def stored_value(value: Any) -> Any:
    """A value as PostgreSQL stores it: no booleans, as SQLite has none, and no texts with a zero byte."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and "\0" in value:
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return value


def _number(value: Any) -> Any:
    """A value as SQLite returns it: sums of whole numbers are such, and so are truth values."""
    if isinstance(value, bool):
        return int(value)
    if type(value).__name__ == "Decimal":
        return int(value) if value == int(value) else float(value)
    return value
