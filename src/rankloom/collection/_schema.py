"""The tables of a collection, and how an older collection becomes a newer one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

BUSY_SECONDS = 60.0
# What reading a damaged database raises; the second where a message of SQLite quotes damaged bytes.
DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)


def _counted(counter: str, *tables: str, prefix: str = "count") -> str:
    """Triggers that count every row of some tables that is added, changed or deleted."""
    return "".join(
        f"CREATE TRIGGER {prefix}_{table}_{action.lower()} AFTER {action} ON {table} BEGIN"
        f" UPDATE counters SET value = value + 1 WHERE name = '{counter}'; END;\n"
        for table in tables
        for action in ("INSERT", "UPDATE", "DELETE")
    )


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
    CREATE TABLE undos (id INTEGER PRIMARY KEY AUTOINCREMENT, mark INTEGER NOT NULL);

    -- The online ranker as it was after a mark, for one basis of learning; can be made again from the log.
    DROP TABLE library;
    CREATE TABLE checkpoints (
        id INTEGER PRIMARY KEY AUTOINCREMENT, basis TEXT NOT NULL, mark INTEGER NOT NULL, n_marks INTEGER NOT NULL,
        ranker TEXT NOT NULL, UNIQUE (basis, mark)
    );
    """,
    """
    -- Counts of changes, which tell whether something is as it was: what is searched, and what is learned from.
    CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO counters VALUES ('contents', 0), ('learning', 0);
    CREATE TRIGGER count_meta_insert AFTER INSERT ON meta BEGIN
        UPDATE counters SET value = value + 1 WHERE name = iif(new.key = 'library', 'learning', 'contents');
    END;
    """
    + _counted(
        "contents", "files", "items", "texts", "descriptors", "missing", "blocks", "encoders", "scales", "concepts"
    )
    + _counted("learning", "qrels", "models", "uses"),
    """
    -- What was shown to a user who marked, once a request: what is above the place of a right mark was skipped.
    CREATE TABLE shown (id INTEGER PRIMARY KEY AUTOINCREMENT, items TEXT NOT NULL);
    ALTER TABLE qrels ADD COLUMN shown INTEGER REFERENCES shown;
    ALTER TABLE qrels ADD COLUMN place INTEGER;
    UPDATE qrels SET skipped = (
        SELECT json_group_array(value) FROM (SELECT value FROM json_each(skipped) ORDER BY key LIMIT 100)
    ) WHERE json_valid(skipped) AND json_array_length(skipped) > 100;
    DELETE FROM checkpoints;
    """,
    """
    -- Where something was read or seen in a picture, or in a frame of a shot at some time: lines of text and faces.
    -- Places are shares of the width and height.
    CREATE TABLE boxes (
        item INTEGER NOT NULL, kind TEXT NOT NULL, left REAL NOT NULL, top REAL NOT NULL, width REAL NOT NULL,
        height REAL NOT NULL, score REAL NOT NULL, text TEXT, time REAL, number INTEGER PRIMARY KEY AUTOINCREMENT
    );
    CREATE INDEX boxes_item ON boxes (item);

    -- What is said in a video, with its times in seconds.
    CREATE TABLE cues (
        hash TEXT NOT NULL, start REAL NOT NULL, "end" REAL NOT NULL, text TEXT NOT NULL,
        number INTEGER PRIMARY KEY AUTOINCREMENT
    );
    CREATE INDEX cues_hash ON cues (hash);

    -- What of a content was looked for: text, speech, faces; by which version of the reader.
    CREATE TABLE readings (
        hash TEXT NOT NULL, reader TEXT NOT NULL, version TEXT NOT NULL, PRIMARY KEY (hash, reader)
    ) WITHOUT ROWID;
    """,
    """
    -- Groups of faces, and the faces that can be told apart: a vector in half precision, a small JPEG, whose it is. All
    -- of it is there only if the user wants it.
    CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
    CREATE TABLE known_faces (box INTEGER PRIMARY KEY, vector BLOB NOT NULL, jpeg BLOB NOT NULL, person INTEGER);
    CREATE INDEX known_faces_person ON known_faces (person);
    """,
    """
    -- Names of files as they are typed, beside the words in them.
    WITH folded AS (SELECT path, hash, replace(path, '\\', '/') AS whole FROM files),
    named AS (SELECT path, hash, substr(whole, length(rtrim(whole, replace(whole, '/', ''))) + 1) AS name FROM folded),
    stems AS (SELECT path, hash, CASE
        WHEN instr(substr(name, 2), '.') THEN substr(name, 1, length(rtrim(name, replace(name, '.', ''))) - 1)
        ELSE name END AS stem FROM named)
    INSERT INTO texts (item, path, source, text)
    SELECT items.id, stems.path, 'name', stem FROM stems JOIN items ON items.hash = stems.hash WHERE NOT EXISTS (
        SELECT 1 FROM texts WHERE texts.item = items.id AND texts.path = stems.path AND source = 'name'
            AND lower(text) = lower(replace(replace(stem, '_', ' '), '-', ' '))
    );
    """,
    """
    -- What the owner says of items beside texts: stars, and that they are hidden.
    CREATE TABLE ratings (item INTEGER PRIMARY KEY, stars INTEGER NOT NULL);
    CREATE TABLE hidden (item INTEGER PRIMARY KEY, at TEXT NOT NULL);

    -- Albums; one with a query also has suggestions. Of its items those with member 0 were refused.
    CREATE TABLE albums (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, query TEXT, cover INTEGER, by_hand INTEGER NOT NULL,
        at TEXT NOT NULL
    );
    CREATE TABLE album_items (
        album INTEGER NOT NULL, item INTEGER NOT NULL, member INTEGER NOT NULL, place INTEGER NOT NULL,
        PRIMARY KEY (album, item)
    ) WITHOUT ROWID;

    INSERT INTO counters VALUES ('files', 0), ('organizing', 0);
    """
    + _counted("files", "files", prefix="order")
    + _counted("organizing", "ratings", "hidden", "albums", "album_items"),
    """
    -- Vectors have one byte a component: what was learned by others differs a little, and is learned again.
    DELETE FROM checkpoints;
    """,
    """
    -- Where a content was taken, in degrees; NULL if its metadata does not say so. Those without a row were described
    -- before this was read.
    CREATE TABLE positions (
        hash TEXT PRIMARY KEY REFERENCES contents, latitude REAL, longitude REAL
    ) WITHOUT ROWID;
    CREATE INDEX positions_place ON positions (latitude, longitude) WHERE latitude NOT NULL;
    """
    + _counted("contents", "positions"),
)


def only_readable(path: Path) -> bool:
    """Whether a database is on a medium, or in a folder, that cannot be written to."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def connect(path: Path) -> sqlite3.Connection:
    """Open the database; every commit is on disk when it returns. Nothing is written where nothing can be."""
    if only_readable(path):
        return _connect_to_read(path)
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a database without a file beside it; with those of others who have it open and may write, if there are."""
    wal, shm = (path.with_name(f"{path.name}-{suffix}") for suffix in ("wal", "shm"))
    mode = "mode=ro" if shm.is_file() or (wal.is_file() and wal.stat().st_size) else "immutable=1"
    address = f"{path.as_uri()}?{mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def version_of(db: sqlite3.Connection) -> int:
    """The version of the tables; 0 for a database without any."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables up to date."""
    if version_of(db) == len(MIGRATIONS):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version_of(db), len(MIGRATIONS)):  # another process may have been faster
            for statement in _statements(MIGRATIONS[number]):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    except BaseException:
        if db.in_transaction:
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


# What tables should look like ----------------------------------------------------------------------------------------
