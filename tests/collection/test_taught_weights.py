"""Collections without the semantic descriptor teach themselves starting weights, by the thumbnails of a sample."""

import cv2
import numpy as np
import pytest

from rankloom.collection import Collection, index
from rankloom.collection.derived import store_learned
from rankloom.collection.taught_weights import stored_weights, teacher_of
from rankloom.engine import Engine
from rankloom.experiments import LabeledCollection
from rankloom.experts import prior_weights
from rankloom.experts.compact import CompactVectors
from tests.building import built, copy_folder

COUNT = 104


def draw(folder, first, last):
    """Discs and stripes, of random colours and places."""
    folder.mkdir(exist_ok=True)
    for number in range(first, last):
        random = np.random.default_rng(number)
        colour = random.integers(0, 256, 3).tolist()
        image = np.full((64, 64, 3), random.integers(0, 256, 3), np.uint8)
        if number % 2:
            cv2.circle(image, random.integers(20, 44, 2).tolist(), 16, colour, -1)
        else:
            image[:: random.integers(3, 9)] = colour
        cv2.imwrite(str(folder / f"{number}.png"), image)


def make(folder):
    draw(folder / "p", 0, COUNT)
    with Collection(folder / "c", create=True) as collection:
        index(collection, [folder / "p"], preset="paper36", workers=0)


@pytest.fixture(scope="module")
def original():
    return built("taught", make)


@pytest.fixture
def collection(original, tmp_path):
    with Collection(copy_folder(original / "c", tmp_path / "c")) as opened:
        yield opened


def test_searches_start_with_them(collection):
    taught = stored_weights(collection)
    assert taught is not None
    assert min(taught.values()) < 0  # signed, as nothing shipped is
    start = Engine(collection).weight_state.start
    assert {name: start[name] for name in taught if name in start} == {
        name: taught[name] for name in taught if name in start
    }
    assert sum(name in start for name in taught) >= 36


def test_they_are_taught_once_until_there_are_twice_as_many(collection, original, tmp_path):
    said = []

    def hear(done, total, text):
        said.append(text)

    store_learned(collection, hear)
    assert said == []
    draw(tmp_path / "more", COUNT, COUNT + 2)
    index(collection, [original / "p", tmp_path / "more"], workers=0, progress=hear)
    assert "learning what looks alike" not in said
    before = stored_weights(collection)
    draw(tmp_path / "more", COUNT + 2, 2 * COUNT)
    index(collection, [original / "p", tmp_path / "more"], workers=0, progress=hear)
    assert "learning what looks alike" in said
    assert stored_weights(collection) != before


def test_the_semantic_descriptor_itself_takes_their_place(collection):
    index(collection, preset="fast", workers=0)
    assert stored_weights(collection) is None
    start = Engine(collection).weight_state.start
    known = prior_weights(descriptor.name for descriptor in collection.descriptors())
    assert start["semantic.cosine"] == pytest.approx(known["semantic.cosine"])


def test_few_items_teach_nothing(tmp_path):
    draw(tmp_path / "p", 0, 12)
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [tmp_path / "p"], preset="paper36", workers=0)
        assert stored_weights(collection) is None
        assert min(Engine(collection).weight_state.start.values()) >= 0


def test_damaged_thumbnails_are_left_out(collection):
    with collection.transaction() as db:
        db.execute("UPDATE items SET thumb_bytes = 0 WHERE id = 3")
        db.execute("UPDATE items SET thumb_bytes = 40 WHERE id = 5")
    rows, vectors = teacher_of(collection, np.arange(8))
    assert rows.tolist() == [0, 1, 3, 5, 6, 7]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-3)


def test_experiments_start_with_them_too(collection):
    rows, vectors = teacher_of(collection, np.arange(COUNT))
    names = [descriptor.name for descriptor in collection.descriptors()]
    everything = {name: collection.vectors(name) for name in names} | {"semantic": CompactVectors.of(vectors)}
    data = LabeledCollection(everything, np.arange(COUNT) % 2)
    alone = data.only(names)
    assert alone.teacher is not None
    assert alone.teacher.rows.tolist() == rows.tolist()
    known = stored_weights(collection)
    found = dict(zip((expert.name for expert in alone.experts), alone.start, strict=True))
    names = [expert.name for expert in alone.experts]
    # The stored vectors are rounded, which may exchange neighbours: alike, not equal.
    assert np.corrcoef([found[name] for name in names], [known[name] for name in names])[0, 1] > 0.8
