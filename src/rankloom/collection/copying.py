"""copy: a whole collection into another folder or database, of one moment, and checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from rankloom._io import make_folder, replaced
from rankloom.collection._checks import THUMBNAILS, table_problems
from rankloom.collection._database import Database
from rankloom.collection._files import vector_file
from rankloom.collection._tables import Table, quoted, tables
from rankloom.collection.collection import Collection
from rankloom.collection.contents import reading
from rankloom.collection.damage import BACKUPS, DATABASE, WORKPLACE
from rankloom.collection.postgres.address import FILES, POINTER
from rankloom.collection.verify import VerifyReport, damaged_blocks
from rankloom.experts.compact import row_bytes

_FIRST = ("meta", "contents", "items", "shown")  # that others refer to
_OWN = {f"{DATABASE}{suffix}" for suffix in ("", "-wal", "-shm", "-journal", ".new")} | {
    POINTER, "open.lock", "index.lock", BACKUPS, "replaced",
}  # fmt: skip
_ROWS = 1000  # that are written at once
_BYTES = 1 << 22
Progress = Callable[[int, int, str], None]


@dataclass
class CopyReport:
    """What was copied: rows by table, files and their bytes."""

    rows: dict[str, int] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0


def copy_collection(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    progress: Progress = lambda done, total, text: None,
) -> CopyReport:
    """Copy a collection to where there is none, into a folder or a PostgreSQL database; others may use it meanwhile.

    What is copied is of one moment. At the end all rows are read back and compared, and all checksums of vectors and
    thumbnails are checked. A copy that was interrupted is empty, and can be made again.

    Parameters
    ----------
    source, target : folders, or addresses `postgresql://...`.
    progress : called with the number of tables and files that are done, of all, and the name of one.
    """
    with Collection(source) as old:
        if _same_place(old, target):
            raise ValueError(f"{target} is the collection itself; name another folder or schema")
        with Collection(target, create=True) as new:
            if len(new) or new.info().files:
                raise ValueError(f"{new.folder} holds a collection already; name a place where there is none")
            with new.indexing(), reading(old):
                report = _copied(old, new, progress)
                _compare(old, new, report)
    return report


def _same_place(old: Collection, target: str | os.PathLike[str]) -> bool:
    return os.path.exists(target) and os.path.samefile(old.folder, target)


def _copied(old: Collection, new: Collection, progress: Progress) -> CopyReport:
    report = CopyReport()
    files = [*_files(old)]
    total = len(files) + len(tables())
    for number, (name, size) in enumerate(files):
        progress(number, total, name)
        report.bytes += _copy_file(old.folder / name, new.folder / name, size)
        report.files += 1
    with new.transaction() as db:
        db.execute("DELETE FROM meta WHERE key = 'id'")
        for number, table in enumerate(_ordered()):
            progress(len(files) + number, total, table.name)
            report.rows[table.name] = _copy_table(old.db, db, table)
        new.store.continue_numbers(db, old.store.last_numbers(old.db))
        rows = old.db.execute("SELECT value, name FROM counters").fetchall()
        db.executemany("UPDATE counters SET value = value + ? WHERE name = ?", rows)
    return report


def _files(collection: Collection) -> Iterator[tuple[str, int | None]]:
    """The files of a collection, with how many of their bytes are committed; None for all of a file."""
    grown = {
        vector_file(row.name, row.version): row.rows * row_bytes(row.dimension) for row in collection.descriptors()
    }
    row = collection.db.execute("SELECT coalesce(max(thumb_start + thumb_bytes), 0) FROM items").fetchone()
    grown[THUMBNAILS] = row[0]
    for path in sorted(collection.folder.rglob("*")):
        name = path.relative_to(collection.folder)
        hidden = any(part.startswith((".", WORKPLACE)) for part in name.parts)
        if path.is_file() and not hidden and name.parts[0] not in _OWN:
            yield str(name), grown.get(str(name))


def _copy_file(source: Path, target: Path, size: int | None) -> int:
    """Copy the first bytes of a file, or all of it; it appears whole."""
    make_folder(target.parent)
    left = os.stat(source).st_size if size is None else size
    done = 0
    with open(source, "rb") as file, replaced(target) as temporary, open(temporary, "wb") as copy:
        while done < left and (data := file.read(min(_BYTES, left - done))):
            copy.write(data)
            done += len(data)
    return done


def _ordered() -> list[Table]:
    """All tables but counters, those that others refer to first."""
    known = tables()
    names = dict.fromkeys((*_FIRST, *known))
    return [known[name] for name in names if name != "counters"]


def _copy_table(old: Database, new: Database, table: Table) -> int:
    marks = ", ".join("?" * len(table.columns))
    statement = f"INSERT INTO {table.name} ({', '.join(map(quoted, table.columns))}) VALUES ({marks})"
    count = 0
    rows = _rows(old, table)
    while batch := [*islice(rows, _ROWS)]:
        new.executemany(statement, batch)
        count += len(batch)
    return count


def _rows(db: Database, table: Table) -> Iterator[tuple[Any, ...]]:
    """The rows of a table by its key, without what is known of the place itself."""
    order = ", ".join(map(quoted, table.key or table.columns))
    chosen = f" WHERE key != '{FILES}'" if table.name == "meta" else ""
    yield from _streamed(db, f"{table.select}{chosen} ORDER BY {order}")


def _streamed(db: Database, query: str) -> Iterable[tuple[Any, ...]]:
    """Rows as they are needed, where the connection can do so."""
    stream = getattr(db, "stream", None)
    rows: Iterable[tuple[Any, ...]] = db.execute(query) if stream is None else stream(query)
    return rows


def _compare(old: Collection, new: Collection, report: CopyReport) -> None:
    """Raise an error if something is not in the copy as it was."""
    with reading(new):
        for table in _ordered():
            if _digest(old.db, table) != _digest(new.db, table):
                raise ValueError(f"{new.folder}: the rows of {table.name} are not as they were copied; copy it again")
        before = {*table_problems(old.db, old.folder)}  # what was so before is not of the copy
        problems = [problem for problem in table_problems(new.db, new.folder) if problem not in before]
    checked = VerifyReport()
    if any(damaged_blocks(new, checked)) or problems:
        raise ValueError(f"{new.folder}: {(problems + checked.problems)[0]}; look at it with: rankloom verify")


def _digest(db: Database, table: Table) -> tuple[int, str]:
    """How many rows a table has, and what stands for their values in order."""
    digest, count = sha256(), 0
    for row in _rows(db, table):
        # PostgreSQL stores no zero byte in a text.
        values = [
            value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value for value in row
        ]
        digest.update(repr(values).encode("utf-8", "surrogatepass"))
        count += 1
    return count, digest.hexdigest()
