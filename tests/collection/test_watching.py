"""Folders that are watched: what changes is indexed, and not before it is written to the end."""

import os
import signal
import subprocess
import sys

import pytest
from PIL import Image

from rankloom.collection import Collection, index
from rankloom.collection.watching import SETTLE_SECONDS, Unsettled, check_watching, watch


def draw(path, color="red"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (64, 48), color).save(path)


def test_a_file_has_settled_when_it_stays_as_it_is(tmp_path):
    now, path, gone = [0.0], tmp_path / "a.jpg", tmp_path / "gone.jpg"
    unsettled = Unsettled(lambda: now[0])
    path.write_bytes(b"1")
    unsettled.add([str(path), str(gone)])
    for size in range(2, 5):  # it is written to, as slowly as may be
        now[0] += SETTLE_SECONDS - 0.01
        path.write_bytes(b"1" * size)
        assert str(path) not in unsettled.settled()
    assert unsettled.paths == {str(path)}  # the deletion of the other has settled
    now[0] += SETTLE_SECONDS
    assert unsettled.settled() == {str(path)}
    assert unsettled.paths == unsettled.settled() == frozenset()


def test_files_that_are_being_written_are_left(tmp_path):
    pictures = tmp_path / "pictures"
    draw(pictures / "a.png", "red")
    draw(pictures / "b.png", "blue")
    with Collection(tmp_path / "c", create=True) as collection:
        options = {"workers": 0, "ocr": False, "speech": False}
        assert index(collection, [pictures], leave={str(pictures / "b.png")}, **options).stored == 1
        draw(pictures / "a.png", "green")
        report = index(collection, [pictures], leave={str(pictures / "a.png")}, **options)
        assert (report.stored, report.removed, report.failed) == (1, 0, 0)  # b now; a is neither read nor gone
        assert index(collection, [pictures], **options).stored == 1


@pytest.mark.slow
def test_what_changes_is_said_when_it_has_settled(tmp_path):
    pictures = tmp_path / "pictures"
    draw(pictures / "a.png")
    inside = pictures / "collection"
    inside.mkdir()
    changes = watch([pictures], inside)
    assert next(changes) == frozenset()  # watched from now on
    draw(inside / "thumbnail.png")
    (pictures / "notes.txt").write_text("no picture")
    draw(pictures / "new" / "b.png")
    assert next(changes) <= {str(pictures / "new"), str(pictures / "new" / "b.png")}
    (pictures / "a.png").unlink()
    assert str(inside / "thumbnail.png") not in next(changes)
    changes.close()
    with pytest.raises(ValueError, match="nothing to watch"):
        next(watch([tmp_path / "none"], inside))


@pytest.mark.slow
def test_the_command_follows_changes_until_it_is_stopped(tmp_path):
    draw(tmp_path / "pictures" / "a.png")
    command = [sys.executable, "-m", "rankloom", "index", "pictures", "-c", "c", "--workers", "0", "--watch"]
    options = ["--no-ocr", "--no-speech", "--no-neighbours"]
    run = subprocess.Popen(
        [*command, *options], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline().startswith("1 files described (1 items)")
    draw(tmp_path / "pictures" / "new" / "b.png", "blue")
    assert run.stdout.readline().startswith("1 files described (1 items)")
    os.rename(tmp_path / "pictures" / "a.png", tmp_path / "pictures" / "c.png")
    assert any("1 known under another name" in line for line in run.stdout)  # reads on until it is said
    run.send_signal(signal.SIGINT)
    run.communicate()
    assert run.returncode == 0
    with Collection(tmp_path / "c") as collection:
        assert sorted(os.path.basename(item.path) for item in collection.items()) == ["b.png", "c.png"]


def test_without_the_extra_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ImportError, match=r"install it with: pip install 'rankloom\[watch\]'"):
        check_watching()
