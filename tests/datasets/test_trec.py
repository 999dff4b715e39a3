from __future__ import annotations

import gzip

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloom.core import Hit, Qrel
from rankloom.datasets import align, read_qrels, read_run, write_qrels, write_run
from tests.data import written

WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6).filter(
    lambda text: text.encode().split() == [text.encode()] and not text.startswith("\ufeff")
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
# Few and coarse, so that ties, gaps and unjudged items happen; exact in trec_eval's 32 bits.
RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4).map(float), min_size=1),
    min_size=1,
)
QRELS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q4"]), st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2), min_size=1)
)


def hits(scores: dict[str, float]) -> list[Hit]:
    best_first = sorted(scores, key=lambda item: (scores[item], item), reverse=True)
    return [Hit(rank, item, scores[item]) for rank, item in enumerate(best_first, 1)]


def error_of(read, content: bytes) -> str:
    with written(content) as path:
        with pytest.raises(ValueError) as caught:
            read(path)
        message = str(caught.value)
        assert message.startswith(str(path.parent))
        assert "\n" not in message
        return message.removeprefix(str(path.parent))[1:]


def test_reading():
    with written(b"q 0 a 2\r\n\nq\t0\tb\t-1\n") as path:
        assert read_qrels(path) == [Qrel("q", "a", 2.0), Qrel("q", "b", -1.0)]
    run = b"q Q0 a 9 0.5 t\nr Q0 a 1 1e3 t\nq Q0 c 1 0.5 t\nq Q0 b 1 .75 t"
    for content in (run, gzip.compress(run)):
        with written(content) as path:
            assert read_run(path) == {
                "q": [Hit(1, "b", 0.75), Hit(2, "c", 0.5), Hit(3, "a", 0.5)],
                "r": [Hit(1, "a", 1000.0)],
            }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"q 0 a", "rows.txt:1: expected 4 words (qid 0 id grade), got 3"),
        (b"q 0 a 1\n\nq 0 b x", "rows.txt:3: bad grade 'x': expected a number"),
        (b"q 0 a nan", "rows.txt:1: bad grade 'nan': NaN and infinity are not accepted"),
        (b"q 0 a 1\nq 0 a 1", "rows.txt:2: the item 'a' is judged twice for the query 'q'"),
        (b"q 0 \xff 1", "rows.txt:1: not UTF-8 text: 'q 0 \\\\xff 1'"),
        (b"\n", "rows.txt: no judgements; the file is empty"),
    ],
)
def test_mistakes_in_qrels_are_named(content, message):
    assert error_of(read_qrels, content) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"q Q0 a 1 2", "rows.txt:1: expected 6 words (qid Q0 id rank score tag), got 5"),
        (b"q Q0 a x 2 t", "rows.txt:1: bad rank 'x': expected a whole number"),
        (b"q Q0 a 1 NaN t", "rows.txt:1: bad score 'NaN': NaN and infinity are not accepted"),
        (b"q Q0 a 1 2 t\nq Q0 a 2 1 t", "rows.txt:2: the item 'a' stands twice in the query 'q'"),
        (b"", "rows.txt: no results; the file is empty"),
        (
            gzip.compress(b"q Q0 a 1 2 t", mtime=0)[:-9],
            "rows.txt:1: the gzip data end early, at or after this line; the file is",
        ),
    ],
)
def test_mistakes_in_runs_are_named(content, message):
    assert error_of(read_run, content).startswith(message)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_garbage_raises_only_value_errors(content):
    for read in (read_run, read_qrels):
        with written(content) as path:
            try:
                read(path)
            except ValueError as error:
                assert str(error).startswith(str(path))  # noqa: PT017


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(WORD, st.dictionaries(WORD, FINITE, min_size=1, max_size=4), min_size=1, max_size=3),
    st.sampled_from(["rows.txt", "rows.gz"]),
)
def test_round_trip(scores, name):
    run = {qid: hits(items) for qid, items in scores.items()}
    qrels = [Qrel(qid, item, score) for qid, items in scores.items() for item, score in items.items()]
    with written(b"", name) as path:
        write_run(run, path, tag="x")
        assert read_run(path) == run
        write_qrels(qrels, path)
        assert read_qrels(path) == qrels


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "run.txt"
    for run, message in (
        ({"a b": [Hit(1, "x", 1.0)]}, "the qid 'a b' cannot be written"),
        ({"a": [Hit(1, "x\n", 1.0)]}, "the id 'x\\\\n' cannot"),
        ({"a": [Hit(1, "x", np.nan)]}, "the score of 'x' in the query 'a' is nan"),
        ({"a": [Hit(1, "x", 1.0), Hit(2, "x", 0.0)]}, "stands twice"),
    ):
        with pytest.raises(ValueError, match=message):
            write_run(run, path)
    with pytest.raises(ValueError, match="the tag 'a b' cannot"):
        write_run({}, path, tag="a b")
    for qrels, message in (
        ([Qrel("", "x", 1)], "the qid '' cannot"),
        ([Qrel("a", "x", np.inf)], "not a finite number"),
        ([Qrel("a", "x", 1), Qrel("a", "x", 1)], "judged twice"),
    ):
        with pytest.raises(ValueError, match=message):
            write_qrels(qrels, path)
    with pytest.raises(TypeError, match=r"write_run\(run, path\)"):
        write_run(path, {})
    with pytest.raises(TypeError, match=r"write_qrels\(qrels, path\)"):
        write_qrels(path, [])
    assert not path.exists()


def test_align():
    run = {"q": [Hit(1, "a", 0.9), Hit(2, "b", 1e300)], "r": [Hit(1, "a", 1.0)]}
    qrels = [Qrel("s", "x", 0), Qrel("s", "z", 1), Qrel("q", "c", 2), Qrel("q", "d", 0), Qrel("q", "b", 1)]
    aligned = align(run, qrels)
    assert aligned.qid.tolist() == ["s", "s", "q", "q", "q"]
    assert aligned.ids == ["x", "z", "b", "a", "c"]
    assert aligned.y.tolist() == [0, 1, 1, 0, 2]
    assert aligned.retrieved.tolist() == [False, False, True, True, False]
    assert aligned.scores[2:4].tolist() == [1e300, 0.9]
    assert aligned.scores[4] < 0.9
    assert aligned.unjudged_queries == 1
    assert align({}, []).y.shape == (0,)


@pytest.mark.parametrize("score", [1e300, -1e300, 1e16, 0.0, -5e-324])
def test_missed_items_score_strictly_below(score):
    aligned = align({"q": [Hit(1, "a", score)]}, [Qrel("q", "b", 1)])
    assert aligned.scores[1] < score
    assert np.isfinite(aligned.scores).all()


def test_align_checks():
    with pytest.raises(ValueError, match="leaves no number below"):
        align({"q": [Hit(1, "a", -np.finfo(float).max)]}, [Qrel("q", "b", 1)])
    with pytest.raises(ValueError, match="stands twice"):
        align({"q": [Hit(1, "a", 1.0), Hit(2, "a", 1.0)]}, [Qrel("q", "b", 1)])
    with pytest.raises(ValueError, match="judged twice"):
        align({}, [Qrel("q", "b", 1), Qrel("q", "b", 2)])


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(RUNS, QRELS)
def test_the_mask_gives_the_numbers_of_trec_eval(scores, grades):
    aligned = align(
        {qid: hits(items) for qid, items in scores.items()},
        [Qrel(qid, item, grade) for qid, items in grades.items() for item, grade in items.items()],
    )
    expected = pytrec_eval.RelevanceEvaluator(grades, {"map", "P_5", "ndcg_cut_5"}).evaluate(scores) if grades else {}
    ranked = {qid for qid in grades if qid in scores}
    assert set(expected) == ranked
    assert set(aligned.qid[aligned.retrieved].tolist()) == ranked
    assert aligned.unjudged_queries == len(set(scores) - set(grades))
    for qid in ranked:
        rows = aligned.qid == qid
        # The rows come in trec_eval's order; a row that was not retrieved gives no gain but counts as existing.
        y, retrieved = aligned.y[rows], aligned.retrieved[rows]
        gain = np.where(retrieved, y, 0)
        hit = gain > 0
        precision = np.cumsum(hit) / np.arange(1, len(hit) + 1)
        relevant = (y > 0).sum()
        discount = 1 / np.log2(np.arange(2, 7))
        ideal = np.sort(np.maximum(y, 0))[::-1][:5]
        ideal_gain = ideal @ discount[: len(ideal)]
        found = gain[:5] @ discount[: len(gain[:5])]
        assert expected[qid]["map"] == pytest.approx((precision * hit).sum() / relevant if relevant else 0)
        assert expected[qid]["P_5"] == pytest.approx(hit[:5].sum() / 5)
        assert expected[qid]["ndcg_cut_5"] == pytest.approx(found / ideal_gain if relevant else 0)
