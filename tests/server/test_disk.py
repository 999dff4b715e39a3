"""Disks that are full, and databases that are damaged: what the server does then, and says of it."""

from __future__ import annotations

import errno
import sqlite3

import pytest

from rankloom.collection import Collection
from rankloom.engine import Engine
from rankloom.server.health import DAMAGED, DISK_FULL, LEAST_FREE, Health, is_disk_full
from tests.serving import client, copied, ok, picture, refused

WORDS = {"text": "lighthouse"}
NO_LIMIT = 2**30


def set_most_pages(collection, most):
    """Let no connection make the database larger, as a disk without room would; `most` pages, or those it has."""
    for connection in collection._connections:
        pages = most or connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()


def mark(web, number):
    words = f"{number} ".ljust(900, "x")  # the words are stored, too, so that a page is soon full
    return web.post("/api/feedback", json={"query": {"text": words}, "marks": [{"item": 1}]})


@pytest.mark.slow
def test_a_full_disk_refuses_marks_and_nothing_else(own_folder):
    with sqlite3.connect(own_folder / "rankloom.db") as db:
        db.execute("VACUUM")
    with client(own_folder) as web:
        web.get("/")
        collection = web.app.state.context.collection
        ok(mark(web, 0))
        ok(web.get("/api/health"))
        set_most_pages(collection, None)
        stored, answer = 1, mark(web, 1)
        while answer.status_code == 200:
            stored += 1
            answer = mark(web, stored)
            assert stored < 1000
        assert "full" in refused(answer, 507)
        for number in range(2001, 2004):  # and it goes on so
            refused(mark(web, number), 507)
        health = web.get("/api/health")
        assert health.status_code == 200  # it still answers
        assert health.json()["status"] == DISK_FULL
        assert "full" in health.json()["error"]
        assert ok(web.post("/api/search", json={"query": WORDS}))["hits"]
        assert ok(web.post("/api/search", json={"query": {"examples": [{"item": 3}]}, "k": 3}))["hits"]
        assert collection.info().marks == stored
        set_most_pages(collection, NO_LIMIT)
        ok(mark(web, stored))
        assert ok(web.get("/api/health"))["status"] == "ok"
        assert collection.info().marks == stored + 1


class NoRoom(Engine):
    """An engine whose files find no room."""

    def upload(self, *args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device", "/home/somebody/c/x")

    def train(self, *args, **kwargs):
        raise OSError(errno.EDQUOT, "Disk quota exceeded", "/home/somebody/c/x")

    def search(self, *args, **kwargs):
        raise OSError(errno.EIO, "Input/output error", "/home/somebody/c/x")


def test_files_without_room(folder):
    with client(folder, engine=NoRoom) as web:
        web.get("/")
        refused(web.post("/api/upload", content=picture(), headers={"Content-Type": "image/png"}), 507)
        assert ok(web.get("/api/health"))["status"] == DISK_FULL
        assert "somebody" not in refused(web.post("/api/search", json={"query": WORDS}), 500)
        ok(web.post("/api/models/train", json={}))
        while not (jobs := ok(web.get("/api/collection"))["jobs"]):
            pass
        assert "full" in jobs[0]["error"]
        assert "somebody" not in jobs[0]["error"]


def test_health_knows_how_much_room_there_is(folder):
    with Collection(folder) as collection:
        assert Health(collection, read_only=False, free=lambda: LEAST_FREE).check() == "ok"
        assert Health(collection, read_only=False, free=lambda: LEAST_FREE - 1).check() == DISK_FULL
        assert Health(collection, read_only=True, free=lambda: 0).check() == "ok"
        health = Health(collection, read_only=False, free=lambda: LEAST_FREE)
        health.failed(DAMAGED)
        health.failed(DISK_FULL)
        health.wrote()
        assert health.check() == DAMAGED


@pytest.mark.slow
def test_health_tells_of_damage(own_folder):
    with client(own_folder) as web:
        assert ok(web.get("/api/health"))["status"] == "ok"
        with open(own_folder / "rankloom.db", "r+b") as file:
            size = file.seek(0, 2)
            file.seek(4096)
            file.write(b"\xff" * (size - 4096))
        for connection in web.app.state.context.collection._connections:
            connection.execute("PRAGMA cache_size = 0")  # what was read is not remembered
        assert "rankloom repair" in refused(web.get("/api/items/1"), 503)
        health = web.get("/api/health")
        assert health.status_code == 503
        assert health.json()["status"] == DAMAGED
        assert "rankloom repair" in health.json()["error"]


def test_a_commit_that_fails_ends_the_transaction(tmp_path):
    with Collection(copied(tmp_path / "c")) as collection:

        def fail():
            with collection.transaction() as db:
                db.execute("PRAGMA defer_foreign_keys = ON")
                db.execute("INSERT INTO qrels (qid, item, grade, user, at) VALUES ('a', 999999, 1.0, '', '')")

        with pytest.raises(sqlite3.IntegrityError):  # noticed only at the end, as a full disk is
            fail()
        assert not collection.db.in_transaction
        assert collection.mark("a", 1, 1.0) > 0


def test_what_counts_as_a_full_disk():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (a)")
    db.execute("PRAGMA max_page_count = 2").fetchall()
    with pytest.raises(sqlite3.OperationalError) as full:
        db.execute("INSERT INTO t VALUES (zeroblob(100000))")
    with pytest.raises(sqlite3.OperationalError) as other:
        db.execute("SELECT nothing")
    db.close()
    assert [is_disk_full(error.value) for error in (full, other)] == [True, False]
