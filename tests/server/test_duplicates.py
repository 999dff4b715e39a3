"""Duplicates in the API: shown by keys, moved only on this machine and only what is a copy."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from rankloom.collection import Collection
from tests.serving import client, copied, ok, refused, sample


def make_doubled(tmp_path):
    """The sample collection, and a folder with two copies of one of its pictures in place of that one."""
    (tmp_path / "more").mkdir()
    original = sorted((sample() / "pictures").glob("coast/*.jpg"))[0]
    for name in ("a.jpg", "b.jpg"):
        shutil.copy(original, tmp_path / "more" / name)
    os.utime(tmp_path / "more" / "a.jpg", (1_700_000_000, 1_700_000_000))
    with Collection(copied(tmp_path / "c")) as collection:
        digest = collection.db.execute("SELECT hash FROM files WHERE path = ?", (str(original),)).fetchone()[0]
        roots = json.dumps([str(tmp_path / "more")])
        with collection.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('roots', ?)", (roots,))
            db.execute("DELETE FROM files WHERE hash = ?", (digest,))  # other tests need the picture
            for path in (tmp_path / "more").iterdir():
                row = (str(path), digest, path.stat().st_size, path.stat().st_mtime_ns)
                db.execute("INSERT INTO files VALUES (?, ?, ?, ?)", row)
    return tmp_path


@pytest.fixture
def doubled(tmp_path):
    return make_doubled(tmp_path)


def copies(web):
    """The group of the two copies; nothing is moved but these."""
    groups = ok(web.get("/api/duplicates"))["groups"]
    return next(group for group in groups if any(file["folder"] == "more" for file in group["files"]))


@pytest.mark.slow
def test_duplicates_are_shown_and_moved(doubled, monkeypatch):
    monkeypatch.setattr("send2trash.send2trash", lambda path: os.rename(path, doubled / "in the bin.jpg"))
    with client(doubled / "c") as web:
        shown = ok(web.get("/api/duplicates"))
        assert shown["bin"]
        assert shown["total"] >= 1
        assert str(doubled) not in web.get("/api/duplicates").text
        group = copies(web)
        assert group["kind"] == "equal"
        keys = {file["name"]: file["key"] for file in group["files"] if file["folder"] == "more"}
        body = {"groups": [{"keep": keys["a.jpg"], "trash": [keys["b.jpg"]]}]}
        wrong = {"groups": [{"keep": keys["a.jpg"], "trash": ["0" * 24]}]}
        refused(web.post("/api/duplicates/trash", json=wrong), 409)
        refused(
            web.post("/api/duplicates/trash", json={"groups": [{"keep": keys["a.jpg"], "trash": [keys["a.jpg"]]}]}), 422
        )
        refused(web.post("/api/duplicates/trash", json=body, headers={"Origin": "https://evil.example"}), 403)
        done = ok(web.post("/api/duplicates/trash", json=body))
        assert (done["moved"], done["left"]) == (["more/b.jpg"], [])
        assert sorted(path.name for path in (doubled / "more").iterdir()) == ["a.jpg"]
        assert ok(web.get("/api/duplicates"))["total"] == shown["total"] - 1
        refused(web.post("/api/duplicates/trash", json=body), 409)
    assert Path(doubled / "in the bin.jpg").exists()
    for options in ({"read_only": True}, {"proxies": ("127.0.0.1",), "token": "x" * 20}):
        headers = {"X-Rankloom": "1", "Authorization": f"Bearer {'x' * 20}"}
        with client(doubled / "c", headers=headers, **options) as web:
            assert not ok(web.get("/api/duplicates"))["bin"]
            refused(web.post("/api/duplicates/trash", json=body), 403)
