"""Columns of a symmetric matrix: the same numbers as if all were computed, from fewer entries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rankloom.engine.columns import Columns

N = 40


class Matrix:
    """A symmetric matrix that counts what is asked for."""

    def __init__(self, n: int = N):
        half = np.random.default_rng(0).random((n, n), np.float32)
        self.K = half + half.T
        self.n_computed = 0

    def __call__(self, columns, rows):
        self.n_computed += len(columns) * len(rows)
        return self.K[np.ix_(columns, rows)]


@pytest.mark.parametrize("most", [1, 7, N])
def test_columns_are_those_of_the_matrix_however_few_are_kept(most):
    matrix, kept, random = Matrix(), Columns(N, most), np.random.default_rng(1)
    for _ in range(100):
        asked = random.choice(N, random.integers(1, 6), replace=False).tolist()
        np.testing.assert_array_equal(kept.get(asked, matrix), matrix.K[asked])
        assert len(kept) <= most


def test_all_columns_cost_half_of_the_matrix_and_then_nothing():
    matrix, kept = Matrix(), Columns(N, N)
    for column in range(N):
        kept.get([column], matrix)
    assert matrix.n_computed == N * (N + 1) // 2
    np.testing.assert_array_equal(kept.get([*range(N)], matrix), matrix.K)
    assert matrix.n_computed == N * (N + 1) // 2


def test_the_column_that_was_not_used_for_longest_makes_room():
    matrix, kept = Matrix(), Columns(N, 2)
    for column in (3, 5, 3, 8):
        kept.get([column], matrix)
    before = matrix.n_computed
    kept.get([3, 8], matrix)
    assert matrix.n_computed == before
    kept.get([5], matrix)
    assert matrix.n_computed == before + N - 2


def test_after_growth_only_new_rows_are_computed():
    matrix, kept = Matrix(), Columns(30, 10)
    kept.get([2, 4, 6], matrix)
    larger, before = kept.grown(N, 2), matrix.n_computed
    np.testing.assert_array_equal(larger.get([6], matrix), matrix.K[[6]])
    assert matrix.n_computed == before + N - 30
    asked = [35, 7, 4]  # new, not asked for yet, not extended yet
    np.testing.assert_array_equal(larger.get(asked, matrix), matrix.K[asked])
    assert len(larger) == 2


def test_threads_that_ask_at_the_same_time_get_the_same_numbers():
    matrix, kept = Matrix(), Columns(N, 5)

    def ask(seed):
        asked = np.random.default_rng(seed).choice(N, 4, replace=False).tolist()
        return asked, kept.get(asked, matrix)

    with ThreadPoolExecutor(4) as threads:
        for asked, found in threads.map(ask, range(200)):
            np.testing.assert_array_equal(found, matrix.K[asked])
