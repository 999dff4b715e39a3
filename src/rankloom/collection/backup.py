"""Copies of the database: by themselves once a day and before the tables change, or when asked for."""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import warnings
from collections.abc import Container, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rankloom._io import make_folder, replaced
from rankloom.collection._database import Database
from rankloom.collection._schema import DATABASE_ERRORS, connect
from rankloom.collection.damage import BACKUPS, DATABASE, explained

DAILY, WEEKLY, MIGRATIONS_KEPT = 7, 4, 2
_STAMP = "%Y-%m-%dT%H%M%S.%fZ"
_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z)-(daily|migration|manual)\.db")


class Backup(NamedTuple):
    """A copy of the database. `kind` is daily, migration (made before the tables changed) or manual."""

    path: Path
    at: datetime
    kind: str
    bytes: int


def stamp(now: datetime | None = None) -> str:
    """A moment as part of a name; names sort as moments do."""
    return (now or datetime.now(UTC)).astimezone(UTC).strftime(_STAMP)


def backups(folder: Path) -> list[Backup]:
    """The copies of a collection, newest first."""
    copies = []
    for path in (folder / BACKUPS).glob("*.db"):
        match = _NAME.fullmatch(path.name)
        if match:
            at = datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC)
            copies.append(Backup(path, at, match[2], path.stat().st_size))
    return sorted(copies, key=lambda copy: copy.at, reverse=True)


_COUNTED = {
    "items": "items", "marks": "qrels WHERE undone IS NULL", "albums": "albums", "stars": "ratings",
    "captions": "texts WHERE source = 'owner'", "tags": "texts WHERE source = 'owner_tag'", "concepts": "concepts",
    "searches": "saved", "models": "models",
}  # fmt: skip
_TABLES = [rows.split()[0] for rows in _COUNTED.values()]


def counts_of(db: Database, known: Container[str] = frozenset(_TABLES)) -> dict[str, int]:
    """How many items, marks, albums and so on a database holds; of tables that it does not know, none."""
    return {
        what: int(db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0]) if rows.split()[0] in known else 0
        for what, rows in _COUNTED.items()
    }


def counts_in(copy: Backup) -> dict[str, int]:
    """The same of a backup, of which nothing is changed."""
    try:
        with closing(sqlite3.connect(f"{copy.path.as_uri()}?immutable=1", uri=True)) as db:
            known = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            return counts_of(db, known)
    except DATABASE_ERRORS:
        raise ValueError(f"the backup {copy.path.name} cannot be read; choose another") from None


def back_up(folder: Path, kind: str = "manual", *, now: datetime | None = None) -> Path:
    """Copy the database of a collection into its folder of backups; older copies that are too many go."""
    if not (folder / DATABASE).is_file():
        raise ValueError(f"the tables of {folder} are not in its folder: they are backed up where they are, by pg_dump")
    target = folder / BACKUPS / f"{stamp(now)}-{kind}.db"
    make_folder(target.parent)
    with _one_at_a_time(target.parent):
        for left in target.parent.glob(".*.tmp*"):  # of a process that was killed
            left.unlink(missing_ok=True)
        copy_database(folder, target)
        for copy in too_many(backups(folder)):
            copy.path.unlink(missing_ok=True)
    return target


@contextmanager
def _one_at_a_time(place: Path) -> Iterator[None]:
    handle = os.open(place / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def back_up_daily(folder: Path, *, now: datetime | None = None) -> Path | None:
    """Copy the database if there is no copy of today (UTC). What goes wrong is a warning: it must stop nobody."""
    now = now or datetime.now(UTC)
    try:
        if not (folder / DATABASE).is_file() or _today(folder, now):
            return None
        return back_up(folder, "daily", now=now)
    except (ValueError, OSError) as error:
        warnings.warn(f"no backup was made today: {error}", UserWarning, stacklevel=2)
        return None


def _today(folder: Path, now: datetime) -> bool:
    """Whether there is a daily copy of this day; looks at names only."""
    try:
        names = os.listdir(folder / BACKUPS)
    except FileNotFoundError:
        return False
    return any(name.startswith(f"{now:%Y-%m-%d}") and name.endswith("-daily.db") for name in names)


def copy_database(folder: Path, target: Path) -> None:
    """Write a copy of the database, of one moment whoever writes meanwhile; it appears whole or not at all.

    Every row is read and written anew: a database with unreadable pages gives an error and no copy.
    """
    journal = None
    try:
        with replaced(target) as temporary:
            journal = temporary.with_name(f"{temporary.name}-journal")
            with closing(connect(folder / DATABASE)) as source:
                source.execute("VACUUM INTO ?", (str(temporary),))
    except DATABASE_ERRORS as error:
        raise explained(folder, error) from error
    finally:
        if journal is not None:
            journal.unlink(missing_ok=True)


def too_many(copies: Sequence[Backup]) -> list[Backup]:
    """The copies that may go: all but 7 days, the last of each of 4 weeks before, and 2 migrations.

    Copies that were asked for stay until their owner deletes them.
    """
    by_age = sorted(copies, key=lambda copy: copy.at, reverse=True)
    daily = [copy for copy in by_age if copy.kind == "daily"]
    weeks: dict[tuple[int, int], Backup] = {}
    for copy in daily[DAILY:]:
        weeks.setdefault(copy.at.isocalendar()[:2], copy)
    kept = {*daily[:DAILY], *[*weeks.values()][:WEEKLY]}
    migrations = [copy for copy in by_age if copy.kind == "migration"]
    return [copy for copy in daily if copy not in kept] + migrations[MIGRATIONS_KEPT:]
