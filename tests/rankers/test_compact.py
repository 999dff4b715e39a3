"""Sparse and float32 rows: the weights of dense rows, in memory of the non-zeros."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from rankloom.groups import group_rows, preferences
from rankloom.rankers import (
    RANKERS,
    ContentAwareRanker,
    FullRankingLogisticRegression,
    ListNet,
    LogisticRegressionRanker,
    MarginRanker,
    OnlineConfidenceRanker,
    OnlineGradientDescentRanker,
    OnlinePassiveAggressiveRanker,
    OnlinePerceptronRanker,
    OnlineRanker,
    RankingLogisticRegression,
    RankNet,
    RankSVM,
    UniformCombination,
    _compact,
    make_ranker,
)
from rankloom.rankers._compact import CompactRows, Curvature, compact_medians
from rankloom.rankers._kernels.median import column_medians
from rankloom.rankers._risks import PointRisk, pair_risk
from rankloom.rankers.listwise import ListRisk
from rankloom.rankers.losses import LOSSES, MarginLoss, smoothed_hinge

ONLINE = [
    OnlinePerceptronRanker(),
    OnlinePassiveAggressiveRanker(),
    OnlinePassiveAggressiveRanker(squared=True),
    OnlineGradientDescentRanker(decay=0.5),
    OnlineConfidenceRanker(),
    OnlineConfidenceRanker(full=False),
]
RANKED = [
    LogisticRegressionRanker(),
    RankingLogisticRegression(),
    RankingLogisticRegression(0.1, shift="global", normalize="query"),
    FullRankingLogisticRegression(),
    RankSVM(300.0),
    RankSVM(10.0, loss="squared_hinge"),
    MarginRanker("exponential", nu=10.0),
    ListNet(nu=0.1),
    RankNet(),
    UniformCombination(),
    *ONLINE,
]


def problem(n=900, d=20, density=0.2, seed=0):
    """Several grades, many queries with rows in any order, sample weights."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=density, format="csr", rng=rng)
    X.data = rng.normal(size=X.nnz)
    y = np.clip(np.round(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)), 0, 4)
    return X, y, rng.integers(0, n // 12, n), rng.random(n) + 0.1


def fitted(ranker, X, y, qid, weight):
    weights = {} if isinstance(ranker, OnlineRanker) else {"sample_weight": weight}
    return clone(ranker).fit(X, y, qid=qid, **weights)


def assert_same_weights(found, expected):
    assert np.abs(found.coef_ - expected.coef_).max() <= 1e-6 * np.abs(expected.coef_).max()


@pytest.mark.parametrize("shape", [{}, {"d": 200, "density": 0.02}], ids=["by_matrix", "by_products"])
@pytest.mark.parametrize("ranker", RANKED, ids=str)
def test_weights_are_those_of_dense_rows(ranker, shape):
    X, *rest = problem(**shape)
    dense = fitted(ranker, X.toarray(), *rest)
    assert_same_weights(fitted(ranker, X, *rest), dense)
    assert_same_weights(fitted(ranker, X.tocsc(), *rest), dense)
    np.testing.assert_allclose(dense.predict(X), dense.predict(X.toarray()), rtol=1e-12, atol=1e-12)
    single = X.astype(np.float32)
    dense = fitted(ranker, single.astype(np.float64).toarray(), *rest)
    assert_same_weights(fitted(ranker, single, *rest), dense)
    assert_same_weights(fitted(ranker, single.toarray(), *rest), dense)


def test_a_hessian_is_the_same_in_chunks(monkeypatch):
    X, y, qid, weight = problem()
    single = X.astype(np.float32).toarray()
    whole = [fitted(ranker, single, y, qid, weight) for ranker in RANKED[:9]]
    monkeypatch.setattr(_compact, "CHUNK", 1500)
    prefs = preferences(y, group_rows(qid, len(y)))
    assert len(CompactRows(single).chunks(np.flatnonzero(np.diff(prefs.query, prepend=-1)))) > 10
    for ranker, before in zip(RANKED[:9], whole, strict=True):
        assert_same_weights(fitted(ranker, single, y, qid, weight), before)


def test_a_query_that_would_be_large_goes_by_products(monkeypatch):
    X = CompactRows(np.ones((100, 4), dtype=np.float32))
    assert X.chunks(np.array([0])) is not None
    monkeypatch.setattr(_compact, "CHUNK", 20)
    assert X.chunks(np.array([0])) is None
    assert X.chunks(np.array([0, 50])) is not None


def quartic(x):
    return np.maximum(0.0, 2.0 - x) ** 4


LOSS_WITHOUT_KERNEL = MarginLoss(
    "quartic", quartic, lambda x: -4.0 * np.maximum(0.0, 2.0 - x) ** 3, lambda x: 12.0 * np.maximum(0.0, 2.0 - x) ** 2
)


@pytest.mark.parametrize("items", [12, 400])
@pytest.mark.parametrize("loss", [*LOSSES.values(), LOSS_WITHOUT_KERNEL], ids=lambda loss: loss.name)
def test_products_with_the_curvature(loss, items):
    X, y, _, weight = problem()
    prefs = preferences(y, group_rows(np.arange(len(y)) // items, len(y)), weight)
    rows = X[prefs.rows]
    dense, compact = pair_risk(rows.toarray(), prefs, loss), pair_risk(CompactRows(rows), prefs, loss)
    if loss is LOSSES["hinge"]:
        dense, compact = dense.smoothed(0.3), compact.smoothed(0.3)
    compact.chunks = None
    rng = np.random.default_rng(1)
    w, v = rng.normal(size=(2, X.shape[1]))
    hessian, products = dense.hessian(w), compact.hessian(w)
    assert isinstance(products, Curvature)
    expected = hessian @ v
    assert np.abs(products @ v - expected).max() <= 1e-5 * np.abs(expected).max()  # a short series stands for logistic
    assert (2.0 * products.diagonal() >= np.diag(hessian) * (1 - 1e-6)).all()


@pytest.mark.parametrize("width", [{}, {"shift": True}, {"intercept": True}], ids=str)
def test_products_with_the_curvature_of_rows(width):
    X, y, _, weight = problem()
    Z = X.toarray()
    if "shift" in width:
        starts = np.arange(0, len(y) + 1, 10)
        width = {"shift": compact_medians(X, weight, starts)}
        Z = Z - np.repeat(column_medians(Z, weight, starts), 10, axis=0)
    elif "intercept" in width:
        Z = np.hstack([Z, np.ones((len(y), 1))])
    rows = CompactRows(X, **width)
    np.testing.assert_allclose(rows.dense(slice(95, 133)), Z[95:133], atol=1e-15)
    w, v = np.random.default_rng(1).normal(size=(2, Z.shape[1]))
    losses = smoothed_hinge(0.5)
    dense, compact = PointRisk(Z, weight, 1.0 - weight / 2, losses), PointRisk(rows, weight, 1.0 - weight / 2, losses)
    compact.chunks = None
    products = compact.hessian(w)
    np.testing.assert_allclose(products @ v, dense.hessian(w) @ v, rtol=1e-9, atol=1e-9)
    assert (products.diagonal() >= np.diag(dense.hessian(w)) * (1 - 1e-9)).all()


def test_products_with_the_curvature_of_lists():
    X, y, qid, weight = problem()
    prefs = preferences(y, group_rows(qid, len(y)), weight)
    rows, y = X[prefs.rows], y[prefs.rows]
    dense, compact = ListRisk(rows.toarray(), y, prefs), ListRisk(CompactRows(rows), y, prefs)
    w, v = np.random.default_rng(1).normal(size=(2, X.shape[1]))
    np.testing.assert_allclose(compact.hessian(w), dense.hessian(w), rtol=1e-9, atol=1e-9)
    compact.chunks = None
    np.testing.assert_allclose(compact.hessian(w) @ v, dense.hessian(w) @ v, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_sparse_medians_are_those_of_dense_columns(seed):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((300, 12), density=rng.uniform(0.1, 0.95), format="csr", rng=rng)
    X.data = np.round(rng.normal(size=X.nnz) + rng.uniform(-1, 1), 1)  # ties, and zeros that are stored
    weight = rng.integers(1, 4, 300).astype(float)  # halves that are exact
    starts = np.array([0, 1, 7, 60, 62, 200, 300])
    shift = compact_medians(X, weight, starts)
    np.testing.assert_array_equal(shift.rows.toarray(), column_medians(X.toarray(), weight, starts))
    assert shift.rows.nnz <= X.nnz


@pytest.mark.parametrize("ranker", ONLINE, ids=str)
def test_streams_of_sparse_rows(ranker):
    X, y, qid, _ = problem()
    table = X.toarray()
    dense, compact = clone(ranker), clone(ranker)
    for query in np.unique(qid)[:20]:
        rows = np.flatnonzero(qid == query)
        dense.partial_fit(table[rows], y[rows])
        compact.partial_fit(X[rows], y[rows])
    pairs = np.random.default_rng(2).integers(0, len(y), (3000, 2))
    dense.partial_fit_triplets(table, pairs)
    compact.partial_fit_triplets(X.tocoo(), pairs)
    assert_same_weights(compact, dense)
    for name, value in dense.report().to_dict().items():
        if isinstance(value, float):
            assert compact.report().to_dict()[name] == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_a_bad_row_of_a_sparse_stream_is_named():
    X = sparse.csr_array([[1.0, 0.0], [0.0, 2.0], [np.nan, 0.0]])
    ranker = OnlinePerceptronRanker(average=False)
    with pytest.raises(ValueError, match=r"in row 2; learned from the 1 preferences before"):
        ranker.partial_fit_triplets(X, [[0, 1], [2, 0]])
    assert ranker.coef_.tolist() == [1.0, -2.0]
    for full in (True, False):
        with pytest.raises(ValueError, match=r"in row 2; learned from the 1 preferences before"):
            OnlineConfidenceRanker(full=full).partial_fit_triplets(X, [[0, 1], [1, 2]])
    with pytest.raises(ValueError, match=r"up to 1e\+120 in column 1"):
        ranker.partial_fit_triplets(sparse.csr_array([[0.0, 1e120], [0.0, 0.0]]), [[0, 1]])
    with pytest.raises(ValueError, match="3 features"):
        ranker.partial_fit_triplets(sparse.csr_array((2, 3)), [[0, 1]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "ranker",
    [RANKED[1], FullRankingLogisticRegression(), ListNet(nu=0.1), *ONLINE[1:2], OnlineConfidenceRanker(full=False)],
    ids=str,
)
def test_memory_follows_the_non_zeros(ranker):
    n, d, given = 12_000, 1_200_000, 8  # 115 GB as a dense array
    rng = np.random.default_rng(0)
    columns = rng.integers(0, d, n * given)
    X = sparse.csr_array((rng.normal(size=n * given), columns, np.arange(0, n * given + 1, given)), shape=(n, d))
    y = (X.data.reshape(n, given).sum(axis=1) > 1).astype(float)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    clone(ranker).fit(X[:60], y[:60])  # compiles outside of the count
    tracemalloc.start()
    try:
        scores = clone(ranker).fit(X, y, qid=np.arange(n) // 30).predict(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * size + 30 * 8 * d
    assert scores[y == 1].mean() > scores[y == 0].mean()


@pytest.mark.slow
def test_float32_rows_stay_float32():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 40)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=len(X)) > 1).astype(float)
    for ranker in (RankingLogisticRegression(), FullRankingLogisticRegression(), OnlinePerceptronRanker()):
        clone(ranker).fit(X[:60], y[:60])  # compiles outside of the count
        tracemalloc.start()
        try:
            ranker.fit(X, y, qid=np.arange(len(X)) // 60)
            ranker.predict(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # A copy in the order of the queries, medians, and chunks of dense rows with their products.
        assert peak < 2 * X.nbytes + 32 * _compact.CHUNK, type(ranker).__name__


def test_the_callers_matrix_stays_as_it_is():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    indices, values = X.indices.copy(), X.data.copy()
    ranker = FullRankingLogisticRegression().fit(X, [1, 0])
    np.testing.assert_array_equal(X.indices, indices)
    np.testing.assert_array_equal(X.data, values)
    assert_same_weights(ranker, FullRankingLogisticRegression().fit([[2.0, 1.0], [7.0, 0.0]], [1, 0]))


def test_bad_sparse_rows_are_named():
    X, y, qid, _ = problem()
    bad = X.copy()
    place = bad.indptr[17] + 1
    bad.data[place] = np.nan
    where = rf"NaN in row 17, column {bad.indices[place]}"
    ranker = RankingLogisticRegression().fit(X, y, qid=qid)
    for call in (lambda: ranker.predict(bad), lambda: clone(ranker).fit(bad, y, qid=qid)):
        with pytest.raises(ValueError, match=where):
            call()
    bad.data[place] = 1e150
    with pytest.raises(ValueError, match=rf"up to 1e\+150 in column {bad.indices[place]},"):
        clone(ranker).fit(bad, y, qid=qid)
    with pytest.raises(ValueError, match=r"1e\+308 in column 0, with which the score"):
        ranker.predict(sparse.csr_array(1e308 * np.sign(ranker.coef_)[None]))
    with pytest.raises(ValueError, match="20 features"):
        ranker.predict(X[:, :5])
    with pytest.raises(ValueError, match="grades"):
        clone(ranker).fit(X, y[:-1], qid=qid)
    tiny = sparse.csr_array(X.toarray() * np.where(np.arange(20) == 3, 1e-200, 1.0))
    with pytest.raises(ValueError, match="column 3"):
        clone(ranker).fit(tiny, y, qid=qid)


@pytest.mark.parametrize("ranker", [r for r in RANKED if not isinstance(r, UniformCombination | OnlineRanker)], ids=str)
def test_sparse_queries_of_one_grade_teach_nothing(ranker):
    X, _, qid, _ = problem()
    with pytest.warns(UserWarning, match="no query has rows of two grades"):
        made = clone(ranker).fit(X, qid, qid=qid)
    assert not made.coef_.any()


def test_rankers_say_whether_they_take_sparse_rows():
    X, y, qid, _ = problem(n=60)
    takes = {name for name in RANKERS if make_ranker(name).takes_compact}
    assert takes == {
        "uniform",
        "lr",
        "rlr",
        "frlr",
        "ranksvm",
        "opr",
        "opar1",
        "opar2",
        "ogdr",
        "arow",
        "listnet",
        "ranknet",
    }
    for ranker in [make_ranker(name) for name in RANKERS] + [ListNet(hidden=2), ContentAwareRanker(visual=[-1])]:
        assert ranker.__sklearn_tags__().input_tags.sparse == ranker.takes_compact
        if not ranker.takes_compact:
            with pytest.raises(ValueError, match=rf"^{type(ranker).__name__} needs dense rows, got a sparse matrix"):
                ranker.fit(X, y, qid=qid)
