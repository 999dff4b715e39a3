"""Every change of what is searched or learned from is counted, whatever the clock says."""

import cv2
import pytest

from rankloom.collection import Collection, Mark, add_marks, index, undo_mark
from rankloom.collection._schema import MIGRATIONS, connect
from rankloom.collection.concepts import drop_concept, keep_concept
from rankloom.collection.contents import counters, state_of
from rankloom.collection.learning_settings import lock_weight
from rankloom.collection.models import use_model
from tests.archives import picture


@pytest.fixture
def collection(folder):
    with Collection(folder) as opened:
        yield opened


def test_a_file_that_goes_while_another_comes_back_is_a_change(collection, tmp_path):
    """Neither has a text: the counts of files, items and texts stay, and only another item is there."""
    place = tmp_path / "camera"
    place.mkdir()
    for number in (1, 2):
        cv2.imwrite(str(place / f"{number}.png"), picture((200, 30, 30), number))
    index(collection, [place], workers=0)
    (place / "2.png").rename(tmp_path / "away.png")
    index(collection, [place], workers=0)
    before, present = state_of(collection), collection.present().tolist()
    (tmp_path / "away.png").rename(place / "2.png")
    (place / "1.png").unlink()
    index(collection, [place], workers=0)
    assert collection.present().tolist() != present
    assert state_of(collection)._replace(changes=before.changes) == before  # the counts alone tell nothing
    assert state_of(collection) != before


def test_a_concept_is_known_by_its_detector_and_not_by_the_clock(collection):
    keep_concept(collection, "boat", '{"bias": 1}')
    keep_concept(collection, "house", '{"bias": 1}')
    with collection.transaction() as db:  # it was made while the clock was ahead
        db.execute("UPDATE concepts SET at = '2999-01-01T00:00:00.000000+00:00' WHERE name = 'boat'")
    before = state_of(collection)
    keep_concept(collection, "house", '{"bias": 2}')
    assert state_of(collection).concepts != before.concepts
    keep_concept(collection, "house", '{"bias": 1}')
    assert state_of(collection).concepts == before.concepts


def test_what_is_learned_from_is_counted_apart(collection):
    def changed(action):
        before = counters(collection)
        action()
        after = counters(collection)
        return after.contents > before.contents, after.learning > before.learning

    contents, learning, nothing = (True, False), (False, True), (False, False)
    assert changed(lambda: add_marks(collection, "boat", [Mark(1), Mark(2, 0.0)], query='{"text": "boat"}')) == learning
    assert changed(lambda: undo_mark(collection, 1)) == learning
    assert changed(lambda: lock_weight(collection, "hog.l1", 0.5)) == learning
    assert changed(lambda: use_model(collection, None)) == learning
    assert changed(lambda: keep_concept(collection, "boat", "{}")) == contents
    assert changed(lambda: drop_concept(collection, "boat")) == contents
    assert changed(lambda: collection.items()) == nothing


def test_a_collection_of_an_earlier_version_counts_from_now_on(tmp_path):
    place = tmp_path / "old"
    place.mkdir()
    with connect(place / "rankloom.db") as db:
        for migration in MIGRATIONS[:3]:
            db.executescript(migration)
        db.execute("PRAGMA user_version = 3")
    db.close()
    with Collection(place) as opened:
        before = counters(opened)
        keep_concept(opened, "boat", "{}")
        assert counters(opened) == before._replace(contents=before.contents + 1)


def test_a_collection_of_an_earlier_version_learns_the_names_of_its_files(tmp_path):
    place = tmp_path / "old"
    place.mkdir()
    names = ["IMG_4026.jpg", "old_bridge.png", ".hidden", "noExtension"]
    with connect(place / "rankloom.db") as db:
        for migration in MIGRATIONS[:7]:
            db.executescript(migration)
        db.execute("PRAGMA user_version = 7")
        for number, name in enumerate(names, 1):
            db.execute("INSERT INTO contents VALUES (?, 'picture', 1)", (name,))
            db.execute("INSERT INTO files VALUES (?, ?, 1, 1)", (f"/photos.2024/{name}", name))
            columns = "id, hash, width, height, phash, thumb_start, thumb_bytes"
            db.execute(f"INSERT INTO items ({columns}) VALUES (?, ?, 1, 1, 0, 0, 1)", (number, name))
        known = (2, "/photos.2024/old_bridge.png", "name", "old bridge")
        db.execute("INSERT INTO texts (item, path, source, text) VALUES (?, ?, ?, ?)", known)
    db.close()
    with Collection(place) as opened:
        rows = opened.db.execute("SELECT item, text FROM texts WHERE source = 'name' ORDER BY item").fetchall()
    assert rows == [(1, "IMG_4026"), (2, "old bridge"), (3, ".hidden"), (4, "noExtension")]
