import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloom.rankers.pairs import query_pairs, sample_triplets


def brute(y, qid):
    return {(i, j) for i in range(len(y)) for j in range(len(y)) if qid[i] == qid[j] and y[i] > y[j]}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_all_pairs_of_a_query_once_each(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 4, n).astype(float)
    pairs = query_pairs(X, y, 10**6, rng)
    assert len(pairs) == len(brute(y, np.zeros(n)))
    assert {tuple(pair) for pair in pairs.tolist()} == brute(y, np.zeros(n))


def test_the_order_of_rows_and_a_constant_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.integers(0, 3, 20).astype(float)
    order = rng.permutation(20)
    expected = X[query_pairs(X, y, 50, np.random.default_rng(1))]
    permuted = query_pairs(X[order], y[order], 50, np.random.default_rng(1))
    np.testing.assert_array_equal(X[order][permuted], expected)
    np.testing.assert_array_equal(X[query_pairs(X + 5.0, y, 50, np.random.default_rng(1))], expected)


def test_more_pairs_than_allowed_are_a_uniform_sample():
    y = np.array([2.0, 1.0, 0.0, 0.0])
    X = np.arange(4.0)[:, None]
    pairs = query_pairs(X, y, 3, np.random.default_rng(0))
    assert pairs.shape == (3, 2)
    many = np.concatenate([query_pairs(X, y, 4, np.random.default_rng(seed)) for seed in range(2000)])
    found, counts = np.unique(many, axis=0, return_counts=True)
    assert {tuple(pair) for pair in found.tolist()} == brute(y, np.zeros(4))
    assert np.abs(counts / counts.sum() - 1 / 5).max() < 0.02


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 50))
def test_sampled_triplets_are_preferences_and_cover_every_winner(seed, negatives, batch):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    y, qid = rng.integers(0, 3, n), rng.integers(0, 5, n)
    wanted = brute(y, qid)
    found = list(sample_triplets(y, qid, negatives=negatives, batch=batch * negatives, random_state=seed))
    assert all(len(pairs) <= batch * negatives for pairs in found)
    pairs = [tuple(pair) for part in found for pair in part.tolist()]
    assert set(pairs) <= wanted
    winners = {i for i, _ in wanted}
    assert sorted(i for i, _ in pairs) == sorted(list(winners) * negatives)


def test_sampled_triplets_repeat_with_their_seed_only():
    y, qid = np.arange(50) % 3, np.arange(50) % 4
    first, again, other = (
        np.concatenate(list(sample_triplets(y, qid, epochs=2, random_state=seed))) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("bad", [{"negatives": 0}, {"epochs": 0}, {"batch": 0}])
def test_bad_arguments(bad):
    with pytest.raises(ValueError, match="at least 1"):
        list(sample_triplets([0, 1], **bad))
