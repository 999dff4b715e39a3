"""What every ranker must do. `check_ranker(MyRanker())` runs all checks, for ours and for yours.

    import pytest
    from rankloom.checks import RANKER_CHECKS

    @pytest.mark.parametrize("check", RANKER_CHECKS)
    def test_my_ranker(check):
        check(MyRanker())

A check raises an AssertionError that says what is wrong.
"""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate
from rankloom.features import Features
from rankloom.rankers import OnlineRanker, Ranker, UniformCombination, load_ranker, rank_consistency

_CLOSE = 1e-5  # scores agree if they differ by less than this share of their spread


def _problem(**options: Any) -> RankingData:
    return make_ranking(**{"n_queries": 12, "n_items": 20, "n_features": 5, "n_informative": 3, **options})


def _scores(ranker: Ranker, data: RankingData, **weights: Any) -> FloatArray:
    """The scores of a fresh copy, fitted to data, for a fixed set of rows."""
    probe = _problem(random_state=99).X
    fitted: Ranker = clone(ranker).fit(data.X, data.y, qid=data.qid, **weights)
    return fitted.predict(probe)


def _assert_same(scores: FloatArray, expected: FloatArray, what: str) -> None:
    spread = float(np.ptp(expected)) or 1.0
    worst = float(np.abs((scores - scores.mean()) - (expected - expected.mean())).max())
    assert worst <= _CLOSE * spread, f"{what}: scores differ by {worst:.3g} (their spread is {spread:.3g})"


def check_scores(ranker: Ranker) -> None:
    """`fit` returns the ranker; `predict` gives one finite float per row, each depending on its row alone."""
    data = _problem()
    fitted = clone(ranker)
    assert fitted.fit(data.X, data.y, qid=data.qid) is fitted, "fit must return self"
    scores = fitted.predict(data.X)
    assert scores.shape == (len(data),), f"predict gave the shape {scores.shape} for {len(data)} rows"
    assert scores.dtype == np.float64, f"predict gave {scores.dtype}"
    assert np.isfinite(scores).all(), "predict gave a score that is not finite"
    if ranker.list_aware:
        return
    rows = np.arange(0, len(data), 7)
    np.testing.assert_allclose(fitted.predict(data.X[rows]), scores[rows], rtol=1e-9, atol=1e-12)


def check_arguments_unchanged(ranker: Ranker) -> None:
    """Neither `fit` nor `predict` changes the caller's arrays or the constructor's parameters."""
    data = _problem()
    X, y, qid = data.X.copy(), data.y.copy(), data.qid.copy()
    fitted = clone(ranker)
    before = str(fitted.get_params())
    fitted.fit(data.X, data.y, qid=data.qid).predict(data.X)
    for now, then in zip(data, (X, y, qid), strict=True):
        np.testing.assert_array_equal(now, then)
    assert str(fitted.get_params()) == before, "fit changed a constructor parameter"


def check_row_order(ranker: Ranker) -> None:
    """Rows in any order, and queries under any names, teach the same.

    Where the ranker learns in the order of the queries, they keep it and only the rows within each are permuted.
    """
    data = _problem()
    order = np.random.default_rng(0).permutation(len(data))
    if ranker.learns_in_order:
        order = order[np.argsort(data.qid[order], kind="stable")]
    expected = _scores(ranker, data)
    _assert_same(_scores(ranker, data.take(order)), expected, "rows permuted")
    named = np.array([f"query {(7 * int(q)) % 13}" for q in data.qid], dtype=object)
    _assert_same(_scores(ranker, RankingData(data.X, data.y, named)), expected, "queries renamed")


def check_one_query(ranker: Ranker) -> None:
    """`qid=None` is one query."""
    data = _problem(n_queries=1, n_items=60)
    expected = _scores(ranker, data)
    probe = _problem(random_state=99).X
    _assert_same(clone(ranker).fit(data.X, data.y).predict(probe), expected, "qid=None")


def check_useless_queries(ranker: Ranker) -> None:
    """Queries with one row or one grade teach nothing and break nothing."""
    data = _problem()
    rng = np.random.default_rng(1)
    X = np.vstack([data.X, 10 * rng.normal(size=(8, 5))])
    y = np.concatenate([data.y, [2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0]])
    qid = np.concatenate([data.qid, [1001, 1002, 1002, 1002, 1003, 1003, 1003, 1004]])
    _assert_same(_scores(ranker, RankingData(X, y, qid)), _scores(ranker, data), "queries of one grade added")


def check_grade_scale(ranker: Ranker) -> None:
    """Grades are an order: float grades with the same steps teach the same, where the ranker says so."""
    if not ranker.grades_are_ordinal:
        return
    data = _problem()
    moved = RankingData(data.X, 0.5 * data.y - 3.0, data.qid)
    _assert_same(_scores(ranker, moved), _scores(ranker, data), "grades halved and shifted")


def check_query_constant(ranker: Ranker) -> None:
    """A constant added to the features of a query changes nothing, where the ranker says so."""
    if not ranker.query_shift_invariant:
        return
    data = _problem()
    moved = data.X + np.random.default_rng(2).normal(size=(13, 5))[data.qid]
    _assert_same(_scores(ranker, RankingData(moved, data.y, data.qid)), _scores(ranker, data), "constants added")


def check_sample_weight(ranker: Ranker) -> None:
    """A row of weight 2 counts like the same row twice, and a row of weight 0 not at all, where weights are taken."""
    if not has_fit_parameter(ranker, "sample_weight"):
        return
    data = _problem()
    times = np.random.default_rng(3).integers(0, 3, len(data))
    repeated = data.take(np.repeat(np.arange(len(data)), times))
    _assert_same(_scores(ranker, data, sample_weight=times), _scores(ranker, repeated), "weights against repeats")


def check_bad_input(ranker: Ranker) -> None:
    """NaN and infinity are refused with the row, wrong lengths and an unfitted `predict` with a clear error."""
    data = _problem()
    for bad in (np.nan, np.inf):
        _check_bad_number(ranker, data, bad)
    _assert_raises(lambda: clone(ranker).fit(data.X, data.y[:-1], qid=data.qid), "rows")
    _assert_raises(lambda: clone(ranker).fit(data.X, data.y, qid=data.qid[:-1]), "qid")
    _assert_raises(lambda: clone(ranker).fit(data.X, data.y, qid=data.qid).predict(data.X[:, :-1]), "features")
    _assert_raises(lambda: clone(ranker).predict(data.X), "not fitted")


def _check_bad_number(ranker: Ranker, data: RankingData, bad: float) -> None:
    X, y, weight = data.X.copy(), data.y.copy(), np.ones(len(data))
    X[5, 2], y[6], weight[7] = bad, bad, bad
    _assert_raises(lambda: clone(ranker).fit(X, data.y, qid=data.qid), "row 5")
    _assert_raises(lambda: clone(ranker).fit(data.X, data.y, qid=data.qid).predict(X), "row 5")
    _assert_raises(lambda: clone(ranker).fit(data.X, y, qid=data.qid), "row 6")
    if has_fit_parameter(ranker, "sample_weight"):
        weights = {"sample_weight": weight}
        _assert_raises(lambda: clone(ranker).fit(data.X, data.y, qid=data.qid, **weights), "row 7")


def check_feature_size(ranker: Ranker) -> None:
    """Features of any size are ranked as they would be in other units, or refused with the number of the column.

    A ranker that warns may rank worse. An l1 penalty is right to drop small features, smoothing over a list to drown
    small scores.
    """
    data = _problem(n_queries=20)
    usual = _quality(ranker, data)
    drops_small = ranker.list_aware or getattr(ranker, "penalty", None) == "l1"
    for size in (1e-310, 1e-150, *(() if drops_small else (1e-99, 1e-29)), 1e29, 1e99, 1e150, 1e300):
        reached = _quality(ranker, RankingData(size * data.X, data.y, data.qid))
        # Rows that are held out depend on the bits of the features, so AP is never quite the same.
        worse = reached is not None and usual is not None and reached < 0.7 * usual
        assert not worse, f"AP is {reached} with features of size {size:g}, {usual} with those of size 1"
    for size in (1e-310, 1e300):
        X = data.X.copy()
        X[:, 3] *= size
        _quality(ranker, RankingData(X, data.y, data.qid), column=3)


def _quality(ranker: Ranker, data: RankingData, column: int = 0) -> float | None:
    """The mean AP of the training rows; None with a warning, or with an error that names the column."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            scores = clone(ranker).fit(data.X, data.y, qid=data.qid).predict(data.X, qid=data.qid)
        except ValueError as error:
            message: str | None = str(error)
        else:
            message = None
    if message is not None:
        assert f"in column {column}," in message, f"the error should name column {column}: {message}"
        return None
    assert np.isfinite(scores).all(), "predict gave a score that is not finite"
    return None if said else evaluate(data.y, scores, data.qid, "AP")["AP"]


def _assert_raises(call: Callable[[], Any], part: str) -> None:
    message = None
    try:
        call()
    except ValueError as error:
        message = str(error)
    assert message is not None, f"bad input was accepted; expected a ValueError with {part!r}"
    assert part in message, f"the error should name {part!r}: {message}"


def check_beats_uniform(ranker: Ranker) -> None:
    """On noisy data with few good features it ranks held-out queries better than their plain sum."""
    if isinstance(ranker, UniformCombination):
        return
    data = _problem(n_queries=80, n_features=12, n_informative=1, noise=0.7)
    train, test = data.take(data.qid <= 40), data.take(data.qid > 40)
    values = [
        evaluate(
            test.y,
            clone(candidate).fit(train.X, train.y, qid=train.qid).predict(test.X, qid=test.qid),
            test.qid,
            "nDCG@10",
        )["nDCG@10"]
        for candidate in (ranker, UniformCombination())
    ]
    assert values[0] > values[1] + 0.05, f"nDCG@10 {values[0]:.3f}, the uniform combination has {values[1]:.3f}"


def check_rank_consistency(ranker: Ranker) -> None:
    """A feature that orders all pairs alone never gets a weight against it, where the ranker says so."""
    if not ranker.rank_consistent:
        return
    for seed in range(5):
        data = _problem(grades=2, random_state=seed)
        X = data.X.copy()
        X[:, 0] = data.y + 0.1 * np.random.default_rng(seed).random(len(data))
        X[:, 1] = -data.y + 3 * data.qid
        report = rank_consistency(clone(ranker).fit(X, data.y, qid=data.qid), X, data.y, data.qid, tol=1e-5)
        assert set(report.directions) == {0, 1}, "the planted features were not found"
        assert report.consistent, str(report)


def check_reproducible(ranker: Ranker) -> None:
    """The same data and the same `random_state` give the same scores, bit for bit."""
    data = _problem()
    np.testing.assert_array_equal(_scores(ranker, data), _scores(ranker, data))


def check_streamed(ranker: Ranker) -> None:
    """Where there is a `partial_fit`: fitting equals going on query by query, also through JSON, bit for bit."""
    if not isinstance(ranker, OnlineRanker):
        return
    data = _problem(shuffle=True)
    once = clone(ranker).set_params(n_epochs=1)
    expected = _scores(once, data)
    streamed = clone(once)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranker.json")
        for number, qid in enumerate(dict.fromkeys(data.qid.tolist())):
            part = data.take(data.qid == qid)
            streamed.partial_fit(part.X, part.y, qid=part.qid)
            if number == 5:
                streamed.save(path)
                streamed = load_ranker(path, classes=[type(ranker)])
    scores = streamed.predict(_problem(random_state=99).X)
    np.testing.assert_array_equal(scores, expected, "streamed and resumed differs from fitted")


def check_json(ranker: Ranker) -> None:
    """A saved and loaded ranker has the same parameters and gives the same scores, bit for bit."""
    data = _problem()
    fitted = clone(ranker).fit(data.X, data.y, qid=data.qid)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranker.json")
        fitted.save(path)
        loaded = load_ranker(path, classes=[type(ranker)])
    assert type(loaded) is type(fitted), f"loaded a {type(loaded).__name__}"
    assert str(loaded.get_params()) == str(fitted.get_params()), "parameters changed on the way"
    np.testing.assert_array_equal(loaded.predict(data.X), fitted.predict(data.X))


def check_lazy(ranker: Ranker) -> None:
    """Lazy features teach and score like the array they stand for, and no cell is computed twice."""
    data = _problem()
    dense = clone(ranker).fit(data.X, data.y, qid=data.qid)
    columns = [partial(_column, data.X, j) for j in range(data.X.shape[1])]
    lazy = Features(columns, n_rows=len(data), costs=np.ones(len(columns)))  # measured costs would differ every time
    _assert_same(clone(ranker).fit(lazy, data.y, qid=data.qid).predict(data.X), dense.predict(data.X), "lazy features")
    lazy.reset()
    _assert_same(dense.predict(lazy), dense.predict(data.X), "scores of lazy features")
    assert lazy.n_evaluations <= data.X.size, f"{lazy.n_evaluations} cells computed of {data.X.size}"
    narrow = Features(data.X[:, :-1])
    _assert_raises(lambda: dense.predict(narrow), "features")
    assert narrow.n_evaluations == 0, "cells were computed before their number was checked"


def check_compact(ranker: Ranker) -> None:
    """Sparse and float32 rows teach and score like dense ones, or sparse ones are refused in one line."""
    data = _problem(n_queries=20)
    rows = np.where(np.random.default_rng(0).random(data.X.shape) < 0.5, data.X, 0.0).astype(np.float32)
    dense = clone(ranker).fit(rows.astype(np.float64), data.y, qid=data.qid)
    expected = dense.predict(rows.astype(np.float64))
    _assert_same(clone(ranker).fit(rows, data.y, qid=data.qid).predict(rows), expected, "float32 rows")
    for made in (csr_array(rows, dtype=np.float64), coo_array(rows)):
        if ranker.takes_compact:
            _assert_same(clone(ranker).fit(made, data.y, qid=data.qid).predict(made), expected, "sparse rows")
        else:
            _assert_raises(partial(clone(ranker).fit, made, data.y, qid=data.qid), "dense rows")


def _column(X: FloatArray, j: int, rows: IntArray) -> FloatArray:
    return np.asarray(X[rows, j])


def check_docstring(ranker: Ranker) -> None:
    """The class says what it is, its parameters, its source, and has an example."""
    text = inspect.getdoc(type(ranker)) or ""
    wanted = ["References", "Examples"] + ["Parameters"] * bool(ranker.get_params(deep=False))
    for section in wanted:
        assert f"{section}\n---" in text, f"the docstring of {type(ranker).__name__} has no section {section}"
    for name in ranker.get_params(deep=False):
        assert name in text, f"the docstring of {type(ranker).__name__} does not mention {name}"
    assert ">>>" in text, "the example does not run"


RANKER_CHECKS: tuple[Callable[[Ranker], None], ...] = (
    check_scores,
    check_arguments_unchanged,
    check_row_order,
    check_one_query,
    check_useless_queries,
    check_grade_scale,
    check_query_constant,
    check_sample_weight,
    check_bad_input,
    check_feature_size,
    check_beats_uniform,
    check_rank_consistency,
    check_reproducible,
    check_streamed,
    check_json,
    check_lazy,
    check_compact,
    check_docstring,
)


def check_ranker(ranker: Ranker) -> None:
    """Run all checks on a ranker; the first that fails raises an AssertionError.

    >>> from rankloom.rankers import RankingLogisticRegression
    >>> check_ranker(RankingLogisticRegression(nu=0.5))
    """
    for check in RANKER_CHECKS:
        check(ranker)
