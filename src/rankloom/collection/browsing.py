"""Items in the orders in which people look through them: by date, by name, as an album has them."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.albums import album
from rankloom.collection.collection import Collection
from rankloom.collection.contents import counters
from rankloom.collection.dates import start_of
from rankloom.collection.filtering import DATE, allowed_by, conditions_of
from rankloom.collection.query import Filters
from rankloom.core import LRU, IntArray

Sort = Literal["newest", "oldest", "name"]
SORTS: tuple[Sort, ...] = ("newest", "oldest", "name")
_KEPT = 16  # listings in memory: of a million items each takes 12 MB
_NUMBERS = re.compile(r"(\d+)")


class Group(NamedTuple):
    """A month of a listing, as "2024-05", and how many items it has; of another order than by date "" and all."""

    month: str
    size: int


class Listing(NamedTuple):
    """The numbers of items in an order, and the month of each as 202405; no months in another order than by date."""

    items: IntArray
    months: NDArray[np.int32] | None

    def groups(self) -> list[Group]:
        """The items by month, in their order."""
        if not len(self.items):
            return []
        if self.months is None:
            return [Group("", len(self.items))]
        starts = np.flatnonzero(np.diff(self.months, prepend=-1))
        counts = np.diff(starts, append=len(self.months))
        return [
            Group(f"{month // 100:04}-{month % 100:02}" if month else "", size)
            for month, size in zip(self.months[starts].tolist(), counts.tolist(), strict=True)
        ]


class Catalogue:
    """The listings of a collection, each made once as long as nothing has changed; a page of one is a slice of it.

    Parameters
    ----------
    collection : whose items these are.
    """

    def __init__(self, collection: Collection):
        self._collection = collection
        self._lock = Lock()  # who asks for the same at the same time waits for the first
        self._orders: LRU[tuple[int, Sort], Listing] = LRU(len(SORTS))
        self._listings: LRU[Any, Listing] = LRU(_KEPT)
        self._folders: tuple[int, dict[str, int]] = (-1, {})

    def listing(self, filters: Filters, sort: Sort = "newest") -> Listing:
        """The items that have a file and pass the filters, in an order; an album that has its own order has that."""
        if filters.marked is not None:
            raise ValueError("marked items are those of a search: give words or an example, too")
        count = counters(self._collection)
        by_contents = (filters.has_text, filters.tag, filters.within)
        texts = None if by_contents == (None, None, None) else count.contents
        dates = [None if date is None else start_of(date) for date in (filters.after, filters.before)]
        key = (count.files, count.organizing, texts, replace(filters, after=dates[0], before=dates[1]), sort)
        with self._lock:
            listing = self._listings.get(key)
            if listing is None:
                listing = self._listed(filters, sort, count.files)
                self._listings.put(key, listing)
        return listing

    def _listed(self, filters: Filters, sort: Sort, files: int) -> Listing:
        if filters.album is not None and sort == "newest" and album(self._collection, filters.album).by_hand:
            return _by_hand(self._collection, filters, filters.album)
        whole = self._orders.get((files, sort))
        if whole is None:
            whole = _by_name(self._collection) if sort == "name" else _by_date(self._collection, sort)
            self._orders.put((files, sort), whole)
        allowed = allowed_by(self._collection, filters, int(whole.items.max(initial=0)))[whole.items - 1]
        return Listing(whole.items[allowed], None if whole.months is None else whole.months[allowed])

    def folders(self) -> dict[str, int]:
        """The folders that hold files, and how many each holds itself."""
        changes = counters(self._collection).files
        if self._folders[0] != changes:
            paths = self._collection.db.execute("SELECT path FROM files")
            self._folders = (changes, dict(Counter(os.path.dirname(path) for (path,) in paths)))
        return self._folders[1]


def dates_of(collection: Collection, items: Iterable[int]) -> dict[int, str]:
    """When items were taken, or their files changed; those without a date are left out."""
    query = f"SELECT id, {DATE} AS date FROM items WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    rows = collection.db.execute(query, (json.dumps([*items]),)).fetchall()
    return {item: date for item, date in rows if date is not None}


_HERE = "hash IN (SELECT hash FROM files)"


def _by_date(collection: Collection, sort: Sort) -> Listing:
    way = "DESC" if sort == "newest" else "ASC"
    query = f"SELECT id, {DATE} AS date FROM items WHERE {_HERE} ORDER BY date {way}, id {way}"
    rows = collection.db.execute(query).fetchall()
    items = np.fromiter((item for item, _ in rows), np.int64, len(rows))
    return Listing(items, np.fromiter(_months(rows), np.int32, len(rows)))


def _months(rows: list[tuple[int, str | None]]) -> Iterator[int]:
    """The month of each item as a number; 0 where none is known."""
    for _, date in rows:
        year, month = (date or "")[:4], (date or "")[5:7]
        known = year.isascii() and year.isdecimal() and month.isascii() and month.isdecimal()
        yield int(year) * 100 + int(month) if known and 1 <= int(month) <= 12 else 0


def _by_name(collection: Collection) -> Listing:
    query = f"SELECT id, (SELECT min(path) FROM files WHERE files.hash = items.hash), shot FROM items WHERE {_HERE}"
    rows = collection.db.execute(query).fetchall()
    rows.sort(key=lambda row: (natural(os.path.basename(row[1])), row[1], row[2] or 0, row[0]))
    return Listing(np.array([row[0] for row in rows], dtype=np.int64), None)


def _by_hand(collection: Collection, filters: Filters, number: int) -> Listing:
    conditions, values = conditions_of(collection, filters)
    query = (
        "SELECT id FROM items JOIN album_items ON album_items.item = items.id AND album = ?"
        f" WHERE {' AND '.join([_HERE, *conditions])} ORDER BY place, id"
    )
    rows = collection.db.execute(query, [number, *values]).fetchall()
    return Listing(np.array([item for (item,) in rows], dtype=np.int64), None)


def natural(name: str) -> list[Any]:
    """A key by which names sort as people count: 2 before 10.

    >>> sorted(["IMG 10", "img 2", "a"], key=natural)
    ['a', 'img 2', 'IMG 10']
    """
    parts = _NUMBERS.split(name.casefold())
    return [(1, int(part), "") if place % 2 else (0, 0, part) for place, part in enumerate(parts)]
