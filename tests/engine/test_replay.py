"""Learning from a long log of marks: the same bits however it is read, in memory and work that do not grow with it."""

import gc
import json
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from rankloom.collection import Mark, checkpoints, index
from rankloom.collection import marks as log
from rankloom.collection.query import Example, Query
from rankloom.engine.online_weights import OnlineWeights
from tests.archives import alike, copied, like, write_pictures

pytestmark = pytest.mark.slow

N = 48


def fill(collection, n_marks, seed=0):
    """A log of requests of three marks each, every request of a query of its own."""
    rng = np.random.default_rng(seed)
    done = log.marks(collection, limit=1) and collection.db.execute("SELECT max(id) FROM qrels").fetchone()[0]
    rows, queries = [], []
    for request in range(n_marks // 3):
        query = Query(f"number {seed} {request}", (Example(item=int(rng.integers(1, N + 1))),))
        queries.append((query.qid, json.dumps(query.to_json()), f"{seed:04} {request:08}"))
        items = rng.choice(N, 3, replace=False) + 1
        rows += [
            (query.qid, int(item), float(place == 0), f"{seed:04} {request:08}") for place, item in enumerate(items)
        ]
    with collection.transaction() as db:
        db.executemany("INSERT INTO queries VALUES (?, ?, ?)", queries)
        db.executemany("INSERT INTO qrels (qid, item, grade, user, at) VALUES (?, ?, ?, '', ?)", rows)
    return done


def forget_checkpoints(collection):
    with collection.transaction() as db:
        db.execute("DELETE FROM checkpoints")


def test_marks_one_by_one_and_all_at_once_teach_the_same_bits(changing, monkeypatch):
    engine = alike(changing)
    rng = np.random.default_rng(0)
    for turn in range(40):
        items = (rng.choice(N, 4, replace=False) + 1).tolist()
        query = like(int(rng.integers(1, N + 1)), text="boat" if turn % 3 else "")
        engine.feedback(query, [Mark(item, float(place % 2)) for place, item in enumerate(items)], shown=range(1, 20))
        if turn % 5 == 0:
            engine.undo()
        expected = engine.weights
    assert expected != alike(changing).weight_state.start
    for page in (1, 2, 7, 1000):
        monkeypatch.setattr(log, "_PAGE", page)
        forget_checkpoints(changing)
        assert alike(changing).weights == expected


@pytest.mark.parametrize("page", [1, 2, 5, 6, 100])
def test_marks_of_one_request_are_never_parted(changing, monkeypatch, page):
    engine = alike(changing)
    for size in (1, 5, 3, 9, 2):
        engine.feedback(like(3), [Mark(item, 1.0) for item in range(1, size + 1)])
    monkeypatch.setattr(log, "_PAGE", page)
    pages = [*log.mark_pages(changing)]
    assert [mark for some in pages for mark in some] == log.marks(changing)
    requests = [{mark.request for mark in some} for some in pages]
    assert all(not before & after for before, after in pairwise(requests))
    assert max(map(len, pages)) <= 2 * max(9, page)


def work_of(collection, action):
    """How many hundreds of steps the database takes for something, in all threads that have a connection by now: the
    same on any machine, however busy."""
    steps = []
    connections = [*collection._connections]
    for connection in connections:
        connection.set_progress_handler(lambda: steps.append(1), 100)
    try:
        action()
    finally:
        for connection in connections:
            connection.set_progress_handler(None, 0)
    return len(steps)


@pytest.mark.sqlite
def test_a_mark_among_many_costs_what_one_among_few_costs(changing):
    costs = []
    for n_marks in (30, 1200):
        fill(changing, n_marks, seed=n_marks)
        engine = alike(changing)
        engine.settle()

        def mark(engine=engine):
            engine.feedback(like(2), [Mark(7, 1.0), Mark(9, 0.0)])
            engine.search(like(2))
            engine.undo()
            engine.search(like(2))

        mark()  # also gives the learner its connection
        costs.append(work_of(changing, mark))
    assert costs[0] > 0
    assert costs[1] < 2 * costs[0]


@pytest.mark.sqlite
def test_opening_starts_from_a_checkpoint(changing):
    fill(changing, 750)
    engine = alike(changing)
    engine.refresh()  # writes checkpoints
    expected = engine.weights
    from_checkpoint = work_of(changing, lambda: alike(changing).weights)
    assert alike(changing).weights == expected
    forget_checkpoints(changing)
    assert from_checkpoint * 5 < work_of(changing, lambda: alike(changing).weights)


@pytest.mark.sqlite
def test_replay_takes_memory_of_a_page_not_of_the_log(changing, monkeypatch):
    monkeypatch.setattr(log, "_PAGE", 50)
    engine = alike(changing)
    engine.search(like(5))
    peaks = []
    for n_marks in (150, 600):
        fill(changing, n_marks, seed=n_marks)
        gc.collect()
        tracemalloc.start()
        engine.settle()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert engine.weight_state.n_marks == 750
    assert peaks[1] < 1.5 * peaks[0]  # four times as many marks


@pytest.mark.parametrize("place", [0, 155, 299])
def test_a_mark_taken_back_is_as_if_never_given(original, tmp_path, place):
    weights = []
    for turn in range(2):
        with copied(original, tmp_path / f"c{turn}") as collection:
            fill(collection, 300)
            engine = alike(collection)
            number = log.marks(collection)[place].id
            if turn == 0:
                assert engine.weight_state.n_marks == 300
                engine.undo(mark=number)
            else:
                with collection.transaction() as db:
                    db.execute("DELETE FROM qrels WHERE id = ?", (number,))
            assert engine.weight_state.n_marks == 299
            weights.append(engine.weights)
            assert alike(collection).weights == engine.weights
    assert weights[0] == weights[1]


def test_the_number_of_checkpoints_grows_with_the_logarithm_of_the_marks():
    counts, most = [], []
    for n_marks in range(50, 100_001, 50):
        counts.append(n_marks)
        dropped = {*checkpoints.superfluous(counts)}
        counts = [count for place, count in enumerate(counts) if place not in dropped]
        most.append(len(counts))
        assert counts[-1] == n_marks
    assert max(most) < 60
    for n_marks in range(50, 100_000, 333):  # a replay from a mark begins little before it
        begin = max((count for count in counts if count < n_marks), default=0)
        assert n_marks - begin <= max(checkpoints.EVERY, 0.3 * (100_000 - begin))


def test_checkpoints_of_other_experts_are_kept_for_a_while(changing):
    fill(changing, 300)
    alike(changing).refresh()
    expected = alike(changing).weights
    assert changing.db.execute("SELECT count(DISTINCT basis) FROM checkpoints").fetchone() == (1,)
    engine = alike(changing)
    for turn in range(5):
        engine.train_concept(f"concept {turn}", [1, 2, 3, 4, 5, 6])
        engine.refresh()
        assert engine.weight_state.n_marks == 300
    assert changing.db.execute("SELECT count(DISTINCT basis) FROM checkpoints").fetchone() == (checkpoints.BASES,)
    for turn in range(5):
        engine.drop_concept(f"concept {turn}")
    assert {name: engine.weights[name] for name in expected} == expected


def test_a_mark_of_an_item_that_the_snapshot_lacks_waits(changing, tmp_path):
    engine = alike(changing)
    snapshot = engine.snapshot()
    index(changing, [write_pictures(tmp_path / "more", 1, seed=9, captions=False)], workers=0)
    other = alike(changing)
    other.feedback(like(3), [Mark(N + 1, 1.0), Mark(4, 0.0)])
    behind = OnlineWeights(changing, engine._weights.phi(snapshot), engine.weight_state.start)
    assert not behind.catch_up()
    assert behind.n_marks == 0
    assert alike(changing).weight_state.n_marks == 2


def test_the_curve_shows_the_latest_queries(changing, monkeypatch):
    from rankloom.engine import learning_curve

    fill(changing, 300)
    engine = alike(changing)
    whole = engine.learning_curve()
    assert len(whole) == 100
    monkeypatch.setattr(learning_curve, "MOST_QUERIES", 10)
    assert engine.learning_curve() == whole[-10:]
