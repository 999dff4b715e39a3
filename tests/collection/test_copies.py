"""Copies side by side: which is the best, what may be moved to the bin, what is handed over, and the way back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankloom.collection import Collection, index
from rankloom.collection.albums import albums_of, make_album
from rankloom.collection.copies import Choice, copy_groups, trash_copies
from rankloom.collection.duplicates import same_looks
from rankloom.collection.organizing import change_tags, notes_of, rate, set_caption
from rankloom.descriptors import PRESETS
from tests.archives import picture as drawn
from tests.collection.test_collection import FEW, picture
from tests.shell import rankloom


def aged(path, days):
    os.utime(path, (1_700_000_000 - 86400 * days,) * 2)


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """Two equal files, a smaller picture of them, another picture re-encoded, and one by itself."""
    monkeypatch.setitem(PRESETS, "fast", FEW)
    folder = tmp_path / "p"
    (folder / "backup").mkdir(parents=True)
    large = cv2.resize(picture(3), (400, 300), interpolation=cv2.INTER_CUBIC)
    cv2.imwrite(str(folder / "boat.png"), large)
    shutil.copy(folder / "boat.png", folder / "backup" / "boat.png")
    cv2.imwrite(str(folder / "boat small.png"), cv2.resize(large, (200, 150), interpolation=cv2.INTER_AREA))
    other = cv2.resize(picture(8), (400, 300), interpolation=cv2.INTER_CUBIC)
    cv2.imwrite(str(folder / "house.png"), other)
    cv2.imwrite(str(folder / "house.jpg"), other, [cv2.IMWRITE_JPEG_QUALITY, 95])
    cv2.imwrite(str(folder / "noise.png"), np.random.default_rng(1).integers(0, 255, (90, 120, 3), dtype=np.uint8))
    for path in folder.rglob("*.*"):
        aged(path, 1)
    aged(folder / "backup" / "boat.png", 9)
    with Collection(tmp_path / "c", create=True) as opened:
        index(opened, [folder], workers=0, ocr=False)
        yield opened


def bin_of(tmp_path):
    """A bin: a folder that files are moved to, and what does so."""
    place = tmp_path / "bin"
    place.mkdir()
    return place, lambda path: os.rename(path, place / Path(path).name)


def by_name(collection):
    return {Path(file.path).name: file for group in copy_groups(collection) for file in group.files}


def test_groups_and_the_best_of_each(copies, tmp_path):
    groups = {group.kind: group for group in copy_groups(copies)}
    boats, houses = groups["resized"], groups["re-encoded"]
    assert len(groups) == len(copy_groups(copies)) == 2
    assert [os.path.relpath(file.path, tmp_path / "p") for file in boats.files] == [
        "backup/boat.png", "boat.png", "boat small.png",
    ]  # fmt: skip
    assert boats.why == "older"  # it is equal to the next in pixels and bytes
    assert Path(houses.files[0].path).name == "house.png"
    assert houses.why == "bytes"


def test_copies_go_to_the_bin_and_come_back(copies, tmp_path):
    place, move = bin_of(tmp_path)
    files = by_name(copies)
    small, large = files["boat small.png"], files["boat.png"]
    set_caption(copies, small.item, "my boat")
    change_tags(copies, [small.item, large.item], add=["sea"])
    change_tags(copies, [small.item], add=["blue"])
    rate(copies, [small.item], 4)
    rate(copies, [large.item], 2)
    album = make_album(copies, "boats", [small.item])
    copies.mark("boat", small.item, 1.0)
    boats = next(group for group in copy_groups(copies) if group.kind == "resized")
    keep, *others = (file.path for file in boats.files)
    done = trash_copies(copies, [Choice(keep, tuple(others))], move)
    assert sorted(done.moved) == sorted(others)
    assert (done.left, done.handed) == ([], 1)
    assert sorted(path.name for path in place.iterdir()) == ["boat small.png", "boat.png"]
    assert copies.items([large.item])[0].paths == (keep,)
    assert copies.items([small.item])[0].paths == ()
    notes = notes_of(copies, [large.item])[large.item]
    assert (notes.caption, set(notes.tags), notes.stars) == ("my boat", {"sea", "blue"}, 2)
    assert [number for number, _ in albums_of(copies, large.item)] == [album]
    assert [mark.id for mark in copies.marks()] == [str(small.item)]  # they stay in the log
    assert index(copies, workers=0).removed == 0  # the collection knows already
    # Restored from the bin and indexed again, all is as it was.
    os.rename(place / "boat small.png", tmp_path / "p" / "boat small.png")
    report = index(copies, workers=0)
    assert (report.followed, report.items) == (1, 0)
    assert copies.items([small.item])[0].paths == (small.path,)
    assert notes_of(copies, [small.item])[small.item].caption == "my boat"


def test_what_must_not_be_moved_stays(copies, tmp_path):
    place, move = bin_of(tmp_path)
    groups = {group.kind: group for group in copy_groups(copies)}
    keep, equal, small = (file.path for file in groups["resized"].files)
    house, other = (file.path for file in groups["re-encoded"].files)
    for wrong in (
        Choice(keep, (other,)), Choice(keep, (keep,)), Choice(keep, (equal, equal)),
        Choice(keep, (str(tmp_path / "p" / "noise.png"),)), Choice("/etc/passwd", (small,)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"copy|same|named once"):
            trash_copies(copies, [wrong], move)
    # What was changed, without its time telling so, is found by its hash.
    status = os.stat(equal)
    data = bytearray(Path(equal).read_bytes())
    data[-20] ^= 1
    Path(equal).write_bytes(data)
    os.utime(equal, ns=(status.st_atime_ns, status.st_mtime_ns))
    aged(small, 2)
    done = trash_copies(copies, [Choice(keep, (equal, small))], move)
    assert done.moved == []
    assert [why.split(" since")[0] for _, why in done.left] == [
        "its bytes are not those of the file that is kept", "it is gone or has changed",
    ]  # fmt: skip

    # A volume without a bin: an error, and the file stays. Then the one to keep is gone: nothing moves.
    def no_bin(path):
        raise OSError(13, "Permission denied", path)

    assert "stays: Permission denied" in trash_copies(copies, [Choice(house, (other,))], no_bin).left[0][1]
    assert Path(other).exists()
    os.unlink(house)
    assert "the file to keep is gone" in trash_copies(copies, [Choice(house, (other,))], move).left[0][1]
    assert [*place.iterdir()] == []


def test_the_same_file_under_two_names_stays(copies, tmp_path):
    _, move = bin_of(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "p")
    index(copies, [tmp_path / "link"], workers=0)
    group = next(group for group in copy_groups(copies) if "house.png" in group.files[0].path)
    same = [file.path for file in group.files if file.path.endswith("house.png")]
    assert len(same) == 2
    done = trash_copies(copies, [Choice(same[0], (same[1],))], move)
    assert "the same file" in done.left[0][1]
    assert Path(same[0]).exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="bins are elsewhere on other systems")
def test_the_shell_asks_and_moves_to_the_bin_of_the_system(copies, tmp_path):
    folder = copies.folder
    listed = rankloom("duplicates", "-c", folder)
    assert "keep " in listed.output
    assert "2 groups" in listed.output
    assert "Aborted" in rankloom("duplicates", "-c", folder, "--trash", code=1).output
    assert len([*(tmp_path / "p").rglob("*.*")]) == 6
    rankloom("duplicates", "-c", folder, "--trash", "--json", code=2)
    command = [sys.executable, "-m", "rankloom", "duplicates", "-c", str(folder), "--trash", "--yes"]
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}  # where the bin is
    moved = subprocess.run(command, env={**os.environ, **home}, capture_output=True, text=True, check=True)
    assert "3 files are in the bin" in moved.stdout
    assert len([*(tmp_path / "Trash" / "files").iterdir()]) == 3
    assert sorted(path.name for path in (tmp_path / "p").rglob("*.*")) == ["boat.png", "house.png", "noise.png"]
    assert "0 groups" in rankloom("duplicates", "-c", folder).output


def test_a_small_copy_has_the_same_looks_and_another_color_has_not():
    def jpeg(image):
        return cv2.imencode(".jpg", image)[1].tobytes()

    large = cv2.resize(drawn((30, 30, 200), 5), (320, 240), interpolation=cv2.INTER_CUBIC)
    small = cv2.resize(large, (160, 120), interpolation=cv2.INTER_AREA)
    assert same_looks((jpeg(large), jpeg(small)))
    assert not same_looks((jpeg(large), jpeg(large[..., ::-1])))
    assert not same_looks((jpeg(large), jpeg(large[:, ::-1])))
    for color in ((128, 128, 128), (10, 20, 250)):
        plain = np.full((40, 40, 3), color, np.uint8)
        assert not same_looks((jpeg(plain), jpeg(plain)))
    assert not same_looks((jpeg(large), b"no picture"))
