"""The online rankers against slow transcriptions of their updates, and the errata D of the paper."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from rankloom import load_ranker
from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate_queries
from rankloom.rankers import (
    OnlineConfidenceRanker,
    OnlineGradientDescentRanker,
    OnlinePassiveAggressiveRanker,
    OnlinePerceptronRanker,
    RankSVM,
    _kernels,
)
from rankloom.rankers.pairs import sample_triplets

RANKERS = [
    OnlinePerceptronRanker(),
    OnlinePassiveAggressiveRanker(0.3),
    OnlinePassiveAggressiveRanker(0.3, squared=True),
    OnlineGradientDescentRanker(0.2),
    OnlineGradientDescentRanker(0.5, decay=0.5),
    OnlineConfidenceRanker(2.0),
    OnlineConfidenceRanker(2.0, full=False),
]


def stream(seed=0, n=40, m=300, d=4, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    truth = rng.normal(size=d)
    pairs = rng.integers(0, n, (m, 2))
    margin = (X[pairs[:, 0]] - X[pairs[:, 1]]) @ truth + noise * rng.normal(size=m)
    pairs[margin < 0] = pairs[margin < 0][:, ::-1]
    return X, pairs, truth


def slow(ranker, X, pairs):
    """The updates as the papers write them; all weights w_1 .. w_{T+1}."""
    d = X.shape[1]
    w, sigma, history = np.zeros(d), np.eye(d), [np.zeros(d)]
    for t, (i, j) in enumerate(pairs, 1):
        x = X[i] - X[j]
        loss = max(0.0, 1.0 - w @ x)
        if isinstance(ranker, OnlinePerceptronRanker):
            w = w + x if w @ x <= 0 else w
        elif isinstance(ranker, OnlinePassiveAggressiveRanker):
            if loss > 0 and (x @ x > 0 or ranker.squared):
                step = loss / (x @ x + 1 / (2 * ranker.C)) if ranker.squared else min(ranker.C, loss / (x @ x))
                w = w + step * x
        elif isinstance(ranker, OnlineGradientDescentRanker):
            w = w + ranker.eta / t**ranker.decay * x if loss > 0 else w
        elif loss > 0 and x @ x > 0:
            if not ranker.full:
                sigma = np.diag(np.diag(sigma))
            beta = 1 / (x @ sigma @ x + ranker.r)
            w = w + loss * beta * sigma @ x
            sigma = sigma - beta * np.outer(sigma @ x, sigma @ x)
        history.append(w)
    return np.array(history)


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_updates_are_those_of_the_papers(ranker):
    X, pairs, _ = stream()
    history = slow(ranker, X, pairs)
    averaged = ranker.set_params(average=True)
    averaged = type(ranker)(**ranker.get_params()).partial_fit_triplets(X, pairs)
    np.testing.assert_allclose(averaged.coef_, history[1:].mean(axis=0), rtol=1e-9, atol=1e-12)
    last = type(ranker)(**{**ranker.get_params(), "average": False}).partial_fit_triplets(X, pairs)
    np.testing.assert_allclose(last.coef_, history[-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(last.coef_, averaged.last_coef_)


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_batches_single_preferences_and_json_continue_bit_for_bit(ranker, tmp_path):
    X, pairs, _ = stream(1)
    at_once = type(ranker)(**ranker.get_params()).partial_fit_triplets(X, pairs)
    pieces = type(ranker)(**ranker.get_params())
    for start in range(0, 200, 40):
        pieces.partial_fit_triplets(X, pairs[start : start + 40])
    pieces.save(tmp_path / "half.json")
    resumed = load_ranker(tmp_path / "half.json")
    for i, j in pairs[200:]:
        resumed.learn_one(X[i], X[j])
    for name in ("coef_", "last_coef_", "drag_", "sums_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(at_once, name))


WIDTHS = [1, 7, 8, 9, 36, 48, 49, 97, 130]  # one panel of vectors and several, full and padded


@pytest.mark.parametrize("d", WIDTHS)
def test_full_covariance_of_any_width(d):
    X, pairs, _ = stream(13, d=d)
    pairs[::7, 1] = pairs[::7, 0]
    found = OnlineConfidenceRanker(0.5, average=False).partial_fit_triplets(X, pairs)
    w, sigma, updates = np.zeros(d), np.eye(d), 0
    for i, j in pairs:
        x = X[i] - X[j]
        loss = max(0.0, 1.0 - w @ x)
        if loss > 0 and x @ x > 0:
            updates += 1
            beta = 1 / (x @ sigma @ x + 0.5)
            w, sigma = w + loss * beta * sigma @ x, sigma - beta * np.outer(sigma @ x, sigma @ x)
    assert found.report().n_updates == updates
    np.testing.assert_allclose(found.coef_, w, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(found.covariance_, sigma, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("d", WIDTHS)
def test_full_covariance_is_the_same_bits_in_pieces_and_anywhere_in_memory(d):
    X, pairs, _ = stream(14, d=d)
    expected = OnlineConfidenceRanker().partial_fit_triplets(X, pairs)

    def shifted(array, places):
        memory = np.empty(array.size + places)
        memory[places:] = array.ravel()
        return memory[places:].reshape(array.shape)

    for places, piece in ((0, 1), (1, 13), (3, 50), (6, 299)):
        w, drag, sums, covariance, reference = (
            shifted(array, places) for array in (np.zeros(d), np.zeros(d), np.zeros(15), np.eye(d), np.empty(0))
        )
        for start in range(0, len(pairs), piece):
            part = pairs[start : start + piece]
            _kernels.stream.confidence_full(shifted(X, places), part, 1.0, np.inf, w, drag, sums, covariance, reference)
        for array, name in ((w, "last_coef_"), (drag, "drag_"), (sums, "sums_"), (covariance, "covariance_")):
            assert array.tobytes() == getattr(expected, name).tobytes()


def test_full_covariance_keeps_what_it_learned_before_a_bad_row():
    X, pairs, _ = stream(15, d=9)
    ranker, expected = OnlineConfidenceRanker(), OnlineConfidenceRanker().partial_fit_triplets(X, pairs[:100])
    table = np.vstack([X, np.full(9, np.inf)])
    pairs[100] = len(X), 0
    with pytest.raises(ValueError, match=f"row {len(X)}"):
        ranker.partial_fit_triplets(table, pairs)
    for name in ("last_coef_", "drag_", "sums_", "covariance_"):
        np.testing.assert_array_equal(getattr(ranker, name), getattr(expected, name))


def test_state_does_not_grow_with_the_stream(tmp_path):
    X, pairs, _ = stream(2)
    ranker = OnlineConfidenceRanker()
    sizes = []
    for times in (1, 20):
        for _ in range(times):
            ranker.partial_fit_triplets(X, pairs)
        ranker.save(tmp_path / "state.json")
        state = json.loads((tmp_path / "state.json").read_text())["state"]
        sizes.append(sum(np.size(value["array"]) for value in state.values() if isinstance(value, dict)))
    assert sizes[0] == sizes[1]


@pytest.mark.slow
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_tables_of_either_width_and_on_disk(ranker, tmp_path):
    X, pairs, _ = stream(3)
    small = X.astype(np.float32)
    expected = type(ranker)(**ranker.get_params()).partial_fit_triplets(small.astype(np.float64), pairs)
    np.save(tmp_path / "table.npy", small)
    for table in (small, np.load(tmp_path / "table.npy", mmap_mode="r")):
        found = type(ranker)(**ranker.get_params()).partial_fit_triplets(table, pairs)
        np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_a_stream_of_batches_and_a_triplet_generator():
    data = make_ranking(40, 20, 5, random_state=4)
    queries = [data.take(data.qid == qid) for qid in range(1, 41)]
    streamed = OnlinePassiveAggressiveRanker(0.1).partial_fit_stream(tuple(part) for part in queries)
    np.testing.assert_array_equal(streamed.coef_, OnlinePassiveAggressiveRanker(0.1).fit(*data).coef_)
    sampled = OnlinePassiveAggressiveRanker(0.1)
    for pairs in sample_triplets(data.y, data.qid, negatives=5, batch=100, epochs=3):
        sampled.partial_fit_triplets(data.X, pairs)
    cosine = sampled.coef_ @ streamed.coef_ / np.linalg.norm(sampled.coef_) / np.linalg.norm(streamed.coef_)
    assert cosine > 0.98


def test_warm_start_from_any_linear_ranker():
    data = make_ranking(20, 20, 5, random_state=5)
    batch = RankSVM().fit(*data)
    for init in (batch, batch.coef_):
        warm = OnlinePassiveAggressiveRanker(1e-9, init=init, average=False).fit(*data)
        np.testing.assert_allclose(warm.coef_, batch.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="init must be a linear ranker or 5 finite weights"):
        OnlinePerceptronRanker(init=[1.0, 2.0]).fit(*data)


def test_max_pairs_bounds_the_work_of_a_query():
    data = make_ranking(3, 60, 5, random_state=6)
    ranker = OnlinePerceptronRanker(max_pairs=50).fit(*data)
    assert ranker.report().n_preferences == 150


def test_bad_input_is_refused():
    X, pairs, _ = stream(7)
    for bad, part in (
        ([[0, 99]], r"pairs\[0\] names a row outside"),
        ([[0, -1]], "outside"),
        ([0, 1], r"shape \(n, 2\)"),
        ([[0.5, 1.0]], "whole numbers"),
    ):
        with pytest.raises(ValueError, match=part):
            OnlinePerceptronRanker().partial_fit_triplets(X, bad)
    X[pairs[5, 0], 1] = np.nan
    row = int(pairs[5, 0])
    ranker = OnlinePerceptronRanker()
    with pytest.raises(ValueError, match=f"row {row}"):
        ranker.partial_fit_triplets(X, pairs[5:])
    with pytest.raises(ValueError, match="learned from 4"):
        ranker.partial_fit_triplets(X[:, :2], pairs[:1])
    with pytest.raises(ValueError, match="same length"):
        OnlinePerceptronRanker().learn_one([[1.0]], [[2.0]])
    for wrong in (
        OnlinePassiveAggressiveRanker(0),
        OnlineGradientDescentRanker(-1),
        OnlineGradientDescentRanker(1, decay=-1),
        OnlineConfidenceRanker(np.nan),
        OnlinePerceptronRanker(n_epochs=0),
        OnlinePerceptronRanker(max_pairs=0),
    ):
        with pytest.raises(ValueError, match=r"must be"):
            wrong.fit(*make_ranking(5, 5, 2, n_informative=1))


def test_a_column_of_the_wrong_length_for_learn_one():
    with pytest.raises(ValueError):
        OnlinePerceptronRanker().learn_one([1.0, 2.0], [1.0])


# D1 .. D9


def test_d1_the_perceptron_starts_from_zero():
    X, pairs, _ = stream(8, noise=0.1)
    report = OnlinePerceptronRanker().partial_fit_triplets(X, pairs).report()
    assert 0 < report.n_updates == report.n_mistakes < 100
    printed = np.zeros(4)
    for i, j in pairs:
        printed += (X[i] - X[j]) * (printed @ (X[i] - X[j]) < 0)
    assert not printed.any()  # from zero weights every margin is 0, which is not below 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_d2_average_precision_is_bounded_by_the_hinge_loss_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    y = np.r_[1.0, 0.0, rng.integers(0, 2, n)]
    f = 2 * rng.normal(size=len(y))
    losses = np.maximum(0, 1 - (f[y == 1][:, None] - f[y == 0][None, :]))
    ap = evaluate_queries(y, f, None, "AP").values["AP"][0]
    assert ap >= 1 - losses.sum() / (y == 1).sum() - 1e-12


def test_d2_the_printed_bound_is_violated():
    rng = np.random.default_rng(0)
    violated = 0
    for _ in range(300):
        y = np.r_[1.0, 0.0, rng.integers(0, 2, 8)]
        f = 2 * rng.normal(size=len(y))
        losses = np.maximum(0, 1 - (f[y == 1][:, None] - f[y == 0][None, :]))
        ap = evaluate_queries(y, f, None, "AP").values["AP"][0]
        violated += ap < 1 - losses.mean() / (y == 1).sum()
    assert violated > 50


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(range(5)), st.booleans(), st.booleans())
def test_d3_the_guarantees_hold_on_every_stream_against_any_weights(seed, which, known, warm):
    rng = np.random.default_rng(seed)
    X, pairs, truth = stream(seed, m=120, noise=float(rng.uniform(0, 3)))
    reference = rng.uniform(0, 5) * (truth if rng.random() < 0.5 else rng.normal(size=4)) if known else None
    ranker = type(RANKERS[which])(**RANKERS[which].get_params())
    ranker.set_params(reference=reference, init=rng.normal(size=4) if warm else None)
    report = ranker.partial_fit_triplets(X, pairs).report()
    assert report.bounded <= report.bound + 1e-9 * (1 + abs(report.bound))
    u = np.zeros(4) if reference is None else reference
    losses = np.maximum(0, 1 - (X[pairs[:, 0]] - X[pairs[:, 1]]) @ u)
    assert report.reference_loss == pytest.approx(losses.sum())
    assert report.regret == pytest.approx(report.cumulative_loss - losses.sum())


def test_d4_only_rounds_with_an_update_are_bounded_for_the_perceptron():
    X = np.array([[0.1], [0.0]])
    ranker = OnlinePerceptronRanker(reference=[10.0]).partial_fit_triplets(X, np.tile([[0, 1]], (1000, 1)))
    report = ranker.report()
    assert report.bounded <= report.bound
    printed = 0.5 * 100 + report.reference_loss + 0.5 * report.largest_squared_norm * 1000
    assert report.cumulative_loss > 900 > printed  # the inequality over all rounds, as printed, is false


def test_d5_the_squared_bound_of_opar2_is_reported():
    X, pairs, truth = stream(9)
    ranker = OnlinePassiveAggressiveRanker(0.5, squared=True, reference=truth).partial_fit_triplets(X, pairs)
    x = X[pairs[:, 0]] - X[pairs[:, 1]]
    history = slow(ranker, X, pairs)[:-1]
    squared = np.maximum(0, 1 - (history * x).sum(axis=1)) ** 2
    report = ranker.report()
    assert report.bounded == pytest.approx(squared.sum())
    norm = (x**2).sum(axis=1).max()
    losses = np.maximum(0, 1 - x @ truth) ** 2
    assert report.bound == pytest.approx((norm + 1.0) * (truth @ truth + losses.sum()))


@pytest.mark.parametrize("squared", [False, True])
def test_d5_the_printed_bounds_of_opar_hold_and_promise_nothing(squared):
    X, pairs, truth = stream(9)
    x, C = X[pairs[:, 0]] - X[pairs[:, 1]], 0.5
    ranker = OnlinePassiveAggressiveRanker(C, squared=squared)
    history = slow(ranker, X, pairs)
    losses = np.maximum(0, 1 - (history[:-1] * x).sum(axis=1))
    norms, known = (x**2).sum(axis=1), np.maximum(0, 1 - x @ truth)
    if squared:
        printed = (norms.max() + 0.5 / C) / losses[losses > 0].min() * (truth @ truth + 2 * C * (known**2).sum())
    else:
        steps = np.minimum(C, losses / np.maximum(norms, 1e-300))
        least = steps[steps > 0].min()
        half = (0.5 * truth @ truth + C * known.sum() + 0.5 * C**2 * norms.max() * len(x)) / least
        printed = half + 0.5 * C**2 * norms.max() * len(x) / least  # the theorem leaves out the half
        assert losses.sum() <= half
    assert losses.sum() <= printed
    assert printed > 10 * np.maximum(0, 1 - x @ np.zeros(4)).sum()  # learning nothing does better


@pytest.mark.slow
@pytest.mark.parametrize("squared", [False, True])
def test_d6_the_closed_forms_minimise_their_problems(squared):
    rng = np.random.default_rng(10)
    for _ in range(20):
        w, x, C = rng.normal(size=3), rng.normal(size=3), float(rng.uniform(0.05, 3))
        ranker = OnlinePassiveAggressiveRanker(C, squared=squared, init=w, average=False)
        found = ranker.learn_one(x, np.zeros(3)).coef_

        def objective(v, w=w, x=x, C=C):
            loss = max(0.0, 1 - v @ x)
            return 0.5 * ((v - w) ** 2).sum() + C * (loss**2 if squared else loss)

        line = min(objective(w + t * x) for t in np.linspace(-1, 4, 4001))
        best = minimize(objective, found, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun
        assert objective(found) <= line + 1e-12
        assert objective(found) <= best + 1e-9


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_d7_equal_rows_teach_nothing(ranker):
    found = type(ranker)(**ranker.get_params()).learn_one([1.0, 2.0], [1.0, 2.0])
    np.testing.assert_array_equal(found.coef_, [0.0, 0.0])
    assert found.report().cumulative_loss == 1.0


def test_d9_averages_reach_the_batch_optimum_on_noisy_pairs():
    rng = np.random.default_rng(11)
    X, truth = rng.normal(size=(4000, 20)), rng.normal(size=20) / 4
    utility = X @ truth + 2.5 * rng.normal(size=4000)
    pairs = rng.integers(0, 4000, (60_000, 2))
    swap = utility[pairs[:, 0]] < utility[pairs[:, 1]]
    pairs[swap] = pairs[swap][:, ::-1]
    test = (X[pairs[:, 0]] - X[pairs[:, 1]])[-10_000:]

    def accuracy(w):
        return (test @ w > 0).mean()

    best = accuracy(truth)
    for ranker in RANKERS:
        fitted = type(ranker)(**ranker.get_params()).partial_fit_triplets(X, pairs[:-10_000])
        assert accuracy(fitted.coef_) > best - 0.01
    last = OnlinePerceptronRanker(average=False).partial_fit_triplets(X, pairs[:-10_000])
    assert accuracy(last.coef_) < best - 0.03


def test_report_reads_well():
    X, pairs, _ = stream(12)
    text = str(OnlinePassiveAggressiveRanker(0.1).partial_fit_triplets(X, pairs).report())
    assert "300 preferences" in text
    assert "<=" in text
    assert "no inequality" in OnlineConfidenceRanker().partial_fit_triplets(X, pairs).report().guarantee


def test_a_preference_beyond_the_range_names_the_column_and_keeps_what_was_learned():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1e200]])
    for ranker in (OnlinePerceptronRanker(), OnlineConfidenceRanker(), OnlineConfidenceRanker(full=False)):
        with pytest.raises(ValueError, match=r"up to 1e\+200 in column 1, .*; learned from the 1 preferences before"):
            ranker.partial_fit_triplets(rows, np.array([[0, 1], [0, 2]]))
        assert ranker.report().n_preferences == 1
        assert ranker.coef_[0] > 0 > ranker.coef_[1]


def test_a_batch_of_tiny_values_is_no_error():
    # A stream has no last batch: what is tiny here may be ordinary in the next one.
    ranker = OnlinePassiveAggressiveRanker().partial_fit([[1e-310], [0.0]], [1, 0])
    assert ranker.partial_fit([[1.0], [0.0]], [1, 0]).coef_[0] > 0
    with pytest.raises(ValueError, match=r"no value beyond 1e-310 in column 0"):
        OnlinePassiveAggressiveRanker().fit([[1e-310], [0.0]], [1, 0])
