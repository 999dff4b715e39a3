"""Readers of files meet anything: they read it, or refuse it in one line, and nothing else."""

import io
import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from rankloom.datasets import load_letor
from rankloom.media import read_captions, read_image, read_subtitles
from rankloom.rankers import RankingLogisticRegression, load_ranker
from tests.data import written

FEW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def valid_picture() -> bytes:
    file = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 255, (24, 32, 3), np.uint8)
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def valid_ranker() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranker.json")
        RankingLogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).save(path)
        return path.read_bytes()


READERS = {
    "letor": (load_letor, ".txt"),
    "captions": (lambda path: list(read_captions(path)), ".csv"),
    "subtitles": (read_subtitles, ".srt"),
    "picture": (read_image, ".png"),
    "ranker": (load_ranker, ".json"),
}
VALID = {
    "letor": lambda: b"1 qid:1 1:0.5 2:1 # a\n0 qid:1 1:0.25 2:0\n",
    "captions": lambda: b'path,caption\na.jpg,"A boat, at sea"\nb.jpg,Two dogs\n',
    "subtitles": lambda: b"1\n00:00:01,000 --> 00:00:02,500\nHello there\n\n2\n00:00:03,000 --> 00:00:04,000\nBye\n",
    "picture": valid_picture,
    "ranker": valid_ranker,
}


@cache
def valid(kind: str) -> bytes:
    """A file that is read, not made before it is wanted: collecting the tests fits nothing."""
    return VALID[kind]()


def read(kind: str, content: bytes) -> None:
    """Read it, or see it refused by an error with one line."""
    reader, ending = READERS[kind]
    with written(content, f"file{ending}") as path:
        refused = ""
        try:
            reader(path)
        except (ValueError, OSError) as error:
            refused = str(error).strip() or "without a word"
    assert "\n" not in refused
    assert refused != "without a word"


@pytest.mark.parametrize("kind", READERS)
def test_what_is_valid_is_read(kind, tmp_path):
    reader, ending = READERS[kind]
    path = tmp_path / f"file{ending}"
    path.write_bytes(valid(kind))
    assert reader(path) is not None


@pytest.mark.parametrize("kind", READERS)
@FEW
@given(content=st.binary(max_size=400))
def test_any_bytes(kind, content):
    read(kind, content)


@pytest.mark.parametrize("kind", ["letor", "captions", "subtitles", "ranker"])
@FEW
@given(content=st.text(max_size=400))
def test_any_text(kind, content):
    read(kind, content.encode("utf-8", "surrogatepass"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", READERS)
@FEW
@given(data=st.data())
def test_valid_files_that_were_damaged(kind, data):
    content = bytearray(valid(kind))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[place] = data.draw(st.integers(0, 255))
        else:
            del content[place : place + data.draw(st.integers(1, 8))]
        if not content:
            break
    read(kind, bytes(content))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@FEW
@given(name=st.sampled_from(["format", "version", "ranker", "params", "state", "sha256"]), value=JSON)
def test_any_value_in_a_saved_ranker(name, value):
    read("ranker", json.dumps({**json.loads(valid("ranker")), name: value}).encode())
