"""The experiments of margin-based rank learning, on generated data, words of captions, and films."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rankloom.collection import Collection
from rankloom.experiments.papers import margin as paper
from rankloom.experiments.papers.margin_films import filmed
from rankloom.experiments.papers.margin_theory import theorem_1, theorem_2
from rankloom.rankers import make_ranker
from rankloom.rankers.losses import LOSSES
from tests.shell import invoke


@pytest.fixture(scope="module")
def report():
    return paper.run(paper.generated(4, 120), ("F-RLR", "RLR", "LR", "NB"))


def test_published_numbers_are_whole():
    assert {len(values) for rows in paper.TABLE_1.values() for values in rows.values()} == {5}
    for rows in paper.TABLE_1.values():
        assert rows["F-RLR"][1] >= rows["RLR"][1] >= rows["LR"][1] >= rows["NB"][1]


def test_rows_of_the_table_are_those_of_rankers_of_single_queries(report):
    data = paper.generated(4, 120)
    for place, query in enumerate(np.unique(data.train.qid)):
        rows, tests = data.train.qid == query, data.test.qid == query
        ranker = make_ranker("rlr", **report.params["RLR"]).fit(data.train.X[rows], data.train.y[rows])
        order = np.argsort(-ranker.predict(data.test.X[tests]), kind="stable")
        hits = np.flatnonzero(data.test.y[tests][order]) + 1
        expected = np.mean(np.arange(1, len(hits) + 1) / hits)
        assert report.per_query["RLR"].test["AP"][place] == pytest.approx(expected)
        assert report.per_query["RLR"].test["P@10"][place] == pytest.approx((hits <= 10).sum() / 10)


def test_theory_holds_and_the_report_is_whole(report):
    assert report.bounds_held == report.n_queries == 4
    assert report.bounds_ratio >= 1
    assert report.per_query["F-RLR"].violations == report.per_query["RLR"].violations == 0
    assert json.loads(json.dumps(report.to_dict()))["queries"] == 4
    found = {one.what: one for one in paper.findings(report)}
    ours = report.per_query["RLR"].row()[1] - report.per_query["LR"].row()[1]
    assert found["RLR - LR, TestAP"].found == pytest.approx(ours)
    assert found["RLR - LR, TestAP"].paper == pytest.approx((0.010 + 0.009 + 0.001) / 3)
    assert "of these against their weight: LR" in found
    assert "of these against their weight: NB" not in found  # it has no weights


def test_queries_of_words_hide_their_captions_and_their_examples():
    captions = [["a red boat", "the boat at sea"] if number % 3 == 0 else ["a tree", "trees and a hill"]
                for number in range(90)]  # fmt: skip
    asked = []

    def phi(word, shown):
        asked.append((word, shown))
        return np.arange(90.0)[:, None]

    data = paper.caption_queries(captions, phi, n_queries=3, least=5)
    assert {word for word, _ in asked} <= {"boat", "tree", "hill", "red", "sea", "trees"}
    word, shown = asked[0]
    assert all(word in " ".join(captions[row]) for row in shown)
    seen = np.concatenate([part.X[part.qid == word, 0] for part in (data.train, data.test)]).astype(int)
    assert sorted(seen) == [row for row in range(90) if row not in shown]
    for part in (data.train, data.test):
        rows = part.qid == word
        assert rows.any()
        for row, grade in zip(part.X[rows, 0].astype(int), part.y[rows], strict=True):
            said = sum(word in caption.split() for caption in captions[row])
            assert grade == (said >= 1)
    with pytest.raises(ValueError, match="no word of the captions has 50"):
        paper.caption_queries(captions, phi, least=50)


@pytest.mark.slow
def test_command(tmp_path):
    file = tmp_path / "rlr.json"
    shown = invoke("bench", "rlr", "--quick", "--queries", "2", "-o", str(file))
    assert shown.exit_code == 0, shown.output
    assert "Paper, TRECVID t05" in shown.stdout
    measured = json.loads(file.read_text())
    assert {*measured["per_query"]} == {*measured["pooled"]} == {*paper.METHODS}
    assert measured["queries"] == 2


@pytest.mark.slow
def test_films_are_drawn_once_and_their_shots_are_known(tmp_path):
    with pytest.raises(ValueError, match="2 films are too few"):
        filmed(tmp_path, n_films=2)
    films = {path: path.stat().st_mtime_ns for path in (tmp_path / "films").glob("*.mp4")}
    assert len(films) == 2
    with Collection(tmp_path / "films.rankloom") as collection:
        items = collection.items()
    shots = {"a_day_at_the_coast": 4, "winter_journey": 3}
    assert Counter(Path(item.path).stem for item in items) == shots
    with pytest.raises(ValueError, match="2 films are too few"):
        filmed(tmp_path, n_films=2)
    assert all(path.stat().st_mtime_ns == made for path, made in films.items())


def test_theorem_1_fails_as_printed_and_holds_as_corrected():
    failed = {one.what: one.failed for one in theorem_1(120)}
    assert failed["RLR, one shift for all queries, as printed"] > 0
    assert failed["LR, for which nothing is claimed"] > 0
    assert failed["RLR, a shift for each query"] == failed["F-RLR"] == failed["RankSVM"] == 0


def test_theorem_2_holds_for_the_losses_that_say_so():
    failed = {one.what: one.failed for one in theorem_2(2_000)}
    for name, loss in LOSSES.items():
        assert (failed[f"{name.replace('_', ' ')} loss"] == 0) == loss.subadditive
    assert failed["0-1 loss"] == 0
