"""People: faces in groups that the user may name, merge and split. Off unless the user wants it; all of it is local."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection._database import Database
from rankloom.collection._files import FACE_VECTORS
from rankloom.collection._readings import reread
from rankloom.collection.backup import backups
from rankloom.collection.collection import Collection
from rankloom.collection.damage import DATABASE
from rankloom.collection.derived import store_derived
from rankloom.collection.describing import DescriberSettings
from rankloom.collection.names import check_name
from rankloom.collection.readers import PEOPLE, READERS, active_readers, choose_readers, cure
from rankloom.collection.repair import REPLACED

ALIKE = 0.5  # the cosine to the mean of a group; of faces of two people on 500 photos, 0.2% are as near


class Person(NamedTuple):
    """A group of faces: its number, its name if it has one, and the faces, in the order in which they came."""

    id: int
    name: str | None
    faces: tuple[KnownFace, ...]


class KnownFace(NamedTuple):
    """A face by the number of its box, and the item that it is in."""

    box: int
    item: int


def is_on(collection: Collection) -> bool:
    """Whether faces are told apart."""
    return PEOPLE in active_readers(collection)


def missing() -> str | None:
    """What to run before faces can be told apart; None if nothing is missing."""
    return None if READERS[PEOPLE].installed else cure(PEOPLE)


def switch_on(collection: Collection) -> None:
    """Tell faces apart from now on; `index(reread=True)` does so for what is described already."""
    choose_readers(collection, {PEOPLE: True})


def read_people(
    collection: Collection,
    *,
    workers: int | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
    warn: Callable[[str, str], None] = lambda path, line: None,
) -> int:
    """Tell the faces apart of what was described before that was switched on, and nothing else; returns how many files.

    Parameters
    ----------
    collection : of which.
    workers : processes; None for one a core, 0 for none.
    progress : called with the number of files done, of all to do, and a text.
    warn : called with a path and why it could not be read.
    """
    count = os.cpu_count() or 1 if workers is None else workers
    with collection.indexing():
        settings = DescriberSettings((), readers=(PEOPLE,))
        read = reread(collection, settings, count, progress, warn)
        group_faces(collection)
        store_derived(collection)
    return read


def switch_off(collection: Collection, *, delete: bool = False) -> list[str]:
    """Tell no faces apart from now on; names and groups stay, unless all is to be deleted, in the backups too.

    Returns the backups and replaced databases that could not be cleaned.
    """
    choose_readers(collection, {PEOPLE: False})
    if not delete:
        return []
    with collection.indexing():
        with collection.store.erasing(collection.db, _ERASED), collection.transaction() as db:
            _erase(db)
        store_derived(collection)
    left = []
    replaced = (collection.folder / REPLACED).glob(f"*/{DATABASE}")
    for path in (*(copy.path for copy in backups(collection.folder)), *replaced):
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                db.execute("PRAGMA secure_delete = ON")
                if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'known_faces'").fetchone():
                    _erase(db)
        except sqlite3.Error:
            left.append(str(path.relative_to(collection.folder)))
    return left


_ERASED = ("known_faces", "people", "texts", "readings")


def _erase(db: Database) -> None:
    for table in ("known_faces", "people"):
        db.execute(f"DELETE FROM {table}")
    db.execute("DELETE FROM texts WHERE source = ?", (PEOPLE,))
    db.execute("DELETE FROM readings WHERE reader = ?", (PEOPLE,))


def people_of(collection: Collection) -> list[Person]:
    """The groups of items that have a file: those with a name by name, then the others, the largest first.

    A face that is near to no other is a group by itself, and is listed only if it has a name.
    """
    names = dict(collection.db.execute("SELECT id, name FROM people").fetchall())
    faces: dict[int, list[KnownFace]] = {number: [] for number in names}
    query = (
        "SELECT known_faces.person, boxes.number, boxes.item FROM known_faces JOIN boxes ON boxes.number = box"
        " JOIN items ON items.id = boxes.item WHERE items.hash IN (SELECT hash FROM files) ORDER BY box"
    )
    for person, box, item in collection.db.execute(query):
        if person in faces:
            faces[person].append(KnownFace(box, item))
    people = [Person(number, name, tuple(faces[number])) for number, name in names.items()]
    listed = [person for person in people if person.name is not None or len(person.faces) > 1]
    return sorted(listed, key=lambda person: (person.name is None, person.name or "", -len(person.faces), person.id))


def named_people(collection: Collection) -> dict[str, int]:
    """The people who have names, and how many items show each."""
    query = (
        "SELECT people.name, count(DISTINCT boxes.item) FROM people"
        " LEFT JOIN known_faces ON known_faces.person = people.id"
        " LEFT JOIN boxes ON boxes.number = known_faces.box WHERE people.name IS NOT NULL"
        " GROUP BY people.name ORDER BY people.name"
    )
    return dict(collection.db.execute(query).fetchall())


def face_picture(collection: Collection, box: int) -> bytes:
    """The small JPEG of a face."""
    row = collection.db.execute("SELECT jpeg FROM known_faces WHERE box = ?", (box,)).fetchone()
    if row is None:
        raise KeyError(f"there is no face {box}")
    return bytes(row[0])


def name_person(collection: Collection, person: int, name: str) -> None:
    """Give a person a name; an empty one takes it away. Items with a face of this person are found by it."""
    name = check_name(" ".join(name.split()), "a person") if name.strip() else ""
    with collection.transaction() as db:
        _existing(db, [person])
        same = db.execute("SELECT id FROM people WHERE name = ? AND id != ?", (name, person)).fetchone()
        if name and same is not None:
            raise ValueError(
                f"person {same[0]} has the name {name!r} already; make them one: "
                f"rankloom people merge {same[0]} {person}"
            )
        db.execute("UPDATE people SET name = ? WHERE id = ?", (name or None, person))
        _write_names(db)
    store_derived(collection)


def merge_people(collection: Collection, into: int, others: Sequence[int]) -> None:
    """Make several groups one: that of the first, with its name or else the first name among the others."""
    others = [number for number in dict.fromkeys(others) if number != into]
    if not others:
        raise ValueError("name at least two people to merge")
    with collection.transaction() as db:
        names = _existing(db, [into, *others])
        inside = "IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        db.execute(f"UPDATE known_faces SET person = ? WHERE person {inside}", (into, json.dumps(others)))
        db.execute(f"DELETE FROM people WHERE id {inside}", (json.dumps(others),))
        name = next((names[number] for number in (into, *others) if names[number] is not None), None)
        db.execute("UPDATE people SET name = ? WHERE id = ?", (name, into))
        _write_names(db)
    store_derived(collection)


def split_person(collection: Collection, person: int, boxes: Sequence[int]) -> int:
    """Take faces out of a group into a new one; returns its number."""
    with collection.transaction() as db:
        _existing(db, [person])
        inside = {box for (box,) in db.execute("SELECT box FROM known_faces WHERE person = ?", (person,))}
        wrong = next((box for box in boxes if box not in inside), None)
        if wrong is not None:
            raise ValueError(f"face {wrong} is not one of person {person}")
        if not boxes or len(set(boxes)) == len(inside):
            raise ValueError("name some of the faces, but not all: the others stay")
        new = int(db.execute("INSERT INTO people (name) VALUES (NULL)").lastrowid or 0)
        db.executemany("UPDATE known_faces SET person = ? WHERE box = ?", [(new, box) for box in boxes])
        _write_names(db)
    store_derived(collection)
    return new


def _existing(db: Database, numbers: Sequence[int]) -> dict[int, str | None]:
    """The names of people by number; a KeyError for one that is not there."""
    names: dict[int, str | None] = dict(db.execute("SELECT id, name FROM people").fetchall())
    missing = next((number for number in numbers if number not in names), None)
    if missing is not None:
        raise KeyError(f"there is no person {missing}; list them with: rankloom people list")
    return names


def group_faces(collection: Collection) -> int:
    """Give new faces to the nearest group, or make one of each that is near to none; returns how many were new.

    Faces come in the order of their numbers, so the same faces make the same groups. Two faces of an item are never of
    one person. What people named, merged and split stays as it is.
    """
    query = (
        "SELECT box, boxes.item, vector FROM known_faces JOIN boxes ON boxes.number = box WHERE person {} ORDER BY box"
    )
    fresh = collection.db.execute(query.format("IS NULL")).fetchall()
    if not fresh:
        return 0
    groups = _Groups()
    known = query.replace("SELECT box", "SELECT person").format("IS NOT NULL")
    for person, item, vector in collection.db.execute(known):
        groups.add(person, item, _vector(vector))
    with collection.transaction() as db:
        for box, item, blob in fresh:
            vector = _vector(blob)
            person = groups.nearest(item, vector)
            if person is None:
                person = int(db.execute("INSERT INTO people (name) VALUES (NULL)").lastrowid or 0)
            groups.add(person, item, vector)
            db.execute("UPDATE known_faces SET person = ? WHERE box = ?", (person, box))
        _write_names(db)
    return len(fresh)


def _vector(blob: bytes) -> NDArray[np.float32]:
    return np.frombuffer(blob, FACE_VECTORS).astype(np.float32)


class _Groups:
    """Sums of the vectors of groups; the nearest is the one with the largest cosine."""

    def __init__(self) -> None:
        self._people: list[int] = []
        self._places: dict[int, int] = {}
        self._items: dict[int, set[int]] = {}
        self._sums = np.zeros((64, 0), np.float32)

    def add(self, person: int, item: int, vector: NDArray[np.float32]) -> None:
        if not self._sums.shape[1]:
            self._sums = np.zeros((64, len(vector)), np.float32)
        place = self._places.setdefault(person, len(self._people))
        if place == len(self._people):
            self._people.append(person)
            if place == len(self._sums):
                self._sums = np.vstack([self._sums, np.zeros_like(self._sums)])
        self._sums[place] += vector
        self._items.setdefault(person, set()).add(item)

    def nearest(self, item: int, vector: NDArray[np.float32]) -> int | None:
        sums = self._sums[: len(self._people)]
        if not len(sums):
            return None
        cosines = sums @ vector / np.maximum(np.linalg.norm(sums, axis=1), 1e-12)
        order = np.argsort(-cosines, kind="stable")[:8]
        near = [self._people[int(place)] for place in order if cosines[place] >= ALIKE]
        return next((person for person in near if item not in self._items[person]), None)


def _write_names(db: Database) -> None:
    """Bring the texts of the source "people" in line with the names; those that are right stay."""
    query = (
        "SELECT DISTINCT boxes.item, people.name FROM known_faces JOIN boxes ON boxes.number = known_faces.box"
        " JOIN people ON people.id = known_faces.person WHERE people.name IS NOT NULL ORDER BY 1, 2"
    )
    wanted = dict.fromkeys(db.execute(query).fetchall())
    present = db.execute("SELECT item, text, number FROM texts WHERE source = ?", (PEOPLE,)).fetchall()
    obsolete = [(number,) for item, text, number in present if (item, text) not in wanted]
    db.executemany("DELETE FROM texts WHERE number = ?", obsolete)
    there = {(item, text) for item, text, _ in present}
    rows = [(item, PEOPLE, name) for item, name in wanted if (item, name) not in there]
    db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, '', ?, ?)", rows)
