"""What a worker does with a file, without a collection."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankloom.collection import describing
from rankloom.collection.describing import DescriberSettings, as_stored, describe_file, prepare_worker, read_content
from rankloom.experts.compact import CompactVectors


def photo(path: Path, size: tuple[int, int] = (400, 300)) -> np.ndarray:
    """A smooth random picture in a file."""
    noise = np.random.default_rng(0).integers(0, 255, (12, 16, 3), np.uint8)
    picture = cv2.resize(noise, size, interpolation=cv2.INTER_CUBIC)
    cv2.imwrite(str(path), picture)
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)


@pytest.mark.parametrize("megabytes", [0, 1, 5])
def test_small_files_are_kept_in_memory_and_large_ones_read_again(tmp_path, megabytes):
    data = np.random.default_rng(0).bytes((megabytes << 20) + 7)
    path = tmp_path / "a.jpg"
    path.write_bytes(data)
    content = read_content(str(path))
    assert content.hash == hashlib.blake2b(data, digest_size=20).hexdigest()
    assert content.source == (str(path) if megabytes > 4 else data)


def test_a_picture_is_opened_once(tmp_path):
    photo(tmp_path / "a.jpg")
    prepare_worker(DescriberSettings(("color_layout",), readers=("faces",)))
    opened = []
    watching = True

    def watch(event, arguments):
        if watching and event == "open" and str(arguments[0]).endswith("a.jpg"):
            opened.append(arguments)

    sys.addaudithook(watch)
    described = describe_file(str(tmp_path / "a.jpg"))
    watching = False
    assert described.error is None
    assert [item.vectors.keys() for item in described.items] == [{"color_layout"}]
    assert len(opened) == 1


@pytest.mark.parametrize("size", [(512, 384), (500, 375), (320, 240), (300, 512)])
def test_a_thumbnail_looks_like_the_mean_of_the_pixels_below_it(tmp_path, size):
    picture = photo(tmp_path / "a.png", size)
    small = cv2.imdecode(np.frombuffer(describing._thumbnail(picture), np.uint8), cv2.IMREAD_COLOR)
    expected = cv2.resize(picture, small.shape[1::-1], interpolation=cv2.INTER_AREA)
    assert max(small.shape) == 256
    assert np.abs(cv2.cvtColor(small, cv2.COLOR_BGR2RGB).astype(int) - expected).mean() < 3


def test_stored_numbers_are_finite():
    vectors = np.array([[1.0, np.nan], [1e9, -np.inf]], np.float32)
    stored = CompactVectors(np.frombuffer(as_stored(vectors), np.uint8).reshape(2, -1))
    assert stored.sound().all()
    np.testing.assert_allclose(stored[:], [[1.0, 0.0], [65504.0, -65504.0]], rtol=0.04)
