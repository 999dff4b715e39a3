"""Ask the processor to fetch a row of a table before it is needed, compiled by numba; imported on first use."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 64  # bytes that come at once


@intrinsic
def _prefetch(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """The instruction itself, for one element."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        address = cgutils.get_item_pointer(
            context, builder, kind, context.make_array(kind)(context, builder, arguments[0]), list(arguments[1:])
        )
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, number, number, number]), "llvm.prefetch.p0"
        )
        # For reading, to be kept in all caches, data and not code.
        builder.call(function, [builder.bitcast(address, pointer), *(ir.Constant(number, flag) for flag in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, row, column), generate


@njit(cache=True)
def fetch_row(X, row, apart):
    """Fetch a row, without waiting for it; `apart` elements of it come at once."""
    c = 0
    while c < X.shape[1]:  # range() with a step would divide to count its rounds
        _prefetch(X, row, c)
        c += apart
