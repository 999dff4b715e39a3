"""Folder names as people type them, for files that were indexed when only their words were stored."""

from __future__ import annotations

import os
from itertools import groupby
from operator import itemgetter

from rankloom.collection._meta import read_fact, write_fact
from rankloom.collection.collection import Collection
from rankloom.media.names import texts_of_folder

_FACT = "folder names as typed"
_ADD = """
    INSERT INTO texts (item, path, source, text)
    SELECT DISTINCT item, path, source, CAST(? AS TEXT) FROM texts WHERE path = ? AND source = 'folder' AND text = ?
"""


def add_folder_names(collection: Collection) -> None:
    """Add the names of folders such as "iPhone", stored as "i Phone", as they are typed; once per collection."""
    if read_fact(collection, _FACT):
        return
    rows = collection.db.execute(
        "SELECT DISTINCT path, text FROM texts WHERE source = 'folder' ORDER BY path"
    ).fetchall()
    with collection.transaction() as db:
        for path, texts in groupby(rows, itemgetter(0)):
            stored = {text for _, text in texts}
            for name in os.path.dirname(path).split(os.sep):
                match texts_of_folder(name):
                    case [words, typed] if words in stored and typed not in stored:
                        db.execute(_ADD, (typed, path, words))
        write_fact(db, _FACT, True)
