"""Search: exact, explained, filtered, and the same whichever way it is asked."""

import json

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from rankloom.cli import main
from rankloom.collection import Captions, Collection, index
from rankloom.collection.query import Example, Filters, Query
from rankloom.engine import TEXT, Engine
from rankloom.experts import FOUR, experts_of

COLOURS = {"red": (30, 30, 200), "green": (40, 180, 40), "blue": (200, 60, 30), "grey": (128, 128, 128)}


def picture(colour, seed):
    rng = np.random.default_rng(seed)
    image = np.full((72, 96, 3), colour, np.uint8)
    for _ in range(4):
        centre = tuple(int(x) for x in rng.integers(0, 72, 2))
        cv2.circle(image, centre, int(rng.integers(4, 14)), rng.integers(0, 255, 3).tolist(), -1)
    noise = rng.normal(0, 12, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("pictures")
    rows = ["path,caption"]
    for name, colour in COLOURS.items():
        (root / f"{name}_things").mkdir()
        for number in range(12):
            path = root / f"{name}_things" / f"{number:02}.png"
            cv2.imwrite(str(path), picture(colour, 100 * len(rows) + number))
            if number % 2:
                rows.append(f"{path},A {name} {'boat' if number % 4 == 1 else 'house'} at sea")
    (root / "captions.csv").write_text("\n".join(rows) + "\n")
    return root


@pytest.fixture(scope="module")
def collection(folder, tmp_path_factory):
    with Collection(tmp_path_factory.mktemp("collections") / "c", create=True) as opened:
        index(opened, [folder], preset="paper36", workers=0, captions=Captions(str(folder / "captions.csv")))
        yield opened


@pytest.fixture(scope="module")
def engine(collection):
    """All experts alike: these tests are about search, not about the weights that it starts with."""
    weights = {expert.name: 1 / 36 for expert in experts_of(one.name for one in collection.descriptors())}
    return Engine(collection, {**weights, "text.bm25": 1.0, "tags.bm25": 0.5})


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
        found = engine.search(Query(examples=(Example(item=item),)), 8, diffusion=diffusion)
        assert found[0].id == item
        kind = kinds(engine.search(Query(examples=(Example(item=item),)), 1, diffusion=False))[0]
        assert kinds(found).count(kind) >= 7


def test_file_image_and_item_are_the_same_example(engine):
    path = engine.collection.items([20])[0].path
    image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
    results = [
        [one.id for one in engine.search(Query(examples=(example,)), 10, diffusion=False)]
        for example in (Example(item=20), Example(path=path), Example(image=image))
    ]
    assert results[0] == results[1] == results[2]


def test_scores_are_the_weighted_sum_of_the_experts(engine):
    query = Query("red", (Example(item=3),))
    dense = np.asarray(engine.features(query))
    names = engine.features(query).names
    assert names[:4] == [f"color_correlogram.{distance}" for distance in FOUR]
    weights = np.array([engine.weights.get(name, 0.0) for name in names])
    np.testing.assert_allclose(engine.scores(query), dense @ weights, rtol=1e-5)  # one pass in float32
    assert dense.min() >= 0
    assert dense.max() <= 1


@pytest.mark.parametrize("diffusion", [True, False])
@pytest.mark.parametrize("text", ["", "green boat"])
def test_explanations_sum_to_the_score(engine, text, diffusion):
    query = Query(text, (Example(item=14), Example(item=16)))
    for one in engine.search(query, 30, diffusion=diffusion, explain=True):
        assert sum(one.why.values()) == pytest.approx(one.score, abs=1e-6)
    top = engine.search(query, 1, diffusion=diffusion, explain=True)[0]
    assert any(name.startswith("neighbour") for name in top.why) == diffusion
    assert (TEXT in top.why) == bool(text)


def test_a_better_item_never_ranks_below_a_worse_one(engine):
    query = Query(examples=(Example(item=5),))
    dense = np.asarray(engine.features(query))
    order = [one.id - 1 for one in engine.search(query, len(dense), diffusion=False)]
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    used = [engine.weights.get(name, 0.0) > 0 for name in engine.features(query).names]
    for i in range(len(dense)):
        dominated = (dense[i, used] <= dense[:, used]).all(axis=1) & (dense[i, used] < dense[:, used]).any(axis=1)
        assert (place[dominated] < place[i]).all()


@pytest.mark.slow
def test_adding_an_item_leaves_the_order_of_the_others(folder, tmp_path):
    with Collection(tmp_path / "c", create=True) as opened:
        index(opened, [folder], preset="paper36", workers=0)
        engine = Engine(opened)
        query = Query("red", (Example(item=2),))
        before = [(one.path, one.score) for one in engine.search(query, 48, diffusion=False)]
        extra = tmp_path / "extra.png"
        cv2.imwrite(str(extra), picture((90, 90, 220), 5))
        index(opened, [extra], workers=0)
        after = engine.search(query, 49, diffusion=False)
    assert before == [(one.path, one.score) for one in after if one.path != str(extra)]


def test_against_counts_against(engine):
    red, blue = 1, 25
    plain = engine.search(Query(examples=(Example(item=red),)), 48, diffusion=False)
    against = engine.search(Query(examples=(Example(item=red), Example(item=blue, weight=-1.0))), 48, diffusion=False)

    def mean_place(found, kind):
        return np.mean([place for place, one in enumerate(kinds(found)) if one == kind])

    assert mean_place(against, kinds(plain)[0]) <= mean_place(plain, kinds(plain)[0]) + 1
    blue_kind = engine.collection.items([blue])[0].path.split("/")[-2].split("_")[0]
    assert mean_place(against, blue_kind) > mean_place(plain, blue_kind)


def test_filters(engine, folder):
    query = Query(examples=(Example(item=1),))

    def found(**options):
        return engine.search(Query(examples=query.examples, filters=Filters(**options)), 48)

    assert set(kinds(found(folder=str(folder / "blue_things")))) == {"blue"}
    assert found(kind="shot") == []
    assert len(found(kind="picture")) == 48
    assert len(found(has_text=True)) == 24
    assert len(found(has_text=False)) == 24
    assert found(after="1990") == []  # these pictures have no date
    with pytest.raises(ValueError, match="kind must be"):
        Filters(kind="film")


def test_region_counts_alone(engine, tmp_path):
    both = np.concatenate([picture(COLOURS["red"], 1), picture(COLOURS["blue"], 2)], axis=1)
    cv2.imwrite(str(tmp_path / "both.png"), both)

    def top(region):
        example = Example(path=tmp_path / "both.png", region=region)
        return kinds(engine.search(Query(examples=(example,)), 5, diffusion=False))

    assert top((0.0, 0.0, 0.5, 1.0)).count("red") >= 4
    assert top((0.5, 0.0, 1.0, 1.0)).count("blue") >= 4


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
    assert engine.search(Query("xyzzy"), 3, explain=True) == []


def test_command_agrees_with_python(engine):
    place = str(engine.collection.folder)
    found = CliRunner().invoke(main, ["search", "red", "boat", "-c", place, "-k", "5", "--json", "--explain"])
    assert found.exit_code == 0, found.output
    records = [json.loads(line) for line in found.stdout.splitlines()]
    expected = engine.search(Query("red boat"), 5)
    assert [(one["rank"], one["id"], one["path"]) for one in records] == [one[:3] for one in expected]
    assert sum(records[0]["why"].values()) == pytest.approx(records[0]["score"])
    like = engine.collection.items([9])[0].path
    table = CliRunner().invoke(main, ["search", "--like", like, "-c", place, "-k", "3", "--explain"])
    assert table.exit_code == 0, table.output
    assert like in table.output
    bad = CliRunner().invoke(main, ["search", "-c", place])
    assert bad.exit_code == 1
    assert "the query is empty" in bad.output
