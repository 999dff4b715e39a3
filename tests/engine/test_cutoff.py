"""Suggested ends of lists: what the neighbor graph says of every beginning, and where it says nothing."""

import numpy as np
import pytest

from rankloom.engine.cutoff import FOLLOWING, SHORTEST, best_end, count_links

K = 10


def literal_links(order, neighbors, eligible, others):
    """The same, as it is said."""
    leaving, returning = [], []
    stands = {item - 1: row for row, items in others.items() for item in items}
    for k in range(len(order) + 1):
        first, following = set(order[:k]), order[k : k + FOLLOWING]
        shares = []
        for rows in (order[:k], following):
            inside = total = 0.0
            for row in rows:
                for rank, other in enumerate(neighbors[row], 1):
                    if other >= 0 and eligible[other]:
                        total += 1 / rank
                        inside += (stands.get(other, other) in first) / rank
            shares.append(inside / total if total else 0.0)
        leaving.append(1 - shares[0])
        returning.append(shares[1])
    return leaving, returning


@pytest.mark.parametrize("seed", range(3))
def test_links_are_counted_as_said(seed):
    random = np.random.default_rng(seed)
    n = 90
    neighbors = random.integers(-1, n, (n, 4)).astype(np.int32)
    eligible = random.random(n) < 0.8
    order = random.permutation(np.flatnonzero(eligible))
    shown, left = order[:-6], order[-6:]
    others = {int(shown[3]): (left[:2] + 1).tolist(), int(shown[40]): (left[2:4] + 1).tolist()}
    found = count_links(shown, neighbors, eligible, others)
    for ours, theirs in zip(found, literal_links(shown.tolist(), neighbors, eligible, others), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def graph_of(groups, stray=0.0, seed=0):
    """Every item links to random others of its group, a share of them to anybody."""
    random = np.random.default_rng(seed)
    labels = np.asarray(groups)
    ids = np.stack([random.choice(np.flatnonzero(labels == label), K) for label in labels])
    return np.where(random.random(ids.shape) < stray, random.integers(0, len(labels), ids.shape), ids).astype(np.int32)


@pytest.mark.parametrize("size", [12, 30, 80])
def test_a_group_that_keeps_to_itself_ends_a_list(size):
    labels = np.repeat(np.arange(6), size)
    links = count_links(np.arange(len(labels)), graph_of(labels, stray=0.1))
    assert best_end(links, len(labels) // 2) % size == 0
    assert best_end(links, size // 2) is None  # inside of the group nothing parts


def test_no_end_where_groups_run_into_each_other():
    labels = np.repeat(np.arange(6), 30)
    links = count_links(np.arange(len(labels)), graph_of(labels, stray=0.8))
    assert best_end(links, len(labels) // 2) is None


@pytest.mark.parametrize("n", [0, 1, SHORTEST, 50])
def test_lists_without_links_have_no_end(n):
    nobody = np.full((50, K), -1, dtype=np.int32)
    assert best_end(count_links(np.arange(n), nobody), n) is None
