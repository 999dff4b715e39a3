"""Pictures that are sent to be searched with: kept for a while, within bounds; those that are used stay."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rankloom.collection import Collection
from rankloom.collection.pictures import UploadLimits, has_picture, record_upload
from tests.serving import client, ok, picture, refused

PNG = {"Content-Type": "image/png"}


@pytest.fixture
def collection(tmp_path):
    with Collection(tmp_path / "c", create=True) as opened:
        yield opened


def send(collection, key, user="u", limits=UploadLimits(), days_ago=0.0):  # noqa: B008 - a tuple
    """Keep a picture, as if it had been sent some days ago."""
    with collection.transaction() as db:
        db.execute("INSERT OR IGNORE INTO pictures VALUES (?, '{}', x'00', '')", (key,))
    record_upload(collection, key, user, limits)
    if days_ago:
        with collection.transaction() as db:
            name = f"upload {user} {key}"
            (at,) = db.execute("SELECT value FROM meta WHERE key = ?", (name,)).fetchone()
            past = (datetime.fromisoformat(at) - timedelta(days=days_ago)).isoformat(timespec="microseconds")
            db.execute("UPDATE meta SET value = ? WHERE key = ?", (past, name))


def kept(collection):
    return {key for (key,) in collection.db.execute("SELECT key FROM pictures")}


def test_old_pictures_go(collection):
    send(collection, "old", days_ago=31)
    send(collection, "young", days_ago=29)
    send(collection, "again", days_ago=31)
    send(collection, "again")
    send(collection, "shared", user="a", days_ago=31)
    send(collection, "shared", user="b")
    send(collection, "new")
    assert kept(collection) == {"young", "again", "shared", "new"}


def test_each_user_has_so_many(collection):
    limits = UploadLimits(of_one=2)
    for user in ("a", "b"):
        for number in range(3):
            send(collection, f"{user}{number}", user, limits)
    assert kept(collection) == {"a1", "a2", "b1", "b2"}


def test_all_have_so_many(collection):
    limits = UploadLimits(of_one=2, in_all=3)
    for number in range(5):
        send(collection, f"p{number}", f"user{number}", limits)
    assert kept(collection) == {"p2", "p3", "p4"}


def test_what_is_used_stays_and_does_not_count(collection):
    limits = UploadLimits(of_one=1, in_all=1)
    examples = '{"text": "", "examples": [{"item": 3}, {"picture": "%s"}]}'
    send(collection, "marked", limits=limits)
    with collection.transaction() as db:
        db.execute("INSERT INTO queries VALUES ('q', ?, '')", (examples % "marked",))
    send(collection, "saved", limits=limits)
    with collection.transaction() as db:
        db.execute("INSERT INTO saved VALUES ('u', 'name', ?, '')", (examples % "saved",))
    for key in ("one", "two"):
        send(collection, key, limits=limits)
    assert kept(collection) == {"marked", "saved", "two"}
    with collection.transaction() as db:
        db.execute("DELETE FROM saved")
    send(collection, "three", user="b", limits=UploadLimits(of_one=1, in_all=9))
    assert kept(collection) == {"marked", "saved", "two", "three"}  # it has its time from now on
    send(collection, "four", user="b", limits=limits)
    assert kept(collection) == {"marked", "four"}


def test_other_settings_of_the_collection_stay(collection):
    before = collection.db.execute("SELECT * FROM meta").fetchall()
    send(collection, "a")
    send(collection, "b", limits=UploadLimits(days=-1))
    assert not has_picture(collection, "a")
    assert collection.db.execute("SELECT * FROM meta").fetchall() == before


@pytest.mark.slow
def test_uploads_are_counted(own_folder):
    with client(own_folder, uploads=UploadLimits(of_one=2)) as web:
        web.get("/")

        def upload(side):
            return ok(web.post("/api/upload", content=picture(side), headers=PNG))["picture"]

        first = upload(40)
        query = {"examples": [{"picture": first}]}
        ok(web.post("/api/feedback", json={"query": query, "marks": [{"item": 1}]}))
        others = [upload(side) for side in (50, 60, 70)]
        assert ok(web.post("/api/search", json={"query": query}))["hits"]
        assert [web.get(f"/api/pictures/{key}/thumbnail").status_code for key in others] == [404, 200, 200]
        refused(web.get(f"/api/pictures/{others[0]}/thumbnail"), 404)
        assert upload(50) == others[0]  # sent again
        assert web.get(f"/api/pictures/{others[0]}/thumbnail").status_code == 200
