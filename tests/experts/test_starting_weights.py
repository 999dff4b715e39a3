"""Starting weights: learned from labeled collections, and sane for any set of descriptors."""

import csv
import json

import cv2
import numpy as np
import pytest

from rankloom.collection import Collection, index
from rankloom.descriptors import PRESETS
from rankloom.experiments import LabeledCollection, load_labeled
from rankloom.experiments.captioned import ALIKE, CaptionedCollection, load_captioned
from rankloom.experiments.prior import train_prior
from rankloom.experts import prior_weights
from rankloom.experts.compact import CompactVectors
from rankloom.experts.starting_weights import TEXT_WEIGHTS
from tests.shell import invoke


def labeled(seed, *, good, n=90):
    """Two descriptors of which only one says anything about the class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    vectors = {name: rng.random((n, 6)) for name in ("a", "b")}
    vectors[good][:, :3] += 2 * np.eye(3)[labels]
    return LabeledCollection({name: CompactVectors.of(rows) for name, rows in vectors.items()}, labels)


@pytest.mark.slow
def test_the_telling_descriptor_gets_the_weight():
    for good in ("a", "b"):
        weights = train_prior([labeled(seed, good=good) for seed in range(2)])
        assert sum(weights.values()) == pytest.approx(1, abs=1e-4)
        assert min(weights.values()) >= 0
        mine = sum(weight for name, weight in weights.items() if name.startswith(good))
        assert mine > 0.8


@pytest.mark.slow
def test_every_collection_counts_alike():
    small, large = labeled(0, good="a", n=60), labeled(1, good="b", n=200)
    weights = train_prior([small, large])
    for name in ("a", "b"):
        assert 0.4 < sum(weight for expert, weight in weights.items() if expert.startswith(name)) < 0.6


def test_captions_say_which_pictures_are_alike():
    rng = np.random.default_rng(0)
    said = rng.normal(size=(300, 4))
    said /= np.linalg.norm(said, axis=1, keepdims=True)
    vectors = {"a": np.hstack([said, rng.random((300, 2))]), "b": rng.random((300, 6))}
    stored = {name: CompactVectors.of(rows) for name, rows in vectors.items()}
    collection = CaptionedCollection(stored, np.arange(300), sentences=said)
    nearest = np.argsort(-(said @ said[7]), kind="stable")[1 : ALIKE + 1]
    assert sorted(np.flatnonzero(collection.relevant(7))) == sorted(nearest)
    weights = train_prior([collection])
    assert sum(weight for name, weight in weights.items() if name.startswith("a")) > 0.8


def test_few_captions_are_refused(tmp_path):
    Collection(tmp_path / "c", create=True).close()
    with pytest.raises(ValueError, match="has 0 items with captions, 200 are needed to learn from"):
        load_captioned(tmp_path / "c")


@pytest.mark.parametrize("preset", list(PRESETS))
def test_packaged_weights(preset):
    weights = prior_weights(PRESETS[preset])
    visual = {name: weight for name, weight in weights.items() if name not in TEXT_WEIGHTS}
    assert len(visual) == 4 * len(PRESETS[preset])
    assert sum(visual.values()) == pytest.approx(1)
    assert min(visual.values()) >= 0
    if "semantic" in PRESETS[preset]:  # many weak experts must not drown the strong one
        assert sum(weight for name, weight in visual.items() if name.startswith("semantic")) > 0.5


def test_unknown_descriptors_weigh_the_same():
    weights = prior_weights(["mine"])
    assert {weights[f"mine.{distance}"] for distance in ("l1", "l2", "cosine", "chi2")} == {0.25}


@pytest.mark.slow
def test_command(tmp_path):
    rng = np.random.default_rng(0)
    rows = [["path", "class"]]
    for number in range(24):
        colour = ((0, 0, 200), (0, 200, 0))[number % 2]
        image = np.clip(np.array(colour) + rng.normal(0, 50, (40, 40, 3)), 0, 255).astype(np.uint8)
        (tmp_path / "p").mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / "p" / f"{number}.png"), image)
        rows.append([f"p/{number}.png", str(number % 2)])
    with open(tmp_path / "labels.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [tmp_path / "p"], preset="full", workers=0)
    found = load_labeled(tmp_path / "c", tmp_path / "labels.csv")
    assert len(found.labels) == 24
    pair, output = f"{tmp_path / 'c'}={tmp_path / 'labels.csv'}", tmp_path / "w.json"
    run = invoke("train-prior", pair, "-o", str(output))
    assert run.exit_code == 0, run.output
    learned = json.loads(output.read_text())
    assert set(learned) == set(PRESETS)
    assert not any(name.startswith("sift_words") for weights in learned.values() for name in weights)
    wrong = invoke("train-prior", pair, "-o", str(output), "--column", "kind")
    assert "needs the columns path and kind" in wrong.output
