"""Folders are found by their names as people type them, also those that were indexed before such names were stored."""

from __future__ import annotations

import pytest
from PIL import Image

from rankloom.collection import Collection, index
from rankloom.collection._folder_names import _FACT
from rankloom.collection.query import Query
from rankloom.engine import Engine

FOLDERS = {"iphone": "iPhone", "whatsapp": "WhatsApp Images", "100apple": "DCIM/100APPLE"}


def found(collection, words):
    """Return the names of the files whose texts have the words."""
    results = Engine(collection).search(Query(text=words), 10)
    return [hit.path.rsplit("/", 1)[1] for hit in results if hit.literal]


@pytest.fixture
def collection(tmp_path):
    for number, folder in enumerate(FOLDERS.values()):
        (tmp_path / "p" / folder).mkdir(parents=True)
        Image.new("RGB", (40, 30), (80 * number, 200, 30)).save(tmp_path / "p" / folder / f"{number}.png")
    with Collection(tmp_path / "c", create=True) as made:
        index(made, [tmp_path / "p"], preset="fast", workers=0, ocr=False, speech=False)
        yield made


@pytest.mark.parametrize("earlier", [False, True])
def test_folders_are_found_as_typed(collection, earlier):
    if earlier:
        with collection.transaction() as db:
            db.execute("DELETE FROM texts WHERE source = 'folder' AND text NOT LIKE '% %' AND text != 'DCIM'")
            db.execute("DELETE FROM texts WHERE source = 'folder' AND text = 'WhatsApp Images'")
            db.execute("DELETE FROM meta WHERE key = ?", (_FACT,))
        assert found(collection, "iphone") == found(collection, "whatsapp") == []
        index(collection, workers=0)
    n = collection.db.execute("SELECT count(*) FROM texts").fetchone()
    for number, (words, folder) in enumerate(FOLDERS.items()):
        assert found(collection, words) == [f"{number}.png"]
        assert found(collection, folder.split("/")[-1]) == [f"{number}.png"]
    assert found(collection, "whats app") == ["1.png"]
    index(collection, workers=0)
    assert collection.db.execute("SELECT count(*) FROM texts").fetchone() == n
