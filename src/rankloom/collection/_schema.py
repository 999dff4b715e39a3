"""The tables of a collection, and how an older collection becomes a newer one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

__all__ = ["BUSY_SECONDS", "connect", "migrate"]

BUSY_SECONDS = 60.0

# Each entry brings a collection from version n to n + 1; entries are never changed, only added.
MIGRATIONS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

    -- What a file holds, known by its hash: a renamed or copied file is the same content.
    CREATE TABLE contents (hash TEXT PRIMARY KEY, kind TEXT NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX contents_bytes ON contents (bytes);

    CREATE TABLE files (
        path TEXT PRIMARY KEY, hash TEXT NOT NULL REFERENCES contents, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX files_hash ON files (hash);

    -- A picture or a shot. Ids count from 1 without gaps: item i has row i - 1 in every file of vectors.
    CREATE TABLE items (
        id INTEGER PRIMARY KEY, hash TEXT NOT NULL REFERENCES contents, shot INTEGER, start REAL, "end" REAL,
        width INTEGER NOT NULL, height INTEGER NOT NULL, taken TEXT, faces INTEGER, phash INTEGER NOT NULL,
        thumb_start INTEGER NOT NULL, thumb_bytes INTEGER NOT NULL
    );
    CREATE INDEX items_hash ON items (hash);

    -- Texts of the content have the path ''; others belong to a file and go with it.
    CREATE TABLE texts (item INTEGER NOT NULL, path TEXT NOT NULL, source TEXT NOT NULL, text TEXT NOT NULL);
    CREATE INDEX texts_item ON texts (item);
    CREATE INDEX texts_path ON texts (path);

    CREATE TABLE errors (
        path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, reason TEXT NOT NULL, at TEXT NOT NULL
    ) WITHOUT ROWID;

    -- The files of vectors: `rows` is how many are committed, whatever the length of the file is.
    CREATE TABLE descriptors (
        name TEXT PRIMARY KEY, version TEXT NOT NULL, dimension INTEGER NOT NULL, kind TEXT NOT NULL,
        rows INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE missing (
        descriptor TEXT NOT NULL, item INTEGER NOT NULL, PRIMARY KEY (descriptor, item)
    ) WITHOUT ROWID;

    -- Checksums of what was appended to each file, in bytes.
    CREATE TABLE blocks (
        file TEXT NOT NULL, start INTEGER NOT NULL, bytes INTEGER NOT NULL, crc INTEGER NOT NULL,
        PRIMARY KEY (file, start)
    ) WITHOUT ROWID;

    CREATE TABLE encoders (name TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID;

    -- The log of judgements: what was learned can always be rebuilt from it.
    CREATE TABLE qrels (
        id INTEGER PRIMARY KEY AUTOINCREMENT, qid TEXT NOT NULL, item INTEGER NOT NULL REFERENCES items,
        grade REAL NOT NULL, user TEXT NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX qrels_qid ON qrels (qid);
    """,
    """
    -- A mark may prefer an item to another, know what was shown above it and passed over, and be taken back.
    ALTER TABLE qrels ADD COLUMN over INTEGER REFERENCES items;
    ALTER TABLE qrels ADD COLUMN skipped TEXT;
    ALTER TABLE qrels ADD COLUMN undone TEXT;

    -- Numbers of texts are never used twice: what is new since a number is what was added.
    ALTER TABLE texts RENAME TO old_texts;
    CREATE TABLE texts (
        item INTEGER NOT NULL, path TEXT NOT NULL, source TEXT NOT NULL, text TEXT NOT NULL,
        number INTEGER PRIMARY KEY AUTOINCREMENT
    );
    INSERT INTO texts (item, path, source, text) SELECT item, path, source, text FROM old_texts ORDER BY rowid;
    DROP TABLE old_texts;
    CREATE INDEX texts_item ON texts (item);
    CREATE INDEX texts_path ON texts (path);

    -- What was asked, for queries that have marks; and pictures that are not items but examples of a query.
    CREATE TABLE queries (qid TEXT PRIMARY KEY, query TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE pictures (
        key TEXT PRIMARY KEY, vectors BLOB NOT NULL, thumbnail BLOB NOT NULL, at TEXT NOT NULL
    ) WITHOUT ROWID;

    -- The scale of each expert, measured when there were `items` items.
    CREATE TABLE scales (
        descriptor TEXT NOT NULL, version TEXT NOT NULL, scales TEXT NOT NULL, items INTEGER NOT NULL,
        PRIMARY KEY (descriptor, version)
    ) WITHOUT ROWID;

    -- The online ranker of the library as it was after a mark; can be made again from the log.
    CREATE TABLE library (mark INTEGER PRIMARY KEY, state TEXT NOT NULL);

    CREATE TABLE models (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, ranker TEXT NOT NULL, state TEXT NOT NULL,
        first_mark INTEGER, last_mark INTEGER, n_marks INTEGER NOT NULL, metric TEXT NOT NULL,
        value REAL, low REAL, high REAL, gain REAL, gain_low REAL, gain_high REAL, seconds REAL NOT NULL,
        status TEXT NOT NULL
    );
    CREATE TABLE uses (id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER, at TEXT NOT NULL);

    -- Results of two models shown as one list, and which of them got the marks.
    CREATE TABLE drafts (
        id INTEGER PRIMARY KEY AUTOINCREMENT, qid TEXT NOT NULL, user TEXT NOT NULL, first INTEGER, second INTEGER,
        teams TEXT NOT NULL, at TEXT NOT NULL
    );

    CREATE TABLE concepts (name TEXT PRIMARY KEY, detector TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE saved (
        user TEXT NOT NULL, name TEXT NOT NULL, query TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (user, name)
    ) WITHOUT ROWID;
    """,
    """
    -- What was taken back since a moment is what has a higher number, however many marks there are.
    CREATE TABLE undos (id INTEGER PRIMARY KEY AUTOINCREMENT, mark INTEGER NOT NULL REFERENCES qrels);

    -- The online ranker as it was after a mark, for one basis of learning; can be made again from the log.
    DROP TABLE library;
    CREATE TABLE checkpoints (
        id INTEGER PRIMARY KEY AUTOINCREMENT, basis TEXT NOT NULL, mark INTEGER NOT NULL, n_marks INTEGER NOT NULL,
        ranker TEXT NOT NULL, UNIQUE (basis, mark)
    );
    """,
)


def connect(path: Path) -> sqlite3.Connection:
    """Open the database; every commit is on disk when it returns."""
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables up to date."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        raise ValueError(
            f"the collection has version {version}, this Rankloom knows up to {len(MIGRATIONS)}; upgrade it"
        )
    if version == len(MIGRATIONS):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may have been faster
        for number in range(version, len(MIGRATIONS)):
            for statement in _statements(MIGRATIONS[number]):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
