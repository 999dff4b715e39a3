"""Weights that a sample teaches: against neighbours found by hand, and against a descriptor that says nothing."""

import numpy as np
import pytest

from rankloom.experts import measure_scales, prior_weights
from rankloom.experts.compact import CompactVectors
from rankloom.experts.starting_weights import TEXT_WEIGHTS
from rankloom.experts.teaching import LEAST, SAMPLE, mutual_neighbors, sampled_rows, taught_weights


def test_neighbors_are_those_found_one_by_one():
    teacher = np.random.default_rng(0).normal(size=(64, 5))
    unit = teacher / np.linalg.norm(teacher, axis=1, keepdims=True)
    nearest = [
        set(sorted(set(range(64)) - {row}, key=lambda other: -(unit[row] @ unit[other]))[:4]) for row in range(64)
    ]
    for row, found in enumerate(mutual_neighbors(3.0 * teacher)):
        assert set(found.tolist()) == {other for other in nearest[row] if row in nearest[other]}


def test_the_sample_is_of_what_is_there():
    present = np.arange(5 * SAMPLE) % 2 == 0
    rows = sampled_rows(present)
    assert len(np.unique(rows)) == SAMPLE
    assert present[rows].all()
    assert sampled_rows(np.ones(LEAST, dtype=bool)).tolist() == list(range(LEAST))
    assert not len(sampled_rows(np.ones(LEAST - 1, dtype=bool)))


@pytest.fixture(scope="module")
def described():
    """Three descriptors of 300 items: one that shows their kind, one that does so a little, and noise."""
    random = np.random.default_rng(0)
    kind = random.integers(0, 12, 300)
    shown = np.eye(12)[kind]
    plain = {
        "clear": 2 * shown + random.random((300, 12)), "dim": shown + random.random((300, 12)),
        "noise": random.random((300, 12)),
    }  # fmt: skip
    vectors = {name: CompactVectors.of(rows) for name, rows in plain.items()}
    scales = {name: measure_scales(stored, np.ones(300, dtype=bool)) for name, stored in vectors.items()}
    return vectors, scales, shown + 0.1 * random.random((300, 12))


def test_weight_goes_to_what_tells(described):
    vectors, scales, teacher = described
    weights = taught_weights(vectors, scales, np.arange(300), teacher)
    size = {name: sum(weights[f"{name}.{distance}"] for distance in ("l1", "l2", "cosine", "chi2")) for name in vectors}
    assert size["clear"] > size["dim"] > 2 * abs(size["noise"])
    assert {name: weights[name] for name in TEXT_WEIGHTS} == TEXT_WEIGHTS


def test_scores_lie_as_far_apart_as_with_the_shipped_weights(described):
    vectors, scales, teacher = described
    weights = taught_weights(vectors, scales, np.arange(300), teacher)
    shipped = prior_weights(vectors)
    spread = []
    for chosen in (weights, shipped):
        random = np.random.default_rng(1)
        scores = []
        for _ in range(200):
            one, other = random.choice(300, 2, replace=False)
            scores.append(sum(
                chosen[f"{name}.l1"] * np.exp(-np.abs(stored[one] - stored[other]).sum() / scales[name]["l1"])
                for name, stored in vectors.items()
            ))  # fmt: skip
        spread.append(np.std(scores))
    assert 0.1 < spread[0] / spread[1] < 10  # by one of four distances; without the scale it is in the hundreds


def test_a_descriptor_that_says_nothing_leaves_the_shipped_weights(described):
    _, _, teacher = described
    vectors = {"flat": CompactVectors.of(np.ones((300, 4)))}
    scales = {"flat": measure_scales(vectors["flat"], np.ones(300, dtype=bool))}
    assert taught_weights(vectors, scales, np.arange(300), teacher) == prior_weights(vectors)
