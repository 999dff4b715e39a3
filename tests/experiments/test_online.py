"""The experiments of online learning to rank for image retrieval, on generated data."""

import json

import numpy as np
import pytest

from rankloom.evaluation.metrics import evaluate
from rankloom.experiments.papers import online as paper
from rankloom.experiments.papers import online_large
from rankloom.experiments.papers.online_plots import FIGURES
from rankloom.rankers import make_ranker

SMALL = paper.Size(queries=10, others=30, arriving=25, triplets=500, distractors=150)


@pytest.fixture(scope="module")
def data():
    return paper.generated(0, n=200)


def test_published_numbers_are_whole():
    assert {len(row) for row in paper.TABLE_2.values()} == {4}
    assert {*paper.TABLE_2} | {*paper.OURS} == {*paper.METHODS}
    best = {name: max(paper.TABLE_2, key=lambda method: paper.TABLE_2[method][name]) for name in ("Holiday", "Corel")}
    assert best == {"Holiday": "RankSVM", "Corel": "λ-MART"}


def test_folds_share_no_query_and_test_on_whole_lists(data):
    folds = [*paper.image_folds(data, SMALL)]
    tested = []
    for fold in folds:
        parts = [{*np.unique(part.qid).tolist()} for part in (fold.train, fold.validation, fold.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 10
        tested += parts[2]
        assert (np.unique(fold.test.qid, return_counts=True)[1] == len(data) - 1).all()
        for query in parts[0]:
            rows = fold.train.qid == query
            assert fold.train.y[rows].sum() == data.relevant(query).sum()
            assert (fold.train.y[rows] == 0).sum() == 30
    assert sorted(tested) == sorted({*tested})


def test_preferences_are_of_better_rows_of_the_same_query(data):
    train = next(paper.image_folds(data, SMALL)).train
    pairs = paper.preferences_of(train, 300, np.random.default_rng(0))
    better, worse = pairs.T
    assert pairs.shape == (300, 2)
    assert (train.y[better] > train.y[worse]).all()
    assert (train.qid[better] == train.qid[worse]).all()


def test_a_search_among_distractors_is_that_of_the_enlarged_collection(data, monkeypatch):
    """In blocks, with counts alone, as if all items were sorted."""
    others = paper.generated(5, n=40)
    monkeypatch.setattr(online_large, "BLOCK", 70)
    random = np.random.default_rng(0)
    weights = [{"one": random.random(36), "two": random.random(36)} for _ in range(2)]
    asked = [np.array([3, 7]), np.array([11])]
    found = online_large.search_among(data, others, 150, weights, asked, 4)
    added = [online_large.distractors(others, n, data.scales, (4, k)) for k, n in enumerate((70, 70, 10))]
    for number, (fold, query) in enumerate([(0, 3), (0, 7), (1, 11)]):
        described = {name: stored[query] for name, stored in data.vectors.items()}
        phi = np.concatenate([data.phi(query), *(some.phi_of(described) for some in added)])
        kept = np.arange(len(phi)) != query
        grades = np.concatenate([data.relevant(query), np.zeros(150)])[kept]
        for name, values in found.items():
            scores = (phi @ weights[fold][name].astype(np.float32))[kept]
            expected = evaluate(grades, scores.astype(np.float64), None, [*values])
            assert {metric: value[number] for metric, value in values.items()} == pytest.approx(expected, rel=1e-3)


def test_distractors_are_other_items_again_and_again(data):
    first, second = (online_large.distractors(data, 50, data.scales, (0, k)) for k in (1, 2))
    again = online_large.distractors(data, 50, data.scales, (0, 1))
    for name in data.vectors:
        np.testing.assert_array_equal(first.vectors[name].rows, again.vectors[name].rows)
        assert (first.vectors[name].rows != second.vectors[name].rows).any()


@pytest.mark.slow
def test_learning_beats_the_uniform_combination_and_online_is_near_to_batch(data, tmp_path):
    steps, methods = [], {*paper.METHODS} - {"RankNet", "C-Ascent", "λ-MART", "Best-Fea"}  # slow ones are left out
    report = paper.run(data, SMALL, methods=[*methods], progress=steps.append)
    assert {*report.measured} == {*report.costs} == methods
    assert report.mean("RankSVM") > report.mean("Uni-Con")
    assert {*report.stream} == {*paper.TABLE_3}
    assert {"RankSVM", "OPR", "F-RLR"} <= {*report.large}
    assert all(len(values) == 10 for quality in report.large.values() for values in quality.values())
    assert all(0 <= value <= 1 for quality in report.large_means().values() for value in quality.values())
    assert all(len(run.values) == 25 for run in (*report.judged.values(), *report.clicked.values()))
    assert json.loads(json.dumps(report.to_dict()))["items"] == 200
    found = {one.what: one for one in paper.findings(report)}
    assert found["RankSVM / uniform, MAP"].found == pytest.approx(report.mean("RankSVM") / report.mean("Uni-Con"))
    assert found["RankSVM / uniform, MAP"].paper == pytest.approx(0.3270 / 0.2594)
    assert len(steps) > 5 * len(methods)
    # A value of the table is that of the ranker that validation chose.
    fold = next(paper.image_folds(data, SMALL))
    ranker = make_ranker("rlr", **report.folds.params["rlr"][0]).fit(fold.train.X, fold.train.y, qid=fold.train.qid)
    first = fold.test.qid == np.unique(fold.test.qid)[0]
    order = np.argsort(-ranker.predict(fold.test.X[first]), kind="stable")
    hits = np.flatnonzero(fold.test.y[first][order]) + 1
    assert report.folds.values["rlr"]["AP"][0][0] == pytest.approx(np.mean(np.arange(1, len(hits) + 1) / hits))
    for name, (plot, _) in FIGURES.items():
        plot(report, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
