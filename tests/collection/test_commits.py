"""Small changes that wait for each other share a commit."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from rankloom.collection import Collection
from rankloom.collection._commits import GroupCommit
from tests.waiting import LONG, wait_until

OTHERS = 6


@pytest.fixture
def collection(tmp_path):
    with Collection(tmp_path / "c", create=True) as opened:
        with opened.transaction() as db:
            db.execute("CREATE TABLE said (word TEXT UNIQUE)")
        yield opened


def said(collection):
    return sorted(word for (word,) in collection.db.execute("SELECT word FROM said"))


def saying(word):
    def change(db):
        db.execute("INSERT INTO said VALUES (?)", (word,))
        if word.startswith("bad"):
            raise KeyError(word)
        return word

    return change


class Held:
    """Transactions of a collection, the first of which is held until all others wait for it."""

    def __init__(self, collection):
        self.collection, self.count = collection, 0
        self.began, self.go_on = threading.Event(), threading.Event()

    @contextmanager
    def __call__(self):
        self.count += 1
        if self.count == 1:
            self.began.set()
            assert self.go_on.wait(LONG)
        with self.collection.transaction() as db:
            yield db


def together(held, words):
    """What becomes of changes that come while another is written."""
    group = GroupCommit(held)

    def run(word):
        try:
            return group.run(saying(word))
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(words) + 1) as threads:
        first = threads.submit(run, "first")
        assert held.began.wait(LONG)
        others = [threads.submit(run, word) for word in words]
        wait_until(lambda: len(group._waiting) >= len(words), pause=0.001)
        held.go_on.set()
        assert first.result() == "first"
        return [other.result() for other in others]


def test_changes_that_wait_are_written_at_once(collection):
    held, words = Held(collection), [f"word {n}" for n in range(OTHERS)]
    assert together(held, words) == words
    assert held.count == 2
    assert said(collection) == ["first", *words]


def test_a_change_that_fails_is_taken_back_alone(collection):
    results = together(Held(collection), ["one", "bad", "two", "one"])
    assert results[0] == "one"
    assert results[2] == "two"
    assert repr(results[1]) == "KeyError('bad')"
    assert "unique" in str(results[3]).lower()  # by the database itself
    assert said(collection) == ["first", "one", "two"]


def test_a_change_by_itself_raises_and_leaves_nothing(collection):
    with pytest.raises(KeyError, match="bad"):
        collection.write(saying("bad"))
    assert collection.write(saying("good")) == "good"
    assert said(collection) == ["good"]


def test_a_transaction_that_fails_fails_for_all_of_its_group(collection):
    class Full(Held):
        @contextmanager
        def __call__(self):
            with super().__call__() as db:
                yield db
                if self.count == 2:
                    raise OSError("no space left")

    results = together(Full(collection), ["one", "two"])
    assert [str(result) for result in results] == ["no space left"] * 2
    assert said(collection) == ["first"]
