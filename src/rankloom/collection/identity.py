"""What tells a collection from every other one, so that nobody takes the items of one for those of another."""

from __future__ import annotations

import json
import os
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING

from rankloom.collection._database import Database

if TYPE_CHECKING:
    from rankloom.collection.collection import Collection

_KEY = "id"
_FIRST = 100  # items that stand for a collection without an id
_SPREAD = 1000  # items that stand for all of them


def make_id(db: Database) -> None:
    """Give a collection its id, unless it has one."""
    if db.execute("SELECT 1 FROM meta WHERE key = ?", (_KEY,)).fetchone() is not None:
        return
    db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (_KEY, secrets.token_hex(16)))


def drop_id(db: Database) -> None:
    """Let a rebuilt database get a new id: the numbers of its items may not mean what they meant."""
    db.execute("DELETE FROM meta WHERE key = ?", (_KEY,))


def collection_id(collection: Collection) -> str:
    """16 hexadecimal digits that another collection, or a copy in another folder, does not have.

    One that never got an id, on a medium that cannot be written, is known by its first items.
    """
    row = collection.db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    if row is None:
        row = collection.db.execute("SELECT hash FROM items ORDER BY id LIMIT ?", (_FIRST,)).fetchall()
    return sha256(f"{os.path.realpath(collection.folder)}\n{row}".encode("utf-8", "surrogateescape")).hexdigest()[:16]


def items_fingerprint(collection: Collection, n_items: int) -> str:
    """What stands for the first items of a collection: the contents of up to 1,000 of them, evenly spread, and its id.

    A copy in another folder has the same; one that went on differently from there, or was rebuilt, has not.
    """
    step = max(1, n_items // _SPREAD)
    ids = json.dumps([*range(1, n_items + 1, step), n_items])
    query = "SELECT id, hash FROM items WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY id"
    contents = collection.db.execute(query, (ids,)).fetchall()
    row = collection.db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return sha256(f"{n_items}\n{row}\n{contents}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
