"""Distances over half precision rows, compiled by numba; imported on first use."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
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


@njit(cache=True, parallel=True, error_model="numpy")
def fused(codes, wanted, everything, query, out):
    """Fill `out` with L1, L2, cosine, chi-square and intersection distances of the wanted rows."""
    query_norm = np.float32(0.0)
    query_total = np.float32(0.0)
    for c in range(len(query)):
        query_norm += query[c] * query[c]
        query_total += query[c]
    for i in prange(len(out)):
        row = codes[i] if everything else codes[wanted[i]]
        city, squares, product, norm, chi, least, total = _one(row, query)
        out[i, 0] = city
        out[i, 1] = np.sqrt(squares)
        length = np.sqrt(norm * query_norm)
        one = np.float32(1.0)
        out[i, 2] = max(one - product / length, np.float32(0.0)) if length > 0 else one  # rounding may go below 0
        out[i, 3] = chi
        most = max(total, query_total)
        out[i, 4] = max(one - least / most, np.float32(0.0)) if most > 0 else one
