"""The queues of a server: quick work never waits for slow work."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankloom.engine import Engine
from rankloom.server.errors import Refused
from rankloom.server.work import TRAININGS, Work
from tests.serving import client, copied, ok, picture, refused

WORDS = {"text": "lighthouse"}
PNG = {"Content-Type": "image/png"}


class Training(Engine):
    """An engine whose concepts, or uploads, take until they are let go."""

    def __init__(self, collection):
        super().__init__(collection)
        self.concepts_may_end, self.uploads_may_end = threading.Event(), threading.Event()
        self.begun = threading.Semaphore(0)

    def train_concept(self, *args, **options):
        self.begun.release()
        assert self.concepts_may_end.wait(300)
        return super().train_concept(*args, **options)

    def upload(self, *args, **options):
        self.begun.release()
        assert self.uploads_may_end.wait(300)
        return super().upload(*args, **options)


@pytest.mark.slow
def test_marks_do_not_wait_for_concepts_and_uploads(tmp_path):
    with client(copied(tmp_path / "c"), engine=Training) as web, ThreadPoolExecutor(8) as pool:
        web.get("/")
        engine = web.app.state.context.engine
        try:
            names = ("one", "two", "three")
            made = [
                pool.submit(web.post, "/api/concepts", json={"name": name, "positive": [1, 2, 3]}) for name in names
            ]
            sent = [
                pool.submit(web.post, "/api/upload", content=picture(side), headers=PNG) for side in (40, 50, 60, 70)
            ]
            for _ in range(3):  # one concept and two uploads
                assert engine.begun.acquire(timeout=300)
            assert ok(web.post("/api/feedback", json={"query": WORDS, "marks": [{"item": 1}]}))["marks"] == 1
            assert ok(web.post("/api/undo", json={"query": WORDS}))["marks"] == 0
            engine.uploads_may_end.set()  # nor do uploads wait for concepts
            assert len({ok(answer.result(300))["picture"] for answer in sent}) == 4
            assert not any(answer.done() for answer in made)
        finally:
            engine.uploads_may_end.set()
            engine.concepts_may_end.set()
        assert {ok(answer.result(300))["name"] for answer in made} == {*names}


@pytest.mark.slow
def test_too_many_trainings_are_told_to_wait(tmp_path):
    with client(copied(tmp_path / "c"), engine=Training) as web, ThreadPoolExecutor(TRAININGS + 2) as pool:
        web.get("/")
        engine = web.app.state.context.engine
        try:
            body = {"positive": [1, 2, 3]}
            made = [
                pool.submit(web.post, "/api/concepts", json={"name": f"c{number}", **body})
                for number in range(TRAININGS + 1)
            ]
            while f"rankloom_in_flight {TRAININGS + 2}" not in web.get("/api/metrics").text:
                time.sleep(0.02)
            assert "trainings" in refused(web.post("/api/concepts", json={"name": "more", **body}), 503)
        finally:
            engine.concepts_may_end.set()
        assert all(answer.result(300).status_code == 200 for answer in made)


def test_a_stop_finishes_marks_but_begins_no_training():
    async def run():
        work, writes, training, done = Work(1, 1), threading.Event(), threading.Event(), []
        marks = [asyncio.ensure_future(work.write(writes.wait, 300)) for _ in range(2)]
        marks += [asyncio.ensure_future(work.write(done.append, number)) for number in range(3)]
        begun = threading.Event()
        first = asyncio.ensure_future(work.train(lambda: (begun.set(), training.wait(300))))
        second = asyncio.ensure_future(work.train(done.append, 9))
        await asyncio.to_thread(begun.wait, 300)
        closing = asyncio.get_running_loop().run_in_executor(None, work.close)
        writes.set()
        await asyncio.gather(*marks)
        with pytest.raises(asyncio.CancelledError):
            await second
        training.set()
        await asyncio.gather(first, closing)
        with pytest.raises(Refused, match="stopping"):
            await work.write(done.append, 4)
        return sorted(done)

    assert asyncio.run(run()) == [0, 1, 2]


def test_a_write_waits_for_the_searches_before_it_and_for_no_others(monkeypatch):
    monkeypatch.setattr("rankloom.server.work.PATIENCE", 300.0)

    async def run():
        work, order = Work(1, 8), []
        ends = [threading.Event() for _ in range(3)]
        first, second = (asyncio.ensure_future(work.search(end.wait, 300)) for end in ends[:2])
        await asyncio.sleep(0)
        mark = asyncio.ensure_future(work.write(order.append, "mark"))
        await asyncio.sleep(0)
        third = asyncio.ensure_future(work.search(ends[2].wait, 300))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not order  # the second search has no thread yet
        ends[0].set()
        await first
        await mark  # though neither the second nor the third has ended
        assert [second.done(), third.done()] == [False, False]
        for end in ends:
            end.set()
        await asyncio.gather(second, third)
        work.close()
        return order

    assert asyncio.run(run()) == ["mark"]


def test_a_write_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr("rankloom.server.work.PATIENCE", 0.01)

    async def run():
        work, end = Work(1, 8), threading.Event()
        searches = [asyncio.ensure_future(work.search(end.wait, 300)) for _ in range(3)]
        await asyncio.sleep(0)
        assert await work.write(lambda: "stored") == "stored"
        end.set()
        await asyncio.gather(*searches)
        assert await work.write(lambda: "stored") == "stored"
        work.close()

    asyncio.run(run())


def test_what_is_loaded_in_the_background_is_loaded_once():
    loaded = threading.Event()
    calls = []

    def load():
        calls.append(threading.current_thread().name)
        loaded.set()

    work = Work(1, 1)
    for _ in range(3):
        work.once(load)
    assert loaded.wait(300)
    work.close()
    assert len(calls) == 1
    assert calls[0] != threading.current_thread().name
