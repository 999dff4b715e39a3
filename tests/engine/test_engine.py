"""Search: exact, explained, filtered, and the same whichever way it is asked."""

import itertools
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rankloom.collection import Collection, Mark, index
from rankloom.collection.query import Example, Filters, Query
from rankloom.engine import TEXT, Engine, SearchOptions
from rankloom.experts.distances import DISTANCES
from tests.archives import COLORS, alike, picture
from tests.shell import invoke


@pytest.fixture(scope="module")
def engine(original):
    """All experts alike: these tests are about search, not about the weights that it starts with."""
    return alike(original)


def kinds(found):
    return [one.path.split("/")[-2].split("_")[0] for one in found]


def test_text_finds_captions_and_folders(engine):
    found = engine.search(Query("red boat"), 3)
    assert kinds(found) == ["red"] * 3
    boats = {one.id for one in engine.search(Query("boat"), 12)}
    captions = {item.id for item in engine.collection.items() if ("boat" in str(engine.collection.texts(item.id)))}
    assert boats == captions
    assert kinds(engine.search(Query("things -red -green -grey"), 12)) == ["blue"] * 12


@pytest.mark.parametrize("diffusion", [True, False])
def test_an_item_finds_its_kind_and_itself_first(engine, diffusion):
    for item in (1, 15, 30, 45):
        found = engine.search(Query(examples=(Example(item=item),)), 8, SearchOptions(diffusion=diffusion))
        assert found[0].id == item
        kind = kinds(engine.search(Query(examples=(Example(item=item),)), 1, SearchOptions(diffusion=False)))[0]
        assert kinds(found).count(kind) >= 7


def test_file_image_and_item_are_the_same_example(engine):
    path = engine.collection.items([20])[0].path
    image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
    results = [
        [one.id for one in engine.search(Query(examples=(example,)), 10, SearchOptions(diffusion=False))]
        for example in (Example(item=20), Example(path=path), Example(image=image))
    ]
    assert results[0] == results[1] == results[2]


def test_scores_are_the_weighted_sum_of_the_experts(engine):
    query = Query("red", (Example(item=3),))
    dense = np.asarray(engine.features(query))
    names = engine.features(query).names
    assert names[:4] == [f"color_correlogram.{distance}" for distance in DISTANCES]
    weights = np.array([engine.weights.get(name, 0.0) for name in names])
    np.testing.assert_allclose(engine.scores(query), dense @ weights, rtol=1e-5)  # one pass in float32
    assert dense.min() >= 0
    assert dense.max() <= 1


def test_a_registered_distance_takes_part_in_search(original, monkeypatch):
    monkeypatch.setitem(DISTANCES, "canberra", lambda query, rows: cdist(query[None], rows, "canberra")[0])
    engine = alike(original)
    one, two = Query(examples=(Example(item=3),)), Query(examples=(Example(item=3), Example(item=30)))
    place = engine.features(one).names.index("hsv_histogram.canberra")
    vectors = engine.collection.vectors("hsv_histogram")[:].astype(float)
    pairs = cdist(vectors, vectors, "canberra")
    scale = np.median(pairs[np.triu_indices(len(pairs), 1)])
    np.testing.assert_allclose(engine.features(one).column(place), np.exp(-pairs[2] / scale), rtol=1e-5)
    for query in (one, two):  # in one pass, and expert by expert
        dense, names = np.asarray(engine.features(query)), engine.features(query).names
        weights = np.array([engine.weights.get(name, 0.0) for name in names])
        assert weights[place] > 0
        np.testing.assert_allclose(engine.scores(query), dense @ weights, rtol=1e-5)
        top = engine.search(query, 3, SearchOptions(diffusion=False, explain=True))[0]
        assert top.why.by_name()["hsv_histogram.canberra"] > 0
        assert sum(top.why.by_name().values()) == pytest.approx(top.score, rel=1e-5)


@pytest.mark.parametrize("diffusion", [True, False])
@pytest.mark.parametrize("text", ["", "green boat"])
def test_explanations_name_neighbours_and_words(engine, text, diffusion):
    query = Query(text, (Example(item=14), Example(item=16)))
    top = engine.search(query, 1, SearchOptions(diffusion=diffusion, explain=True))[0]
    assert any(name.startswith("neighbour") for name in top.why.by_name()) == diffusion
    assert (TEXT in top.why.by_name()) == bool(text)


def test_against_counts_against(engine):
    red, blue = 1, 25
    plain = engine.search(Query(examples=(Example(item=red),)), 48, SearchOptions(diffusion=False))
    against = engine.search(
        Query(examples=(Example(item=red), Example(item=blue, weight=-1.0))), 48, SearchOptions(diffusion=False)
    )

    def mean_place(found, kind):
        return np.mean([place for place, one in enumerate(kinds(found)) if one == kind])

    assert mean_place(against, kinds(plain)[0]) <= mean_place(plain, kinds(plain)[0]) + 1
    blue_kind = engine.collection.items([blue])[0].path.split("/")[-2].split("_")[0]
    assert mean_place(against, blue_kind) > mean_place(plain, blue_kind)


def test_filters(engine, pictures):
    query = Query(examples=(Example(item=1),))

    def found(**options):
        return engine.search(Query(examples=query.examples, filters=Filters(**options)), 48)

    assert set(kinds(found(folder=str(pictures / "blue_things")))) == {"blue"}
    assert found(kind="shot") == []
    assert len(found(kind="picture")) == 48
    assert len(found(has_text=True)) == 24
    assert len(found(has_text=False)) == 24
    assert found(before="1990") == []  # these pictures have the dates of their files
    assert len(found(after="1990")) == 48
    with pytest.raises(ValueError, match="kind must be"):
        Filters(kind="film")


def test_region_counts_alone(engine, tmp_path):
    both = np.concatenate([picture(COLORS["red"], 1), picture(COLORS["blue"], 2)], axis=1)
    cv2.imwrite(str(tmp_path / "both.png"), both)

    def top(region):
        example = Example(path=tmp_path / "both.png", region=region)
        return kinds(engine.search(Query(examples=(example,)), 5, SearchOptions(diffusion=False)))

    assert top((0.0, 0.0, 0.5, 1.0)).count("red") >= 4
    assert top((0.5, 0.0, 1.0, 1.0)).count("blue") >= 4


@pytest.mark.slow
def test_region_of_an_item(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name, seed in itertools.product(("red", "blue"), range(3)):
        cv2.imwrite(str(pictures / f"{name} {seed}.png"), picture(COLORS[name], seed))
    cv2.imwrite(str(pictures / "both.png"), np.concatenate([picture(COLORS["red"], 7), picture(COLORS["blue"], 8)], 1))
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [pictures], preset="paper36", workers=0)
        engine = Engine(collection)
        (both,) = (item.id for item in collection.items() if item.path.endswith("both.png"))

        def parts(**whole):
            return [Query(examples=(Example(**whole, region=side),)) for side in ((0, 0, 0.5, 1), (0.5, 0, 1, 1))]

        def found(query):
            hits = engine.search(query, 4, SearchOptions(diffusion=False))
            return [Path(hit.path).stem.split()[0] for hit in hits if hit.id != both][:3]

        red, blue = parts(item=both)
        assert (found(red), found(blue)) == (["red"] * 3, ["blue"] * 3)
        assert Query.from_json(red.to_json()).to_json() == red.to_json() != blue.to_json()
        key = engine.upload(cv2.cvtColor(cv2.imread(str(pictures / "both.png")), cv2.COLOR_BGR2RGB))
        assert [found(query)[0] for query in parts(picture=key)] == ["red", "blue"]
        # What is marked is kept: it is known without the file, too.
        engine.feedback(red, [Mark(1, 0.0)])
        (mark,) = engine.marks(red)
        (pictures / "both.png").unlink()
        assert engine.asked(mark.qid).examples[0].region is None
        assert Engine(collection).search(engine.asked(mark.qid), 3)
        with pytest.raises(ValueError, match=f"a part of item {both} cannot be looked at: its file is gone"):
            Engine(collection).search(red)
        with pytest.raises(ValueError, match="there is no item 99"):
            engine.search(Query(examples=(Example(item=99, region=(0, 0, 1, 0.5)),)))


def test_bad_queries(engine):
    for query in (Query(), Query("   ")):
        with pytest.raises(ValueError, match="the query is empty"):
            engine.search(query)
    with pytest.raises(ValueError, match="there is no item 999"):
        engine.search(Query(examples=(Example(item=999),)))
    with pytest.raises(ValueError, match="an item, a path, an image or a picture"):
        Example()
    with pytest.raises(ValueError, match="a region is"):
        Example(path="a.jpg", region=(0.5, 0, 0.2, 1))
    with pytest.raises(ValueError, match="k must be"):
        engine.search(Query("red"), 0)
    assert engine.search(Query("xyzzy"), 3, SearchOptions(explain=True)) == []


def test_command_agrees_with_python(engine):
    place = str(engine.collection.folder)
    found = invoke("search", "red", "boat", "-c", place, "-k", "5", "--json", "--explain")
    assert found.exit_code == 0, found.output
    records = [json.loads(line) for line in found.stdout.splitlines()]
    expected = engine.search(Query("red boat"), 5)
    assert [(one["rank"], one["id"], one["path"]) for one in records] == [one[:3] for one in expected]
    assert sum(records[0]["why"].values()) == pytest.approx(records[0]["score"])
    like = engine.collection.items([9])[0].path
    table = invoke("search", "--like", like, "-c", place, "-k", "3", "--explain")
    assert table.exit_code == 0, table.output
    assert like in table.output
    bad = invoke("search", "-c", place)
    assert bad.exit_code == 1
    assert "the query is empty" in bad.output
