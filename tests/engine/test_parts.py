"""What the parts of the engine promise: nothing written by searches, caches that hold, one describer, typed parts."""

import hashlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from rankloom.collection import Collection, Mark, add_encoder, index
from rankloom.collection._files import vector_file
from rankloom.collection.describing import load_encoder
from rankloom.collection.query import Example, Query
from rankloom.collection.settings import encoders_of
from rankloom.core import Shared
from rankloom.engine import Engine, Explanation, Part, SearchOptions
from rankloom.engine.explanation import COLORS, FACES, TEXT
from rankloom.engine.similarity import Distances, Similarities
from rankloom.engine.words import ColorExpert
from rankloom.experts.compact import row_bytes
from tests.archives import alike, ids, like, make, rgb, write_encoder, write_pictures

N = 48


def contents(collection):
    """A hash of every file of a collection but the database, and all rows of the database."""
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(collection.folder.rglob("*"))
        if path.is_file() and not path.name.startswith(("rankloom.db", "open.lock"))
    }
    with sqlite3.connect(collection.folder / "rankloom.db") as db:
        return files, [*db.iterdump()]


def test_searching_writes_nothing(changing, tmp_path):
    engine = alike(changing)
    engine.feedback(like(3), [Mark(item, float(item % 2)) for item in range(4, 40)])
    engine.feedback(Query("boat"), [Mark(5, 1.0), Mark(6, 0.0)])
    more = write_pictures(tmp_path / "more", 2, seed=4)
    index(changing, [more], workers=0)
    with changing.transaction() as db:  # as after a crash: everything that is derived is gone
        for table in ("scales", "checkpoints"):
            db.execute(f"DELETE FROM {table}")
        db.execute("DELETE FROM meta WHERE key = 'counted'")
    for name in ("texts.index", "tags.index", "neighbours.npz"):
        (changing.folder / name).unlink(missing_ok=True)
    before = contents(changing)
    engine = alike(changing)
    picture = Query("red", (Example(image=rgb(changing, 7)),))
    options = SearchOptions(explain=True, collapse=True, diversity=0.3)
    for query in (like(3), Query("boat"), picture, like(2, text="red -house")):
        engine.search(query, 20, options)
        engine.search(query, 20, SearchOptions(method="smooth"))
        engine.compare(query, 1, 2)
    engine.learning_curve()
    assert engine.weight_state.n_marks == 38
    assert contents(changing) == before


def test_added_items_keep_weights_and_similarities(changing, tmp_path):
    engine = alike(changing)
    engine.feedback(like(3), [Mark(item, float(item % 2)) for item in range(4, 20)])
    engine.search(like(3), N)
    online = engine._weights._online
    index(changing, [write_pictures(tmp_path / "more", 3, seed=4, captions=False)], workers=0)
    grown = engine.search(like(3), 2 * N)
    assert not grown.learning
    assert engine._weights._online is online
    assert len(grown) == N + 12
    anew = alike(changing).search(like(3), 2 * N)
    assert ids(grown) == ids(anew)
    np.testing.assert_allclose([hit.score for hit in grown], [hit.score for hit in anew], rtol=1e-12)


def test_searches_go_on_with_the_last_weights_while_a_replay_runs(changing):
    engine, other = alike(changing), alike(changing)
    engine.feedback(like(3), [Mark(item, float(item % 2)) for item in range(4, 20)])
    before = engine.search(like(5), N)
    weights = engine.weights
    with engine._weights._lock:  # as a thread that replays a long log of marks
        other.feedback(like(5), [Mark(40, 1.0), Mark(39, 0.0)], user="b")
        during = engine.search(like(5), N)
        assert (during, during.learning, engine.weights) == (before, True, weights)
        marked = engine.search(like(5), N, SearchOptions(user="b"))
        assert marked[0].id == 40  # feedback inside the search needs no learned weights
    engine.settle()
    assert not engine.search(like(5), N).learning
    assert engine.weights == other.weights == alike(changing).weights != weights


def test_a_long_replay_holds_up_nobody(changing, monkeypatch):
    monkeypatch.setattr("rankloom.engine.weights.AT_ONCE", 5)
    engine = alike(changing)
    numbers = [engine.feedback(like(item), [Mark(item + 1, 1.0)])[0] for item in range(1, 20)]
    with engine._weights._collection.transaction() as db:  # so that the undo has no checkpoint to begin from
        db.execute("DELETE FROM checkpoints")
    engine.undo(mark=numbers[0])
    engine.feedback(like(7), [Mark(9, 1.0)])
    assert {hit.id for hit in engine.search(like(7), 2)} == {8, 9}
    anew = alike(changing)
    for replayed in (engine, anew):
        replayed.settle()
        assert replayed.weight_state.n_marks == len(numbers)
    assert engine.weights == anew.weights


@pytest.mark.slow
def test_a_doubled_collection_is_learned_again(changing, tmp_path):
    engine = alike(changing)
    engine.feedback(like(3), [Mark(item, float(item % 2)) for item in range(4, 20)])
    online = engine._weights._online
    index(changing, [write_pictures(tmp_path / "more", 13, seed=4, captions=False)], workers=0)
    engine.search(like(3))
    engine.settle()
    assert engine._weights._online is not online
    assert engine.weights == alike(changing).weights


@pytest.mark.parametrize("item", [1, 20, 48])
def test_the_picture_of_an_item_is_described_as_the_item(original, item):
    engine = alike(original)
    by_item, by_picture = (
        engine.rank(query, SearchOptions(diffusion=False)).scores
        for query in (like(item), Query(examples=(Example(image=rgb(original, item)),)))
    )
    np.testing.assert_array_equal(by_item, by_picture)


def test_an_encoder_is_loaded_once_while_its_file_stays(changing, tmp_path):
    write_encoder(tmp_path / "a.onnx")
    add_encoder(changing, "mean", tmp_path / "a.onnx")
    index(changing, workers=0)
    (options,) = encoders_of(changing).values()
    engine = Engine(changing)
    for item in (3, 9):
        assert engine.search(Query(examples=(Example(image=rgb(changing, item)),)), 1)[0].id == item
    loaded = load_encoder("mean", options)
    engine.search(Query(examples=(Example(image=rgb(changing, 12)),)))
    assert load_encoder("mean", options) is loaded
    write_encoder(tmp_path / "b.onnx", scale=2.0)
    add_encoder(changing, "mean", tmp_path / "b.onnx")
    assert load_encoder("mean", options) is not loaded


def test_explanations_are_typed_parts(changing):
    engine = alike(changing)
    engine.refresh()
    query = like(3, text="red boat")
    engine.feedback(query, [Mark(8, 1.0), Mark(30, 0.0)])
    engine.prefer(query, 10, 11)
    kinds = {}
    for hit in engine.search(query, N, SearchOptions(explain=True)):
        assert hit.why.total == pytest.approx(hit.score, abs=1e-6)
        for part in hit.why:
            kinds.setdefault(part.kind, set()).add(part.name)
            if part.kind == "neighbour" or part.name.startswith(("like item", "unlike item")):
                assert part.name.endswith(f" {part.item}")
            else:
                assert part.item is None
    assert {"marked right", "marked wrong", "all marks", "like item 8", "unlike item 30"} <= kinds["mark"]
    assert kinds["text"] == {"text.bm25"}
    assert "like the examples" in kinds["example"]
    assert "gist.l2" in kinds["expert"]
    assert set(kinds) == {"expert", "text", "mark", "example", "neighbour"}


def test_differences_of_explanations():
    a = Explanation([Part("expert", "x", 1.0), Part("text", "y", 0.5)])
    b = Explanation([Part("text", "y", 2.0), Part("mark", "like item 3", 0.25, 3)])
    difference = a.minus(b)
    assert difference == (
        Part("text", "y", -1.5), Part("expert", "x", 1.0), Part("mark", "like item 3", -0.25, 3),
    )  # fmt: skip
    assert difference.total == pytest.approx(a.total - b.total)
    assert a.minus(a).total == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [({"offset": -1}, "offset"), ({"diversity": 1.5}, "diversity"), ({"method": "magic"}, "unknown method 'magic'")],
)
def test_options_that_make_no_sense(options, says):
    with pytest.raises(ValueError, match=says):
        SearchOptions(**options)


def test_a_damaged_vector_is_named_with_its_cure(changing):
    stored = next(entry for entry in changing.descriptors() if entry.name == "hog")
    path = changing.folder / vector_file(stored.name, stored.version)
    damaged = np.fromfile(path, np.uint8)
    damaged[6 * row_bytes(stored.dimension) + stored.dimension :][:2] = np.array([np.nan], "<f2").view(np.uint8)
    damaged.tofile(path)
    engine = alike(changing)
    for query in (like(3), like(7), like(3, text="red"), Query(examples=(Example(item=3), Example(item=9)))):
        with pytest.raises(ValueError, match=r"vector of hog of item 7 is damaged .*rankloom repair"):
            engine.search(query)


def test_distances_are_kept_for_other_weights(original):
    snapshot = alike(original).snapshot()
    vectors, distances = snapshot.vectors_of(4), Distances()
    names = [expert.name for expert in snapshot.experts]
    for seed in range(3):
        weights = dict(zip(names, np.random.default_rng(seed).normal(size=len(names)), strict=True))
        expected = snapshot.similarity(vectors, weights)
        np.testing.assert_allclose(distances.similarity(snapshot, 5, vectors, weights), expected, rtol=1e-4, atol=1e-5)
        vectors = {name: np.full_like(vector, np.nan) for name, vector in vectors.items()}  # not looked at again
        kept = distances.similarity(snapshot, 5, vectors, weights)
        np.testing.assert_allclose(kept, expected, rtol=1e-4, atol=1e-5)
        vectors = snapshot.vectors_of(4)


def test_distances_of_a_collection_that_is_too_large_are_not_kept(original, monkeypatch):
    snapshot = alike(original).snapshot()
    weights = {expert.name: 1.0 for expert in snapshot.experts}
    monkeypatch.setattr("rankloom.engine.similarity.CACHE_BYTES", 1000)
    whole = Distances().similarity(snapshot, 5, snapshot.vectors_of(4), weights)
    np.testing.assert_array_equal(whole, snapshot.similarity(snapshot.vectors_of(4), weights))


def test_kept_columns_take_bounded_memory_and_change_nothing(original, monkeypatch):
    engine = alike(original)
    view, similarities = engine._pipeline.view(), engine._pipeline.similarities
    query = engine._encoder.encode(like(3, 7), view.snapshot)
    expected = {item: similarities.to_item(view, item) for item in range(1, N + 1)}
    near = similarities.to_examples(view, query)
    monkeypatch.setattr("rankloom.engine.similarity.CACHE_BYTES", 600)
    monkeypatch.setattr("rankloom.engine.similarity.FEWEST_COLUMNS", 3)
    for item, column in expected.items():
        small = Similarities(Distances())
        for other in (item, *range(1, 6), item):
            np.testing.assert_array_equal(small.to_item(view, other), expected[other])
        assert len(small._columns_for(view)) == 3
        np.testing.assert_array_equal(column, [expected[other][item - 1] for other in range(1, N + 1)])
    np.testing.assert_allclose(small.to_examples(view, query), near, rtol=1e-4)  # nothing is kept of these
    np.testing.assert_allclose(near, (expected[3] + expected[7]) / 2, rtol=1e-4)


@pytest.mark.parametrize("query", [like(3), like(3, text="red"), like(3, text="  "), Query("red"), Query("people")])
def test_experts_that_are_left_out_say_nothing(original, query):
    engine = alike(original)
    snapshot = engine.snapshot()
    encoded = engine._encoder.encode(query, snapshot)
    silent = snapshot.silent(query, encoded.faces)
    assert (TEXT in silent) == (not query.text.strip())
    assert (COLORS in silent) == (query.text != "red" and COLORS in snapshot.names)
    assert (FACES in silent) == (query.text != "people")
    phi = engine.features(query)
    assert {phi.names[place] for place in range(phi.shape[1]) if phi.is_nothing(place)} >= silent
    rows = np.arange(snapshot.n_items)
    said = {FACES: snapshot._face_column(query, encoded.faces, rows)}
    if COLORS in snapshot.names:
        said[COLORS] = ColorExpert(query, snapshot.looks.shares, snapshot.counted)(rows)
    assert not any(column.any() for name, column in said.items() if name in silent)


def test_a_hit_shows_where_its_file_is_now(tmp_path):
    pictures = write_pictures(tmp_path / "pictures", 2, captions=False)
    with Collection(make(tmp_path / "c", pictures)) as collection:
        engine = alike(collection)
        before = engine.search(like(1), 1)[0]
        assert engine.search(like(1), 1)[0] == before
        Path(before.path).rename(pictures / "renamed.png")
        index(collection, [pictures], workers=0)
        after = engine.search(like(1), 1)[0]
        assert (after.id, Path(after.path).name) == (before.id, "renamed.png")


class Key:
    """A key that counts how often it is looked for."""

    looked_for = 0

    def __hash__(self):
        self.looked_for += 1
        return 7


def test_what_several_threads_ask_for_at_a_time_is_computed_once():
    shared, key, computed = Shared(), Key(), []

    def compute():
        computed.append(1)
        while key.looked_for < 5:  # twice by the first thread, once by each other
            sleep(0.001)
        return [*computed]

    with ThreadPoolExecutor(4) as pool:
        results = [*pool.map(lambda _: shared.run(key, compute), range(4))]
    assert all(result is results[0] for result in results)
    assert computed == [1]
    assert shared.run(key, lambda: "again") == "again"
    with pytest.raises(ValueError, match="no"):
        shared.run(key, partial(int, "no"))
    assert shared.run(key, lambda: "after an error") == "after an error"
