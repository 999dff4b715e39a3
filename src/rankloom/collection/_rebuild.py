"""A new database from what can be read of a damaged one and from its newest backup."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rankloom.collection._checks import text_or_bytes, valid
from rankloom.collection._salvage import Gap, Row, count_by_index, gap_condition, rows_of
from rankloom.collection._schema import DATABASE_ERRORS, MIGRATIONS, migrate, version_of
from rankloom.collection._tables import Table, new_database, quoted, tables
from rankloom.collection._texts import OWN_SOURCES, drop_older_captions
from rankloom.collection.identity import drop_id

BACKUP_COPY = "backup.db"
# Tables whose keys are named by others, which help to find rows that cannot be reached in order.
_KNOWN_KEYS = {
    "contents": "SELECT DISTINCT hash FROM items",
    "queries": "SELECT DISTINCT qid FROM qrels",
    "files": "SELECT DISTINCT path FROM texts WHERE path != ''",
}
# What people gave, beside marks and captions; newer rows of these are taken over by a restore.
_PEOPLE = ("queries", "pictures", "concepts", "models", "uses", "drafts", "saved", "encoders", "people", "known_faces")
# What people set: where a row was changed since the backup, the newer one counts.
_ORGANIZED = ("ratings", "hidden", "albums", "album_items")
_OWNED_TEXTS = ("caption", *OWN_SOURCES)


@dataclass
class TableCount:
    """Rows of a table: read from the damaged database, taken from a backup, lost; and stretches that were unreadable.

    How many are lost is known where an index of the table can be read; otherwise it is None.
    """

    read: int = 0
    backup: int = 0
    lost: int | None = 0
    gaps: int = 0


@contextmanager
def opened_backup(copies: Sequence[Path], work: Path) -> Iterator[tuple[Path, sqlite3.Connection] | None]:
    """The first of some backups that is whole, or else that can be read at all, with a copy of it in tables of today.

    Parameters
    ----------
    copies : the files, the best first.
    work : where the copy goes, as `BACKUP_COPY`.
    """
    readable = []
    for copy in copies:
        counts = _copy_backup(copy, work)
        if counts and not any(count.gaps for count in counts.values()):
            break
        if counts:
            readable.append(copy)
    else:
        if not readable:
            yield None
            return
        copy = readable[0]
        _copy_backup(copy, work)
    with closing(sqlite3.connect(work / BACKUP_COPY, isolation_level=None)) as db:
        yield copy, db


def _copy_backup(copy: Path, work: Path) -> dict[str, TableCount]:
    """Write what can be read of a backup into new tables; without any counts if nothing can."""
    raw, target = work / "raw.db", work / BACKUP_COPY
    target.unlink(missing_ok=True)
    shutil.copyfile(copy, raw)
    with closing(sqlite3.connect(raw, isolation_level=None)) as old, closing(new_database(target)) as new:
        old.text_factory = text_or_bytes
        new.execute("PRAGMA synchronous = OFF")
        try:
            if not 0 < version_of(old) <= len(MIGRATIONS):
                return {}
            migrate(old)
        except DATABASE_ERRORS:
            return {}
        return rebuilt(new, old, None)


def rebuilt(
    new: sqlite3.Connection, old: sqlite3.Connection | None, backup: sqlite3.Connection | None
) -> dict[str, TableCount]:
    """Fill a new database from an old one; what cannot be read there comes from the backup, if that has it."""
    counts = {}
    new.execute("BEGIN")
    for table in sorted(tables().values(), key=lambda table: table.name in _KNOWN_KEYS):
        count = counts[table.name] = TableCount()
        gaps: list[Gap] = [] if old is not None else [(None, None)]
        for row in () if old is None else rows_of(old, table, gaps):
            count.read += new.execute(table.insert, row).rowcount
        expected = 0 if old is None else count_by_index(old, table)
        if expected > count.read:
            gaps.append((None, None))  # pages or numbers are wrong in a way that reading does not show
        count.gaps = len(gaps)
        if gaps:
            if old is not None and not table.numbered:
                keys = _known_keys(new, backup, table, gaps)
                count.read += sum(new.execute(table.insert, row).rowcount for row in _rows_by_key(old, table, keys))
            if backup is not None:
                count.backup = _fill(new, backup, table, gaps)
            count.lost = max(0, expected - count.read - count.backup) if expected else None
    if backup is not None:
        counts["qrels"].backup += _replace_dangling(new, backup)
    for source in (old, backup):
        if source is not None:
            with suppress(*DATABASE_ERRORS):
                _keep_sequence(new, source)
    drop_id(new)
    new.execute("COMMIT")
    return counts


def _known_keys(
    new: sqlite3.Connection, backup: sqlite3.Connection | None, table: Table, gaps: list[Gap]
) -> Iterator[Row]:
    """Keys that a table may have inside its gaps, by its backup and by other tables."""
    if table.name in _KNOWN_KEYS:
        yield from new.execute(_KNOWN_KEYS[table.name]).fetchall()
    columns = ", ".join(map(quoted, table.key))
    for gap in gaps if backup is not None else ():
        condition, values = gap_condition(table, gap)
        assert backup is not None
        yield from backup.execute(f"SELECT {columns} FROM {table.name} WHERE {condition}", values)


def _rows_by_key(old: sqlite3.Connection, table: Table, keys: Iterable[Row]) -> Iterator[Row]:
    condition = " AND ".join(f"{quoted(column)} = ?" for column in table.key)
    for key in keys:
        with suppress(*DATABASE_ERRORS):
            row = old.execute(f"{table.select} WHERE {condition}", key).fetchone()
            if row is not None and valid(table, row):
                yield row


def _fill(new: sqlite3.Connection, backup: sqlite3.Connection, table: Table, gaps: list[Gap]) -> int:
    filled = 0
    for gap in gaps:
        condition, values = gap_condition(table, gap)
        for row in backup.execute(f"{table.select} WHERE {condition}", values):
            filled += new.execute(table.insert, row).rowcount
    return filled


def _replace_dangling(new: sqlite3.Connection, backup: sqlite3.Connection) -> int:
    """Marks that name items which are not there, as the backup has them."""
    table = tables()["qrels"]
    query = "SELECT id FROM qrels WHERE item NOT IN (SELECT id FROM items) OR over NOT IN (SELECT id FROM items)"
    replaced = 0
    for key in new.execute(query).fetchall():
        for row in backup.execute(f"{table.select} WHERE id = ?", key):
            new.execute("DELETE FROM qrels WHERE id = ?", key)
            replaced += new.execute(table.insert, row).rowcount
    return replaced


def _keep_sequence(new: sqlite3.Connection, source: sqlite3.Connection) -> None:
    """Numbers that were given once are not given again."""
    for name, last in source.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
        if isinstance(last, int) and 0 < last < 2**53 and name in tables():
            changed = new.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, name))
            if not changed.rowcount:
                new.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (name, last))


def merged(new: sqlite3.Connection, old: sqlite3.Connection) -> dict[str, int]:
    """Take over what the old database has beyond a backup: new items, and what people did since; counts by table.

    Only items that go on without a gap are taken: their vectors are at their places in the files.
    """
    counts: dict[str, int] = {}

    def take(name: str, rows: Iterable[Row]) -> None:
        taken = sum(new.execute(tables()[name].insert, row).rowcount for row in rows)
        if taken:
            counts[name] = counts.get(name, 0) + taken

    new.execute("BEGIN")
    before = _last(new, "items", "id")
    texts = _last(new, "texts", "number")
    take("items", _following(_rows(old, "items"), before))
    last = _last(new, "items", "id")
    fresh = {row[0] for row in new.execute("SELECT hash FROM items WHERE id > ?", (before,))}
    take("contents", _rows_by_key(old, tables()["contents"], [(digest,) for digest in sorted(fresh)]))
    hash_place = tables()["files"].columns.index("hash")
    take("files", (row for row in _rows(old, "files") if row[hash_place] in fresh))
    _merge_roots(new, old)
    columns = tables()["texts"].columns
    item, path, source, number = (columns.index(name) for name in ("item", "path", "source", "number"))
    take("texts", (
        row for row in _rows(old, "texts")
        if row[number] > texts and row[item] <= last
        and (row[source] in _OWNED_TEXTS or (not row[path] and row[item] > before))
    ))  # fmt: skip
    drop_older_captions(new)
    boxed = tables()["boxes"].columns.index("item")
    take("boxes", (row for row in _rows(old, "boxes") if before < row[boxed] <= last))
    for name in ("cues", "readings", "positions"):
        place = tables()[name].columns.index("hash")
        take(name, (row for row in _rows(old, name) if row[place] in fresh))
    for name in ("shown", "qrels"):
        take(name, _rows(old, name))
    taken_back = tables()["qrels"].columns.index("undone")
    for row in _rows(old, "qrels"):
        if row[taken_back] is not None:
            new.execute("UPDATE qrels SET undone = ? WHERE id = ? AND undone IS NULL", (row[taken_back], row[0]))
    for name in _PEOPLE:
        take(name, _rows(old, name))
    for name in _ORGANIZED:
        if changed := sum(_replaced(new, tables()[name], row) for row in _rows(old, name)):
            counts[name] = changed
    if last > before:
        _take_blocks(new, old)
    new.execute("COMMIT")
    return counts


def _replaced(new: sqlite3.Connection, table: Table, row: Row) -> bool:
    """Put a row in the place of the one with its key; whether that changed something."""
    condition = " AND ".join(f"{quoted(column)} = ?" for column in table.key)
    key = tuple(row[table.columns.index(column)] for column in table.key)
    if new.execute(f"{table.select} WHERE {condition}", key).fetchone() == row:
        return False
    new.execute(f"DELETE FROM {table.name} WHERE {condition}", key)
    return bool(new.execute(table.insert, row).rowcount)


def _merge_roots(new: sqlite3.Connection, old: sqlite3.Connection) -> None:
    """The folders of both, so that the next index looks at all of them."""
    rows = [value for db in (new, old) for key, value in _rows(db, "meta") if key == "roots"]
    with suppress(ValueError):
        roots = list(dict.fromkeys(root for row in rows for root in json.loads(row)))
        new.execute("INSERT OR REPLACE INTO meta VALUES ('roots', ?)", (json.dumps(roots),))


def _rows(old: sqlite3.Connection, name: str) -> Iterator[Row]:
    return rows_of(old, tables()[name], [])


def _last(db: sqlite3.Connection, table: str, column: str) -> int:
    return int(db.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()[0])


def _following(rows: Iterable[Row], last: int) -> Iterator[Row]:
    for row in rows:
        if row[0] == last + 1:
            last += 1
            yield row
        elif row[0] > last:
            return


def _take_blocks(new: sqlite3.Connection, old: sqlite3.Connection) -> None:
    """The checksums and the counts of the vectors of new items."""
    place = {name: number for number, name in enumerate(tables()["descriptors"].columns)}
    for row in _rows(old, "blocks"):
        new.execute(tables()["blocks"].insert, row)
    for row in _rows(old, "descriptors"):
        key = (row[place["rows"]], row[place["name"]], row[place["version"]], row[place["dimension"]])
        new.execute("UPDATE descriptors SET rows = max(rows, ?) WHERE name = ? AND version = ? AND dimension = ?", key)
