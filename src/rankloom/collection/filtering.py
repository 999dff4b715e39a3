"""Which items pass the filters of a query."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection._texts import OWN_TAG
from rankloom.collection.albums import album
from rankloom.collection.dates import start_of
from rankloom.collection.overview import CHANGED, folders_with_files
from rankloom.collection.query import Filters
from rankloom.collection.rectangles import condition, rectangle
from rankloom.core import IntArray

_MOST_NAMED = 8


# When an item was taken; where that is not known, when its file was changed.
DATE = f"coalesce(taken, {CHANGED})"


def allowed_by(collection: Collection, filters: Filters, n_items: int) -> NDArray[np.bool_]:
    """Which items pass the filters; hidden ones only if they are asked for."""
    if not filters.given:
        allowed = np.ones(n_items, dtype=bool)
        rows = collection.db.execute("SELECT item - 1 FROM hidden WHERE item <= ?", (n_items,)).fetchall()
        allowed[[row for (row,) in rows]] = False
        return allowed
    conditions, values = conditions_of(collection, filters)
    passing = collection.db.execute(
        f"SELECT id - 1 FROM items WHERE {' AND '.join(['id <= ?', *conditions])}", [n_items, *values]
    )
    allowed = np.zeros(n_items, dtype=bool)
    allowed[[row for (row,) in passing.fetchall()]] = True
    return allowed


def newest_first(collection: Collection, filters: Filters, n_items: int) -> IntArray:
    """The rows that pass the filters, by their dates; those of the same date as they were added."""
    if filters.marked is not None:
        raise ValueError("marked items are those of a search: give words or an example, too")
    conditions, values = conditions_of(collection, filters)
    rows = collection.db.execute(
        f"SELECT id FROM items WHERE {' AND '.join(['id <= ?', *conditions])} ORDER BY {DATE} DESC, id DESC",
        [n_items, *values],
    )
    return np.array([number - 1 for (number,) in rows.fetchall()], dtype=np.int64)


def conditions_of(collection: Collection, filters: Filters) -> tuple[list[str], list[Any]]:
    """The filters as conditions of SQL on items, and their values."""
    conditions = [f"id {'' if filters.hidden else 'NOT '}IN (SELECT item FROM hidden)"]
    values: list[Any] = []
    if filters.kind is not None:
        conditions.append("shot IS NULL" if filters.kind == "picture" else "shot IS NOT NULL")
    for date, sign in ((filters.after, ">="), (filters.before, "<")):
        if date is not None:
            conditions.append(f"{DATE} {sign} ?")
            values.append(start_of(date))
    if filters.folder is not None:
        below, place = _inside(collection, filters.folder)
        conditions.append(below)
        values += place
    if filters.has_text is not None:
        word = "" if filters.has_text else "NOT "
        conditions.append(f"id {word}IN (SELECT item FROM texts WHERE source NOT IN ('tag', 'name', 'folder'))")
    if filters.stars:
        conditions.append("id IN (SELECT item FROM ratings WHERE stars >= ?)")
        values.append(filters.stars)
    if filters.tag is not None:
        conditions.append("id IN (SELECT item FROM texts WHERE source = ? AND lower(text) = lower(?))")
        values += [OWN_TAG, filters.tag]
    if filters.album is not None:
        conditions.append("id IN (SELECT item FROM album_items WHERE album = ? AND member = 1)")
        values.append(album(collection, filters.album).id)
    if filters.within is not None:
        inside, place = condition(rectangle(filters.within))
        conditions.append(inside)
        values += place
    return conditions, values


def _inside(collection: Collection, folder: str) -> tuple[str, list[Any]]:
    """Items with a file below a folder, as a condition and its values."""
    below = os.path.join(os.path.abspath(folder), "")
    inside = "path = ? OR substr(path, 1, ?) = ?"
    place = [below.rstrip(os.sep), len(below), below]
    if collection.db.execute(f"SELECT 1 FROM files WHERE {inside} LIMIT 1", place).fetchone() is None:
        raise ValueError(f"no indexed file is in {folder}; {naming(sorted(folders_with_files(collection)))}")
    return f"hash IN (SELECT hash FROM files WHERE {inside})", place


def naming(folders: Iterable[str]) -> str:
    """The first of the known folders, for an error that is one line.

    >>> naming(["a", "b"])
    'known folders are a, b'
    """
    names = iter(folders)
    first = ", ".join(islice(names, _MOST_NAMED))
    more = sum(1 for _ in names)
    return f"known folders are {first or 'none'}" + (f" and {more:,} more" if more else "")
