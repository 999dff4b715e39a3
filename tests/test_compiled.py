"""When compiled loops are loaded."""

import numpy as np
import pytest

from rankloom._compiled import WORTH, _Policy
from rankloom.engine.neighbors import NeighborGraph, _diffused


def test_a_process_that_goes_on_always_loads_them():
    policy = _Policy()
    assert policy.loads(1)
    assert policy.loads(10 * WORTH)


def test_a_brief_one_loads_them_when_its_work_has_become_much():
    policy = _Policy()
    with policy.brief():
        assert [policy.loads(WORTH // 2) for _ in range(4)] == [False, False, True, True]
    assert policy.loads(1)
    with policy.brief():
        assert not policy.loads(1)
        assert policy.loads(WORTH)


@pytest.mark.parametrize("seed", range(3))
def test_scipy_diffuses_as_the_compiled_loop_does(seed):
    rng = np.random.default_rng(seed)
    ids = np.array([rng.choice([j for j in range(50) if j != i], 4, replace=False) for i in range(50)], np.int32)
    graph = NeighborGraph(ids, np.ones(ids.shape, np.float32))
    start = np.where(rng.random(50) < 0.2, rng.random(50), 0.0)
    found, converged = _diffused(graph.operator(), 0.9, start, 1e-8)
    assert converged
    np.testing.assert_allclose(found, graph.diffuse(start, 0.9), rtol=1e-6, atol=1e-9)
    nothing, converged = _diffused(graph.operator(), 0.9, np.zeros(50), 1e-8)
    assert converged
    assert not nothing.any()
