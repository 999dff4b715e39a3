"""Adding folders from the page: what may be chosen, how far indexing is, pausing, cancelling, going on; watching."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from PIL import Image

from rankloom.collection import Collection
from rankloom.collection.overview import indexed_roots
from rankloom.collection.readers import OCR, SPEECH, choose_readers
from rankloom.descriptors import PRESETS
from rankloom.server.jobs import Jobs
from rankloom.server.settings import ServerSettings
from tests.collection.test_collection import FEW
from tests.serving import client, ok, refused
from tests.waiting import LONG, wait_until


def drawn(folder: Path, n: int, tone: int = 0) -> Path:
    """A folder with pictures of plain colours, which are quickly described."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n):
        Image.new("RGB", (48, 32), ((tone + 37 * number) % 256, 60, number)).save(folder / f"p{tone}_{number}.png")
    return folder


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """The folder of a collection without anything in it, of which little is described."""
    monkeypatch.setitem(PRESETS, "fast", FEW)
    with Collection(tmp_path / "c", create=True) as collection:
        choose_readers(collection, {OCR: False, SPEECH: False})
    return tmp_path / "c"


def ended(web, name="index"):
    """How the job of a name ended, after all have."""

    def rests():
        state = ok(web.get("/api/work"))
        return state if state["job"] is None and not state["waiting"] else None

    return next(job for job in wait_until(rests)["jobs"] if job["name"] == name)


def names(web, folder=""):
    return [entry["name"] for entry in ok(web.get("/api/roots", params={"folder": folder}))["folders"]]


def test_only_folders_below_the_roots_may_be_looked_at(empty, tmp_path):
    root = drawn(tmp_path / "photos", 2)
    for name in ("2024/May", "2023", ".secret", "c"):
        (root / name).mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "in").symlink_to(root / "2024")
    with client(empty, roots=(str(root),)) as web:
        assert names(web) == ["photos"]
        assert names(web, "photos") == ["2023", "2024", "c", "in"]
        assert names(web, "photos/2024") == ["May"]
        assert ok(web.get("/api/roots", params={"folder": "photos"}))["files"] == 2
        wrong = ("photos/..", "photos/../outside", "photos/.secret", "photos/out", "photos//2024", "etc", "/etc",
                 "photos/2024/../..", "photos/none", "photos/2024/\0", str(root), ".")  # fmt: skip
        for label in wrong:
            refused(web.get("/api/roots", params={"folder": label}), 404)
            refused(web.post("/api/roots", json={"folder": label}), 404)
        assert ok(web.get("/api/work"))["job"] is None
    with client(empty, roots=(str(root),), read_only=True) as web:
        refused(web.get("/api/roots"), 403)
        refused(web.post("/api/roots", json={"folder": "photos"}), 403)
        refused(web.post("/api/work/cancel", json={}), 403)


def test_the_home_is_offered_to_this_machine_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ServerSettings().addable_roots() == (str(tmp_path),)
    assert ServerSettings(host="0.0.0.0", token="x" * 20).addable_roots() == ()
    assert ServerSettings(proxies=("127.0.0.1",)).addable_roots() == ()
    with pytest.raises(ValueError, match="read-only"):
        ServerSettings(read_only=True, watch=True).check()


@pytest.mark.slow
def test_an_empty_collection_is_filled_and_the_second_folder_waits(empty, tmp_path):
    first = drawn(tmp_path / "photos" / "a", 6)
    drawn(tmp_path / "photos" / "b", 3, 90)
    (first / "broken.jpg").write_bytes(b"no picture")
    with client(empty, roots=(str(tmp_path / "photos"),)) as web:
        assert ok(web.get("/api/browse"))["total"] == 0
        assert ok(web.post("/api/search", json={"query": {"text": "red"}}))["hits"] == []
        assert ok(web.post("/api/roots", json={"folder": "photos/a"}))["what"] == "photos/a"
        ok(web.post("/api/work/pause"))
        paused = ok(web.post("/api/roots", json={"folder": "photos/b"}))
        assert paused["name"] == "index"
        state = ok(web.get("/api/work"))
        assert state["job"]["paused"]
        assert [job["what"] for job in state["waiting"]] == ["photos/b"]
        assert "waits" in refused(web.post("/api/roots", json={"folder": "photos/b"}), 409)
        ok(web.post("/api/work/resume"))
        done = ended(web)
        assert done["error"] is None
        assert done["report"]["stored"] == 3
        assert ok(web.get("/api/work"))["items"] == 9
        assert ok(web.get("/api/browse"))["total"] == 9
        assert [error["name"] for error in ok(web.get("/api/errors"))] == ["broken.jpg"]
        assert len(ok(web.post("/api/search", json={"query": {"examples": [{"item": 1}]}}))["hits"]) == 9
        assert names(web) == ["photos", "a", "b"]
        Image.new("RGB", (40, 40), "red").save(first / "broken.jpg")
        os.utime(first / "broken.jpg", (1, 1))
        ok(web.post("/api/errors/retry"))
        assert ended(web)["report"]["stored"] == 1
        refused(web.post("/api/work/pause"), 409)
        refused(web.post("/api/work/resume"), 409)


@pytest.mark.slow
def test_what_was_cancelled_goes_on_after_a_restart(empty, tmp_path):
    drawn(tmp_path / "photos", 5)
    with client(empty, roots=(str(tmp_path),)) as web:
        label = f"{tmp_path.name}/photos"
        ok(web.post("/api/roots", json={"folder": label}))
        ok(web.post("/api/work/cancel", json={}))
        assert ended(web)["cancelled"]
        assert ok(web.get("/api/work"))["unfinished"]
    with client(empty) as web:
        assert ok(web.get("/api/work"))["unfinished"]
        ok(web.post("/api/work/resume"))
        assert ended(web)["error"] is None
        state = ok(web.get("/api/work"))
        assert (state["items"], state["unfinished"]) == (5, False)
        assert indexed_roots(web.app.state.context.collection) == [str(tmp_path / "photos")]


def test_jobs_wait_pause_and_end():
    jobs, order = Jobs(), []
    step, go = threading.Semaphore(0), threading.Event()

    def work(name):
        def run(progress):
            order.append(name)
            step.release()
            assert go.wait(LONG)
            for done in range(3):
                progress(done, 3, name)

        return run

    ends = [jobs.queue(name, work(name), name)[1] for name in ("a", "b", "c")]
    assert step.acquire(timeout=LONG)
    jobs.pause()
    jobs.cancel(1)
    assert ends[2].wait(LONG)
    assert [job.what for job in jobs.waiting()] == ["b"]
    go.set()
    assert not ends[0].wait(0.05)  # it rests
    jobs.resume()
    assert all(end.wait(LONG) for end in ends)
    assert order == ["a", "b"]
    assert {job.name: job.cancelled for job in jobs.last()} == {"a": False, "b": False, "c": True}
    jobs.close()


@pytest.mark.slow
def test_a_watching_server_follows_files_also_of_a_folder_that_came_later(empty, tmp_path):
    pytest.importorskip("watchfiles")
    photos = drawn(tmp_path / "photos" / "a", 2)
    with client(empty, roots=(str(tmp_path / "photos"),), watch=True) as web:
        assert ok(web.get("/api/work"))["watching"]
        ok(web.post("/api/roots", json={"folder": "photos/a"}))
        assert ended(web)["report"]["stored"] == 2
        drawn(photos / "new", 1, 120)
        wait_until(lambda: ok(web.get("/api/work"))["items"] >= 3, pause=0.1)
