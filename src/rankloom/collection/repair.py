"""repair and restore: a sound collection from a damaged one, or from a backup. Nothing is deleted on the way."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rankloom._io import make_folder, sync, sync_folder
from rankloom.collection._backfill import backfill
from rankloom.collection._checks import THUMBNAILS, database_problems
from rankloom.collection._consistent import Changes, hashes_by_index, make_consistent
from rankloom.collection._files import vector_file
from rankloom.collection._locks import alone
from rankloom.collection._rebuild import BACKUP_COPY, TableCount, merged, opened_backup, rebuilt
from rankloom.collection._recompute import DamagedBlock, describe_blocks, describe_items, incomplete_items
from rankloom.collection._salvage import opened_copy
from rankloom.collection._schema import DATABASE_ERRORS, MIGRATIONS, version_of
from rankloom.collection._stores import folder_with_tables, has_own_tables
from rankloom.collection._tables import new_database, unknown
from rankloom.collection.backup import backups, stamp
from rankloom.collection.collection import NEIGHBORS, Collection
from rankloom.collection.damage import (
    DATABASE,
    NEW,
    WORKPLACE,
    DamagedCollection,
    clear_workplaces,
    damaged,
    emptied,
    explained,
    too_new,
)  # fmt: skip
from rankloom.collection.derived import store_derived, store_learned
from rankloom.collection.item_records import forget_records
from rankloom.collection.settings import settings_for
from rankloom.collection.sketches import SKETCH_FILE
from rankloom.collection.verify import VerifyReport, damaged_blocks, verify

REPLACED = "replaced"  # the folder of databases that were replaced
_DERIVED = (
    NEIGHBORS,
    "texts.index",
    "tags.index",
    "words.npz",
    SKETCH_FILE,
)  # made again from the database and the vectors


@dataclass
class RepairReport:
    """What a repair did. `kept` is where the damaged database is now; None if the database was sound."""

    kept: str | None = None
    tables: dict[str, TableCount] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    blocks: int = 0  # of vectors and thumbnails that were computed again
    items: int = 0  # described again
    lost: int = 0  # items, vectors and thumbnails that need a file which is not there any more
    problems: list[str] = field(default_factory=list)  # that are left


@dataclass
class RestoreReport:
    """What a restore did. `merged` has how many rows a table got from the database that was replaced."""

    backup: str
    kept: str | None
    items: int
    marks: int
    merged: dict[str, int]
    changes: Changes


def repair(
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> RepairReport:
    """Rebuild a damaged database from what can be read of it and its newest backup; then compute damaged files again.

    Parameters
    ----------
    folder : the collection; nobody else may have it open.
    workers : processes; None for one a core, 0 for none.
    progress : called with the number of items done, of all to do, and a text.
    """
    report = RepairReport()
    if has_own_tables(folder):  # those in PostgreSQL are not ours to rebuild
        path = _existing(folder)
        with alone(path):
            _finish_interrupted(path)
        if not _database_is_sound(path):
            with alone(path):
                _rebuild_database(path, report)
    with Collection(folder) as collection:
        with collection.transaction() as db:
            db.execute("DELETE FROM checkpoints")  # made again from the log of marks, whatever is wrong with them
        _repair_files(collection, report, os.cpu_count() or 1 if workers is None else workers, progress)
        store_derived(collection)
        store_learned(collection)
        report.problems = verify(collection).problems
    return report


def restore(
    folder: str | os.PathLike[str],
    source: str | os.PathLike[str] | None = None,
    *,
    at: datetime | None = None,
    merge: bool = True,
) -> RestoreReport:
    """Put a backup in the place of the database.

    Parameters
    ----------
    folder : the collection; nobody else may have it open.
    source : the file of a backup; without one the newest.
    at : the newest backup of this moment or before.
    merge : take over what can be read of the present database and is newer: items, marks, captions and so on.
    """
    path = _existing(folder)
    copies = _candidates(path, source, at)
    with alone(path), _workplace(path) as work, opened_backup(copies, work) as opened:
        if opened is None:
            names = ", ".join(copy.name for copy in copies)
            raise ValueError(
                f"{names} cannot be used as a backup; save what can be saved with: rankloom repair -c {folder}"
            )
        chosen, backup = opened
        taken: dict[str, int] = {}
        if merge:
            with opened_copy(path, work) as old:
                taken = {} if old is None else merged(backup, old)
        changes = make_consistent(backup, path)
        n_items, n_marks = (_count(backup, table) for table in ("items", "qrels"))
        kept = _replace_database(path, backup, work / BACKUP_COPY)
    return RestoreReport(str(chosen), kept, n_items, n_marks, taken, changes)


def compute_again(collection: Collection, blocks: Sequence[DamagedBlock], workers: int) -> int:
    """Describe the files of damaged blocks again; returns how many vectors and thumbnails have no file any more."""
    known = {vector_file(stored.name, stored.version) for stored in collection.descriptors()} | {THUMBNAILS}
    with collection.transaction() as db:  # of descriptors that are not there any more
        unused = [(file, start) for file, start, _ in blocks if file not in known]
        db.executemany("DELETE FROM blocks WHERE file = ? AND start = ?", unused)
    forget_records(collection)  # derived from vectors that may be other ones now
    settings = settings_for(collection, None, (), (), workers)
    return describe_blocks(collection, [block for block in blocks if block[0] in known], settings, workers)


def _existing(folder: str | os.PathLike[str]) -> Path:
    path = folder_with_tables(folder)
    if not (path / DATABASE).is_file() and not (path / NEW).is_file() and not emptied(path):
        raise FileNotFoundError(f"{path} is not a collection; make one with: rankloom index PATH -c {folder}")
    return path


def _candidates(folder: Path, source: str | os.PathLike[str] | None, at: datetime | None) -> list[Path]:
    """The backups to try, the best first."""
    if source is not None:
        if not Path(source).is_file():
            raise FileNotFoundError(f"{source}: no such file")
        return [Path(source)]
    copies = [copy for copy in backups(folder) if at is None or copy.at <= at]
    if not copies:
        when = "" if at is None else f" of {at:%Y-%m-%d %H:%M} UTC or before"
        raise ValueError(f"{folder} has no backup{when}; save what can be saved with: rankloom repair -c {folder}")
    return [copy.path for copy in copies]


def _database_is_sound(folder: Path) -> bool:
    try:
        with Collection(folder) as collection:
            return not collection.store.problems(collection.db)
    except DamagedCollection:
        return False


def _rebuild_database(folder: Path, report: RepairReport) -> None:
    with (
        _workplace(folder) as work,
        opened_copy(folder, work) as old,
        opened_backup([copy.path for copy in backups(folder)], work) as opened,
        closing(new_database(work / "new.db")) as new,
    ):
        if old is not None and version_of(old) > len(MIGRATIONS) and unknown(old):
            raise too_new(folder, version_of(old))
        new.execute("PRAGMA synchronous = OFF")  # it is written to disk as a whole, at the end
        report.tables = rebuilt(new, old, None if opened is None else opened[1])
        report.changes = make_consistent(new, folder, {} if old is None else hashes_by_index(old))
        if report.tables["texts"].gaps:  # names, captions beside files and so on are read again by the next index
            new.execute("UPDATE files SET mtime_ns = -1")
        report.kept = _replace_database(folder, new, work / "new.db")


def _count(db: sqlite3.Connection, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@contextmanager
def _workplace(folder: Path) -> Iterator[Path]:
    """A folder on the same disk; those of processes that were killed go."""
    clear_workplaces(folder)
    with tempfile.TemporaryDirectory(prefix=WORKPLACE, dir=folder) as work:
        try:
            yield Path(work)
        except DATABASE_ERRORS as error:
            raise explained(folder, error) from error


def _replace_database(folder: Path, db: sqlite3.Connection, file: Path) -> str | None:
    """Check a rebuilt database and put it in place; returns where the old one is now."""
    problems = database_problems(db, folder)
    if problems:
        raise damaged(folder, f"the rebuilt database is not sound ({problems[0]}), the old one stays in place")
    db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    sync(file)
    os.replace(file, folder / NEW)
    sync_folder(folder)
    return _put_in_place(folder, folder / REPLACED / stamp())


def _put_in_place(folder: Path, aside: Path) -> str | None:
    """Move the old database away, then the new one in. The log goes before: SQLite would apply it to the new one.

    Killed in between, there is no database but a complete new one, and the next repair goes on from there.
    """
    for suffix in ("", "-wal", "-shm"):
        old = folder / f"{DATABASE}{suffix}"
        if old.is_file():
            make_folder(aside)
            os.rename(old, aside / old.name)
            sync_folder(aside)
    for name in _DERIVED:
        (folder / name).unlink(missing_ok=True)
    sync_folder(folder)
    os.replace(folder / NEW, folder / DATABASE)
    sync_folder(folder)
    return str(aside) if aside.is_dir() else None


def _finish_interrupted(folder: Path) -> None:
    """Go on with a repair or restore that was killed while it replaced the database; clear what it left."""
    clear_workplaces(folder)
    if not (folder / NEW).is_file():
        return
    if (folder / DATABASE).is_file():
        (folder / NEW).unlink()  # nothing was replaced yet
        return
    earlier = sorted((folder / REPLACED).glob("*"))
    _put_in_place(folder, earlier[-1] if earlier else folder / REPLACED / stamp())


def _repair_files(
    collection: Collection, report: RepairReport, workers: int, progress: Callable[[int, int, str], None]
) -> None:
    """Items, vectors and thumbnails that are lost or damaged, from their files."""
    blocks, incomplete = [*damaged_blocks(collection, VerifyReport())], incomplete_items(collection)
    short = any(stored.rows < len(collection) for stored in collection.descriptors())
    if not (blocks or incomplete or short):
        return
    with collection.indexing():
        settings = settings_for(collection, None, (), (), workers)
        if incomplete:
            report.lost += describe_items(collection, settings, workers)
            report.items = len(incomplete)
        report.lost += compute_again(collection, blocks, workers)
        report.blocks = len(blocks)
        backfill(collection, settings, workers, progress)
