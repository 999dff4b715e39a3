"""All rankers on a LETOR collection, beside the published ones."""

import numpy as np
import pytest

from rankloom.datasets import make_ranking, save_letor
from rankloom.experiments.papers import letor4
from rankloom.model_selection.selection import FoldResults, query_folds
from tests.shell import rankloom


def results(**maps):
    """Rankers with this AP on each of two queries."""
    return FoldResults(("AP",), [2], {name: {"AP": [np.full(2, value)]} for name, value in maps.items()})


def test_published_rankers_have_their_counterparts():
    for published in (letor4.MQ2008, letor4.OHSUMED):
        assert {letor4.SAME[name] for name in published if name in letor4.SAME} <= {*letor4.RANKERS}
    assert {name: values["AP"] for name, values in letor4.OHSUMED.items()} == {
        "RankSVM": 0.4334, "RankBoost": 0.4411, "ListNet": 0.4457,
    }  # fmt: skip


def test_findings_compare_the_same_ranker_and_the_best():
    found = letor4.findings(results(ranksvm=0.43, listnet=0.40, rlr=0.45), letor4.OHSUMED)
    assert [(one.what, one.found, one.paper, one.holds) for one in found] == [
        ("MAP of RankSVM", pytest.approx(0.43), 0.4334, True),
        ("MAP of ListNet", pytest.approx(0.40), 0.4457, False),
        ("the best MAP", pytest.approx(0.45), 0.4457, True),
    ]
    assert letor4.findings(results(rlr=0.45), {}) == []


def test_command_takes_any_folder_of_folds(tmp_path):
    for number, fold in enumerate(query_folds(make_ranking(12, 10, random_state=0)), 1):
        place = tmp_path / "mine" / f"Fold{number}"
        place.mkdir(parents=True)
        for name, part in (("train", fold.train), ("vali", fold.validation), ("test", fold.test)):
            save_letor(part, place / f"{name}.txt")
    shown = rankloom("bench", "letor", tmp_path / "mine", "--ranker", "uniform", "--ranker", "opr", "--cache", tmp_path)
    assert "5 folds, 12 queries" in shown.stdout
    assert "Others less opr" in shown.stdout
    assert "published" not in shown.stdout.split("Means of the test parts")[1]
    assert len([*tmp_path.rglob("output.pkl")]) == 10


def test_command_takes_the_files_of_letor_3(tmp_path):
    """OHSUMED's names of files, three grades, and comments after every row."""
    for number, fold in enumerate(query_folds(make_ranking(9, 10, 45, grades=3, random_state=0), 3), 1):
        place = tmp_path / "OHSUMED" / f"Fold{number}"
        place.mkdir(parents=True)
        for name, part in (("trainingset", fold.train), ("validationset", fold.validation), ("testset", fold.test)):
            rows = (
                f"{grade:.0f} qid:{query} {' '.join(f'{j}:{value:.6f}' for j, value in enumerate(row, 1))} "
                f"#docid = {244338 + line}\n"
                for line, (row, grade, query) in enumerate(zip(*part, strict=True))
            )
            (place / f"{name}.txt").write_text("".join(rows))
    shown = rankloom("bench", "letor", tmp_path / "OHSUMED", "--ranker", "uniform", "--ranker", "rlr")
    assert "3 folds, 9 queries, 45 features" in shown.stdout
