"""Distances over rows of one byte a component, compiled by numba; imported on first use."""

from __future__ import annotations

import platform

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import njit, types
from numba.core import config
from numba.extending import intrinsic

from rankloom._prefetch import LINE, fetch_row
from rankloom.experts._plain import LITTLE
from rankloom.experts.compact import LEVELS, TAIL

ROWS = 128  # that are compared with one query after the other
WIDE = 256  # bytes of a row from which on it is worth while to fetch it
AHEAD = 5000  # bytes that are fetched before they are needed: processors do so by themselves, but not beyond a page
UNIT = np.float32(2.0**18 / LEVELS)  # what a size is multiplied with, beside what `_level` gives


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
def _level(typing_context, code):
    """The level that a byte stands for, times 2^-18, as a float32.

    Shifted by six its exponent and mantissa are those of a number in half precision: one instruction turns vectors of
    them into floats. Elsewhere it is computed.
    """

    def generate(context, builder, signature, arguments):
        word = ir.IntType(16)
        bits = builder.shl(builder.sext(arguments[0], word), ir.Constant(word, 6))
        bits = builder.and_(bits, ir.Constant(word, 0x9FC0))  # the sign is at its place, and in two others
        return builder.fpext(builder.bitcast(bits, ir.HalfType()), ir.FloatType())

    def generate_from_bits(context, builder, signature, arguments):
        word, single = ir.IntType(32), ir.FloatType()

        def constant(value):
            return ir.Constant(word, value)

        code = builder.zext(arguments[0], word)
        exponent = builder.and_(builder.lshr(code, constant(4)), constant(7))
        mantissa = builder.and_(code, constant(15))
        large = builder.icmp_unsigned(">", exponent, constant(0))
        shift = builder.select(large, builder.sub(exponent, constant(1)), constant(0))
        level = builder.shl(builder.add(mantissa, builder.select(large, constant(16), constant(0))), shift)
        size = builder.fmul(builder.sitofp(level, single), ir.Constant(single, 2.0**-18))
        sign = builder.shl(builder.and_(code, constant(128)), constant(24))
        return builder.bitcast(builder.or_(builder.bitcast(size, word), sign), single)

    return types.float32(types.uint8), generate if _converts_halves() else generate_from_bits


@intrinsic
def _from_bits(typing_context, bits):
    """The float32 that has these bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def _widest(typing_context):
    """Lets LLVM compute the loops of the calling function in vectors of 512 bits, where the processor has them.

    By itself it takes half of that, as processors of 2017 slowed down by more. A loop over stored rows gains a quarter.
    """

    def generate(context, builder, signature, arguments):
        # llvmlite knows the attributes of the language, not those of a target.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


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


@njit(cache=True)
def _word(row, place):
    """Four bytes of a row as a number."""
    word = np.int32(0)
    for k in range(4):
        word |= np.int32(row[place + k]) << np.int32(8 * k)
    return word


@njit(cache=True, error_model="numpy")
def _half(row, place):
    """Two bytes of a row, a number in half precision that is not below 0."""
    bits = np.int32(row[place]) | np.int32(row[place + 1]) << np.int32(8)
    exponent, mantissa = bits >> np.int32(10), bits & np.int32(1023)
    if exponent == 0:
        return np.float32(mantissa) * np.float32(2.0**-24)
    if exponent >= 31:
        return np.float32(np.nan)  # a damaged row must show
    return _from_bits(np.int32((exponent + np.int32(112)) << np.int32(23)) | (mantissa << np.int32(13)))


@njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
def _row_sums(row, unit, query, sizes):
    """Sums over the components of a row: of differences, of their squares, and of these by both sizes.

    A division takes as long as ten products, so that four fractions, of the four quarters of a row, are made one.
    """
    _widest()
    city = squares = chi = np.float32(0.0)
    quarter = len(query) // 4
    second, third = 2 * quarter, 3 * quarter
    for c in range(quarter):
        x = _level(row[c]) * unit  # exactly: a level has five bits, a unit eleven
        y = _level(row[quarter + c]) * unit
        z = _level(row[second + c]) * unit
        w = _level(row[third + c]) * unit
        dx, dy, dz, dw = x - query[c], y - query[quarter + c], z - query[second + c], w - query[third + c]
        city += (abs(dx) + abs(dy)) + (abs(dz) + abs(dw))
        dx, dy, dz, dw = dx * dx, dy * dy, dz * dz, dw * dw
        squares += (dx + dy) + (dz + dw)
        # Not |x| + (|q| + LITTLE): between vectors of different sizes that rounds differently the other way round.
        x, y = max(abs(x) + sizes[c], LITTLE), max(abs(y) + sizes[quarter + c], LITTLE)
        z, w = max(abs(z) + sizes[second + c], LITTLE), max(abs(w) + sizes[third + c], LITTLE)
        xy, zw = x * y, z * w
        chi += ((dx * y + dy * x) * zw + (dz * w + dw * z) * xy) / (xy * zw)
    for c in range(4 * quarter, len(query)):
        x = _level(row[c]) * unit
        d = x - query[c]
        square = d * d
        city += abs(d)
        squares += square
        chi += square / max(abs(x) + sizes[c], LITTLE)
    return city, squares, chi


@njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
def _plain_sums(row, unit, query):
    """The first two of `_row_sums`, which need no division, in half the time."""
    _widest()
    city = squares = np.float32(0.0)
    for c in range(len(query)):
        d = _level(row[c]) * unit - query[c]
        city += abs(d)
        squares += d * d
    return city, squares


@njit(cache=True, error_model="numpy")
def _squared_norm(query):
    """The squared norm of a query, rounded as those of stored rows are."""
    norm = 0.0
    for c in range(len(query)):
        norm += np.float64(query[c]) * np.float64(query[c])
    return np.float32(norm)


@njit(cache=True, error_model="numpy")
def _magnitudes(query):
    """The sizes of a query's components."""
    sizes = np.empty(len(query), dtype=np.float32)
    for c in range(len(query)):
        sizes[c] = abs(query[c])
    return sizes


# The product of two vectors follows from their norms and their distance; between equal ones it is exact.
@njit(cache=True, error_model="numpy")
def _cosine(squares, norm, query_norm):
    unit, length = np.float32(1.0), np.sqrt(norm * query_norm)
    if not length > 0:
        return unit
    product = np.float32(0.5) * (norm + query_norm - squares)
    return max(unit - product / length, np.float32(0.0))  # rounding may go below 0


@njit(cache=True)
def _fetch(rows, row):
    if row < len(rows):
        fetch_row(rows, row, LINE)


# The sums are unpacked right where they are used: handed to a function that stores them, they are no longer computed
# in vectors.
@njit(cache=True, nogil=True, error_model="numpy")
def fused(rows, wanted, everything, query, out, begin, end):
    """Fill the first four entries of the rows of `out` from begin to end with the distances of the wanted rows."""
    d = len(query)
    fetch, ahead = everything and d >= WIDE, AHEAD // d + 1
    query_norm, sizes = _squared_norm(query), _magnitudes(query)
    for i in range(begin, end):
        if fetch:
            _fetch(rows, i + ahead)
        row = rows[i] if everything else rows[wanted[i]]
        city, squares, chi = _row_sums(row, _half(row, d) * UNIT, query, sizes)
        out[i, 0] = city
        out[i, 1] = np.sqrt(squares)
        out[i, 2] = _cosine(squares, _from_bits(_word(row, d + 2)), query_norm)
        out[i, 3] = chi


@njit(cache=True, nogil=True, error_model="numpy")
def fused_between(rows, queries, wanted, ends, out):
    """Fill `out` with the distances of some rows to each of several others: the same numbers as by `fused`.

    Those to row queries[k] are of the wanted rows from ends[k] to ends[k + 1]; where it is below 0, they are left out.
    """
    query = np.empty(rows.shape[1] - TAIL, dtype=np.float32)
    for k in range(len(queries)):
        if queries[k] >= 0:
            row = rows[queries[k]]
            unit = _half(row, len(query)) * UNIT
            for c in range(len(query)):
                query[c] = _level(row[c]) * unit
            fused(rows, wanted, False, query, out, ends[k], ends[k + 1])


@njit(cache=True, nogil=True, error_model="numpy")
def weighted(rows, wanted, everything, queries, weights, scales, out, begin, end):
    """Add the weighted similarities of the wanted rows from begin to end to each of several queries to `out`.

    So many rows at a time that they are still in the cache of the core when the next query is compared with them.
    """
    found = np.empty((len(weights), ROWS), dtype=np.float32)
    norms = np.empty(len(queries), dtype=np.float32)
    sizes = np.empty_like(queries)
    for k in range(len(queries)):
        norms[k] = _squared_norm(queries[k])
        sizes[k] = _magnitudes(queries[k])
    for first in range(begin, end, ROWS):
        last = min(first + ROWS, end)
        block = np.arange(first, last) if everything else wanted[first:last]
        for k in range(len(queries)):
            fetch = k == 0 and queries.shape[1] >= WIDE
            if weights[3] != 0:
                _distances(rows, block, queries[k], norms[k], sizes[k], found, fetch)
            else:
                _plain_distances(rows, block, queries[k], norms[k], found, fetch)
            for j in range(len(weights)):
                if weights[j] != 0:
                    _add_similarities(found[j], weights[j], scales[j], out[k, first:last])


@njit(cache=True, nogil=True, error_model="numpy")
def _add_similarities(distances, weight, scale, out):
    for i in range(len(out)):
        out[i] += weight * exp(distances[i] / -scale)


@njit(cache=True, nogil=True, error_model="numpy")
def _distances(rows, block, query, query_norm, sizes, out, fetch):
    """Fill the rows of `out` with the distances of a block of rows, and fetch those that follow if asked to."""
    d = len(query)
    ahead = AHEAD // d + 1
    for i in range(len(block)):
        if fetch:
            _fetch(rows, block[i] + ahead)
        row = rows[block[i]]
        city, squares, chi = _row_sums(row, _half(row, d) * UNIT, query, sizes)
        out[0, i] = city
        out[1, i] = np.sqrt(squares)
        out[2, i] = _cosine(squares, _from_bits(_word(row, d + 2)), query_norm)
        out[3, i] = chi


@njit(cache=True, nogil=True, error_model="numpy")
def _plain_distances(rows, block, query, query_norm, out, fetch):
    """The same without the fourth distance."""
    d = len(query)
    ahead = AHEAD // d + 1
    for i in range(len(block)):
        if fetch:
            _fetch(rows, block[i] + ahead)
        row = rows[block[i]]
        city, squares = _plain_sums(row, _half(row, d) * UNIT, query)
        out[0, i] = city
        out[1, i] = np.sqrt(squares)
        out[2, i] = _cosine(squares, _from_bits(_word(row, d + 2)), query_norm)


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
