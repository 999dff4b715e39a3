"""Which items pass the filters of a query."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.dates import start_of
from rankloom.collection.overview import folders_with_files
from rankloom.collection.query import Filters
from rankloom.core import IntArray

_MOST_NAMED = 8


def allowed_by(collection: Collection, filters: Filters, n_items: int) -> NDArray[np.bool_]:
    """Which items pass the filters."""
    if not filters.given:
        return np.ones(n_items, dtype=bool)
    allowed = np.zeros(n_items, dtype=bool)
    allowed[newest_first(collection, filters, n_items)] = True
    return allowed


def newest_first(collection: Collection, filters: Filters, n_items: int) -> IntArray:
    """The rows that pass the filters, by the date they were taken; those without a date last, as they were added."""
    conditions, values = _conditions(collection, filters)
    rows = collection.db.execute(
        f"SELECT id FROM items WHERE {' AND '.join(['id <= ?', *conditions])} ORDER BY taken DESC, id DESC",
        [n_items, *values],
    )
    return np.array([number - 1 for (number,) in rows.fetchall()], dtype=np.int64)


def _conditions(collection: Collection, filters: Filters) -> tuple[list[str], list[Any]]:
    """The filters as conditions of SQL, and their values."""
    conditions: list[str] = []
    values: list[Any] = []
    if filters.kind is not None:
        conditions.append("shot IS NULL" if filters.kind == "picture" else "shot IS NOT NULL")
    for date, sign in ((filters.after, ">="), (filters.before, "<")):
        if date is not None:
            conditions.append(f"taken {sign} ?")
            values.append(start_of(date))
    if filters.folder is not None:
        below = os.path.join(os.path.abspath(filters.folder), "")
        inside = "path = ? OR substr(path, 1, ?) = ?"
        place = [below.rstrip(os.sep), len(below), below]
        if collection.db.execute(f"SELECT 1 FROM files WHERE {inside} LIMIT 1", place).fetchone() is None:
            raise ValueError(
                f"no indexed file is in {filters.folder}; {naming(sorted(folders_with_files(collection)))}"
            )
        conditions.append(f"hash IN (SELECT hash FROM files WHERE {inside})")
        values += place
    if filters.has_text is not None:
        word = "" if filters.has_text else "NOT "
        conditions.append(f"id {word}IN (SELECT item FROM texts WHERE source NOT IN ('tag', 'name', 'folder'))")
    return conditions, values


def naming(folders: Iterable[str]) -> str:
    """The first of the known folders, for an error that is one line.

    >>> naming(["a", "b"])
    'known folders are a, b'
    """
    names = iter(folders)
    first = ", ".join(islice(names, _MOST_NAMED))
    more = sum(1 for _ in names)
    return f"known folders are {first or 'none'}" + (f" and {more:,} more" if more else "")
