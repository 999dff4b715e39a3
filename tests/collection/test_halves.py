"""Collections of earlier versions, whose vectors have half precision, become those of this one."""

import shutil
import sqlite3
import zlib
from contextlib import closing

import cv2
import numpy as np
import pytest

from rankloom.collection import Collection, index, verify
from rankloom.collection._files import vector_file
from rankloom.collection.backup import backups
from rankloom.collection.repair import restore
from rankloom.experts.compact import CompactVectors

pytestmark = pytest.mark.sqlite

BEFORE = 9  # the version with half precision


def write_pictures(folder, n):
    folder.mkdir(exist_ok=True)
    for number in range(n):
        pixels = np.random.default_rng(number).integers(0, 256, (8, 9, 3), np.uint8)
        cv2.imwrite(str(folder / f"{number}.png"), cv2.resize(pixels, (90, 80)))


@pytest.fixture
def old(tmp_path):
    """A collection as it was before; its vectors in half precision by descriptor."""
    write_pictures(tmp_path / "pictures", 7)
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [tmp_path / "pictures"], descriptors=["hog", "color_layout"], workers=0)
        stored = {one: collection.vectors(one.name)[:].astype("<f2") for one in collection.descriptors()}
    with closing(sqlite3.connect(tmp_path / "c" / "rankloom.db")) as db, db:
        for one, halves in stored.items():
            new, file = vector_file(one.name, one.version), f"vectors/{one.name}-{one.version}.f16"
            (tmp_path / "c" / new).unlink()
            halves.tofile(tmp_path / "c" / file)
            db.execute("DELETE FROM blocks WHERE file = ?", (new,))
            for rows in (slice(0, 3), slice(3, 7)):  # two blocks
                data = halves[rows].tobytes()
                row = (file, rows.start * 2 * one.dimension, len(data), zlib.crc32(data))
                db.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", row)
        db.execute("DROP TABLE positions")  # came later
        db.execute(f"PRAGMA user_version = {BEFORE}")
    return tmp_path / "c", {one.name: halves for one, halves in stored.items()}


def assert_converted(collection, halves):
    for name, rows in halves.items():
        np.testing.assert_array_equal(collection.vectors(name).rows, CompactVectors.of(rows).rows)
    assert verify(collection).problems == []
    assert not [*collection.folder.glob("vectors/*.f16")]


def test_vectors_are_converted_when_the_collection_is_opened(old, tmp_path):
    folder, halves = old
    for _ in range(2):
        with Collection(folder) as collection:
            assert_converted(collection, halves)
    write_pictures(tmp_path / "pictures", 9)
    with Collection(folder) as collection:
        index(collection, workers=0)
        assert len(collection.vectors("hog")) == 9
        assert verify(collection).problems == []


def test_rows_without_a_checksum_are_converted_too(old):
    folder, halves = old
    with closing(sqlite3.connect(folder / "rankloom.db")) as db, db:
        db.execute("DELETE FROM blocks WHERE file LIKE '%.f16'")
    with Collection(folder) as collection:
        for name, rows in halves.items():
            np.testing.assert_array_equal(collection.vectors(name).rows, CompactVectors.of(rows).rows)


def test_killed_between_files_and_database_it_begins_again(old):
    folder, halves = old
    shutil.copytree(folder, folder.with_name("killed"))
    with Collection(folder):
        pass
    for file in (folder / "vectors").glob("*.codes"):  # as if the database had not been written
        shutil.copy(file, folder.with_name("killed") / "vectors")
    with Collection(folder.with_name("killed")) as collection:
        assert_converted(collection, halves)


def test_a_backup_of_before_fits_what_was_converted(old):
    folder, halves = old
    with Collection(folder):
        pass
    restore(folder, backups(folder)[0].path, merge=False)
    with Collection(folder) as collection:
        assert_converted(collection, halves)


def test_what_was_damaged_is_so_afterwards_and_can_be_repaired(old):
    folder, halves = old
    (file,) = (folder / "vectors").glob("hog-*.f16")
    data = bytearray(file.read_bytes())
    data[4000] ^= 64
    file.write_bytes(data)
    with Collection(folder) as collection:
        assert len(verify(collection).problems) == 1
        assert verify(collection, repair=True).repaired == 1
        np.testing.assert_allclose(collection.vectors("hog")[:], halves["hog"], rtol=0.05, atol=1e-3)
        assert verify(collection).problems == []
