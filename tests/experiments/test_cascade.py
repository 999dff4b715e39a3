"""The benchmark of cascades: its curves are what the rankers do, its summary is what the curves say."""

import json

import numpy as np
import pytest

from rankloom.evaluation.metrics import evaluate
from rankloom.experiments.papers import cascade
from rankloom.rankers import RankBoost
from tests.shell import invoke

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report():
    return cascade.run(cascade.generated_concepts(2, 2400, 20), n_rounds=12, regularizers=1)


def test_points_are_measured(report):
    concept = next(iter(cascade.generated_concepts(2, 2400, 20)))
    ranker = RankBoost(12, "feature").fit(*concept.train).truncated(3)
    scores = ranker.predict(concept.test())
    point = report.curves["RankBoost"]["concept 1"][2]
    assert point.quality == pytest.approx(evaluate(concept.y, scores, None, list(cascade.DEPTHS)))
    assert point.evaluations == len(ranker.used_features)
    assert point.seconds > 0


def test_every_method_and_concept_has_a_curve(report):
    assert set(report.curves) == set(cascade.METHODS)
    for curves in report.curves.values():
        assert list(curves) == ["concept 1", "concept 2"]
    full = report.curves["RankBoost"]["concept 1"][-1]
    last = report.curves["soft cascade"]["concept 1"][-1]
    assert last.evaluations == full.evaluations
    assert last.quality == pytest.approx(full.quality)
    assert len(report.regularizers) == 9
    assert all(list(curves) == ["concept 1"] for curves in report.regularizers.values())


def test_the_bottom_costs_less_than_the_top(report):
    assert np.ptp(report.asked["RankBoost"]) == 0
    for method in ("Imbalanced RankBoost", "soft cascade"):
        asked = report.asked[method]
        assert asked[0] > 2 * asked[-1]


def test_mean_curve_of_known_curves():
    points = [cascade.Point(cost, cost, {"AP": value}) for cost, value in ((1.0, 0.1), (10.0, 0.2))]
    grid, values = cascade.mean_curve([points, points[:1]], "AP")
    assert (grid[0], grid[-1]) == pytest.approx((1.0, 10.0))
    assert (values[0], values[-1]) == pytest.approx((0.1, 0.15))  # the shorter curve keeps its last value


def test_one_margin_for_all_is_judged_by_the_mean():
    def curve(*points):
        return [cascade.Point(cost, cost, {"AP@100": value}) for cost, value in points]

    some = curve((2.0, 0.5), (5.0, 0.607), (20.0, 0.61))  # the middle one loses .003 in the mean of both
    uncut = curve((10.0, 0.4))  # nothing could be cut off
    report = cascade.CascadeReport({"soft cascade": {"a": some, "b": uncut}})
    assert report.together() == pytest.approx(30 / 15)
    assert report.together(loss=0.001) == 1.0
    assert report.together(loss=0.2) == pytest.approx(30 / 12)


def reported(**curves):
    """A report of known curves: those of each method by concept, as pairs of cost and quality."""
    return cascade.CascadeReport(
        {
            method.replace("_", " "): {
                concept: [cascade.Point(cost, cost, {"AP": value, "AP@100": value}) for cost, value in points]
                for concept, points in by_concept.items()
            }
            for method, by_concept in curves.items()
        }
    )


def test_gain_is_that_at_an_equal_cost():
    report = reported(RankBoost={"a": [(1, 0.1), (5, 0.5)]}, Imbalanced_RankBoost={"a": [(1, 0.1), (3, 0.36)]})
    assert report.gain("AP").share == pytest.approx(0.2)  # RankBoost has .3 there


# The first concept stops at 2 evaluations an item, the second at 8; both are a tenth better there.
SHORT_AND_LONG = {
    "RankBoost": {"short": [(1, 0.1), (2, 0.2), (8, 0.8)], "long": [(1, 0.1), (8, 0.8)]},
    "Imbalanced_RankBoost": {"short": [(1, 0.1), (2, 0.22)], "long": [(1, 0.1), (8, 0.88)]},
    "soft_cascade": {"short": [(1, 0.1), (2, 0.25), (8, 0.9)], "long": [(1, 0.1), (8, 0.9)]},
}


def test_each_concept_is_compared_at_its_own_last_cost():
    report = reported(**SHORT_AND_LONG)
    gain = report.gain("AP")
    assert (gain.ours, gain.other) == pytest.approx((0.55, 0.5))
    assert gain.share == pytest.approx(0.1)
    assert gain.p == 0.5  # of the four sign flips of two differences, two are as far from 0
    beyond = report.beyond_plateau()
    assert (beyond.ours, beyond.other) == pytest.approx((0.55, 0.575))
    assert report.last_cost() == 5.0


def test_a_ranker_that_costs_no_more_is_not_compared_with_one_that_does():
    assert (
        cascade._not_worse(reported(**SHORT_AND_LONG), 3.0) == 1.0
    )  # at 3 evaluations RankBoost has .3, at 2 it has .2
    worse = SHORT_AND_LONG | {"Imbalanced_RankBoost": {"short": [(1, 0.1), (2, 0.19)], "long": [(1, 0.1), (8, 0.88)]}}
    assert cascade._not_worse(reported(**worse), 3.0) == 0.5


def test_command(tmp_path, monkeypatch):
    monkeypatch.setattr(cascade, "_ROUNDS", (1, 3, 10))
    folder = tmp_path / "out"
    found = invoke("bench", "cascade", "--quick", "--concepts", "1", "-o", str(folder), "--json")
    assert found.exit_code == 0, found.output
    findings = [json.loads(line) for line in found.stdout.splitlines()]
    assert any(finding["what"].startswith("soft cascade") and finding["found"] > 1 for finding in findings)
    assert sorted(path.name for path in folder.iterdir()) == [
        "cascade.json", "concepts.png", "cost-by-place.png", "quality-against-cost.png", "regularizers.png",
    ]  # fmt: skip
    assert all(path.stat().st_size > 1000 for path in folder.iterdir())


def test_a_budget_is_judged_on_rows_that_placed_nothing():
    kept = cascade.promise(cascade.generated_concepts(2, 6_000, 30, work=False, random_state=0), n_rounds=20)
    assert len(kept.lost) == len(kept.times) == 2
    assert kept.mean == pytest.approx(sum(kept.lost) / 2)
    assert kept.error == pytest.approx(abs(kept.lost[0] - kept.lost[1]) / 2)
    assert min(kept.times) >= 1.0
