import numpy as np
import pytest

from rankloom.datasets import iter_letor, load_letor, make_ranking, save_letor
from rankloom.evaluation.metrics import evaluate
from rankloom.experiments.simulation import CascadeClicks, simulate, skip_above
from rankloom.rankers import OnlinePassiveAggressiveRanker, RankingLogisticRegression, UniformCombination, make_ranker

DATA = make_ranking(n_queries=120, n_items=60, n_features=12, n_informative=4, noise=1.5, random_state=3)


@pytest.mark.parametrize("name", ["opr", "opar1", "opar2", "ogdr", "arow", "rlr", "ranksvm"])
def test_judging_the_top_teaches_every_ranker(name):
    run = simulate(DATA, make_ranker(name), k=15, retrain_every=10)
    assert run.metric == "nDCG@15"
    assert run.gain[-60:].mean() > 0.15
    assert (np.diff(run.seconds) >= 0).all()
    assert run.n_preferences[-1] > 1000


@pytest.mark.parametrize("name", ["opar1", "arow", "rlr"])
def test_clicks_teach_in_spite_of_position_bias(name):
    run = simulate(DATA, make_ranker(name), k=15, clicks=CascadeClicks(), retrain_every=10)
    assert run.gain[-60:].mean() > 0.1


@pytest.mark.slow
def test_the_first_query_is_ranked_uniformly_and_uniform_never_gains():
    for ranker in (OnlinePassiveAggressiveRanker(0.1), RankingLogisticRegression()):
        run = simulate(DATA, ranker, k=10)
        assert run.gain[0] == 0.0
    assert np.abs(simulate(DATA, UniformCombination(), k=10).gain).max() == 0.0


def test_a_step_of_the_protocol_is_rank_measure_judge_learn():
    run = simulate(DATA, OnlinePassiveAggressiveRanker(0.1), k=10, random_state=5)
    order = np.random.default_rng(5).permutation(120) + 1
    ranker = OnlinePassiveAggressiveRanker(0.1, init=np.full(12, 1 / 12))
    weights = np.full(12, 1 / 12)
    for t, qid in enumerate(order[:20]):
        part = DATA.take(DATA.qid == qid)
        scores = part.X @ weights
        assert run.values[t] == pytest.approx(evaluate(part.y, scores, None, "nDCG@10")["nDCG@10"])
        top = np.argsort(-scores, kind="stable")[:10]
        weights = ranker.partial_fit(part.X[top], part.y[top]).coef_


@pytest.mark.slow
def test_a_reservoir_forgets_and_retraining_waits():
    everything = simulate(DATA, RankingLogisticRegression(), k=10, retrain_every=1)
    little = simulate(DATA, RankingLogisticRegression(), k=10, retrain_every=1, reservoir=2)
    assert everything.gain[-60:].mean() > little.gain[-60:].mean() + 0.02
    late = simulate(DATA, RankingLogisticRegression(), k=10, retrain_every=50)
    assert np.abs(late.gain[:50]).max() == 0.0
    assert late.gain[50:].mean() > 0.1


def test_the_ranker_given_is_not_changed_and_seeds_repeat():
    ranker = OnlinePassiveAggressiveRanker(0.1)
    first, again = (simulate(DATA, ranker, k=10, clicks=CascadeClicks(), random_state=1) for _ in range(2))
    assert not hasattr(ranker, "coef_")
    np.testing.assert_array_equal(first.values, again.values)
    assert first.to_dict()["cumulative_gain"][-1] == pytest.approx(first.gain.mean())


def test_bad_arguments():
    for bad in ({"k": 0}, {"retrain_every": 0}, {"reservoir": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            simulate(DATA, RankingLogisticRegression(), **bad)


def test_clicks_follow_the_model():
    rng = np.random.default_rng(0)
    sure = CascadeClicks(attraction=(0.0, 1.0), satisfaction=(0.0, 1.0), patience=1.0)
    assert [
        part.tolist() if isinstance(part, np.ndarray) else part for part in sure.clicks(np.array([0, 0, 1, 1]), rng)
    ] == [[2], 3]
    seen = [CascadeClicks(attraction=(0.0,), patience=0.5).clicks(np.zeros(10), rng)[1] for _ in range(4000)]
    assert np.mean(seen) == pytest.approx(2.0, abs=0.1)


def test_skip_above():
    assert skip_above(np.array([1, 3])).tolist() == [[1, 0], [3, 0], [3, 2]]
    assert skip_above(np.array([], dtype=np.int64)).shape == (0, 2)


# Streams from files


def test_pieces_of_a_file_are_the_file(tmp_path, monkeypatch):
    data = make_ranking(30, 20, 6, random_state=1)
    for name in ("d.txt", "d.txt.gz"):
        save_letor(data, tmp_path / name)
        monkeypatch.setattr("rankloom.datasets._files._BLOCK", 2000)
        pieces = list(iter_letor(tmp_path / name))
        assert len(pieces) > 5
        whole = load_letor(tmp_path / name)
        np.testing.assert_array_equal(np.concatenate([piece.X for piece in pieces]), whole.X)
        np.testing.assert_array_equal(np.concatenate([piece.y for piece in pieces]), whole.y)
        assert [q for piece in pieces for q in piece.qid] == [str(q) for q in whole.qid]
        for piece in pieces:
            others = {q for other in pieces if other is not piece for q in other.qid}
            assert not others & set(piece.qid)


def test_errors_of_a_streamed_file(tmp_path):
    path = tmp_path / "d.txt"
    for text, part in (
        ("", "no rows"),
        ("1 qid:1 1:2\n0 qid:1 1:x\n", "d.txt:2"),
        ("1 1:2\n", "no qid"),
        ("1 qid:1\n", "no row has a feature"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=part):
            list(iter_letor(path))
    path.write_text("1 qid:1 1:2 5:1\n")
    with pytest.raises(ValueError, match="feature index 5 is outside of 3 features"):
        list(iter_letor(path, n_features=3))
    path.write_text("1 qid:1 0:2 5:1\n")
    assert next(iter(iter_letor(path))).X.shape == (1, 6)
