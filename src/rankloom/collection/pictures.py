"""Pictures that are examples of queries but no items; they are kept, so that a query can be asked again."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection._database import Database
from rankloom.collection.collection import Collection
from rankloom.collection.marks import now
from rankloom.experts.compact import CompactVectors


class KeptPicture(NamedTuple):
    """The vectors that are still of the collection's descriptors, the number of faces, and the picture as a JPEG."""

    vectors: dict[str, NDArray[Any]]
    faces: float
    jpeg: bytes


class UploadLimits(NamedTuple):
    """How long pictures are kept that no mark and no saved search uses, and how many.

    Parameters
    ----------
    days : since they were last sent.
    of_one : those of one user; for a new one the oldest goes.
    in_all : those of all users.
    """

    days: float = 30.0
    of_one: int = 200
    in_all: int = 2000


def has_picture(collection: Collection, key: str) -> bool:
    """Whether a picture is kept."""
    return collection.db.execute("SELECT 1 FROM pictures WHERE key = ?", (key,)).fetchone() is not None


def keep_picture(
    collection: Collection, key: str, vectors: Mapping[str, NDArray[Any]], faces: float, jpeg: bytes
) -> None:
    """Keep a picture by its key."""
    versions = _versions(collection)
    packed = {
        name: {
            "version": versions[name],
            "row": base64.b64encode(CompactVectors.of(vector[None]).rows.tobytes()).decode(),
        }
        for name, vector in vectors.items()
    }
    with collection.transaction() as db:
        row = (key, json.dumps({"vectors": packed, "faces": faces}).encode(), jpeg, now())
        db.execute("INSERT OR IGNORE INTO pictures VALUES (?, ?, ?, ?)", row)


def record_upload(collection: Collection, key: str, user: str, limits: UploadLimits) -> None:
    """Note that a user sent a picture, and forget those that are too old or too many.

    Parameters
    ----------
    collection : where the picture is kept.
    key : its key.
    user : who sent it.
    limits : for pictures that are not used; what marks and saved searches are about stays.
    """
    at = now()
    oldest = (datetime.fromisoformat(at) - timedelta(days=limits.days)).isoformat(timespec="microseconds")
    with collection.transaction() as db:
        unused = _unused(db)
        notes = {_Note(user, key): at} if key in unused else {}
        for note, time in _notes(db):
            if note.picture in unused:
                notes.setdefault(note, time)
        # Pictures of earlier versions, or whose search is no more saved, have a time from now on.
        notes.update({_Note("", picture): at for picture in unused - {note.picture for note in notes}})
        kept = _within(notes, limits, oldest)
        db.execute("DELETE FROM meta WHERE key >= ? AND key < ?", _NOTES)
        db.executemany("INSERT INTO meta VALUES (?, ?)", [(note.key, time) for note, time in kept.items()])
        gone = unused - {note.picture for note in kept}
        db.executemany("DELETE FROM pictures WHERE key = ?", [(picture,) for picture in gone])


class _Note(NamedTuple):
    """Who sent a picture; a row of `meta` says when."""

    user: str
    picture: str

    @property
    def key(self) -> str:
        return f"upload {self.user} {self.picture}"


_NOTES = ("upload ", "upload!")  # all keys of notes lie between


def _notes(db: Database) -> Iterator[tuple[_Note, str]]:
    for key, at in db.execute("SELECT key, value FROM meta WHERE key >= ? AND key < ?", _NOTES).fetchall():
        _, user, picture = key.split(" ", 2)
        yield _Note(user, picture), at


def _unused(db: Database) -> set[str]:
    """The pictures that no query with marks, no saved search and no album has as an example."""
    tables = " UNION ALL ".join(f"SELECT query FROM {name}" for name in ("queries", "saved", "albums"))
    queries = db.execute(f"SELECT query FROM ({tables}) AS kept WHERE query LIKE '%\"picture\"%'")
    keys = {key for (key,) in db.execute("SELECT key FROM pictures")}
    return keys - {example.get("picture") for (text,) in queries for example in json.loads(text).get("examples", ())}


def _within(notes: Mapping[_Note, str], limits: UploadLimits, oldest: str) -> dict[_Note, str]:
    """The notes within limits, the newest first."""
    kept: dict[_Note, str] = {}
    users: Counter[str] = Counter()
    pictures: set[str] = set()
    for note, at in sorted(notes.items(), key=lambda pair: pair[1], reverse=True):
        full = len(pictures) >= limits.in_all and note.picture not in pictures
        if at >= oldest and users[note.user] < limits.of_one and not full:
            kept[note] = at
            users[note.user] += 1
            pictures.add(note.picture)
    return kept


def kept_picture(collection: Collection, key: str) -> KeptPicture:
    """A kept picture."""
    row = collection.db.execute("SELECT vectors, thumbnail FROM pictures WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise ValueError(f"there is no picture {key}; give it again")
    versions, stored = _versions(collection), json.loads(row[0])
    vectors = {
        name: _unpacked(packed) for name, packed in stored["vectors"].items() if versions.get(name) == packed["version"]
    }
    return KeptPicture(vectors, float(stored["faces"]), bytes(row[1]))


def _unpacked(packed: Mapping[str, str]) -> NDArray[np.float32]:
    """A vector that is kept as a stored row, or, by earlier versions, in half precision."""
    if "row" in packed:
        return CompactVectors(np.frombuffer(base64.b64decode(packed["row"]), np.uint8)[None])[0]
    return np.frombuffer(base64.b64decode(packed["vector"]), dtype="<f2").astype(np.float32)


def _versions(collection: Collection) -> dict[str, str]:
    return {descriptor.name: descriptor.version for descriptor in collection.descriptors()}
