"""Neighbor graphs under many weights at once: each is the one that is built by itself."""

import numpy as np
import pytest

from rankloom.engine.neighbors import build_graph
from rankloom.experiments.graphs import neighbor_graphs


class Experts:
    """phi of some items, symmetric."""

    def __init__(self, n, n_experts, seed=0):
        random = np.random.default_rng(seed)
        half = random.random((n, n, n_experts)).round(1).astype(np.float32)  # with many ties
        self.table = np.maximum(half, half.transpose(1, 0, 2))

    def __len__(self):
        return len(self.table)

    def phi(self, row, rows=None):
        return self.table[row] if rows is None else self.table[row, rows]


@pytest.mark.parametrize("n", [1, 2, 9, 64, 65, 150])
def test_each_graph_is_the_one_built_by_itself(n):
    data = Experts(n, 3)
    # Whole weights of tenths: sums are the same to far below the resolution however they are added.
    weights = [np.array([1.0, 0.0, 0.0]), np.array([1.0, -2.0, 1.0]), np.array([400.0, 30.0, 2.0])]
    for found, mine in zip(neighbor_graphs(data, weights, 5), weights, strict=True):
        alone = build_graph(lambda row, mine=mine: data.phi(row) @ mine, np.ones(n, dtype=bool), 5)
        assert found.ids.tolist() == alone.ids.tolist()
        np.testing.assert_allclose(found.similarities, alone.similarities, rtol=1e-6)


def test_progress_comes_to_all_items():
    steps = []
    neighbor_graphs(Experts(130, 1), [np.ones(1)], 3, steps.append)
    assert steps == [0, 64, 128]
