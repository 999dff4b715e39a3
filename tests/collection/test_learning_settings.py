"""What people set by hand: nothing is lost, however many set something at once."""

from __future__ import annotations

import threading

import pytest

from rankloom.collection import Collection
from rankloom.collection.learning_settings import learning_state, lock_weight, restart_learning, set_online_ranker


@pytest.mark.slow
def test_locks_that_are_set_at_once_are_all_kept(tmp_path):
    with Collection(tmp_path / "c", create=True) as collection:
        names = [f"expert {number}" for number in range(8)]
        for turn in range(10):
            gate = threading.Barrier(len(names))

            def lock(name, gate=gate, turn=turn):
                gate.wait()
                lock_weight(collection, name, float(turn))

            threads = [threading.Thread(target=lock, args=(name,)) for name in names]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert learning_state(collection).settings.locked == dict.fromkeys(names, float(turn))
        set_online_ranker(collection, "arow")
        restart_learning(collection)
        assert learning_state(collection).settings == ({}, 0, "arow")
