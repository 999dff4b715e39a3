"""Albums: items put together by hand, or around a query that suggests more of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from rankloom.collection._database import Database
from rankloom.collection.collection import Collection
from rankloom.collection.marks import now
from rankloom.collection.organizing import check_items
from rankloom.collection.query import Query

LONGEST_NAME = 100
MOST_ALBUMS = 10_000
MOST_ITEMS = 100_000


class Album(NamedTuple):
    """An album. `query` suggests members; `cover` is an item; `by_hand` says that its order is not that of dates."""

    id: int
    name: str
    query: Query | None
    cover: int | None
    by_hand: bool
    size: int
    at: str


_SHOWN = (
    "album_items.album = albums.id AND member = 1 AND album_items.item NOT IN (SELECT item FROM hidden)"
    " AND EXISTS (SELECT 1 FROM items JOIN files USING (hash) WHERE items.id = album_items.item)"
)
_ALBUMS = f"""
    SELECT id, name, query,
        coalesce(
            (SELECT item FROM album_items WHERE {_SHOWN} AND item = albums.cover),
            (SELECT item FROM album_items WHERE {_SHOWN} ORDER BY place LIMIT 1)
        ),
        by_hand, (SELECT count(*) FROM album_items WHERE {_SHOWN}), at
    FROM albums
"""


def albums(collection: Collection) -> list[Album]:
    """All albums, by name."""
    rows = collection.db.execute(f"{_ALBUMS} ORDER BY lower(name), id")
    return [_album(*row) for row in rows.fetchall()]


def album(collection: Collection, number: int) -> Album:
    """An album by its number."""
    row = collection.db.execute(f"{_ALBUMS} WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise KeyError(f"there is no album {number}")
    return _album(*row)


def album_named(collection: Collection, name: str) -> Album:
    """An album by its name."""
    known = albums(collection)
    for album in known:
        if album.name.casefold() == name.strip().casefold():
            return album
    raise ValueError(f"there is no album {name!r}; known are {', '.join(album.name for album in known[:8]) or 'none'}")


def _album(
    number: int, name: str, query: str | None, cover: int | None, by_hand: int, size: int, at: str
) -> Album:  # fmt: skip
    asked = None if query is None else Query.from_json(json.loads(query))
    return Album(number, name, asked, cover, bool(by_hand), size, at)


def make_album(collection: Collection, name: str, items: Sequence[int] = (), query: Query | None = None) -> int:
    """Make an album; with a query it is a living one, which suggests members. Returns its number."""
    asked = None if query is None else json.dumps(query.to_json())
    if query is not None and query.empty:
        raise ValueError("a living album needs words, examples or a concept to suggest members by")
    with collection.transaction() as db:
        if db.execute("SELECT count(*) FROM albums").fetchone()[0] >= MOST_ALBUMS:
            raise ValueError(f"there are {MOST_ALBUMS:,} albums already; delete one first")
        row = (_free_name(db, name), asked, now())
        made = int(db.execute("INSERT INTO albums (name, query, by_hand, at) VALUES (?, ?, 0, ?)", row).lastrowid)
        _add(db, made, check_items(db, items))
    return made


def change_album(
    collection: Collection, number: int, name: str | None = None, by_hand: bool | None = None, cover: int | None = None
) -> None:
    """Give an album another name, order or cover; what is None stays."""
    with collection.transaction() as db:
        _check(db, number)
        if name is not None:
            db.execute("UPDATE albums SET name = ? WHERE id = ?", (_free_name(db, name, number), number))
        if by_hand is not None:
            db.execute("UPDATE albums SET by_hand = ? WHERE id = ?", (int(by_hand), number))
        if cover is not None:
            query = "SELECT 1 FROM album_items WHERE album = ? AND item = ? AND member = 1"
            if db.execute(query, (number, cover)).fetchone() is None:
                raise ValueError(f"item {cover} is not in the album; add it first")
            db.execute("UPDATE albums SET cover = ? WHERE id = ?", (cover, number))


def delete_album(collection: Collection, number: int) -> None:
    """Delete an album; its items stay in the collection."""
    with collection.transaction() as db:
        _check(db, number)
        db.execute("DELETE FROM album_items WHERE album = ?", (number,))
        db.execute("DELETE FROM albums WHERE id = ?", (number,))


def add_to_album(collection: Collection, number: int, items: Sequence[int]) -> None:
    """Add items at the end of an album, or confirm suggested ones."""
    with collection.transaction() as db:
        _check(db, number)
        _add(db, number, check_items(db, items))


def _add(db: Database, number: int, items: Sequence[int]) -> None:
    place, count = db.execute(
        "SELECT coalesce(max(place), 0), count(*) FROM album_items WHERE album = ?", (number,)
    ).fetchone()
    if count + len(items) > MOST_ITEMS:
        raise ValueError(f"an album has at most {MOST_ITEMS:,} items")
    members = {item for (item,) in db.execute("SELECT item FROM album_items WHERE album = ? AND member = 1", (number,))}
    rows = [(number, item, place + step) for step, item in enumerate(items, 1) if item not in members]
    db.executemany("INSERT OR REPLACE INTO album_items VALUES (?, ?, 1, ?)", rows)


def remove_from_album(collection: Collection, number: int, items: Sequence[int], *, refuse: bool = False) -> None:
    """Take items out of an album; refused ones are not suggested again."""
    with collection.transaction() as db:
        _check(db, number)
        wanted = check_items(db, items)
        if refuse:
            rows = [(number, item) for item in wanted]
            db.executemany("INSERT OR REPLACE INTO album_items VALUES (?, ?, 0, 0)", rows)
        else:
            db.executemany("DELETE FROM album_items WHERE album = ? AND item = ?", [(number, item) for item in wanted])


def move_in_album(collection: Collection, number: int, items: Sequence[int], before: int | None) -> None:
    """Put items before another one, or at the end; the album is ordered by hand from now on."""
    with collection.transaction() as db:
        _check(db, number)
        query = "SELECT item FROM album_items WHERE album = ? AND member = 1 ORDER BY place, item"
        order = [item for (item,) in db.execute(query, (number,)).fetchall()]
        moved = [item for item in dict.fromkeys(items) if item in {*order}]
        if len(moved) < len({*items}) or (before is not None and before not in order):
            raise ValueError("only items of the album can be moved, and only before one of them")
        rest = [item for item in order if item not in {*moved}]
        place = rest.index(before) if before is not None and before in rest else len(rest)
        placed = [*rest[:place], *moved, *rest[place:]]
        rows = [(step, number, item) for step, item in enumerate(placed, 1)]
        db.executemany("UPDATE album_items SET place = ? WHERE album = ? AND item = ?", rows)
        db.execute("UPDATE albums SET by_hand = 1 WHERE id = ?", (number,))


def albums_of(collection: Collection, item: int) -> list[tuple[int, str]]:
    """The albums that an item is in: numbers and names."""
    query = "SELECT id, name FROM albums JOIN album_items ON album = id WHERE item = ? AND member = 1 ORDER BY name"
    return [(number, name) for number, name in collection.db.execute(query, (item,)).fetchall()]


def album_names(collection: Collection) -> dict[int, list[str]]:
    """The names of the albums of every item that is in one."""
    query = "SELECT item, name FROM albums JOIN album_items ON album = id WHERE member = 1 ORDER BY name"
    names: dict[int, list[str]] = {}
    for item, name in collection.db.execute(query).fetchall():
        names.setdefault(item, []).append(name)
    return names


def judged_items(collection: Collection, number: int) -> set[int]:
    """The items of an album, and those that were refused."""
    rows = collection.db.execute("SELECT item FROM album_items WHERE album = ?", (number,))
    return {item for (item,) in rows.fetchall()}


def _check(db: Database, number: int) -> None:
    if db.execute("SELECT 1 FROM albums WHERE id = ?", (number,)).fetchone() is None:
        raise KeyError(f"there is no album {number}")


def _free_name(db: Database, name: str, own: int | None = None) -> str:
    """A name that no other album has."""
    wanted = " ".join(name.split())
    if not wanted or not wanted.isprintable() or len(wanted) > LONGEST_NAME:
        raise ValueError(f"the name of an album has 1 to {LONGEST_NAME} letters in one line, got {name[:40]!r}")
    for number, known in db.execute("SELECT id, name FROM albums").fetchall():
        if known.casefold() == wanted.casefold() and number != own:
            raise ValueError(f"there is an album {known!r} already; take another name")
    return wanted
