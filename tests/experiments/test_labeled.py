"""Labeled folders of pictures as data: labels, parts, machines per concept."""

import csv
import json

import cv2
import numpy as np
import pytest

from rankloom.descriptors import CLASSICAL
from rankloom.experiments.labeled import load_labeled, read_labels
from rankloom.experiments.papers import cascade
from rankloom.experiments.papers.cascade_concepts import concepts_of
from tests.shell import invoke

pytestmark = pytest.mark.slow

KINDS = {"red": (0, 0, 200), "green": (0, 200, 0), "blue": (200, 0, 0)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("labeled")
    rng = np.random.default_rng(0)
    for kind, colour in KINDS.items():
        (root / kind).mkdir()
        for number in range(20):
            image = np.clip(np.array(colour) + rng.normal(0, 60, (48, 64, 3)), 0, 255).astype(np.uint8)
            cv2.imwrite(str(root / kind / f"{number}.png"), cv2.GaussianBlur(image, (5, 5), 0))
    return root


@pytest.fixture(scope="module")
def ran(folder, tmp_path_factory):
    """What the command says of the folder, and where it keeps the descriptions."""
    work = tmp_path_factory.mktemp("collection") / "c"
    options = ["--data", str(folder), "--cache", str(work), "--concepts", "1", "--quick", "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cascade, "_ROUNDS", (1, 3, 10))
        return invoke("bench", "cascade", *options), work


def test_labels_by_folder_and_by_table(folder, tmp_path):
    by_folder = read_labels(folder)
    assert len(by_folder) == 60
    assert by_folder[str(folder / "red" / "3.png")] == "red"
    with open(tmp_path / "labels.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["path", "label"], ["a/b.png", "cat"]])
    assert read_labels(tmp_path) == {str(tmp_path / "a/b.png"): "cat"}
    (tmp_path / "labels.csv").write_text("file,kind\n")
    with pytest.raises(ValueError, match="needs the columns path and class"):
        read_labels(tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="neither"):
        read_labels(tmp_path / "none")


def test_concepts_are_learnable_and_lazily_scored(folder, ran):
    described = load_labeled(folder, work=ran[1])
    assert {len(vectors) for vectors in described.vectors.values()} == {60}
    concepts = list(concepts_of(described, 2))
    assert [concept.name for concept in concepts] == ["blue", "green"]
    for concept in concepts:
        lazy = concept.test()
        assert lazy.shape == (18, 2 * len(CLASSICAL))
        assert len(concept.train) == 12
        assert concept.held is None
        assert concept.y.sum() == 6
        scores = np.asarray(lazy).mean(axis=1)
        assert scores[concept.y == 1].min() > scores[concept.y == 0].mean()


def test_coarser_classes_are_concepts_too(folder, ran):
    described = load_labeled(folder, work=ran[1])
    coarser = np.where(described.labels == "red", "warm", "cold")
    concept = next(concepts_of(described, 1, coarser=coarser, machines=1))
    assert concept.name == "cold"
    assert (concept.train.y.sum(), concept.y.sum()) == (8, 12)


def test_command_on_a_folder(ran):
    command, work = ran
    assert command.exit_code == 0, command.output
    findings = [json.loads(line) for line in command.stdout.splitlines()]
    assert any(finding["what"].startswith("soft cascade") for finding in findings)
    assert (work / "rankloom.db").is_file()
