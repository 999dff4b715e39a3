"""Faces become groups that people name, merge and split; all of it only if it is wanted, and deletable."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from PIL import Image, ImageOps

from rankloom.collection import Collection, index, repair, verify
from rankloom.collection._files import FACE_VECTORS
from rankloom.collection.backup import back_up
from rankloom.collection.people import (
    face_picture,
    group_faces,
    is_on,
    merge_people,
    name_person,
    people_of,
    split_person,
    switch_off,
    switch_on,
)
from rankloom.collection.query import Query
from rankloom.collection.readers import active_readers
from rankloom.descriptors import people as recognition
from rankloom.engine import Engine
from rankloom.media import read_image
from tests.data import SHARED, needs_shared
from tests.shell import invoke

FEW = ["color_layout", "edge_histogram"]
PHOTO = SHARED / "imagetext-flickr8k" / "images" / "103106960_e8a41d64f8.jpg"
PEOPLE = np.linalg.qr(np.random.default_rng(0).normal(size=(128, 4)))[0].T  # four that are as different as can be


@pytest.fixture
def few(monkeypatch):
    from rankloom.descriptors import PRESETS

    monkeypatch.setitem(PRESETS, "fast", FEW)


@pytest.fixture
def collection(tmp_path, few):
    """Six pictures without a face, to which the tests add some."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(6):
        Image.new("RGB", (40, 30), (40 * number, 90, 120)).save(folder / f"{number}.png")
    with Collection(tmp_path / "c", create=True) as opened:
        index(opened, [folder], workers=0, ocr=False)
        yield opened


def add_faces(collection, *faces):
    """Faces of items: who it is, with some noise."""
    random = np.random.default_rng(len(faces))
    with collection.transaction() as db:
        for item, person in faces:
            vector = PEOPLE[person] + 0.05 * random.normal(size=128)
            row = (item, "face", 0.1, 0.1, 0.2, 0.2, 0.9)
            columns = 'item, kind, "left", top, width, height, score'
            box = db.execute(f"INSERT INTO boxes ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row).lastrowid
            data = (vector / np.linalg.norm(vector)).astype(FACE_VECTORS).tobytes()
            db.execute("INSERT INTO known_faces VALUES (?, ?, ?, NULL)", (box, data, b"jpeg"))
    return group_faces(collection)


def items(collection):
    """The items of each group."""
    return {person.id: [face.item for face in person.faces] for person in people_of(collection)}


def found(collection, words):
    return sorted(hit.id for hit in Engine(collection).search(Query(words), 10))


class TestGroups:
    def test_faces_of_a_person_are_one_group(self, collection):
        assert add_faces(collection, (1, 0), (2, 1), (3, 0), (4, 2), (5, 1)) == 5
        assert items(collection) == {1: [1, 3], 2: [2, 5]}  # who was seen once is not listed

    def test_groups_grow_and_do_not_hang_on_when_faces_came(self, collection):
        faces = [(1, 0), (2, 1), (3, 0), (4, 2), (5, 1), (6, 2)]
        for face in faces:
            assert add_faces(collection, face) == 1
        assert items(collection) == {1: [1, 3], 2: [2, 5], 3: [4, 6]}
        assert group_faces(collection) == 0

    def test_two_faces_of_a_picture_are_two_people(self, collection):
        add_faces(collection, (1, 0), (1, 0), (2, 0))
        assert all(len(set(group)) == len(group) for group in items(collection).values())

    def test_names_are_found(self, collection):
        add_faces(collection, (1, 0), (2, 1), (3, 0))
        name_person(collection, 1, " Anna  Berg ")
        assert [person.name for person in people_of(collection)] == ["Anna Berg"]
        assert found(collection, "anna") == [1, 3]
        add_faces(collection, (5, 0))
        assert found(collection, '"Anna Berg"') == [1, 3, 5]
        name_person(collection, 1, "")
        assert found(collection, "anna") == []

    def test_merge_and_split(self, collection):
        add_faces(collection, (1, 0), (2, 0), (3, 1), (4, 1))
        name_person(collection, 2, "Bo")
        merge_people(collection, 1, [2])
        assert items(collection) == {1: [1, 2, 3, 4]}
        assert found(collection, "bo") == [1, 2, 3, 4]
        boxes = [face.box for face in people_of(collection)[0].faces]
        new = split_person(collection, 1, boxes[:2])
        assert items(collection) == {1: [3, 4], new: [1, 2]}
        assert found(collection, "bo") == [3, 4]
        assert verify(collection).problems == []

    def test_errors_are_clear(self, collection):
        add_faces(collection, (1, 0), (2, 0), (3, 1), (4, 1))
        name_person(collection, 1, "Anna")
        with pytest.raises(ValueError, match=r"person 1 has the name 'Anna' already; make them one: .* merge 1 2"):
            name_person(collection, 2, "Anna")
        with pytest.raises(KeyError, match="there is no person 9"):
            name_person(collection, 9, "Bo")
        with pytest.raises(ValueError, match="face 99 is not one of person 1"):
            split_person(collection, 1, [99])
        with pytest.raises(ValueError, match="but not all"):
            split_person(collection, 1, [1, 2])
        with pytest.raises(ValueError, match="at least two people"):
            merge_people(collection, 1, [1])


def test_it_is_off_until_it_is_switched_on(collection):
    assert not is_on(collection)
    assert "people" not in active_readers(collection)
    switch_on(collection)
    assert is_on(collection)
    assert switch_off(collection) == []
    assert not is_on(collection)


@pytest.mark.sqlite
def test_all_of_it_is_deleted_in_the_backups_too(collection):
    switch_on(collection)
    add_faces(collection, (1, 0), (2, 0))
    name_person(collection, 1, "Annabella")
    back_up(collection.folder)
    assert switch_off(collection, delete=True) == []
    assert (people_of(collection), found(collection, "annabella")) == ([], [])
    for path in collection.folder.rglob("*"):
        assert not path.is_file() or b"nnabella" not in path.read_bytes().lower(), path
    for path in (collection.folder / "backups").glob("*.db"):
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT count(*) FROM known_faces").fetchone() == (0,)
    assert verify(collection).problems == []


@pytest.mark.sqlite
def test_groups_survive_a_repair(collection, tmp_path):
    add_faces(collection, (1, 0), (2, 0))
    name_person(collection, 1, "Anna")
    folder = collection.folder
    collection.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = shutil.copytree(folder, tmp_path / "copy")
    with closing(sqlite3.connect(copy / "rankloom.db")) as db:
        db.execute("DROP TRIGGER count_items_insert")  # damage that makes it be rebuilt
    repair(copy, workers=0)
    with Collection(copy) as repaired:
        assert items(repaired) == {1: [1, 2]}
        assert found(repaired, "anna") == [1, 2]


@needs_shared
@pytest.mark.slow
def test_a_face_is_known_again_in_another_picture(tmp_path, few):
    folder = tmp_path / "pictures"
    folder.mkdir()
    photo = Image.fromarray(read_image(PHOTO))
    photo.save(folder / "a.png")
    ImageOps.mirror(photo).point(lambda value: 0.8 * value).save(folder / "b.png")
    (known,) = recognition.recognize_faces(np.asarray(photo))
    assert np.linalg.norm(known.vector) == pytest.approx(1.0, abs=1e-4)
    arguments = ["-c", str(tmp_path / "c")]

    def run(*words):
        result = invoke(*words, *arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    run("index", str(folder), "--workers", "0", "--no-ocr", "--no-neighbours")
    assert "to switch it on: rankloom people on" in run("people", "list")
    assert "2 files are described already: rankloom index --reread" in run("people", "on")
    run("index", "--reread", "--workers", "0", "--no-neighbours")
    run("people", "name", "1", "Anna")
    assert '"name": "Anna", "faces": [{"box": ' in run("people", "list", "--json")
    assert "people: Anna" in run("search", "anna")
    with Collection(tmp_path / "c") as collection:
        (person,) = people_of(collection)
        assert face_picture(collection, person.faces[0].box).startswith(b"\xff\xd8")
    assert "deleted" in run("people", "off", "--delete")
    assert run("people", "list", "--json") == ""
