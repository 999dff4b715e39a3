"""The neighbour graph of a collection: the same however it was made, kept, grown, damaged or moved."""

import gc
import json
import os
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from rankloom.collection import Collection, Mark, index
from rankloom.collection.query import Query
from rankloom.engine import Engine
from rankloom.engine.neighbors import RESOLUTION, build_graph
from tests.archives import alike, copied, ids, like, make, picture, write_pictures

N = 48
GRAPH = "neighbours.npz"


def scratch(collection, target):
    """The graph as a copy of the collection makes it anew."""
    with copied(collection, target) as other:
        (other.folder / GRAPH).unlink(missing_ok=True)
        return alike(other).refresh()


def assert_same_graph(graph, anew):
    np.testing.assert_array_equal(graph.ids, anew.ids)
    np.testing.assert_array_equal(graph.similarities, anew.similarities)


def brute(engine, present, k=10):
    """The neighbours by the weights that the library started with."""
    snapshot = engine.snapshot()
    visual = {expert.name for expert in snapshot.experts}
    weights = {name: value for name, value in engine.weight_state.start.items() if name in visual}
    total = sum(abs(value) for value in weights.values())
    rows = []
    for row in range(len(present)):
        found = snapshot.similarity(snapshot.vectors_of(row), {name: one / total for name, one in weights.items()})
        found = np.where(present, np.round(found / RESOLUTION), -np.inf)
        found[row] = -np.inf
        rows.append(np.lexsort((np.arange(len(found)), -found))[:k] if present[row] else np.full(k, -1))
    return np.array(rows)


def test_the_graph_is_that_of_brute_force(changing):
    (changing.folder / GRAPH).unlink(missing_ok=True)
    engine = alike(changing)
    assert not engine.graph_ready
    found = engine.refresh()
    assert engine.graph_ready
    np.testing.assert_array_equal(found.ids, brute(engine, np.ones(N, bool)))


@pytest.mark.slow
def test_a_grown_graph_equals_one_from_scratch(changing, tmp_path):
    engine = alike(changing)
    engine.refresh()
    for turn in range(3):
        more = write_pictures(tmp_path / f"more{turn}", 3, seed=10 + turn, captions=False)
        index(changing, [more], workers=0)
        found, anew = engine.refresh(), scratch(changing, tmp_path / f"scratch{turn}")
        assert_same_graph(found, anew)


@pytest.mark.slow
def test_a_grown_graph_equals_one_from_scratch_when_the_collection_doubles(changing, tmp_path):
    engine = alike(changing)
    engine.refresh()
    index(changing, [write_pictures(tmp_path / "more", 14, seed=3, captions=False)], workers=0)
    assert_same_graph(engine.refresh(), scratch(changing, tmp_path / "scratch"))


@pytest.mark.slow
def test_removed_files_leave_the_graph(tmp_path):
    pictures = write_pictures(tmp_path / "pictures", 10, captions=False)
    with Collection(make(tmp_path / "c", pictures)) as opened:
        engine = alike(opened)
        engine.refresh()
        gone = [1, 2, 17, 40]
        held = {path: path.read_bytes() for path in (pictures / opened.items([one])[0].path for one in gone)}
        for path in held:
            path.unlink()
        index(opened, [pictures], workers=0)
        present = np.array([one not in gone for one in range(1, 41)])
        np.testing.assert_array_equal(engine.refresh().ids, brute(engine, present))
        assert not set(gone) & set(ids(engine.search(like(5), 100)))
        for path, found in held.items():
            path.write_bytes(found)
        index(opened, [pictures], workers=0)
        np.testing.assert_array_equal(engine.refresh().ids, brute(engine, np.ones(40, bool)))


@pytest.mark.slow
def test_removed_and_returned_files_with_twins(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number in range(45):  # three files each of the same pixels
        image = Image.fromarray(picture((40, 60, 200), number // 3)[:, :, ::-1].copy())
        image.save(pictures / f"{number:02}.png", compress_level=number % 3 * 4)
    with Collection(make(tmp_path / "c", pictures)) as opened:
        engine = alike(opened)
        engine.refresh()
        held = {pictures / f"{number:02}.png": (pictures / f"{number:02}.png").read_bytes() for number in (0, 7, 20)}
        for path in held:
            path.unlink()
        index(opened, [pictures], workers=0)
        assert_same_graph(engine.refresh(), scratch(opened, tmp_path / "one"))
        for path, found in held.items():
            path.write_bytes(found)
        index(opened, [pictures], workers=0)
        assert_same_graph(engine.refresh(), scratch(opened, tmp_path / "two"))


@pytest.mark.slow
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_any_history_gives_the_graph_of_the_end(data):
    n = data.draw(st.integers(3, 14))
    points = np.array(data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)), float)  # with many ties
    if data.draw(st.booleans()):
        points += np.random.default_rng(0).permutation(n) * 1e-3  # with few
    k = data.draw(st.integers(1, 4))
    known, size = None, 0
    while size < n:
        size = data.draw(st.integers(size + 1, n))
        present = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
        similarity = -np.abs(points[:size] - points[:size, None])
        known = build_graph(lambda item, K=similarity: K[item], present, k, known=known)
        assert_same_graph(known, build_graph(lambda item, K=similarity: K[item], present, k))


def test_rounding_of_similarities_does_not_order_the_graph():
    points = np.random.default_rng(0).integers(0, 4, 60)
    similarity = -np.abs(points - points[:, None]) / 8.0
    present = np.ones(60, dtype=bool)
    expected = build_graph(lambda item: similarity[item], present)
    for seed in range(20):  # as another processor, another block, or the other of two items would have it
        noise = np.random.default_rng(seed).uniform(-1e-6, 1e-6, similarity.shape)
        known = build_graph(lambda item, K=similarity + noise: K[item, :40], present[:40])
        assert_same_graph(build_graph(lambda item, K=similarity - noise: K[item], present, known=known), expected)


def test_the_graph_follows_the_weights_of_the_start_only(changing):
    engine = alike(changing)
    before = engine.refresh()
    written = os.stat(changing.folder / GRAPH).st_mtime_ns
    engine.set_weight("lbp.l1", 50.0)
    engine.feedback(
        like(1), [*(Mark(item, 1.0) for item in range(30, 40)), *(Mark(item, 0.0) for item in range(2, 12))]
    )
    assert engine.weights["lbp.l1"] == 50.0
    assert engine.weight_state.moved > 0.02  # far enough, if it were what counts
    np.testing.assert_array_equal(engine.refresh().ids, before.ids)
    assert os.stat(changing.folder / GRAPH).st_mtime_ns == written
    engine.reset_weights()
    np.testing.assert_array_equal(engine.refresh().ids, before.ids)


def test_the_graph_is_made_anew_for_an_engine_that_starts_with_other_weights(changing):
    before = alike(changing).refresh()
    other = Engine(changing, {**alike(changing).weights, "lbp.l1": 50.0})
    after = other.refresh()
    assert (before.ids != after.ids).any()
    np.testing.assert_array_equal(after.ids, brute(other, np.ones(N, bool)))
    np.testing.assert_array_equal(alike(changing).refresh().ids, before.ids)


@pytest.mark.slow
def test_the_graph_is_made_anew_when_a_linear_model_is_put_in_use(changing):
    engine = alike(changing)
    before = engine.refresh()
    for item in range(1, N, 5):
        wanted = changing.items([item])[0].path.split("/")[-2]
        kinds = {one.id: one.path.split("/")[-2] for one in changing.items([*range(1, N + 1, 3)])}
        engine.feedback(like(item), [Mark(one, float(found == wanted)) for one, found in kinds.items() if one != item])
    number = engine.train("rlr").id
    for model in (None, number):
        engine.use(model)
        found = engine.refresh()
        np.testing.assert_array_equal(found.ids, brute(engine, np.ones(N, bool)))
        assert (found.ids != before.ids).any() == (model is not None)
        np.testing.assert_array_equal(alike(changing).refresh().ids, found.ids)
    engine.use(engine.train("rankboost").id)  # not linear: it has no weights of its own
    np.testing.assert_array_equal(engine.refresh().ids, before.ids)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["descriptor", "version", "scales"])
def test_the_graph_is_made_anew_when_descriptors_change(changing, tmp_path, what):
    alike(changing).refresh()
    file = changing.folder / GRAPH
    if what == "descriptor":
        index(changing, descriptors=["wavelet"], workers=0)
    else:  # as if it had been made by an older version, or with other scales
        with np.load(file) as held:
            kept = dict(held)
        about = json.loads(str(kept["about"]))
        old = about["versions"]["lbp"].partition(" ")
        about["versions"]["lbp"] = f"older {old[2]}" if what == "version" else f"{old[0]} []"
        kept["similarities"] = kept["similarities"] * 0
        np.savez(file, **{**kept, "about": np.array(json.dumps(about))})
    engine = alike(changing)
    assert not engine.graph_ready
    assert_same_graph(engine.refresh(), scratch(changing, tmp_path / "scratch"))


def test_the_graph_is_used_by_another_engine(changing):
    found = alike(changing).refresh()
    written = os.stat(changing.folder / GRAPH).st_mtime_ns
    other = alike(changing)
    assert other.graph_ready
    np.testing.assert_array_equal(other.refresh().ids, found.ids)
    assert other.search(like(3)).diffused
    assert os.stat(changing.folder / GRAPH).st_mtime_ns == written


def damages(good, n):
    rng = np.random.default_rng(1)
    yield b""
    yield b"not at all"
    yield good[:-1]
    for _ in range(n):
        yield good[: rng.integers(0, len(good))]
        found = bytearray(good)
        found[rng.integers(0, len(found))] ^= 1 << int(rng.integers(8))
        yield bytes(found)


@contextmanager
def left_open():
    """The files that were not closed meanwhile."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        found = []
        yield found
        gc.collect()
    found += [str(one.message) for one in said if issubclass(one.category, ResourceWarning)]


@pytest.mark.slow
def test_a_damaged_graph_is_made_again(changing):
    expected = alike(changing).refresh()
    file = changing.folder / GRAPH
    with left_open():
        for bad in damages(file.read_bytes(), 12):
            file.write_bytes(bad)
            np.testing.assert_array_equal(alike(changing).refresh().ids, expected.ids)


@pytest.mark.slow
def test_a_damaged_graph_is_closed(changing):
    alike(changing).refresh()
    file = changing.folder / GRAPH
    good = file.read_bytes()
    with left_open() as found:
        for bad in (good[:40], good[:-1], good[: len(good) // 2]):
            file.write_bytes(bad)
            alike(changing).refresh()
    assert not found


@pytest.mark.slow
def test_a_graph_with_a_damaged_header_is_made_again(changing):
    expected = alike(changing).refresh()
    file = changing.folder / GRAPH
    good = file.read_bytes()
    end, start = good.rindex(b"PK\x01\x02"), good.index(b"NUMPY")
    failed = set()
    with left_open():
        for at in (*range(end, end + 12), *range(start, start + 60)):
            bit = (1, 8, 64)[at % 3]
            file.write_bytes(good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :])
            try:
                np.testing.assert_array_equal(alike(changing).refresh().ids, expected.ids)
            except Exception as error:
                failed.add(type(error).__name__)
    assert not failed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["texts.index", "tags.index"])
def test_a_damaged_text_index_is_made_again(changing, name):
    expected = alike(changing).scores(Query("red boat"))
    file = changing.folder / name
    for bad in damages(file.read_bytes(), 12):
        file.write_bytes(bad)
        np.testing.assert_array_equal(alike(changing).scores(Query("red boat")), expected)
