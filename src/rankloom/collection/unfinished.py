"""Folders whose indexing was asked for and has not come to its end: known also after the process was killed."""

from __future__ import annotations

from collections.abc import Sequence

from rankloom.collection._meta import read_fact, write_fact
from rankloom.collection.collection import Collection

_KEY = "unfinished"


def unfinished_folders(collection: Collection) -> list[str]:
    """The folders; "" stands for all that are known."""
    return list(read_fact(collection, _KEY) or ())


def set_unfinished(collection: Collection, folders: Sequence[str]) -> None:
    """Remember these, each once; what is known already is not written again."""
    fresh = [*dict.fromkeys(folders)]
    if fresh != unfinished_folders(collection):
        with collection.transaction() as db:
            write_fact(db, _KEY, fresh)
