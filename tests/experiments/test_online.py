"""The experiments of online learning to rank for image retrieval, on generated data."""

import json

import numpy as np
import pytest

from rankloom.experiments.papers import online as paper
from rankloom.experiments.papers.online_large import with_distractors
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


def test_distractors_keep_what_was_there(data):
    others = paper.generated(5, n=40)
    enlarged = with_distractors(data, 60, others)
    assert len(enlarged) == 260
    np.testing.assert_array_equal(enlarged.phi(3)[:200], data.phi(3))
    np.testing.assert_array_equal(enlarged.relevant(3)[:200], data.relevant(3))
    assert not enlarged.relevant(3)[200:].any()


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
