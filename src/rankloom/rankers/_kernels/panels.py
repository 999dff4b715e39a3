"""A square matrix that takes a rank-one update and meets a vector in one pass, in vector instructions of our own.

The matrix is cut into panels of columns, each panel a run of memory of its own in which a row is a few vectors of
LANES numbers, padded with zeros and aligned to cache lines. Loops over plain arrays are two to three times slower:
the compiler vectorises sixteen columns at a time and takes what is left over one by one, in every row anew; it keeps
no row sums in registers across rows; and vectors that straddle cache lines cost double.

Every number is computed by the same operations in the same order wherever the arrays lie, and whether an update comes
with the next product or by itself: results are the same bits however a stream is cut into calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8  # numbers in a vector: a cache line; processors with shorter vectors take two or four instructions
WIDEST = 6  # vectors in a row of a panel: their sums stay in registers, also in 16 that hold half a vector each

_NUMBER, _COUNT, _SHORT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_NUMBER, LANES)


@intrinsic
def _sweep_panel(
    typing_context: Any,
    matrix: Any,
    start: Any,
    column: Any,
    width: Any,
    rows: Any,
    known: Any,
    factor: Any,
    x: Any,
    product: Any,
) -> Any:
    """`sweep` for the panel of `width` vectors a row that begins at matrix[start] and has `column` as its first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def data(argument: int) -> Any:
            return context.make_array(signature.args[argument])(context, builder, arguments[argument]).data

        def vector(pointer: Any, k: int) -> Any:
            return builder.bitcast(builder.gep(pointer, [_COUNT(k * LANES)]), _VECTOR.as_pointer())

        def spread(number: Any) -> Any:
            nothing = ir.Constant(_VECTOR, ir.Undefined)
            first = builder.insert_element(nothing, number, _SHORT(0))
            return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_SHORT, LANES), [0] * LANES))

        multiply_add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fmuladd.v{LANES}f64"
        )
        start, column, width, rows = arguments[1:5]
        known, x = data(5), data(7)
        panel = builder.gep(data(0), [start])
        own, sums = builder.gep(known, [column]), builder.gep(data(8), [column])
        minus = spread(builder.fmul(_NUMBER(-1.0), arguments[6]))
        done = builder.append_basic_block("done")
        choice = builder.switch(width, done)
        for n in range(1, WIDEST + 1):  # a loop over the rows for every width, with all of a row in registers
            before, loop, after = (builder.append_basic_block(f"{name}{n}") for name in ("before", "loop", "after"))
            choice.add_case(_COUNT(n), before)
            builder.position_at_end(before)
            scaled = [builder.fmul(minus, builder.load(vector(own, k), align=64)) for k in range(n)]
            builder.branch(loop)

            builder.position_at_end(loop)
            p, row = builder.phi(_COUNT), builder.phi(panel.type)
            totals = [builder.phi(_VECTOR) for _ in range(n)]
            of_known = spread(builder.load(builder.gep(known, [p])))
            of_x = spread(builder.load(builder.gep(x, [p])))
            grown = []
            for k in range(n):
                pointer = vector(row, k)
                entries = builder.call(multiply_add, [of_known, scaled[k], builder.load(pointer, align=64)])
                builder.store(entries, pointer, align=64)
                grown.append(builder.call(multiply_add, [of_x, entries, totals[k]]))
            next_p, next_row = builder.add(p, _COUNT(1)), builder.gep(row, [_COUNT(n * LANES)])
            builder.cbranch(builder.icmp_signed("<", next_p, rows), loop, after)
            zeros = ir.Constant(_VECTOR, [0.0] * LANES)
            for phi, first, later in zip(
                [p, row, *totals], [_COUNT(0), panel, *[zeros] * n], [next_p, next_row, *grown], strict=True
            ):
                phi.add_incoming(first, before)
                phi.add_incoming(later, loop)

            builder.position_at_end(after)
            for k in range(n):
                builder.store(grown[k], vector(sums, k), align=64)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    integer, real = types.intp, types.float64
    return types.void(matrix, integer, integer, integer, integer, known, real, x, product), generate


# Without licence to reassociate: the order of the sums is part of the contract.
@njit(cache=True)
def sweep(matrix, panels, known, factor, x, product):
    """matrix -= factor known known', then product = matrix' x; factor 0 with known 0 leaves every bit as it is.

    The vectors are rows of `aligned`, at least as long as all panels are wide, and zero beyond the matrix; `product` is
    another one than `known`.
    """
    for q in range(len(panels) - 1):
        start, column, width = panels[q, 0], panels[q, 1], panels[q, 2]
        _sweep_panel(matrix, start, column, width, panels[-1, 1], known, factor, x, product)


@njit(cache=True)
def cut(d):
    """Where the panels of a matrix with d rows begin, their first columns, and their widths in vectors.

    A row more tells where the last panel ends, and d.
    """
    left = (d + LANES - 1) // LANES
    n = (left + WIDEST - 1) // WIDEST
    panels = np.zeros((n + 1, 3), dtype=np.int64)
    for q in range(n):
        width = (left + n - q - 1) // (n - q)  # as equal as can be: sums of few columns wait for one another
        panels[q, 2] = width
        panels[q + 1, 0] = panels[q, 0] + d * width * LANES
        panels[q + 1, 1] = panels[q, 1] + width * LANES
        left -= width
    panels[n, 1] = d
    return panels


@njit(cache=True)
def aligned(rows, columns):
    """An array of rows that begin at a cache line, not yet filled; columns is a multiple of LANES."""
    memory = np.empty(rows * columns + LANES)
    begin = -(memory.ctypes.data // memory.itemsize) % LANES
    return memory[begin : begin + rows * columns].reshape((rows, columns))


@njit(cache=True)
def fill(matrix, panels, square):
    """Fill the panels from a plain matrix."""
    d = len(square)
    for q in range(len(panels) - 1):
        start, column, width = panels[q, 0], panels[q, 1], panels[q, 2] * LANES
        for p in range(d):
            line = matrix[start + p * width : start + (p + 1) * width]
            source = square[p, column : column + width]
            for c in range(len(source)):
                line[c] = source[c]
            for c in range(len(source), width):
                line[c] = 0.0


@njit(cache=True)
def empty(matrix, panels, square):
    """Put the panels back into a plain matrix."""
    d = len(square)
    for q in range(len(panels) - 1):
        start, column, width = panels[q, 0], panels[q, 1], panels[q, 2] * LANES
        for p in range(d):
            line = matrix[start + p * width : start + (p + 1) * width]
            target = square[p, column : column + width]
            for c in range(len(target)):
                target[c] = line[c]
