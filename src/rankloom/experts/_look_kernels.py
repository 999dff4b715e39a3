"""Words and sketches compared with what is kept of every picture, compiled by numba; imported on first use."""

from __future__ import annotations

import numpy as np
from numba import njit

from rankloom.experts._kernels import exp

ROWS = 128  # sketches that are compared with one probe after the other while they are in the cache


@njit(cache=True, nogil=True)
def compared(records, classes, weights, rows, query, scale, scores, cosines, sums, begin, end):
    """Fill entries from begin to end: inner products of a query with the first components of some records, which are
    exact, for they are whole numbers, times a scale; and the weighted scores of their classes, summed in their order.

    Each record is read once. The query is given as int16, so that two components are taken at once.
    """
    for i in range(begin, end):
        row = rows[i] if len(rows) else i
        total = np.int32(0)
        for c in range(len(query)):
            total += np.int32(np.int16(records[row, c])) * np.int32(query[c])
        cosines[i] = total * scale
        score = np.float32(0.0)
        for c in range(classes.shape[1]):
            score += scores[classes[row, c]] * weights[row, c]
        sums[i] = score


@njit(cache=True, nogil=True, error_model="numpy")
def _similarities(sketches, probe, scale, out):
    """Fill `out` with e^(-d^2 / scale); the loops are apart so that both are computed in vectors."""
    for i in range(len(sketches)):
        total = np.int32(0)
        for c in range(len(probe)):
            d = np.int16(np.int16(sketches[i, c]) - probe[c])
            total += np.int32(d) * np.int32(d)
        out[i] = total
    for i in range(len(sketches)):
        out[i] = exp(out[i] / -scale)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_best_and_mean(sketches, probes, scale, share, out):
    """Add a share of the best and the mean similarity to some probes."""
    similarity = np.empty(len(sketches), np.float32)
    best = np.zeros(len(sketches), np.float32)
    factor = share / np.float32(len(probes))
    for j in range(len(probes)):
        _similarities(sketches, probes[j], scale, similarity)
        for i in range(len(sketches)):
            best[i] = max(best[i], similarity[i])
            out[i] += factor * similarity[i]
    for i in range(len(sketches)):
        out[i] += share * best[i]


@njit(cache=True, nogil=True, error_model="numpy")
def nearness(sketches, probes, n_wanted, scale, out, begin, end):
    """Fill the entries of `out` from begin to end; `rankloom.experts.sketches` says with what."""
    for first in range(begin, end, ROWS):
        last = min(first + ROWS, end)
        block, scores = sketches[first:last], out[first:last]
        scores[:] = np.float32(0.0)
        if n_wanted:
            _add_best_and_mean(block, probes[:n_wanted], scale, np.float32(0.5), scores)
        if n_wanted < len(probes):
            _add_best_and_mean(block, probes[n_wanted:], scale, np.float32(-0.25), scores)
