"""Captions from a table: which files its rows mean, and their texts stored with the items."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath

from rankloom.collection._texts import shared_texts
from rankloom.collection.collection import Collection
from rankloom.collection.derived import store_derived
from rankloom.collection.overview import indexed_roots
from rankloom.collection.scanning import placed
from rankloom.media import MediaError, read_captions
from rankloom.media.captions import parse_captions

MOST_ROWS = 500_000  # of a table that somebody sends
SHOWN = 10  # paths without a file that are named


@dataclass(frozen=True)
class Captions:
    """A table of captions: a CSV or TSV file and the names of its columns."""

    file: str
    path_column: str = "path"
    text_column: str = "caption"


@dataclass
class StoredCaptions:
    """What became of a table.

    `rows` are those with a path and a text, of which `matched` belong to one of so many `files`; `unmatched` are the
    first paths without a file, and `warnings` files with more text than an item may have.
    """

    rows: int = 0
    matched: int = 0
    files: int = 0
    unmatched: list[str] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)


def read_table(captions: Captions) -> Iterator[tuple[str, str]]:
    """The paths and texts of a table; a MediaError if it cannot be read."""
    return read_captions(captions.file, captions.path_column, captions.text_column)


def add_captions(collection: Collection, table: str) -> StoredCaptions:
    """Store the captions of a table that somebody sent: searched at once, and in place of those that a file had.

    Its paths are relative to an indexed folder or to the one that holds it. One that leads elsewhere, or begins at the
    root of the disk, counts by its last name alone, so that nobody learns by it where files are.

    Parameters
    ----------
    collection : where to.
    table : the text of a CSV or TSV file with the columns path and caption.
    """
    roots = indexed_roots(collection)
    rows = [(_inner(path), text) for path, text in islice(parse_captions(table), MOST_ROWS + 1)]
    if len(rows) > MOST_ROWS:
        raise MediaError(f"it has more than {MOST_ROWS:,} rows; send it in parts")
    stored = store_captions(collection, rows, [*roots, *map(os.path.dirname, roots)])
    store_derived(collection)
    return stored


def _inner(path: str) -> str:
    parts = PurePosixPath(path.replace("\\", "/"))
    return parts.name if parts.is_absolute() or ".." in parts.parts or parts.parts[:1] == ("~",) else str(parts)


def store_captions(collection: Collection, rows: Iterable[tuple[str, str]], bases: Sequence[str]) -> StoredCaptions:
    """Give captions to files: by path, also relative to one of the bases, or by a name that only one file has."""
    wanted: dict[str, list[str]] = {}
    for path, text in rows:
        wanted.setdefault(path, []).append(text)
    stored, files = StoredCaptions(), _Files(collection, bases)
    with collection.transaction():
        for path, texts in wanted.items():
            stored.rows += len(texts)
            target = files.meant(path)
            if target is not None:
                stored.matched += len(texts)
                stored.files += 1
                stored.warnings += [(target, line) for line in _replace(collection, target, texts)]
            elif len(stored.unmatched) < SHOWN:
                stored.unmatched.append(path)
    return stored


class _Files:
    """The files of a collection, by their paths and by their names."""

    def __init__(self, collection: Collection, bases: Sequence[str]):
        self._bases = bases
        self._paths: set[str] = set()
        self._by_name: dict[str, list[str]] = {}
        for (path,) in collection.db.execute("SELECT path FROM files"):
            self._paths.add(path)
            self._by_name.setdefault(os.path.basename(path), []).append(path)

    def meant(self, path: str) -> str | None:
        """The file that a path of a table means, if there is one."""
        places = (placed(path, base) for base in self._bases)
        named = next((place for place in places if place in self._paths), None)
        candidates = self._by_name.get(os.path.basename(path), [])
        return named or (candidates[0] if len(candidates) == 1 else None)


def _replace(collection: Collection, path: str, texts: Sequence[str]) -> list[str]:
    """Put captions in the place of those that a file had; returns what was cut, in lines."""
    db, lines = collection.db, list[str]()
    db.execute("DELETE FROM texts WHERE path = ? AND source = 'caption'", (path,))
    query = "SELECT id FROM items WHERE hash = (SELECT hash FROM files WHERE path = ?)"
    ids = db.execute(query, (path,)).fetchall()
    captions = shared_texts([(text, "caption") for text in texts], len(ids), lines.append)
    rows = [(item, path, source, text) for (item,) in ids for text, source in captions]
    db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, ?, ?, ?)", rows)
    return lines
