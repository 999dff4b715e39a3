"""What people marked and saved under a name, and how the owner of a collection takes it over."""

import json

import pytest

from rankloom.collection import Collection, Mark, add_marks
from rankloom.collection.interleavings import add_session, sessions
from rankloom.collection.marks import judgements, marks, undone_since
from rankloom.collection.profiles import adopt, profiles
from rankloom.collection.query import Query
from rankloom.collection.saved import save_search, saved_searches


@pytest.fixture
def collection(tmp_path):
    """A collection with items of which only the numbers matter."""
    with Collection(tmp_path / "c", create=True) as opened:
        with opened.transaction() as db:
            db.execute("INSERT INTO contents VALUES ('h', 'picture', 1)")
            rows = [(number, "h") for number in range(1, 10)]
            db.executemany("INSERT INTO items VALUES (?, ?, NULL, NULL, NULL, 9, 9, NULL, NULL, 0, 0, 0)", rows)
        yield opened


def test_marks_are_taken_over_once_in_their_order(collection):
    add_marks(collection, "boat", [Mark(1), Mark(2)])
    add_marks(collection, "boat", [Mark(2, 0.0), Mark(3), Mark(5, 1.0, over=4)], "phone", shown=[6, 7, 3])
    add_marks(collection, "sea", [Mark(8)], "phone")
    add_marks(collection, "boat", [Mark(3, 0.0), Mark(5)])  # what the owner said last counts
    add_marks(collection, "boat", [Mark(9)], "anna")
    before = marks(collection, user="phone")
    assert profiles(collection) == [("anna", 1, 0), ("phone", 4, 0)]
    assert adopt(collection, "phone") == (3, 1, 0)
    taken = marks(collection, user="")[4:]
    expected = [mark for mark in before if (mark.qid, mark.item) != ("boat", 3)]
    assert [mark[1:6] for mark in taken] == [mark[1:6] for mark in expected]
    assert [mark.at for mark in taken] == [mark.at for mark in expected]
    assert marks(collection, user="phone") == []
    assert undone_since(collection, 0)[1] == [mark.id for mark in before]
    grades = {(mark.qid, mark.item): mark.grade for mark in judgements(collection, "")}
    assert grades == {("boat", 1): 1, ("boat", 2): 0, ("boat", 3): 0, ("boat", 5): 1, ("sea", 8): 1}
    assert profiles(collection) == [("anna", 1, 0)]


def test_saved_searches_and_sessions_are_taken_over(collection):
    save_search(collection, "boats", Query("boat"))
    for name, text in (("boats", "ship"), ("same", "sea"), ("sky", "cloud")):
        save_search(collection, name, Query(text), "phone")
    save_search(collection, "same", Query("sea"))
    add_session(collection, "boat", "phone", (None, 1), {1: 0})
    assert adopt(collection, "phone") == (0, 0, 3)
    found = {search.name: search.query.text for search in saved_searches(collection)}
    assert found == {"boats": "boat", "boats 2": "ship", "same": "sea", "sky": "cloud"}
    assert [session.user for session in sessions(collection)] == [""]
    assert profiles(collection) == []


@pytest.mark.parametrize("name", ["", "nobody"])
def test_only_a_profile_is_taken_over(collection, name):
    add_marks(collection, "boat", [Mark(1)], query=json.dumps({"text": "boat"}))
    add_marks(collection, "boat", [Mark(2)], "anna")
    with pytest.raises(ValueError, match=f"no profile '{name}' has marks or saved searches; known are anna"):
        adopt(collection, name)
    assert [mark.user for mark in marks(collection)] == ["", "anna"]
