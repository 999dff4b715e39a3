"""Comparing rankers over folds: what processes find is what one finds, and that is what a loop by hand finds."""

from dataclasses import replace

import numpy as np
import pytest

from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate
from rankloom.model_selection import GRIDS, compare_folds
from rankloom.model_selection.selection import query_folds
from rankloom.rankers import make_ranker


@pytest.fixture(scope="module")
def folds():
    return [*query_folds(make_ranking(15, 12, random_state=0))]


def by_hand(fold, name):
    """The nu that is best on validation queries, the first of equal ones, and AP of the test queries by it."""
    fitted = {
        nu: make_ranker(name, nu=nu).fit(fold.train.X, fold.train.y, qid=fold.train.qid) for nu in GRIDS[name]["nu"]
    }
    value = {
        nu: evaluate(fold.validation.y, one.predict(fold.validation.X), fold.validation.qid, ["AP"])["AP"]
        for nu, one in fitted.items()
    }
    best = max(value, key=value.__getitem__)
    return best, evaluate(fold.test.y, fitted[best].predict(fold.test.X), fold.test.qid, ["AP"])["AP"]


@pytest.mark.slow
def test_processes_find_what_one_finds(folds):
    said = []
    rankers = {"rlr": {}, "uniform": {}}
    one = compare_folds(folds, rankers, ("AP",), progress=said.append)
    two = compare_folds(iter(folds), rankers, ("AP",), n_jobs=2)
    assert said == [f"{fold.name}: {name}" for fold in folds for name in rankers]
    assert one.params == two.params
    assert one.n_queries == two.n_queries == [len(np.unique(fold.test.qid)) for fold in folds]
    for name in rankers:
        np.testing.assert_allclose(np.concatenate(one.values[name]["AP"]), np.concatenate(two.values[name]["AP"]))
    for number, fold in enumerate(folds):
        nu, found = by_hand(fold, "rlr")
        assert one.params["rlr"][number] == {"nu": nu}
        assert one.values["rlr"]["AP"][number].mean() == pytest.approx(found)


def test_what_was_compared_is_kept_by_its_data(folds, tmp_path):
    def kept():
        return len([*tmp_path.rglob("output.pkl")])

    first = compare_folds(folds, {"uniform": {}, "rlr": {"nu": 1.0}}, ("AP",), memory=str(tmp_path))
    assert kept() == 2 * len(folds)
    again = compare_folds(folds[:2], {"rlr": {"nu": 1.0}}, ("AP",), memory=str(tmp_path))
    assert kept() == 2 * len(folds)
    assert again.seconds["rlr"] == first.seconds["rlr"][:2]  # not measured again
    compare_folds([replace(folds[0], train=folds[1].train)], {"uniform": {}}, ("AP",), memory=str(tmp_path))
    assert kept() == 2 * len(folds) + 1


def test_no_fold_is_an_error():
    with pytest.raises(ValueError, match="there is no fold to compare on"):
        compare_folds([], {"uniform": {}})
