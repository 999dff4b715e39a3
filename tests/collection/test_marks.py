"""The log of marks: what was shown is kept once a request, and not more of it than learning needs."""

import json

import pytest

from rankloom.collection import Collection, Mark, add_marks, undo_mark
from rankloom.collection._schema import MIGRATIONS, connect
from rankloom.collection.marks import MOST_SHOWN, asked_of, marked_before, marks


@pytest.fixture
def collection(tmp_path):
    """A collection with items of which only the numbers matter."""
    with Collection(tmp_path / "c", create=True) as opened:
        with opened.transaction() as db:
            fill(db)
        yield opened


def fill(db, count=500):
    db.execute("INSERT INTO contents VALUES ('h', 'picture', 1)")
    rows = [(number, "h") for number in range(1, count + 1)]
    db.executemany("INSERT INTO items VALUES (?, ?, NULL, NULL, NULL, 9, 9, NULL, NULL, 0, 0, 0)", rows)


def test_what_is_above_a_right_mark_was_skipped(collection):
    given = [Mark(7), Mark(3, 0.0), Mark(9, 1.0, over=3), Mark(5), Mark(400), Mark(4)]
    add_marks(collection, "boat", given, shown=[4, 5, 3, 7, 9])
    skipped = {mark.item: mark.skipped for mark in marks(collection)}
    assert skipped == {7: (4, 5, 3), 3: (), 9: (), 5: (4,), 400: (), 4: ()}


def test_a_long_list_is_kept_once_and_cut(collection):
    shown = list(range(500, 0, -1))
    before = stored_bytes(collection)
    add_marks(collection, "boat", [Mark(item) for item in shown], shown=shown)
    stored = marks(collection)
    assert [len(mark.skipped) for mark in stored] == [min(place, MOST_SHOWN) for place in range(500)]
    assert stored[-1].skipped == tuple(shown[:MOST_SHOWN])
    assert stored_bytes(collection) - before < 100 * len(shown)


def stored_bytes(collection):
    (shown,) = collection.db.execute("SELECT coalesce(sum(length(items)), 0) FROM shown").fetchone()
    (own,) = collection.db.execute("SELECT coalesce(sum(length(skipped)), 0) FROM qrels").fetchone()
    return shown + own


def test_marks_of_earlier_versions_keep_what_they_skipped(tmp_path):
    """The lists of that time were as long as what was shown."""
    place = tmp_path / "old"
    place.mkdir()
    lists = ["[4, 5]", None, json.dumps(list(range(1, 301)))]
    with connect(place / "rankloom.db") as db:
        for migration in MIGRATIONS[:4]:
            db.executescript(migration)
        db.execute("BEGIN")
        fill(db)
        for skipped in lists:
            db.execute(
                "INSERT INTO qrels (qid, item, grade, user, at, skipped) VALUES ('q', 9, 1, '', '', ?)", (skipped,)
            )
        db.execute("PRAGMA user_version = 4")
    db.close()
    with Collection(place) as opened:
        assert [mark.skipped for mark in marks(opened)] == [(4, 5), (), tuple(range(1, MOST_SHOWN + 1))]


def test_queries_of_the_log_are_read_together(collection):
    for number, text in enumerate(("boat", "sea", "boat", "sky")):
        query = None if text == "sky" else json.dumps({"text": text, "examples": [{"item": 3}]})
        add_marks(collection, text, [Mark(number + 1)], user=f"user {number}", query=query)
    undo_mark(collection, 2)
    names = ["boat", "sea", "sky", "nobody asked"]
    assert {qid: query.text for qid, query in asked_of(collection, names).items()} == {"boat": "boat", "sea": "sea"}
    assert [marked_before(collection, names, mark) for mark in (1, 2, 5)] == [set(), {"boat"}, {"boat", "sea", "sky"}]
