"""Upkeep by the API: a check, a repair and the way back to a backup, while the server runs."""

import pytest

from rankloom.collection import back_up
from tests.serving import client, ok, refused
from tests.waiting import wait_until

SEA = {"query": {"text": "sea"}, "k": 20}


def ended(web, name):
    """How a job ended."""

    def rests():
        state = ok(web.get("/api/work"))
        return state["job"] is None and [job for job in state["jobs"] if job["name"] == name]

    return wait_until(rests)[0]


def found(web):
    return [hit["id"] for hit in ok(web.post("/api/search", json=SEA))["hits"]]


def marked(web):
    return {mark["item"] for mark in ok(web.post("/api/marks", json={}))}


@pytest.mark.slow
def test_what_a_check_finds_is_repaired(own, own_folder):
    assert ok(own.get("/api/upkeep"))["checked"] is None
    ok(own.post("/api/upkeep/check"))
    assert ended(own, "verify")["report"]["problems"] == 0
    before = found(own)
    with open(own_folder / "thumbnails.bin", "r+b") as file:
        file.write(b"damaged!")
    ok(own.post("/api/upkeep/check"))
    assert ended(own, "verify")["report"]["problems"] == 1
    checked = ok(own.get("/api/upkeep"))["checked"]
    assert checked["problems"] == ["thumbnails.bin has other content at byte 0"]
    assert checked["blocks"] > 1
    ok(own.post("/api/upkeep/repair"))
    done = ended(own, "repair")
    assert (done["error"], done["report"]["blocks"], done["report"]["problems"]) == (None, 1, 0)
    assert ok(own.get("/api/upkeep"))["checked"]["total"] == 0
    assert found(own) == before
    assert own.get("/api/items/1/thumbnail").content.startswith(b"\xff\xd8")


@pytest.mark.slow
def test_going_back_to_a_backup_with_and_without_what_came_since(own, own_folder):
    first, second, third = found(own)[:3]
    ok(own.post("/api/feedback", json={"query": SEA["query"], "marks": [{"item": first}]}))
    back_up(own_folder)
    (newest, *_) = ok(own.get("/api/upkeep"))["backups"]
    ok(own.post("/api/feedback", json={"query": SEA["query"], "marks": [{"item": second}]}))
    ok(own.post("/api/albums", json={"name": "Later", "items": [third]}))
    backup = ok(own.get(f"/api/upkeep/backups/{newest['name']}"))
    assert {name: (backup["has"][name], backup["now"][name]) for name in ("marks", "albums")} == {
        "marks": (1, 2), "albums": (0, 1),
    }  # fmt: skip
    ok(own.post("/api/upkeep/restore", json={"backup": newest["name"]}))
    assert ended(own, "restore")["error"] is None
    assert marked(own) == {first, second}
    assert {*found(own)[:2]} == {first, second}
    assert [album["name"] for album in ok(own.get("/api/albums"))] == ["Later"]
    ok(own.post("/api/upkeep/restore", json={"backup": newest["name"], "merge": False}))
    report = ended(own, "restore")["report"]
    assert (report["marks"], report["kept"]) == (1, 0)
    assert marked(own) == {first}
    assert ok(own.get("/api/albums")) == []
    ok(own.post("/api/feedback", json={"query": SEA["query"], "marks": [{"item": third}]}))
    assert marked(own) == {first, third}
    assert len(list((own_folder / "replaced").iterdir())) == 2


def test_a_restore_that_fails_leaves_everything_as_it_was(own, own_folder):
    ok(own.post("/api/feedback", json={"query": SEA["query"], "marks": [{"item": 1}]}))
    copy = back_up(own_folder)
    copy.write_bytes(b"this is no database")
    refused(own.get(f"/api/upkeep/backups/{copy.name}"), 422)
    ok(own.post("/api/upkeep/restore", json={"backup": copy.name}))
    assert "cannot be used as a backup" in ended(own, "restore")["error"]
    assert marked(own) == {1}
    assert not (own_folder / "replaced").exists()
    refused(own.post("/api/upkeep/restore", json={"backup": "other.db"}), 404)
    refused(own.get("/api/upkeep/backups/..%2Frankloom.db"), 404)


def test_while_somebody_is_alone_others_are_told_to_wait(own):
    with own.app.state.context.work.alone("the collection is being repaired; try again in a moment"):
        for asked in (lambda: own.post("/api/search", json=SEA), lambda: own.get("/api/collection")):
            answer = asked()
            assert "being repaired" in refused(answer, 503)
            assert int(answer.headers["Retry-After"]) >= 1
        assert ok(own.get("/api/work"))["unfinished"] is False
        assert own.get("/").status_code == 200
    assert found(own)


def test_a_read_only_server_has_no_upkeep(folder):
    with client(folder, read_only=True) as web:
        refused(web.get("/api/upkeep"), 403)
        for call in ("check", "repair"):
            refused(web.post(f"/api/upkeep/{call}"), 403)
        refused(web.post("/api/upkeep/restore", json={"backup": "x.db"}), 403)


@pytest.mark.slow
def test_a_database_that_breaks_while_it_is_served_is_repaired(own, own_folder):
    """The root of the table of texts becomes noise; what a backup has comes from there."""
    ok(own.post("/api/feedback", json={"query": SEA["query"], "marks": [{"item": 1}]}))
    back_up(own_folder)
    collection = own.app.state.context.collection
    collection.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    n_texts = collection.info().texts
    (root,) = collection.db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'texts'").fetchone()
    (size,) = collection.db.execute("PRAGMA page_size").fetchone()
    collection.release()
    with open(own_folder / "rankloom.db", "r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"noise!!!" * (size // 8))
    ok(own.post("/api/upkeep/check"))
    assert ended(own, "verify")["report"]["problems"] > 0
    assert str(own_folder) not in own.get("/api/upkeep").text
    ok(own.post("/api/upkeep/repair"))
    done = ended(own, "repair")
    assert done["error"] is None
    assert done["report"]["problems"] == 0
    assert done["report"]["from_backup"] > 0
    assert ok(own.get("/api/health"))["status"] == "ok"
    assert marked(own) == {1}
    assert ok(own.get("/api/collection"))["texts"] == n_texts
    assert found(own)[0] == 1
