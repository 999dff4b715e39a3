"""What the owner says of items: captions, tags, stars, and what is hidden. Files stay as they are."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rankloom.collection._database import Database
from rankloom.collection._texts import OWN_CAPTION, OWN_TAG
from rankloom.collection.collection import Collection
from rankloom.collection.marks import now

MOST_STARS = 5
LONGEST_CAPTION, LONGEST_TAG = 5000, 100
MOST_TAGS = 100  # of an item


class Notes(NamedTuple):
    """What the owner says of an item."""

    caption: str = ""
    tags: tuple[str, ...] = ()
    stars: int = 0
    hidden: bool = False


class TagCount(NamedTuple):
    """A tag of the owner, and how many items have it."""

    tag: str
    size: int


def check_items(db: Database, items: Sequence[int]) -> list[int]:
    """Items without repetition, in their order; an error if one does not exist."""
    wanted = [*dict.fromkeys(int(item) for item in items)]
    query = "SELECT id FROM items WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    known = {number for (number,) in db.execute(query, (json.dumps(wanted),)).fetchall()}
    missing = next((item for item in wanted if item not in known), None)
    if missing is not None:
        raise KeyError(f"there is no item {missing}")
    return wanted


def rate(collection: Collection, items: Sequence[int], stars: int) -> None:
    """Give items so many stars; 0 takes them away."""
    if not 0 <= stars <= MOST_STARS:
        raise ValueError(f"stars are from 0 to {MOST_STARS}, got {stars}")
    with collection.transaction() as db:
        rows = [(item, stars) for item in check_items(db, items)]
        if stars:
            db.executemany("INSERT OR REPLACE INTO ratings VALUES (?, ?)", rows)
        else:
            db.executemany("DELETE FROM ratings WHERE item = ? AND ? = 0", rows)


def hide(collection: Collection, items: Sequence[int], hidden: bool = True) -> None:
    """Leave items out of searches and lists, or show them again."""
    with collection.transaction() as db:
        wanted = check_items(db, items)
        if hidden:
            db.executemany("INSERT OR IGNORE INTO hidden VALUES (?, ?)", [(item, now()) for item in wanted])
        else:
            db.executemany("DELETE FROM hidden WHERE item = ?", [(item,) for item in wanted])


def set_caption(collection: Collection, item: int, caption: str) -> None:
    """Write the owner's caption of an item; an empty one takes it away. It is searched like any other text."""
    text = caption.strip()
    if len(text) > LONGEST_CAPTION:
        raise ValueError(f"a caption has at most {LONGEST_CAPTION:,} letters, got {len(text):,}")
    with collection.transaction() as db:
        check_items(db, [item])
        _write_caption(db, item, text)


def _write_caption(db: Database, item: int, text: str) -> None:
    rows = db.execute("SELECT text FROM texts WHERE item = ? AND source = ?", (item, OWN_CAPTION)).fetchall()
    if rows == ([(text,)] if text else []):
        return
    db.execute("DELETE FROM texts WHERE item = ? AND source = ?", (item, OWN_CAPTION))
    if text:
        db.execute("INSERT INTO texts (item, path, source, text) VALUES (?, '', ?, ?)", (item, OWN_CAPTION, text))


def clean_tag(text: str) -> str:
    """A tag in one line without needless blanks, or a ValueError.

    >>> clean_tag("  my   garden ")
    'my garden'
    """
    tag = " ".join(unicodedata.normalize("NFC", text).split())
    if not tag or not tag.isprintable():
        raise ValueError(f"a tag is a word or some, in one line; got {text[:LONGEST_TAG]!r}")
    if len(tag) > LONGEST_TAG:
        raise ValueError(f"a tag has at most {LONGEST_TAG} letters, got {len(tag)}")
    return tag


def change_tags(
    collection: Collection, items: Sequence[int], add: Iterable[str] = (), remove: Iterable[str] = ()
) -> None:
    """Give items tags, and take some away; capitals make no difference between tags."""
    fresh = {tag.casefold(): tag for tag in map(clean_tag, add)}
    gone = {clean_tag(tag).casefold() for tag in remove}
    with collection.transaction() as db:
        for item in check_items(db, items):
            query = "SELECT number, text FROM texts WHERE item = ? AND source = ?"
            present = db.execute(query, (item, OWN_TAG)).fetchall()
            kept = {tag.casefold() for _, tag in present} - gone
            numbers = [(number,) for number, tag in present if tag.casefold() in gone]
            new = [tag for key, tag in fresh.items() if key not in kept and key not in gone]
            if len(kept) + len(new) > MOST_TAGS:
                raise ValueError(f"item {item} would have more than {MOST_TAGS} tags; take some away first")
            db.executemany("DELETE FROM texts WHERE number = ?", numbers)
            rows = [(item, OWN_TAG, tag) for tag in new]
            db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, '', ?, ?)", rows)


def tag_counts(collection: Collection) -> list[TagCount]:
    """All tags of the owner, by name."""
    query = (
        "SELECT min(text), count(DISTINCT item) FROM texts WHERE source = ? GROUP BY lower(text) ORDER BY lower(text)"
    )
    return [TagCount(*row) for row in collection.db.execute(query, (OWN_TAG,)).fetchall()]


def notes_of(collection: Collection, items: Iterable[int]) -> dict[int, Notes]:
    """What the owner says of items; those of which nothing is said are left out."""
    wanted = json.dumps([*items])
    inside = "item IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    notes: dict[int, Notes] = {}
    texts = f"SELECT item, source, text FROM texts WHERE {inside} AND source IN (?, ?) ORDER BY number"
    for item, source, text in collection.db.execute(texts, (wanted, OWN_CAPTION, OWN_TAG)).fetchall():
        note = notes.get(item, Notes())
        change = {"caption": text} if source == OWN_CAPTION else {"tags": (*note.tags, text)}
        notes[item] = note._replace(**change)
    for item, stars in collection.db.execute(f"SELECT item, stars FROM ratings WHERE {inside}", (wanted,)).fetchall():
        notes[item] = notes.get(item, Notes())._replace(stars=stars)
    for (item,) in collection.db.execute(f"SELECT item FROM hidden WHERE {inside}", (wanted,)).fetchall():
        notes[item] = notes.get(item, Notes())._replace(hidden=True)
    return notes


def noted_items(collection: Collection) -> list[int]:
    """The items that have a file, and a caption, tags or stars of the owner."""
    rows = collection.db.execute(
        "SELECT id FROM items WHERE hash IN (SELECT hash FROM files) AND id IN ("
        " SELECT item FROM texts WHERE source IN (?, ?) UNION SELECT item FROM ratings) ORDER BY id",
        (OWN_CAPTION, OWN_TAG),
    )
    return [item for (item,) in rows.fetchall()]
