"""Training from parts gives the weights of all rows at once."""

from __future__ import annotations

import pickle
from sys import getsizeof

import numpy as np
import pytest
from sklearn.base import clone

from rankloom.core import RankingData
from rankloom.datasets import make_ranking
from rankloom.rankers import MarginRanker, make_ranker
from rankloom.rankers.losses import LOSSES
from rankloom.rankers.margin import median_shift
from rankloom.rankers.parts import Common, SummedRisk, _risk_part, fit_parts, total_medians


class HeldParts:
    """Parts in this process."""

    def __init__(self, parts):
        self.parts = parts

    def call(self, function, *args):
        return [function(part, *args) for part in self.parts]

    def total(self, function, *args):
        return tuple(sum(values[1:], start=values[0]) for values in zip(*self.call(function, *args), strict=True))

    def derive(self, function, *args, each=None):
        if each is not None:
            return HeldParts([function(part, own, *args) for part, own in zip(self.parts, each, strict=True)])
        return HeldParts(self.call(function, *args))


def parts_of(data, n_parts):
    """Whole queries dealt to parts, the last of which teaches nothing."""
    dealt = [data.take(data.qid % n_parts == part) for part in range(n_parts)]
    return HeldParts([*dealt, RankingData(data.X[:3], np.zeros(3), np.array([10**6] * 3))])


RANKERS = [
    make_ranker("lr"),
    make_ranker("rlr"),
    make_ranker("rlr", shift="global"),
    make_ranker("rlr", shift="none", normalize="query"),
    make_ranker("frlr"),
    make_ranker("ranksvm"),
    make_ranker("ranksvm", loss="squared_hinge", normalize="query"),
    make_ranker("listnet"),
    make_ranker("ranknet"),
    MarginRanker("exponential", nu=0.5),
    MarginRanker(LOSSES["hinge"], "approximate"),
    MarginRanker("hinge", "pointwise"),
    MarginRanker("logistic", penalty="l1", nu=5.0),
    MarginRanker("hinge", penalty="l1", nu=5.0),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=[f"{type(ranker).__name__} {i}" for i, ranker in enumerate(RANKERS)])
def test_parts_give_the_weights_of_all_rows(ranker):
    data = make_ranking(120, n_features=6, random_state=3)
    whole = clone(ranker).fit(data.X, data.y, qid=data.qid)
    parted = clone(ranker)
    fit_parts(parted, parts_of(data, 3))
    assert np.abs(parted.coef_ - whole.coef_).max() <= 1e-9 * np.abs(whole.coef_).max()
    assert parted.objective_ == pytest.approx(whole.objective_, rel=1e-12)
    assert parted.n_iter_ == whole.n_iter_
    assert parted.n_queries_ == 121


def test_a_hinge_begins_with_the_same_sample():
    data = make_ranking(400, n_features=5, random_state=1)
    whole = make_ranker("ranksvm").fit(data.X, data.y, qid=data.qid)
    parted = make_ranker("ranksvm")
    fit_parts(parted, parts_of(data, 5))
    assert np.abs(parted.coef_ - whole.coef_).max() <= 1e-9 * np.abs(whole.coef_).max()
    assert parted.n_iter_ == whole.n_iter_


def test_products_with_the_hessian_of_many_features_are_sums():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1001))
    data = RankingData(X, rng.integers(0, 3, 60).astype(float), np.repeat(np.arange(12), 5))
    ranker, w, v = make_ranker("ranksvm"), 0.01 * rng.normal(size=1001), rng.normal(size=1001)

    def taught(part):
        return ranker._taught(ranker._problem(part.X, part.y, part.qid))

    whole = ranker._risk(taught(data)).smoothed(0.5)
    summed = SummedRisk(parts_of(data, 3).derive(taught).derive(_risk_part, ranker, Common())).smoothed(0.5)
    assert summed.compact
    assert summed.has_hessian
    for _ in range(2):  # the second time from what the parts remember
        np.testing.assert_allclose(summed.value_gradient(w)[1], whole.value_gradient(w)[1], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(summed.hessian(w) @ v, whole.hessian(w) @ v, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(summed.hessian(w).diagonal(), whole.hessian(w).diagonal(), rtol=1e-11)
    assert all(getsizeof(part) > part.risk.X.X.nbytes for part in summed._parts.parts if part.risk is not None)
    assert summed.sharp_parts(w) == pytest.approx(whole.sharp_parts(w), rel=1e-12)


def test_medians_of_all_parts_are_exact():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 7)) * 10.0 ** rng.integers(-200, 80, 7)
    X[:, 1] = rng.integers(-2, 3, 500)  # many equal values, both signs and 0
    X[::3, 1] *= -0.0
    data = RankingData(X, rng.integers(0, 4, 500).astype(float), rng.integers(0, 40, 500))
    ranker = make_ranker("rlr", shift="global")
    taught = ranker._taught(ranker._problem(data.X, data.y, data.qid))
    expected = median_shift(data.X[taught.rows], taught.prefs, "global")[0]
    parts = parts_of(data, 4).derive(lambda part: ranker._taught(ranker._problem(part.X, part.y, part.qid)))
    assert total_medians(parts, 7).tolist() == expected.tolist()


def test_nothing_to_learn_and_features_out_of_range_are_said():
    data = RankingData(np.ones((4, 2)), np.zeros(4), np.array([1, 1, 2, 2]))
    ranker = make_ranker("rlr")
    with pytest.warns(UserWarning, match="nothing to learn"):
        fit_parts(ranker, HeldParts([data]))
    assert ranker.coef_.tolist() == [0.0, 0.0]
    small = RankingData(np.array([[1e-200, 1.0], [0.0, 2.0]]), np.array([0.0, 1.0]), np.array([1, 1]))
    with pytest.raises(ValueError, match="column 0, RankingLogisticRegression computes with at least"):
        fit_parts(make_ranker("rlr"), HeldParts([small, small]))
    large = RankingData(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([0.0, 1.0]), np.array([2, 2]))
    fit_parts(ranker, HeldParts([small, large]))  # the column as a whole is large enough
    assert ranker.coef_[1] > 0


def test_a_loss_of_ours_is_itself_after_a_journey():
    assert pickle.loads(pickle.dumps(LOSSES["hinge"])) is LOSSES["hinge"]
