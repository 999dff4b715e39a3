"""What a page shows of a collection: folders, captions, texts, shots."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rankloom.collection._reading import Box
from rankloom.collection.collection import Collection
from rankloom.media import Cue

LONGEST_CAPTION = 300


class ItemSummary(NamedTuple):
    """An item and its first file; the path is empty if none is there any more. Where an item does not say when it was
    taken, `changed` is when its file was changed.

    The caption is the first text of the best source: what a person wrote before what was said; else the owner's tags.
    Automatic tags are none.
    """

    id: int
    kind: str
    path: str
    start: float | None
    end: float | None
    width: int
    height: int
    taken: str | None
    changed: str | None
    caption: str | None
    stars: int
    hidden: int  # 0 or 1


class IndexedFile(NamedTuple):
    """A file as it was when it was indexed."""

    path: str
    size: int
    mtime_ns: int


class ShotTimes(NamedTuple):
    """A shot of a video: its item, and its times in seconds."""

    id: int
    start: float
    end: float


def indexed_roots(collection: Collection) -> list[str]:
    """The folders and files that were indexed."""
    row = collection.db.execute("SELECT value FROM meta WHERE key = 'roots'").fetchone()
    return list(json.loads(row[0])) if row else []


def folders_with_files(collection: Collection) -> set[str]:
    """The folders that hold indexed files."""
    return {os.path.dirname(path) for (path,) in collection.db.execute("SELECT path FROM files")}


def has_files_in(collection: Collection, folder: str) -> bool:
    """Whether an indexed file lies in a folder or below it."""
    query = "SELECT 1 FROM files WHERE path > ? AND path < ? LIMIT 1"
    bounds = (folder + os.sep, folder + chr(ord(os.sep) + 1))
    return collection.db.execute(query, bounds).fetchone() is not None


def item_summaries(collection: Collection, ids: Iterable[int]) -> dict[int, ItemSummary]:
    """Items by their ids, in one query however many they are; those that do not exist are left out."""
    rows = collection.db.execute(_SUMMARIES, (*[LONGEST_CAPTION] * 2, json.dumps([*ids])))
    return {row[0]: ItemSummary(*row) for row in rows.fetchall()}


# When the file of an item was changed, the first of several.
CHANGED = (
    "(SELECT strftime('%Y-%m-%dT%H:%M:%S', min(mtime_ns) / 1000000000, 'unixepoch')"
    " FROM files WHERE files.hash = items.hash)"
)
_SUMMARIES = f"""
    SELECT id, CASE WHEN shot IS NULL THEN 'picture' ELSE 'shot' END,
        coalesce((SELECT min(path) FROM files WHERE files.hash = items.hash), ''),
        start, "end", width, height, taken,
        CASE WHEN taken IS NULL THEN {CHANGED} END,
        coalesce(
            (
                SELECT substr(text, 1, ?) FROM texts
                WHERE item = items.id AND source IN ('owner', 'caption', 'embedded', 'sidecar', 'subtitle', 'speech')
                ORDER BY CASE source WHEN 'owner' THEN 1 WHEN 'caption' THEN 2 WHEN 'embedded' THEN 3
                    WHEN 'sidecar' THEN 4 WHEN 'subtitle' THEN 5 ELSE 6 END, number LIMIT 1
            ),
            (
                SELECT substr(group_concat(text, ', '), 1, ?)
                FROM (SELECT text FROM texts WHERE item = items.id AND source = 'owner_tag' ORDER BY number) AS tags
            )
        ),
        coalesce((SELECT stars FROM ratings WHERE ratings.item = items.id), 0),
        EXISTS (SELECT 1 FROM hidden WHERE hidden.item = items.id)
    FROM items WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
"""


def files_of(collection: Collection, item: int) -> list[IndexedFile]:
    """The files that hold an item."""
    rows = collection.db.execute(
        "SELECT path, size, mtime_ns FROM items LEFT JOIN files USING (hash) WHERE items.id = ? ORDER BY path", (item,)
    ).fetchall()
    if not rows:
        raise KeyError(f"there is no item {item}")
    return [IndexedFile(*row) for row in rows if row[0] is not None]


def shots_of(collection: Collection, item: int) -> list[ShotTimes]:
    """All shots of the video that an item is a shot of."""
    rows = collection.db.execute(
        'SELECT id, start, "end" FROM items WHERE shot IS NOT NULL AND hash = (SELECT hash FROM items WHERE id = ?) '
        "ORDER BY shot",
        (item,),
    )
    return [ShotTimes(*row) for row in rows.fetchall()]


def subtitles_of_shots(collection: Collection, item: int) -> list[Cue]:
    """The subtitles of the video that an item is a shot of: a line for each shot that has some."""
    rows = collection.db.execute(
        """
        SELECT start, "end", group_concat(text, ' ') FROM (
            SELECT items.start, items."end", items.shot, texts.text FROM items JOIN texts ON texts.item = items.id
            WHERE shot IS NOT NULL AND source = 'subtitle' AND hash = (SELECT hash FROM items WHERE id = ?)
            ORDER BY shot, number
        ) AS lines GROUP BY shot, start, "end" ORDER BY shot
        """,
        (item,),
    )
    return [Cue(*row) for row in rows.fetchall()]


def boxes_of(collection: Collection, item: int) -> list[Box]:
    """The lines of text and the faces of an item, with their places."""
    query = 'SELECT kind, "left", top, width, height, score, text, time FROM boxes WHERE item = ? ORDER BY number'
    return [Box(*row) for row in collection.db.execute(query, (item,)).fetchall()]


def cues_of(collection: Collection, item: int) -> list[Cue]:
    """What is said in the video that an item is a shot of."""
    rows = collection.db.execute(
        'SELECT start, "end", text FROM cues WHERE hash = (SELECT hash FROM items WHERE id = ?) ORDER BY start, number',
        (item,),
    )
    return [Cue(*row) for row in rows.fetchall()]


def pictures_of(collection: Collection) -> list[int]:
    """The items that are pictures, have a file and are not hidden."""
    rows = collection.db.execute(
        "SELECT id FROM items WHERE shot IS NULL AND hash IN (SELECT hash FROM files)"
        " AND id NOT IN (SELECT item FROM hidden) ORDER BY id"
    )
    return [item for (item,) in rows.fetchall()]


def sample_texts(collection: Collection, most: int) -> Iterator[tuple[str, str]]:
    """The source and the text of the first texts that are no names of files or folders, and not read or heard."""
    others = "('name', 'folder', 'ocr', 'speech', 'people')"
    query = f"SELECT source, text FROM texts WHERE source NOT IN {others} ORDER BY number LIMIT ?"
    yield from collection.db.execute(query, (most,))


def text_count(collection: Collection) -> int:
    """How many texts there are."""
    return int(collection.db.execute("SELECT count(*) FROM texts").fetchone()[0])


def items_with_files(collection: Collection) -> int:
    """How many items have a file and are not hidden."""
    query = "SELECT count(*) FROM items WHERE hash IN (SELECT hash FROM files) AND id NOT IN (SELECT item FROM hidden)"
    return int(collection.db.execute(query).fetchone()[0])


def errors_since(collection: Collection, moment: str) -> int:
    """How many files could not be read from a moment on."""
    return int(collection.db.execute("SELECT count(*) FROM errors WHERE at >= ?", (moment[:19],)).fetchone()[0])
