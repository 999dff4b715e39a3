"""Storing what readers found in contents, and reading contents again that were described without a reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os.path import basename

from rankloom.collection._database import Database
from rankloom.collection._pool import Workers, at_most, run_in_order
from rankloom.collection._reading import Box, FaceKey
from rankloom.collection.collection import Collection
from rankloom.collection.describing import (
    DescribedFile,
    DescribedItem,
    DescriberSettings,
    describe_file,
    prepare_worker,
)
from rankloom.collection.readers import FACES, OCR, PEOPLE, READERS, SPEECH, unread_contents

_KINDS = {OCR: "ocr", FACES: "face", PEOPLE: "face"}  # of boxes, by reader


def store_boxes(db: Database, item: int, boxes: Sequence[Box], people: Mapping[int, FaceKey]) -> None:
    """Add the boxes of an item, and what tells its faces apart, by their places among the boxes."""
    columns = 'item, kind, "left", top, width, height, score, text, time'
    for place, box in enumerate(boxes):
        values = (item, *box)
        number = db.execute(f"INSERT INTO boxes ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values).lastrowid
        if place in people:
            db.execute("INSERT OR REPLACE INTO known_faces VALUES (?, ?, ?, NULL)", (number, *people[place]))


def store_readings(db: Database, file: DescribedFile) -> None:
    """Enter which readers have read a content, and what is said in it."""
    versions = [(file.hash, name, READERS[name].version) for name in file.read]
    db.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?)", versions)
    cues = [(file.hash, *cue) for cue in file.speech]
    db.executemany('INSERT INTO cues (hash, start, "end", text) VALUES (?, ?, ?, ?)', cues)


def reread(
    collection: Collection,
    settings: DescriberSettings,
    workers: Workers,
    progress: Callable[[int, int, str], None],
    warn: Callable[[str, str], None],
) -> int:
    """Read contents that a reader of the settings has not read; returns how many were. Each is stored by itself.

    Parameters
    ----------
    collection : of which.
    settings : with the readers.
    workers : processes; 0 for none.
    progress : called with the number of contents done, of all to do, and a text.
    warn : called with a path and what could not be read.
    """
    unread = unread_contents(collection, settings.readers)
    if not unread:
        return 0
    chosen = replace(settings, descriptors=(), tags=False)
    results = run_in_order(
        describe_file, [(content.path,) for content in unread], workers=at_most(workers, len(unread)),
        prepare=prepare_worker, settings=chosen, failed=lambda task, why: why,
        watch=lambda doing: progress(done, len(unread), doing),
    )  # fmt: skip
    done = count = 0
    for done, (content, described) in enumerate(zip(unread, results, strict=True), 1):
        if isinstance(described, str):
            warn(content.path, described)
        elif described.error is not None or described.hash != content.hash:
            warn(content.path, described.error or "it has changed; rankloom index describes it again")
        else:
            read = [name for name in described.read if name in content.readers]
            said = described.speech if SPEECH in read else []
            count += _replace(collection, replace(described, read=read, speech=said))
            for line in described.warnings:
                warn(content.path, line)
        progress(done, len(unread), f"reading again: {basename(content.path)}")
    return count


def _replace(collection: Collection, file: DescribedFile) -> bool:
    """Put what was read now in the place of what was read before; not if a video was cut into other shots."""
    items = file.items or []
    ids = [row[0] for row in collection.db.execute("SELECT id FROM items WHERE hash = ? ORDER BY id", (file.hash,))]
    if len(ids) != len(items):
        return False
    with collection.transaction() as db:
        if SPEECH in file.read:
            db.execute("DELETE FROM cues WHERE hash = ?", (file.hash,))
        for number, item in zip(ids, items, strict=True):
            _replace_item(db, number, item, file.read)
        store_readings(db, file)
    return True


def _replace_item(db: Database, number: int, item: DescribedItem, read: Sequence[str]) -> None:
    for name in read:
        if name in _KINDS:
            if name != OCR:
                db.execute("DELETE FROM known_faces WHERE box IN (SELECT number FROM boxes WHERE item = ?)", (number,))
            db.execute("DELETE FROM boxes WHERE item = ? AND kind = ?", (number, _KINDS[name]))
        if name in (OCR, SPEECH):
            db.execute("DELETE FROM texts WHERE item = ? AND path = '' AND source = ?", (number, name))
            texts = [(number, source, text) for text, source in item.texts if source == name]
            db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, '', ?, ?)", texts)
    if FACES in read:
        db.execute("UPDATE items SET faces = ? WHERE id = ?", (item.faces, number))
    kinds = [_KINDS[name] for name in read if name in _KINDS]
    store_boxes(db, number, [box for box in item.boxes if box.kind in kinds], item.people if "face" in kinds else {})
