"""What people set by hand: nothing is lost, however many set something at once."""

from __future__ import annotations

import threading

import pytest

from rankloom.collection import Collection
from rankloom.engine.settings import Settings


@pytest.mark.slow
def test_locks_that_are_set_at_once_are_all_kept(tmp_path):
    with Collection(tmp_path / "c", create=True) as collection:
        names = [f"expert {number}" for number in range(8)]
        for turn in range(10):
            gate = threading.Barrier(len(names))

            def lock(name, gate=gate, turn=turn):
                settings = Settings(collection)
                gate.wait()
                settings.lock(name, float(turn))

            threads = [threading.Thread(target=lock, args=(name,)) for name in names]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert Settings(collection).read().locked == dict.fromkeys(names, float(turn))
        Settings(collection).learn_with("arow")
        Settings(collection).start_again()
        assert Settings(collection).read() == ({}, 0, "arow")
