"""Vectors of one byte a component: how near they are to what was coded, and what a row knows of itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.experts.compact import LEVELS, TAIL, CompactVectors, row_bytes


def tail(vectors):
    sizes = np.ascontiguousarray(vectors.rows[:, -TAIL:-8]).view("<f2")[:, 0]
    norms, totals = np.ascontiguousarray(vectors.rows[:, -8:]).view("<f4").T
    return sizes, norms, totals


@pytest.mark.parametrize("scale", [1e-4, 1.0, 3000.0])
@pytest.mark.parametrize("negative", [False, True])
def test_components_are_near_and_codes_are_final(scale, negative):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(200, 65)) * scale).astype(np.float32)
    values = values if negative else np.abs(values)
    coded = CompactVectors.of(values)
    largest = np.abs(values).max(axis=1, keepdims=True)
    # Half a step of a mantissa of four bits, or of the smallest level, with the rounding of half precision before.
    bound = np.maximum(np.abs(values) / 31, 0.51 * 1.04 * largest / LEVELS)
    assert (np.abs(coded[:] - values) <= bound).all()
    assert (np.sign(coded[:]) * np.sign(values) >= 0).all()
    np.testing.assert_array_equal(CompactVectors.of(coded[:]).rows, coded.rows)


def test_a_row_knows_its_size_norm_and_total_exactly():
    values = np.random.default_rng(1).normal(size=(50, 300))
    values[7] = 0.0
    coded = CompactVectors.of(values)
    sizes, norms, totals = tail(coded)
    exact = coded[:].astype(np.float64)
    assert coded.rows.shape == (50, row_bytes(300))
    np.testing.assert_array_equal(norms, (exact**2).sum(axis=1).astype(np.float32))
    np.testing.assert_array_equal(totals, exact.sum(axis=1).astype(np.float32))
    np.testing.assert_array_equal(totals, exact[:, ::-1].cumsum(axis=1)[:, -1].astype(np.float32))  # in any order
    assert (sizes.astype(float) * 1984 / LEVELS >= np.abs(values).max(axis=1) * (1 - 1e-6)).all()
    assert sizes[7] == 0
    assert not coded[7].any()


def test_what_is_taken_out():
    values = np.random.default_rng(2).random((6, 4))
    coded = CompactVectors.of(values)
    whole = coded[:]
    assert (len(coded), coded.shape, whole.dtype) == (6, (6, 4), np.float32)
    np.testing.assert_array_equal(coded[3], whole[3])
    np.testing.assert_array_equal(coded[[4, 1]], whole[[4, 1]])
    np.testing.assert_array_equal(np.asarray(coded, np.float64), whole.astype(np.float64))
    np.testing.assert_array_equal(coded.take(slice(2, 4))[:], whole[2:4])
    assert np.shares_memory(coded.take(slice(2, 4)).rows, coded.rows)
    assert CompactVectors.of(np.zeros((0, 4))).shape == (0, 4)


@given(st.lists(st.floats(width=32), min_size=1, max_size=9))
def test_whatever_comes_is_stored_as_numbers(values):
    coded = CompactVectors.of(np.array([values], np.float32))
    assert coded.sound().all()
    assert np.isfinite(coded[0]).all()


def test_damaged_rows_show():
    rows = CompactVectors.of(np.ones((3, 4))).rows.copy()
    rows[1, 4:6] = np.array([np.nan], "<f2").view(np.uint8)
    rows[2, 6:10] = np.array([np.inf], "<f4").view(np.uint8)
    assert CompactVectors(rows).sound().tolist() == [True, False, False]
