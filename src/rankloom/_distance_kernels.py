"""Distances over half precision rows, compiled by numba; imported on first use."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


@intrinsic
def _from_half(typing_context, code):
    """A half precision number, given by its bits, as a float32: one instruction, also in vectors."""

    def generate(context, builder, signature, arguments):
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), generate


@njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
def _one(row, query):
    """Sums over the components of a row."""
    zero = np.float32(0.0)
    tiny = np.float32(1e-30)  # 0 / tiny is 0: no branch for 0 / 0
    city = squares = product = norm = chi = least = total = zero
    for c in range(len(query)):
        x = _from_half(row[c])
        q = query[c]
        d = x - q
        a = abs(d)
        city += a
        squares += d * d
        product += x * q
        norm += x * x
        chi += d * d / (abs(x) + abs(q) + tiny)
        least += min(x, q)
        total += x
    return city, squares, product, norm, chi, least, total


@njit(cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _all(row, query, query_norm, query_total, out):
    """L1, L2, cosine, chi-square and intersection distance of a row."""
    city, squares, product, norm, chi, least, total = _one(row, query)
    one = np.float32(1.0)
    zero = np.float32(0.0)
    out[0] = city
    out[1] = np.sqrt(squares)
    length = np.sqrt(norm * query_norm)
    out[2] = max(one - product / length, zero) if length > 0 else one  # rounding may go below 0
    out[3] = chi
    most = max(total, query_total)
    out[4] = max(one - least / most, zero) if most > 0 else one


@njit(cache=True, error_model="numpy")
def _sums(query):
    norm = np.float32(0.0)
    total = np.float32(0.0)
    for c in range(len(query)):
        norm += query[c] * query[c]
        total += query[c]
    return norm, total


@njit(cache=True, nogil=True, error_model="numpy")
def fused(codes, wanted, everything, query, out, begin, end):
    """Fill the entries of `out` from begin to end with the distances of the wanted rows."""
    norm, total = _sums(query)
    for i in range(begin, end):
        _all(codes[i] if everything else codes[wanted[i]], query, norm, total, out[i])


@njit(cache=True, nogil=True, error_model="numpy")
def weighted(codes, query, weights, scales, out, begin, end):
    """Add the weighted similarities of the rows from begin to end to `out`."""
    norm, total = _sums(query)
    distances = np.empty(5, np.float32)
    for i in range(begin, end):
        _all(codes[i], query, norm, total, distances)
        similarity = np.float32(0.0)
        for j in range(5):
            if weights[j] != 0:
                similarity += weights[j] * np.exp(-distances[j] / scales[j])
        out[i] += similarity
