"""A collection: the folder that holds what is known about pictures and videos."""

from __future__ import annotations

import errno
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from rankloom._io import make_folder
from rankloom.collection._commits import GroupCommit, R
from rankloom.collection._database import Database, Store
from rankloom.collection._files import mapped, vector_file
from rankloom.collection._locks import shared
from rankloom.collection._schema import BUSY_SECONDS
from rankloom.collection._stores import store_of
from rankloom.collection.damage import disk_full
from rankloom.core import Qrel
from rankloom.experts.compact import CompactVectors

THUMBNAILS = "thumbnails.bin"
NEIGHBORS = "neighbours.npz"


class Item(NamedTuple):
    """A picture, or a shot of a video with its times in seconds. `paths` are the files that hold it now."""

    id: int
    kind: str
    paths: tuple[str, ...]
    shot: int | None
    start: float | None
    end: float | None
    width: int
    height: int
    taken: str | None
    faces: int | None

    @property
    def path(self) -> str:
        """The first of its files; empty if none is there any more."""
        return self.paths[0] if self.paths else ""


class StoredDescriptor(NamedTuple):
    """A descriptor whose vectors the collection holds, for the first `rows` items."""

    name: str
    version: str
    dimension: int
    kind: str
    rows: int


@dataclass(frozen=True)
class Info:
    """Counts and sizes of a collection."""

    folder: str
    files: int
    pictures: int
    videos: int
    items: int
    shots: int
    hidden: int
    duplicates: int
    texts: int
    errors: int
    marks: int
    descriptors: tuple[StoredDescriptor, ...]
    bytes: int


class Collection:
    """Open a collection, or make one.

    Any number of processes and threads may read while one indexes. A mark is on disk when `mark` returns. Where the
    folder cannot be written to, as on a read-only medium, `read_only` is true and nothing is written anywhere.

    Parameters
    ----------
    folder : where it is; or the address of a PostgreSQL database that has its tables (the extra `postgres`),
        `postgresql://user@host/database?schema=photos&files=/shared/photos`.
    create : make it if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Collection(folder, create=True) as collection:
    ...     collection.info().items
    0
    """

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = False):
        self.store: Store = store_of(folder, create=create)
        self.folder = self.store.folder
        self._local = threading.local()
        self._connections: list[Database] = []
        self._guard, self._writing = threading.Lock(), threading.Lock()
        self._group = GroupCommit(self.transaction)
        self._before_close: list[weakref.WeakMethod[Callable[[], None]]] = []
        self._lock: int | None = None
        self._changed = self._let_go = False
        self._open(create=create)

    def _open(self, *, create: bool = False) -> None:
        self.store.check(create=create)
        self.read_only = self.store.read_only
        if not self.read_only:
            make_folder(self.folder)
            self._lock = shared(self.folder)
        try:
            self.store.bring_up_to_date(self.db)
        except BaseException as error:
            self.close()
            known = self.store.explained(error, opening=True)
            if known is error:
                raise
            raise known from error

    @property
    def db(self) -> Database:
        """The database connection of this thread."""
        connection: Database | None = getattr(self._local, "db", None)
        if connection is None:
            if self._let_go:
                raise ValueError(f"{self.folder} is being repaired or restored; wait until that has ended")
            try:
                connection = self._local.db = self.store.connect()
            except Exception as error:
                known = self.store.explained(error, opening=True)
                if known is error:
                    raise
                raise known from error
            with self._guard:
                self._connections.append(connection)
        return connection

    def close(self) -> None:
        """Close the database. If something was written, and there is no backup of today, one is made first."""
        for reference in self._before_close:
            if (method := reference()) is not None:
                method()
        self.back_up_daily()
        self._changed = False
        with self._guard:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
        self._local = threading.local()

    @contextmanager
    def let_go(self) -> Iterator[None]:
        """Close it while its database is repaired or replaced, then open it again, whatever happened.

        No other thread may use it meanwhile; one that tries gets an error.
        """
        self.close()
        self._let_go = True
        try:
            yield
        finally:
            self._let_go = False
            self._open()

    def before_close(self, method: Callable[[], None]) -> None:
        """Call a method when the collection is about to be closed, if its object is still there."""
        self._before_close = [reference for reference in self._before_close if reference() is not None]
        self._before_close.append(weakref.WeakMethod(method))

    def release(self) -> None:
        """Close the connection of this thread, which is about to end."""
        connection: Database | None = self._local.__dict__.pop("db", None)
        with self._guard:
            if connection in self._connections:
                self._connections.remove(connection)
                connection.close()

    def back_up_daily(self) -> None:
        """Copy the database if something was written here and there is no backup of today."""
        if self._changed and self.store.back_up_daily():
            self._changed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Close it; an error that a damaged database is behind of says so."""
        if error is None:
            self.close()
            return
        self._changed = False  # no backup of a collection in trouble
        try:
            explained_error = self._explained(error)
        finally:
            self.close()
        if explained_error is not error:
            raise explained_error from error

    def _explained(self, error: BaseException) -> BaseException:
        """The error to raise: of one that is not meant for users, whether the database is its cause."""
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return disk_full(self.folder)
        return self.store.damage_behind(error)

    @contextmanager
    def transaction(self) -> Iterator[Database]:
        """Changes that happen together or not at all."""
        self._check_writable()
        # Threads wait for each other here: SQLite would look again after a while, and then after a longer one.
        alone = self._writing.acquire(timeout=BUSY_SECONDS)
        try:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                self.db.execute("COMMIT")  # a full disk is often noticed only here
            except BaseException:
                if self.db.in_transaction:  # SQLite may have rolled it back by itself
                    self.db.execute("ROLLBACK")
                raise
        finally:
            if alone:
                self._writing.release()
        self._changed = True

    def write(self, change: Callable[[Database], R]) -> R:
        """The result of a small change, which is on disk then; changes of threads that wait share a commit."""
        return self._group.run(change)

    @contextmanager
    def indexing(self) -> Iterator[None]:
        """Be the one process that adds items; a second one gets an error that says so."""
        self._check_writable()
        with self.store.indexing():
            yield

    def _check_writable(self) -> None:
        if self.read_only:
            raise ValueError(f"{self.folder} can only be read; to change it, copy it to where it can be written")

    # Reading ---------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many items were ever added; also the number of rows of each file of vectors."""
        return int(self.db.execute("SELECT coalesce(max(id), 0) FROM items").fetchone()[0])

    def items(self, ids: Sequence[int] | None = None) -> list[Item]:
        """Items by their ids, in that order; or all that have a file, in the order in which they came."""
        if ids is None:
            rows = self.db.execute(f"{_ITEMS} WHERE items.hash IN (SELECT hash FROM files) ORDER BY items.id")
            return self._with_paths(rows.fetchall())
        wanted = [int(number) for number in ids]
        inside = "IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        rows = self.db.execute(f"{_ITEMS} WHERE items.id {inside}", (json.dumps(wanted),))
        items = {item.id: item for item in self._with_paths(rows.fetchall())}
        missing = next((number for number in wanted if number not in items), None)
        if missing is not None:
            raise KeyError(f"there is no item {missing}")
        return [items[number] for number in wanted]

    def _with_paths(self, rows: Sequence[Sequence[Any]]) -> list[Item]:
        """Rows of items with the files that hold them."""
        hashes = json.dumps([*{row[1] for row in rows}])
        query = "SELECT hash, path FROM files WHERE hash IN (SELECT value FROM json_each(?)) ORDER BY path"
        paths: dict[str, list[str]] = {}
        for digest, path in self.db.execute(query, (hashes,)):
            paths.setdefault(digest, []).append(path)
        return [
            Item(number, "picture" if shot is None else "shot", tuple(paths.get(digest, ())), shot, *rest)
            for number, digest, shot, *rest in rows
        ]

    def present(self) -> NDArray[Any]:
        """For every item whether a file holds it now."""
        import numpy as np

        present = np.zeros(len(self), dtype=bool)
        rows = self.db.execute("SELECT id FROM items WHERE hash IN (SELECT hash FROM files)").fetchall()
        present[[number - 1 for (number,) in rows]] = True
        return present

    def find(self, path: str | os.PathLike[str]) -> list[Item]:
        """The items of a file."""
        row = self.db.execute("SELECT hash FROM files WHERE path = ?", (os.path.abspath(path),)).fetchone()
        if row is None:
            return []
        ids = self.db.execute("SELECT id FROM items WHERE hash = ? ORDER BY id", row).fetchall()
        return self.items([number for (number,) in ids])

    def texts(self, item: int) -> list[tuple[str, str]]:
        """The texts of an item and where each is from: name, folder, sidecar, embedded, caption, subtitle, tag."""
        rows = self.db.execute(
            "SELECT text, source FROM texts WHERE item = ? GROUP BY text, source ORDER BY min(number)", (item,)
        )
        return [(text, source) for text, source in rows.fetchall()]

    def descriptors(self) -> list[StoredDescriptor]:
        """The descriptors whose vectors are here."""
        rows = self.db.execute("SELECT name, version, dimension, kind, rows FROM descriptors ORDER BY name")
        return [StoredDescriptor(*row) for row in rows.fetchall()]

    def vectors(self, name: str) -> CompactVectors:
        """The vectors of a descriptor, memory-mapped: row i belongs to item i + 1."""
        row = self.db.execute(
            "SELECT name, version, dimension, kind, rows FROM descriptors WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            known = ", ".join(descriptor.name for descriptor in self.descriptors()) or "none"
            raise ValueError(f"the collection has no vectors of {name!r}; it has {known}")
        stored = StoredDescriptor(*row)
        return mapped(self.folder / vector_file(stored.name, stored.version), stored.rows, stored.dimension)

    def thumbnail(self, item: int) -> bytes:
        """The thumbnail of an item, a JPEG."""
        row = self.db.execute("SELECT thumb_start, thumb_bytes FROM items WHERE id = ?", (item,)).fetchone()
        if row is None:
            raise KeyError(f"there is no item {item}")
        with open(self.folder / THUMBNAILS, "rb") as file:
            file.seek(row[0])
            return file.read(row[1])

    def errors(self) -> list[tuple[str, str]]:
        """The files that could not be read, with the reason."""
        return list(self.db.execute("SELECT path, reason FROM errors ORDER BY path").fetchall())

    def info(self) -> Info:
        """Counts and sizes."""

        def count(sql: str) -> int:
            return int(self.db.execute(sql).fetchone()[0])

        here = "hash IN (SELECT hash FROM files)"
        return Info(
            folder=str(self.folder),
            files=count("SELECT count(*) FROM files"),
            pictures=count(f"SELECT count(*) FROM contents WHERE kind = 'picture' AND {here}"),
            videos=count(f"SELECT count(*) FROM contents WHERE kind = 'video' AND {here}"),
            items=count(f"SELECT count(*) FROM items WHERE {here}"),
            shots=count(f"SELECT count(*) FROM items WHERE shot IS NOT NULL AND {here}"),
            hidden=count(f"SELECT count(*) FROM items WHERE NOT {here}"),
            duplicates=count("SELECT count(*) - count(DISTINCT hash) FROM files"),
            texts=count("SELECT count(*) FROM texts"),
            errors=count("SELECT count(*) FROM errors"),
            marks=count("SELECT count(*) FROM qrels WHERE undone IS NULL"),
            descriptors=tuple(self.descriptors()),
            bytes=sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
            + self.store.bytes(self.db),
        )

    # Marks -----------------------------------------------------------------------------------------------------------

    def mark(self, qid: str, item: int, grade: float, user: str = "") -> int:
        """Append a judgement to the log; it is on disk when this returns its number."""
        from rankloom.collection.marks import Mark, add_marks

        return add_marks(self, qid, [Mark(item, grade)], user)[0]

    def marks(self) -> list[Qrel]:
        """The judgements as they stand: of several of a query, item and user the last."""
        from rankloom.collection.marks import qrels

        return qrels(self)


_ITEMS = (
    'SELECT items.id, items.hash, items.shot, items.start, items."end", items.width, items.height, items.taken, '
    "items.faces FROM items"
)
