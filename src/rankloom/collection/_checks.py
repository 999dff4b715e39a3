"""Whether a database is sound: SQLite's own checks, the tables, their values, and how they fit the files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rankloom.collection._database import Database
from rankloom.collection._files import vector_file
from rankloom.collection._schema import DATABASE_ERRORS, MIGRATIONS, version_of
from rankloom.collection._tables import Table, lacking, tables
from rankloom.collection.query import Query
from rankloom.experts.compact import row_bytes

THUMBNAILS = "thumbnails.bin"
_SHOWN = 20  # of one kind
_CLASSES = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}


def database_problems(db: sqlite3.Connection, folder: Path) -> list[str]:
    """What is wrong with a database, one line each; empty if nothing is.

    Parameters
    ----------
    db : an open database.
    folder : the collection that it is of, with its files.
    """
    version = version_of(db)
    problems = [f"version {version} instead of {len(MIGRATIONS)}"] if version != len(MIGRATIONS) else []
    missing = lacking(db)
    if missing:
        return problems + [f"{what} is missing" for what in missing]
    for checks in ((_integrity, _values), (_references, _numbers, _files)):
        for check in checks:
            try:
                problems += check(db, folder)
            except DATABASE_ERRORS as error:
                problems.append(str(error))
        if problems:  # what follows reckons with values that are numbers
            break
    return list(dict.fromkeys(problems))


def table_problems(db: Database, folder: Path) -> list[str]:
    """What does not fit together, of tables that any database may hold: numbers of items, rows and checksums of files.

    Parameters
    ----------
    db : an open database.
    folder : the collection that it is of, with its files.
    """
    return [*_numbers(db, folder), *_files(db, folder)]


def _integrity(db: sqlite3.Connection, _: Path) -> list[str]:
    lines = [text for (text,) in db.execute(f"PRAGMA integrity_check({_SHOWN})").fetchall()]
    return [" ".join(line.split()) for line in lines if line != "ok"]


def _references(db: sqlite3.Connection, _: Path) -> list[str]:
    counts: dict[tuple[str, str], int] = {}
    for table, _row, parent, _key in db.execute("PRAGMA foreign_key_check"):
        counts[table, parent] = counts.get((table, parent), 0) + 1
    return [f"{count:,} rows of {table} name {parent} that are not there" for (table, parent), count in counts.items()]


def _values(db: sqlite3.Connection, _: Path) -> list[str]:
    problems = []
    for table in tables().values():
        wrong = 0
        factory, db.text_factory = db.text_factory, text_or_bytes
        try:
            wrong = sum(not valid(table, row) for row in db.execute(table.select))
        except DATABASE_ERRORS as error:
            problems.append(f"{table.name}: {error}")
        finally:
            db.text_factory = factory
        if wrong:
            problems.append(f"{wrong:,} rows of {table.name} hold values that cannot be right")
    return problems


def text_or_bytes(raw: bytes) -> str | bytes:
    """A text of the database; bytes that are no UTF-8 stay bytes, which no column of texts takes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def valid(table: Table, row: Sequence[Any]) -> bool:
    """Whether the values of a row are of the types that its columns have."""
    columns = zip(row, table.columns, table.types, table.required, table.json, strict=True)
    for value, column, kind, required, is_json in columns:
        if value is None:
            if required:
                return False
        elif not isinstance(value, _CLASSES[kind]):
            return False
        elif is_json:
            try:
                content = json.loads(str(value))
                if column == "query":
                    Query.from_json(content)
            except (ValueError, TypeError, LookupError, AttributeError):
                return False
    return True


def _numbers(db: Database, _: Path) -> list[str]:
    """Item ids count from 1 without gaps, and nothing names an item that is not there."""
    count, first, last = db.execute("SELECT count(*), coalesce(min(id), 1), coalesce(max(id), 0) FROM items").fetchone()
    problems = []
    if first != 1 or last != count:
        problems.append(f"items should be numbered from 1 to {count:,}, but {last - count:,} numbers are missing")
    for table in ("texts", "missing", "ratings", "hidden", "album_items"):
        wrong = db.execute(f"SELECT count(*) FROM {table} WHERE item NOT IN (SELECT id FROM items)").fetchone()[0]
        if wrong:
            problems.append(f"{wrong:,} rows of {table} name items that are not there")
    return problems


def _files(db: Database, _: Path) -> Iterator[str]:
    """Rows of descriptors against items and blocks, thumbnails against blocks."""
    n_items = db.execute("SELECT coalesce(max(id), 0) FROM items").fetchone()[0]
    for name, version, dimension, rows in db.execute(
        "SELECT name, version, dimension, rows FROM descriptors"
    ).fetchall():
        if dimension < 1 or not 0 <= rows <= n_items:
            yield f"{name} is said to have {rows:,} vectors of {dimension:,} components, for {n_items:,} items"
            continue
        holes = uncovered(blocks_of(db, vector_file(name, version)), rows * row_bytes(dimension))
        if holes:
            yield f"{vector_file(name, version)} has no right checksums for {len(holes):,} stretches of its bytes"
    outside = thumbnails_outside(db)
    if outside:
        yield f"{outside:,} thumbnails are in no block of {THUMBNAILS}"


def thumbnails_outside(db: Database) -> int:
    """How many thumbnails no block of their file holds."""
    query = "SELECT thumb_start, thumb_bytes FROM items WHERE thumb_bytes != 0 ORDER BY thumb_start"
    return sum(not inside for inside in _inside(db.execute(query), blocks_of(db, THUMBNAILS)))


def blocks_of(db: Database, file: str) -> list[tuple[int, int]]:
    """The start and length of the blocks of a file, in order."""
    query = "SELECT start, bytes FROM blocks WHERE file = ? ORDER BY start"
    return [(start, size) for start, size in db.execute(query, (file,))]


def uncovered(blocks: Sequence[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """The stretches of the first `end` bytes that no block covers, or that more than one covers; start and end.

    >>> uncovered([(0, 4), (4, 2), (8, 2)], 12)
    [(6, 8), (10, 12)]
    >>> uncovered([(0, 4), (2, 6)], 8)
    [(2, 4)]
    """
    holes, reached = [], 0
    for start, size in blocks:
        if start > reached:
            holes.append((reached, min(start, end)))
        elif start < reached:
            holes.append((start, reached))
        if start + size > end:
            holes.append((end, start + size))
        reached = max(reached, start + size)
    if reached < end:
        holes.append((reached, end))
    return [hole for hole in holes if hole[0] < hole[1]]


def _inside(places: Any, blocks: Sequence[tuple[int, int]]) -> Iterator[bool]:
    """For places in order of their start whether one block holds each."""
    at = 0
    for start, size in places:
        while at < len(blocks) and start >= blocks[at][0] + blocks[at][1]:
            at += 1
        yield at < len(blocks) and start >= blocks[at][0] and size > 0 and start + size <= sum(blocks[at])
