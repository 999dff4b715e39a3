"""Values that are read again when they have changed, but only so often."""

import threading

from rankloom.collection import lagging
from rankloom.collection.lagging import Lagging
from tests.waiting import LONG


def counting():
    read = []

    def value():
        read.append(len(read))
        return len(read)

    return Lagging(value), read


def test_a_value_is_read_once_for_a_state():  # by a clock that is always quick enough, as in all tests
    value, read = counting()
    assert [value.current(state) for state in (1, 1, 2, 2, 1)] == [1, 1, 2, 2, 3]
    assert len(read) == 3


def test_what_takes_long_is_read_seldom(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(lagging, "monotonic", lambda: clock[0])
    monkeypatch.setattr(lagging, "QUICK", 0.05)

    def slow():
        clock[0] += 1.0
        return clock[0]

    value = Lagging(slow)
    assert value.current("a") == value.current("b") == 1.0
    clock[0] = 1.0 + (1.0 - lagging.QUICK) / lagging.SHARE
    assert value.current("b") > 1.0


def test_while_one_reads_others_get_what_was():
    began, goes_on, read = threading.Event(), threading.Event(), []

    def waiting():
        if read:
            began.set()
            assert goes_on.wait(LONG)
        read.append(1)
        return len(read)

    value = Lagging(waiting)
    assert value.current("a") == 1
    reader = threading.Thread(target=value.current, args=("b",))
    reader.start()
    assert began.wait(LONG)
    assert value.current("c") == 1
    goes_on.set()
    reader.join()
    assert value.current("b") == 2
