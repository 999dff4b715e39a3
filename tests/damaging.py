"""A small collection whose tables fill several pages, and ways to damage its files."""

import os
import shutil
from contextlib import closing
from functools import cache

import numpy as np
import pytest

from rankloom.collection import Captions, Collection, Mark, add_marks, index, verify
from rankloom.collection._schema import connect
from rankloom.descriptors import describe
from rankloom.engine import Engine
from rankloom.media import read_image
from tests.archives import write_pictures

FEW = ["color_layout", "edge_histogram"]
PAGE = 4096
N_MARKS = 400


def make_collection(root):
    """80 items, captions, and marks of which each has a user of its own; checkpointed and without backups."""
    pictures = write_pictures(root / "pictures", 20)
    with pytest.MonkeyPatch.context() as patch:
        from rankloom.descriptors import PRESETS

        patch.setitem(PRESETS, "fast", FEW)
        with Collection(root / "c", create=True) as collection:
            index(collection, [pictures], workers=0, captions=Captions(str(pictures / "captions.csv")), ocr=False)
            for number in range(N_MARKS):
                item = number % len(collection) + 1
                add_marks(collection, f"q{number % 7}", [Mark(item, 1.0)], user(number), query='{"text": "boat"}')
            Engine(collection).refresh()
    checkpoint(root / "c")
    shutil.rmtree(root / "c" / "backups", ignore_errors=True)  # PostgreSQL has none
    return root / "c"


def user(number):
    """A text that only one mark has, in the table and in no index of it."""
    return f"user-{number:05}-of-a-mark"


def checkpoint(folder):
    """All that was written is in the database itself."""
    if (folder / "rankloom.db").is_file():
        with closing(connect(folder / "rankloom.db")) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def users(folder):
    """The users of the marks that stand."""
    with Collection(folder) as collection:
        return {name for (name,) in collection.db.execute("SELECT user FROM qrels")}


@cache
def _described(path, changed, names):
    return describe(read_image(path), names)


def assert_aligned(collection, items):
    """Nothing is damaged, and the vectors of these items are those of their pictures."""
    assert verify(collection).problems == []
    names = tuple(stored.name for stored in collection.descriptors())
    for item in items:
        for name, vector in _described(item.path, os.stat(item.path).st_mtime_ns, names).items():
            np.testing.assert_allclose(collection.vectors(name)[item.id - 1], vector, rtol=0.05, atol=2e-3)


def header(data, rng):
    data[rng.randrange(100)] ^= 1 << rng.randrange(8)


def first_bytes(data, rng):
    size = rng.choice([1, 16, 100, 512, PAGE])
    data[:size] = bytes(size)


def truncated(data, rng):
    del data[rng.randrange(len(data)) :]


def zeroed(data, rng):
    for _ in range(rng.choice([1, 1, 4])):
        start = rng.randrange(len(data) // PAGE) * PAGE
        data[start : start + PAGE] = bytes(PAGE)


def noise(data, rng):
    start = rng.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = rng.randbytes(PAGE)


def flipped(data, rng):
    for _ in range(rng.choice([1, 8, 64])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def swapped(data, rng):
    """Two pages in each other's place: each is sound, the whole is not."""
    a, b = (rng.randrange(1, len(data) // PAGE) * PAGE for _ in range(2))
    data[a : a + PAGE], data[b : b + PAGE] = data[b : b + PAGE], data[a : a + PAGE]


def emptied(data, rng):
    data.clear()


WAYS = [header, first_bytes, truncated, zeroed, noise, flipped, swapped, emptied]


def damage(path, way, rng):
    """Damage a file; returns its bytes from before and after."""
    before = path.read_bytes()
    data = bytearray(before)
    way(data, rng)
    path.write_bytes(data)
    return before, bytes(data)


def safe_users(before, after, root_page):
    """The users of marks in pages that were not touched, if the way to them was not touched either."""

    def page(data, number):
        return data[(number - 1) * PAGE : number * PAGE]

    if page(before, root_page) != page(after, root_page):
        return set()
    numbers = range(1, len(before) // PAGE + 1)
    changed = b"".join(page(before, number) for number in numbers if page(before, number) != page(after, number))
    return {user(number) for number in range(N_MARKS) if user(number).encode() not in changed}
