"""Reading a damaged database: every row that can still be reached, and which stretches cannot."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rankloom.collection._checks import text_or_bytes, valid
from rankloom.collection._schema import DATABASE_ERRORS
from rankloom.collection._tables import Table, new_database, quoted, tables
from rankloom.collection.damage import DATABASE

Row = tuple[Any, ...]
Gap = tuple[Row | None, Row | None]  # the keys before and after what cannot be read; None for the end of the table
_LARGEST = 2**62
# An index of a table has all of its rows.
_INDEXES = {
    "contents": "contents_bytes", "files": "files_hash", "items": "items_hash", "texts": "texts_item",
    "qrels": "qrels_qid",
}  # fmt: skip
_HEADER = 100  # bytes, at the start of page 1


@contextmanager
def opened_copy(folder: Path, work: Path) -> Iterator[sqlite3.Connection | None]:
    """A copy of the database of a collection, opened for reading as well as it can be; None if it cannot be.

    A first page that is damaged is replaced by one that fits the tables as we make them.

    Parameters
    ----------
    folder : the collection; its files are not changed.
    work : where the copy goes.
    """
    original, copy = folder / DATABASE, work / "damaged.db"
    if not original.is_file() or not original.stat().st_size:
        yield None
        return
    best: tuple[int, bool, dict[int, bytes]] = (0, False, {})
    for with_wal, pages in _attempts(original):
        _write_copy(original, copy, with_wal, pages)
        readable = _readable_tables(copy)
        if readable > best[0]:
            best = (readable, with_wal, pages)
        if readable == len(tables()):
            break
    if not best[0]:
        yield None
        return
    _write_copy(original, copy, *best[1:])
    with closing(_connect(copy)) as db:
        yield db


def _attempts(original: Path) -> Iterator[tuple[bool, dict[int, bytes]]]:
    """With and without what is in the log, and pages to put in the place of damaged ones, by their number."""
    layouts = [_new_pages(vacuum=False), _new_pages(vacuum=True)]
    width = len(layouts[0][1])
    with open(original, "rb") as file:
        own = file.read(width)
    present = original.stat().st_size // width
    for with_wal in (True, False):
        yield with_wal, {}
        for pages in layouts:
            count = max(present, *pages)
            header = pages[1][:28] + count.to_bytes(4, "big") + bytes(8) + pages[1][40:_HEADER]  # no list of free pages
            appended = {number: bytes(width) for number in range(present + 1, count + 1)}
            yield with_wal, {**appended, 1: header + own[_HEADER:].ljust(width - _HEADER, b"\0")}
            schema = {number: pages[number] for number in _children(pages[1])}
            yield with_wal, {**appended, **schema, 1: header + pages[1][_HEADER:]}


def _new_pages(*, vacuum: bool) -> dict[int, bytes]:
    """The pages of a new database by their number: as we make it, or as a backup of it would be."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "new.db")
        with closing(new_database(path)) as db:
            if vacuum:
                path = Path(place, "vacuumed.db")
                db.execute("VACUUM INTO ?", (str(path),))
        data = path.read_bytes()
    width = int.from_bytes(data[16:18], "big")
    return {start // width + 1: data[start : start + width] for start in range(0, len(data), width)}


def _children(page: bytes) -> list[int]:
    """The pages below page 1, where it is an interior page of the table of tables."""
    if page[_HEADER] != 5:
        return []
    count = int.from_bytes(page[_HEADER + 3 : _HEADER + 5], "big")
    starts = [_HEADER + 12 + 2 * cell for cell in range(count)]
    cells = [int.from_bytes(page[start : start + 2], "big") for start in starts]
    return [int.from_bytes(page[place : place + 4], "big") for place in (*cells, _HEADER + 8)]


def _write_copy(original: Path, copy: Path, with_wal: bool, pages: dict[int, bytes]) -> None:
    for left in copy.parent.glob(f"{copy.name}*"):
        left.unlink()
    shutil.copyfile(original, copy)
    wal = original.with_name(f"{original.name}-wal")
    if with_wal and wal.is_file():
        shutil.copyfile(wal, f"{copy}-wal")
    with open(copy, "r+b") as file:
        for number, page in pages.items():
            file.seek((number - 1) * len(page))
            file.write(page)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    db.text_factory = text_or_bytes
    return db


def _readable_tables(path: Path) -> int:
    """How many tables can be opened and begin with a row that may be right."""
    count = 0
    with closing(_connect(path)) as db:
        for table in tables().values():
            try:
                row = db.execute(f"{table.select} LIMIT 1").fetchone()
                count += row is None or valid(table, row)
            except DATABASE_ERRORS:
                continue
    return count


def rows_of(db: sqlite3.Connection, table: Table, gaps: list[Gap]) -> Iterator[Row]:
    """The rows of a table that can be read and may be right; what lies between them and cannot goes to `gaps`."""
    walk = _by_number if table.numbered else _from_both_ends
    for row in walk(db, table, gaps):
        if valid(table, row):
            yield row
        else:
            gaps.append((_key(table, row), _key(table, row)))


def count_by_index(db: sqlite3.Connection, table: Table) -> int:
    """How many rows a table should have, by an index of it; 0 if there is none or it cannot be read."""
    if table.name not in _INDEXES:
        return 0
    try:
        return int(db.execute(f"SELECT count(*) FROM {table.name} INDEXED BY {_INDEXES[table.name]}").fetchone()[0])
    except DATABASE_ERRORS:
        return 0


def _by_number(db: sqlite3.Connection, table: Table, gaps: list[Gap]) -> Iterator[Row]:
    """Each number once: what is met on a walk through the table, then what only an index still names."""
    place = table.columns.index(table.key[0])
    seen: set[int] = set()
    for row in _walk(db, table, gaps):
        if row[place] not in seen:
            seen.add(row[place])
            yield row
    for number in _indexed(db, table):
        if number not in seen:
            seen.add(number)
            indexed = _row_of(db, table, number)
            if indexed is not None:
                yield indexed


def _row_of(db: sqlite3.Connection, table: Table, number: int) -> Row | None:
    """The row of a number, looked up on the way that leads to it; None if it cannot be read."""
    try:
        row: Row | None = db.execute(f"{table.select} WHERE {quoted(table.key[0])} = ?", (number,)).fetchone()
    except DATABASE_ERRORS:
        return None
    return row


def _indexed(db: sqlite3.Connection, table: Table) -> Iterator[int]:
    """The numbers of rows that an index of the table names, as far as it can be read from its two ends."""
    if table.name not in _INDEXES:
        return
    index = _INDEXES[table.name]
    column = quoted(index.removeprefix(f"{table.name}_"))
    key = quoted(table.key[0])
    for direction in ("ASC", "DESC"):
        query = f"SELECT {key} FROM {table.name} INDEXED BY {index} ORDER BY {column} {direction}, {key} {direction}"
        try:
            for (number,) in db.execute(query):
                if isinstance(number, int):
                    yield number
            return
        except DATABASE_ERRORS:
            continue


def _walk(db: sqlite3.Connection, table: Table, gaps: list[Gap]) -> Iterator[Row]:
    """In the order of their numbers; after a page that cannot be read, on from the next number that can.

    A damaged number may be anything. One that does not lead back to its row says nothing about where the walk is, and
    gives way to the row that it does lead to.
    """
    place = table.columns.index(table.key[0])
    query = f"{table.select} WHERE {quoted(table.key[0])} >= ? ORDER BY {quoted(table.key[0])}"

    def first_from(number: int) -> Row | None:
        row: Row | None = db.execute(f"{query} LIMIT 1", (number,)).fetchone()
        if row is not None and row[place] < number:
            raise sqlite3.DatabaseError("rows are out of order")
        return row

    last = 0
    while True:
        try:
            for row in db.execute(query, (last + 1,)):
                there = _row_of(db, table, row[place])
                if there == row:
                    last = max(row[place], last)
                yield row if there is None else there
            return
        except DATABASE_ERRORS:
            # The row before the damaged page may be lost with it: it was read, but not given to us.
            row, skipped = _next_readable(first_from, last)
        if skipped:
            gaps.append(((last,), None if row is None else (row[place],)))
        if row is None:
            return
        last = row[place]
        yield row


def _next_readable(first_from: Callable[[int], Row | None], last: int) -> tuple[Row | None, bool]:
    """The next row after the number `last` that can be read, and whether something before it cannot.

    It is looked for in growing steps, then by halving the last of them.
    """

    def attempt(start: int) -> tuple[bool, Row | None]:
        try:
            return True, first_from(start)
        except DATABASE_ERRORS:
            return False, None

    good, step = last + 1, 1
    readable, row = attempt(good)
    if readable:
        return row, False
    while not readable:
        bad, good, step = good, good + step, step * 2
        if step > _LARGEST:
            return None, True
        readable, row = attempt(good)
    while good - bad > 1:
        middle = (good + bad) // 2
        readable, nearer = attempt(middle)
        if readable:
            good, row = middle, nearer
        else:
            bad = middle
    return row, True


def _from_both_ends(db: sqlite3.Connection, table: Table, gaps: list[Gap]) -> Iterator[Row]:
    """In the order of their keys up to what cannot be read, then from the end back to it."""
    seen: set[Row] = set()
    ends: list[Row | None] = []
    for direction in ("ASC", "DESC"):
        key = None
        try:
            for row in _in_order(db, table, direction):
                key = _key(table, row)
                if key in seen:
                    break
                seen.add(key)
                yield row
            else:
                return
        except DATABASE_ERRORS:
            pass
        ends.append(key)
    gaps.append((ends[0], ends[1]))


def _in_order(db: sqlite3.Connection, table: Table, direction: str) -> Iterator[Row]:
    """All rows by their keys; before the error, also the row that was read but not given to us."""
    order = ", ".join(f"{quoted(column)} {direction}" for column in table.key)
    key: Row = ()
    try:
        for row in db.execute(f"{table.select} ORDER BY {order}"):
            key = _key(table, row)
            yield row
        return
    except DATABASE_ERRORS:
        pass
    columns, marks = ", ".join(map(quoted, table.key)), ", ".join("?" * len(table.key))
    after = f"WHERE ({columns}) {'>' if direction == 'ASC' else '<'} ({marks})" if key else ""
    row = db.execute(f"{table.select} {after} ORDER BY {order} LIMIT 1", key).fetchone()
    if row is not None:
        yield row
    raise sqlite3.DatabaseError("the rows after this one cannot be read")


def _key(table: Table, row: Row) -> Row:
    return tuple(row[table.columns.index(column)] for column in table.key)


def gap_condition(table: Table, gap: Gap) -> tuple[str, Row]:
    """A gap as a condition and its values: the ends belong to it, as their rows may be damaged too."""
    columns = ", ".join(map(quoted, table.key))
    marks = ", ".join("?" * len(table.key))
    after, before = gap
    conditions = [f"({columns}) >= ({marks})"] * (after is not None) + [f"({columns}) <= ({marks})"] * (
        before is not None
    )
    return " AND ".join(conditions) or "1", (*(after or ()), *(before or ()))
