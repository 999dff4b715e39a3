"""The thread that learns: requests share runs, nobody waits for long ones, and it ends by itself."""

import threading

import pytest

from rankloom.engine import learner as module
from rankloom.engine.learner import Activity, Learner

LONG = 300  # seconds; only ends what hangs


class Work:
    """Counts its runs; each goes on when it is let."""

    def __init__(self, *, takes_long=False):
        self.runs, self.takes_long = 0, takes_long
        self.begun, self.go_on, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, run):
        self.runs += 1
        if self.takes_long:
            run.takes_long()
        self.begun.set()
        while not (run.stopped or self.go_on.wait(0.01)):
            pass


def test_whoever_waits_gets_a_run_that_began_later():
    work = Work()
    learner = Learner(work, work.ended.set)
    learner.wake()
    assert work.begun.wait(LONG)
    waiting = [threading.Thread(target=learner.wait) for _ in range(5)]
    for thread in waiting:
        thread.start()
    assert all(thread.is_alive() for thread in waiting)
    work.go_on.set()
    for thread in waiting:
        thread.join(LONG)
    assert 2 <= work.runs <= 6
    learner.stop()
    assert work.ended.is_set()


def test_nobody_waits_for_a_long_run_unless_patient():
    work = Work(takes_long=True)
    learner = Learner(work, work.ended.set)
    learner.wait()  # ends the test by its time limit if it waits
    assert work.runs == 1
    patient = threading.Thread(target=learner.wait, kwargs={"patient": True})
    patient.start()
    work.go_on.set()
    patient.join(LONG)
    assert work.runs == 2
    learner.stop()


def test_stopping_ends_a_run_in_the_middle_and_later_requests_do_nothing():
    work = Work()
    learner = Learner(work, work.ended.set)
    learner.wake()
    assert work.begun.wait(LONG)
    learner.stop()
    assert work.ended.is_set()
    learner.wait()
    assert work.runs == 1


def test_an_error_is_raised_where_somebody_waits_and_not_again():
    errors = [OSError("the disk is full"), None]

    def work(run):
        error = errors.pop(0)
        if error is not None:
            raise error

    learner = Learner(work, lambda: None)
    with pytest.raises(OSError, match="the disk is full"):
        learner.wait()
    learner.wait()
    learner.stop()


def test_an_idle_thread_ends_and_another_begins(monkeypatch):
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    ended = threading.Semaphore(0)
    runs = []
    learner = Learner(runs.append, ended.release)
    for count in (1, 2):
        learner.wait()
        assert ended.acquire(timeout=LONG)
        assert len(runs) == count
    learner.stop()


def test_long_work_gives_way_to_searches():
    activity, order = Activity(), []

    def work():
        activity.give_way()
        order.append("work")

    with activity.running():
        with activity.running():
            order.append("search")
        worker = threading.Thread(target=work)
        worker.start()
    worker.join(LONG)
    assert order == ["search", "work"]
    with activity.running():
        activity.give_way()  # not for ever: the time limit of the tests would end it
