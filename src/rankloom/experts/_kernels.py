"""Distances over half precision rows, compiled by numba; imported on first use."""

from __future__ import annotations

import platform

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import njit, types
from numba.core import config
from numba.extending import intrinsic

from rankloom._prefetch import LINE, fetch_row

ROWS = 128  # that are compared with one query after the other
CODES = LINE // 2  # that are fetched at once
WIDE = 256  # codes of a row from which on it is worth while
AHEAD = 5000  # codes that are fetched before they are needed: processors do so by themselves, but not beyond a page


def _converts_halves() -> bool:
    """Whether the processor that is compiled for turns half precision into single precision by itself.

    Every ARM of 64 bits does, an Intel or AMD since 2012. Elsewhere LLVM would call a function that nobody provides.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    if config.CPU_FEATURES is not None:
        return "+f16c" in config.CPU_FEATURES
    return bool(get_host_cpu_features().get("f16c", False))


@intrinsic
def _from_half(typing_context, code):
    """A half precision number, given by its bits, as a float32: one instruction where there is one, also in vectors."""

    def generate(context, builder, signature, arguments):
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    def generate_from_bits(context, builder, signature, arguments):
        word, single = ir.IntType(32), ir.FloatType()

        def constant(value):
            return ir.Constant(word, value)

        code = builder.zext(arguments[0], word)
        sign = builder.shl(builder.and_(code, constant(0x8000)), constant(16))
        bits = builder.shl(builder.and_(code, constant(0x7FFF)), constant(13))
        # Halves count their exponents from 15, floats from 127; the product is exact for subnormal numbers too.
        size = builder.bitcast(builder.fmul(builder.bitcast(bits, single), ir.Constant(single, 2.0**112)), word)
        endless = builder.icmp_unsigned(">=", bits, constant(0x7C00 << 13))  # infinite, or not a number
        size = builder.select(endless, builder.or_(bits, constant(0x7F800000)), size)
        return builder.bitcast(builder.or_(sign, size), single)

    return types.float32(types.uint16), generate if _converts_halves() else generate_from_bits


@intrinsic
def _from_bits(typing_context, bits):
    """The float32 that has these bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def exp(x):
    """e^x for x <= 0, to the last bit or two; a loop over it is computed in vectors, unlike one over NumPy's.

    With the polynomial of the Cephes library (S. Moshier, 1989). Below e^-87 it falls no further.
    """
    x = max(x, np.float32(-87.0))
    power = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    x = x - power * np.float32(0.693359375) + power * np.float32(2.12194440e-4)
    value = np.float32(1.9875691500e-4)
    value = value * x + np.float32(1.3981999507e-3)
    value = value * x + np.float32(8.3334519073e-3)
    value = value * x + np.float32(4.1665795894e-2)
    value = value * x + np.float32(1.6666665459e-1)
    value = value * x + np.float32(5.0000001201e-1)
    value = value * x * x + x + np.float32(1.0)
    return value * _from_bits(np.int32((np.int32(power) + np.int32(127)) << np.int32(23)))


@njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
def _row_sums(row, query):
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


@njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
def _sums_without_least(row, query):
    """Those of `_row_sums` that the intersection does not need."""
    zero = np.float32(0.0)
    tiny = np.float32(1e-30)
    city = squares = product = norm = chi = zero
    for c in range(len(query)):
        x = _from_half(row[c])
        q = query[c]
        d = x - q
        city += abs(d)
        squares += d * d
        product += x * q
        norm += x * x
        chi += d * d / (abs(x) + abs(q) + tiny)
    return city, squares, product, norm, chi


@njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
def _plain_sums(row, query):
    """Those of `_row_sums` that need no division, in half the time."""
    zero = np.float32(0.0)
    city = squares = product = norm = zero
    for c in range(len(query)):
        x = _from_half(row[c])
        q = query[c]
        d = x - q
        city += abs(d)
        squares += d * d
        product += x * q
        norm += x * x
    return city, squares, product, norm


@njit(cache=True, error_model="numpy")
def _sums(query, query_codes):
    """The squared norm and the total of a query.

    Of a query that is a stored row, given by its codes, they are added up as those of rows are, so that the distance
    between two rows is the same number whichever of them asks.
    """
    if len(query_codes):
        _, _, _, norm, _, _, total = _row_sums(query_codes, query)
        return norm, total
    norm = np.float32(0.0)
    total = np.float32(0.0)
    for c in range(len(query)):
        norm += query[c] * query[c]
        total += query[c]
    return norm, total


@njit(cache=True, error_model="numpy")
def _norm(query, query_codes):
    """The squared norm of a query, as `_sums` has it, where four distances are wanted."""
    if len(query_codes):
        _, _, _, norm, _ = _sums_without_least(query_codes, query)
        return norm
    norm, _ = _sums(query, query_codes)
    return norm


@njit(cache=True, error_model="numpy")
def _cosine(product, norm, query_norm):
    length = np.sqrt(norm * query_norm)
    unit = np.float32(1.0)
    return max(unit - product / length, np.float32(0.0)) if length > 0 else unit  # rounding may go below 0


@njit(cache=True, error_model="numpy")
def _intersection(least, total, query_total):
    most = max(total, query_total)
    unit = np.float32(1.0)
    return max(unit - least / most, np.float32(0.0)) if most > 0 else unit


@njit(cache=True)
def _fetch(codes, row):
    if row < len(codes):
        fetch_row(codes, row, CODES)


# The sums are unpacked right where they are used: handed to a function that stores them, they are no longer computed
# in vectors.
@njit(cache=True, nogil=True, error_model="numpy")
def fused(codes, wanted, everything, query, query_codes, out, begin, end):
    """Fill the entries of `out` from begin to end with the distances of the wanted rows: five, or the first four."""
    fetch, ahead = everything and len(query) >= WIDE, AHEAD // len(query) + 1
    if out.shape[1] == 4:
        query_norm = _norm(query, query_codes)
        for i in range(begin, end):
            if fetch:
                _fetch(codes, i + ahead)
            row = codes[i] if everything else codes[wanted[i]]
            city, squares, product, norm, chi = _sums_without_least(row, query)
            out[i, 0] = city
            out[i, 1] = np.sqrt(squares)
            out[i, 2] = _cosine(product, norm, query_norm)
            out[i, 3] = chi
        return
    query_norm, query_total = _sums(query, query_codes)
    for i in range(begin, end):
        if fetch:
            _fetch(codes, i + ahead)
        row = codes[i] if everything else codes[wanted[i]]
        city, squares, product, norm, chi, least, total = _row_sums(row, query)
        out[i, 0] = city
        out[i, 1] = np.sqrt(squares)
        out[i, 2] = _cosine(product, norm, query_norm)
        out[i, 3] = chi
        out[i, 4] = _intersection(least, total, query_total)


@njit(cache=True, nogil=True, error_model="numpy")
def fused_between(codes, queries, wanted, ends, out):
    """Fill `out` with the distances of some rows to each of several others: the same numbers as by `fused`.

    Those to row queries[k] are of the wanted rows from ends[k] to ends[k + 1]; where it is below 0, they are left out.
    """
    query = np.empty(codes.shape[1], dtype=np.float32)
    for k in range(len(queries)):
        if queries[k] >= 0:
            query_codes = codes[queries[k]]
            for c in range(len(query)):
                query[c] = _from_half(query_codes[c])
            fused(codes, wanted, False, query, query_codes, out, ends[k], ends[k + 1])


@njit(cache=True, nogil=True, error_model="numpy")
def weighted(codes, wanted, everything, queries, query_codes, weights, scales, out, begin, end):
    """Add the weighted similarities of the wanted rows from begin to end to each of several queries to `out`.

    So many rows at a time that they are still in the cache of the core when the next query is compared with them.
    """
    found = np.empty((len(weights), ROWS), dtype=np.float32)
    for first in range(begin, end, ROWS):
        last = min(first + ROWS, end)
        rows = np.arange(first, last) if everything else wanted[first:last]
        for k in range(len(queries)):
            fetch = k == 0 and codes.shape[1] >= WIDE
            if weights[4] != 0:
                _distances(codes, rows, queries[k], query_codes[k], found, fetch)
            elif weights[3] != 0:
                _distances_without_least(codes, rows, queries[k], query_codes[k], found, fetch)
            else:
                _plain_distances(codes, rows, queries[k], query_codes[k], found, fetch)
            for j in range(len(weights)):
                if weights[j] != 0:
                    _add_similarities(found[j], weights[j], scales[j], out[k, first:last])


@njit(cache=True, nogil=True, error_model="numpy")
def _add_similarities(distances, weight, scale, out):
    for i in range(len(out)):
        out[i] += weight * exp(distances[i] / -scale)


@njit(cache=True, nogil=True, error_model="numpy")
def _distances(codes, rows, query, query_codes, out, fetch):
    """Fill the rows of `out` with the distances of some rows, and fetch those that follow if asked to."""
    query_norm, query_total = _sums(query, query_codes)
    ahead = AHEAD // len(query) + 1
    for i in range(len(rows)):
        if fetch:
            _fetch(codes, rows[i] + ahead)
        city, squares, product, norm, chi, least, total = _row_sums(codes[rows[i]], query)
        out[0, i] = city
        out[1, i] = np.sqrt(squares)
        out[2, i] = _cosine(product, norm, query_norm)
        out[3, i] = chi
        out[4, i] = _intersection(least, total, query_total)


@njit(cache=True, nogil=True, error_model="numpy")
def _distances_without_least(codes, rows, query, query_codes, out, fetch):
    """The same without the fifth distance."""
    query_norm = _norm(query, query_codes)
    ahead = AHEAD // len(query) + 1
    for i in range(len(rows)):
        if fetch:
            _fetch(codes, rows[i] + ahead)
        city, squares, product, norm, chi = _sums_without_least(codes[rows[i]], query)
        out[0, i] = city
        out[1, i] = np.sqrt(squares)
        out[2, i] = _cosine(product, norm, query_norm)
        out[3, i] = chi


@njit(cache=True, nogil=True, error_model="numpy")
def _plain_distances(codes, rows, query, query_codes, out, fetch):
    """The same without the fourth and the fifth distance."""
    if len(query_codes):
        _, _, _, query_norm = _plain_sums(query_codes, query)
    else:
        query_norm, _ = _sums(query, query_codes)
    ahead = AHEAD // len(query) + 1
    for i in range(len(rows)):
        if fetch:
            _fetch(codes, rows[i] + ahead)
        city, squares, product, norm = _plain_sums(codes[rows[i]], query)
        out[0, i] = city
        out[1, i] = np.sqrt(squares)
        out[2, i] = _cosine(product, norm, query_norm)


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_distances(distances, weights, scales, out):
    """Add the weighted similarities of rows whose distances are known to `out`."""
    found = np.empty(ROWS, dtype=np.float32)
    for first in range(0, len(out), ROWS):
        last = min(first + ROWS, len(out))
        for j in range(len(weights)):
            if weights[j] != 0:
                for i in range(first, last):
                    found[i - first] = distances[i, j]
                _add_similarities(found, weights[j], scales[j], out[first:last])
