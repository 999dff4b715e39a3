"""Whether there is a collection to open, and tables of the version that this program knows."""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import suppress
from pathlib import Path

from rankloom.collection._halves import compact_halves
from rankloom.collection._schema import BUSY_SECONDS, MIGRATIONS, migrate, only_readable, version_of
from rankloom.collection._tables import lacking
from rankloom.collection.backup import back_up
from rankloom.collection.damage import DATABASE, damaged, emptied, too_new
from rankloom.collection.identity import make_id


def check_files(folder: Path, *, create: bool) -> None:
    """Raise an error if there is no database to open, or one that was emptied; before SQLite touches its files."""
    database = folder / DATABASE
    if database.is_file() and database.stat().st_size:
        with open(database, "rb") as file:
            formats = file.read(20)[18:]
        if not {*formats} <= {1, 2}:  # SQLite would take it for a file that may only be read, or not at all
            raise damaged(folder, "the header of the database is damaged")
        return
    wal = folder / f"{DATABASE}-wal"  # beside an empty database SQLite would delete it
    remains = emptied(folder) or (f"there is {wal.name}" if wal.is_file() and wal.stat().st_size else "")
    if remains:
        raise damaged(folder, f"{DATABASE} is {'empty' if database.is_file() else 'gone'}, but {remains}")
    if not database.is_file() and not create:
        raise FileNotFoundError(f"{folder} is not a collection; make one with: rankloom index PATH -c {folder}")


def bring_up_to_date(folder: Path, db: sqlite3.Connection) -> None:
    """Check the tables; those of an older version become those of this one, after a backup."""
    db.execute("BEGIN")  # another process may be making the tables: both numbers are of one moment
    version, empty = version_of(db), db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
    db.execute("COMMIT")
    if version > len(MIGRATIONS):
        raise too_new(folder, version)
    if version < 0 or (version == 0) != empty:
        raise damaged(folder, f"the database says that its version is {version}")
    if empty and (remains := emptied(folder)):
        raise damaged(folder, f"{DATABASE} has no tables, but {remains}")
    if 0 < version < len(MIGRATIONS):
        if only_readable(folder / DATABASE):
            raise ValueError(f"{folder} is of an older version and can only be read; copy it to a disk to be upgraded")
        try:
            back_up(folder, "migration")
        except (ValueError, OSError) as error:
            warnings.warn(f"no backup was made before the tables change: {error}", UserWarning, stacklevel=4)
    migrate(db)
    compact_halves(db, folder)
    missing = lacking(db)
    if missing:
        raise damaged(folder, f"the database lacks {', '.join(missing[:3])}{' ...' * (len(missing) > 3)}")
    if not only_readable(folder / DATABASE):
        # Who only wants to read does not wait for a writer: where nothing can be written now, the next one does it.
        db.execute("PRAGMA busy_timeout = 0")
        with suppress(sqlite3.OperationalError):
            make_id(db)
        db.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}")
