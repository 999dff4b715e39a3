"""Pictures from anywhere are decoded in other processes, which may die."""

from __future__ import annotations

import io
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rankloom.collection.decoding import PictureReader, readable_pictures
from rankloom.media import MediaError, read_image

pytestmark = pytest.mark.slow


def png(color: tuple[int, int, int], size: tuple[int, int] = (40, 30)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def reader():
    opened = PictureReader(processes=2)
    yield opened
    opened.close()


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == process:
            found.append(int(status.parent.name))
    return found


def test_bytes_and_files_as_in_this_process(reader, tmp_path):
    data = png((200, 30, 40), (900, 600))
    (tmp_path / "a.png").write_bytes(data)
    for source in (data, tmp_path / "a.png"):
        assert np.array_equal(reader.read(source, max_side=100), read_image(data, max_side=100))


def test_errors_are_told(reader, tmp_path):
    for source, options, reason in (
        (b"text", {}, "not a picture in a known format"),
        (tmp_path / "none.png", {}, "cannot be decoded: no such file or directory"),
        (png((1, 2, 3)), {"max_pixels": 100}, "40 x 30 pixels are more than the limit of 100"),
    ):
        with pytest.raises(MediaError) as caught:
            reader.read(source, **options)
        assert str(caught.value) == reason


def test_threads_share_it(reader):
    colors = [(10 * n, 100, 200) for n in range(20)]
    with ThreadPoolExecutor(8) as threads:
        pictures = list(threads.map(lambda color: reader.read(png(color)), colors))
    assert [tuple(picture[0, 0].tolist()) for picture in pictures] == colors


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds its processes by /proc")
@pytest.mark.parametrize("generation", ["decoder", "its supervisor"])
def test_killed_processes_are_replaced(generation):
    before = set(children(os.getpid()))
    reader = PictureReader(processes=1)
    try:
        reader.read(png((1, 2, 3)))
        (supervisor,) = set(children(os.getpid())) - before
        (decoder,) = children(supervisor)
        os.kill(decoder if generation == "decoder" else supervisor, signal.SIGKILL)
        assert reader.read(png((4, 5, 6)))[0, 0].tolist() == [4, 5, 6]
    finally:
        reader.close()
    assert set(children(os.getpid())) <= before


@pytest.mark.parametrize("workers", [0, 2])
def test_pictures_that_cannot_be_read_are_left_out(workers, tmp_path):
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(png((number, 0, 0)) if number != 2 else b"broken")
    pictures = readable_pictures([tmp_path / f"{number}.png" for number in range(4)], workers)
    assert [int(picture[0, 0, 0]) for picture in pictures] == [0, 1, 3]
