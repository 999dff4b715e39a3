"""Media that can only be read, and disks without room."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankloom.collection import Collection, Mark, add_marks, index
from rankloom.collection._schema import MIGRATIONS, connect
from rankloom.collection.query import Query
from rankloom.engine import Engine
from tests.archives import write_pictures
from tests.shell import invoke

pytestmark = pytest.mark.sqlite


@contextmanager
def mounted(command: list[str], place: Path):
    """Something mounted on a folder; the test is skipped where that is not allowed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip(f"cannot mount: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


@contextmanager
def frozen(folder: Path):
    """A folder in which nothing can be written; root needs a mount for that, others only the rights."""
    if os.getuid() == 0:
        with mounted(["mount", "--bind", "-o", "ro", str(folder), str(folder)], folder):
            if os.access(folder, os.W_OK):
                subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
            yield
        return
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        yield
    finally:
        for place in places:
            place.chmod(0o755 if place.is_dir() else 0o644)


def listing(folder: Path):
    return {(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in [folder, *folder.rglob("*")]}


@pytest.mark.slow
def test_a_medium_that_can_only_be_read(folder):
    before = listing(folder)
    with frozen(folder):
        for command in (["info"], ["search", "boat", "--json"], ["verify"], ["duplicates"]):
            done = invoke(*command, "-c", str(folder))
            assert (done.exit_code, done.stderr) == (0, ""), command
        with Collection(folder) as collection:
            assert collection.read_only
            assert Engine(collection).search(Query("boat"), 3)
            with pytest.raises(ValueError, match="can only be read"):
                add_marks(collection, "boat", [Mark(1)])
            with pytest.raises(ValueError, match="can only be read"):
                index(collection, workers=0)
    assert listing(folder) == before


def test_an_older_version_is_not_changed_on_a_medium_that_can_only_be_read(tmp_path):
    place = tmp_path / "old"
    place.mkdir()
    with connect(place / "rankloom.db") as db:
        db.executescript(MIGRATIONS[0])
        db.execute("PRAGMA user_version = 1")
    db.close()
    with frozen(place), pytest.raises(ValueError, match="of an older version and can only be read"):
        Collection(place)


@pytest.mark.slow
def test_a_full_disk_keeps_what_is_stored(tmp_path, monkeypatch):
    from rankloom.descriptors import PRESETS

    monkeypatch.setitem(PRESETS, "fast", ["hog"])
    place, pictures = tmp_path / "disk", write_pictures(tmp_path / "pictures", 30, captions=False)
    place.mkdir()
    monkeypatch.setattr("rankloom.collection._writer.BATCH_ITEMS", 10)
    command = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(place)]
    with mounted(command, place):

        def run():
            with Collection(place / "c", create=True) as collection:
                index(collection, [pictures], workers=0)

        with pytest.raises(ValueError, match="the disk is full; what was stored is kept") as caught:
            run()
        assert "\n" not in str(caught.value)
        subprocess.run(["mount", "-o", "remount,size=50m", str(place)], check=True)
        with Collection(place / "c") as collection:
            stored = len(collection)
            assert 0 < stored < 120
            report = index(collection, workers=0)
            assert (report.unchanged, report.items) == (stored, 120 - stored)
        done = invoke("verify", "-c", str(place / "c"))
        assert done.exit_code == 0, done.output
